"""Two clusters alone: the time they take to come from one angle to another.

Masses m_1, m_2 at the angle phi move along their great circle. Let tau = ln tan(phi / 2),
m_1 + m_2 = M, P = m_1 m_2, Q = m_1^2 + m_2^2 and b = a(cos phi) / a(1). Then

    dt = -d tau / strength * { 1 / (M a)                                              (USA)
                             { 1/2 + (P / Q) / b + (Q^2 - 4 P^2) / (2 Q (Q + 2 P b))   (SA).

(SA by partial fractions; its third term vanishes for equal masses.) For the exponential kernel the
integral of 1 / a = e^{2 beta sin^2(phi / 2)} is the sum of exponential integrals

    1/2 [Ei(beta (1 - u)) + e^{2 beta} E1(beta (1 + u))],    u = cos phi,

at the two ends. Their difference would lose its digits where the ends are near, and the last term
has no such form. All terms are positive, and analytic in tau with no singularity nearer than about
pi / 4 (for beta < 0 pi / (2 ln(Q / 2 P)) if that is less). Gauss-Legendre panels keep every digit,
e^{largest exponent} taken out.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from meanfield.arguments import checked
from meanfield.arrays import FloatArray
from meanfield.bases.legendre import gauss_legendre
from meanfield.problem import Problem
from meanfield.spectrum.cluster_rates import check_no_diffusion

_ORDER = 16
# Panels over which an exponential falls by e^-4 and no singularity is near: error below rounding.
_LONGEST_PANEL = 0.5
_FALL = 4.0
_FORGOTTEN = 80.0
# Panels are halved until that changes the result by no more than this: halving divides the error by
# about 2^32, so that of the last result is rounding.
_CONVERGED = 1e-10
_HALVINGS = 12

Exponents = Callable[[FloatArray], FloatArray]
"""-ln of 1 / a or 1 / b, from its largest value, at a distance in tau from where that is."""


@checked
def two_cluster_time(
    problem: Problem, angle: float, until: float, masses: tuple[float, float] = (0.5, 0.5)
) -> float:
    """Scaled time that two clusters alone take from one geodesic angle to another.

    Parameters
    ----------
    problem : Problem
        On a manifold of any dimension, without diffusion; its initial measure is not used.
    angle, until : float
        Geodesic angles between the clusters, radians, 0 to pi. Clusters that attract come closer,
        until <= angle, and those that repel go apart.
    masses : (float, float)
        Not negative, with a sum above 0 and at most 1. Under USA only the sum matters, and
        divides the time; under SA only the ratio.

    Returns
    -------
    float
        Relative error a few eps times the larger of 1 and ln(time), as a relative error eps of
        beta causes it; 1e-12 for smooth kernels given by a function. 0 if the angles are the same.
        Infinite if the clusters never get there (the limits 0 and pi, or kernels that change sign
        on the way) and beyond 1e308.

    Raises
    ------
    ValueError
        If an angle is not between 0 and pi, or the flow leads from angle away from `until`. If a
        mass is negative, or their sum exceeds 1. If there is diffusion, or a user's kernel is too
        rough to integrate.

    Examples
    --------
    >>> import meanfield as mf
    >>> circle = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA)
    >>> time = two_cluster_time(circle, 2 * math.pi / 3, math.acos(0.999))
    >>> round(time * math.exp(-5.0), 10)  # in the papers' time
    2.8393709166

    Under SA clusters far apart hardly attend to each other:

    >>> circle = mf.Problem(mf.Circle(), mf.exponential(beta=81.0), mf.SA)
    >>> print(f"{two_cluster_time(circle, 2.0, 0.1, masses=(0.1, 0.4)):.12e}")
    2.278088268928e+47
    """
    problem.check_own_clock("times of clusters")
    check_no_diffusion(problem)
    check_masses(masses)
    for name, value in (("angle", angle), ("until", until)):
        if not 0 <= value <= math.pi:
            raise ValueError(f"{name} must lie between 0 and pi, got {value}.")
    if angle == until:
        return 0.0
    far, near = max(angle, until), min(angle, until)
    if attraction(problem, angle) * (angle - until) < 0:
        way = "come closer" if until > angle else "go apart"
        raise ValueError(f"clusters at the angle {angle:g} {way}: they never reach {until:g}.")
    if near == 0.0 or far == math.pi:
        return math.inf
    length = _log_ratio_of_tangents(far, near)
    peak, exponents, breaks = _inverse_attention(problem, far, near, length)
    time = _converged(lambda edges: _time(problem, masses, edges, exponents, peak), breaks)
    return time / abs(problem.zonal.strength)


def attraction(problem: Problem, angle: float) -> float:
    """Positive if two clusters at this angle come closer, negative if they go apart."""
    kernel, strength = problem.zonal.kernel, problem.zonal.strength
    # Kernels in closed form are positive even where they underflow.
    if kernel.log_slope is not None:
        return strength
    return strength * float(kernel.attention(np.cos(np.array([angle])))[0])


def _inverse_attention(
    problem: Problem, far: float, near: float, length: float
) -> tuple[float, Exponents, FloatArray]:
    """Largest ln(1 / a) (USA) or ln(1 / b) (SA), how it falls from there, and first panels."""
    kernel, normalized = problem.zonal.kernel, problem.zonal.normalized
    count = math.ceil(length / _LONGEST_PANEL)
    even = np.linspace(0.0, length, count + 1)
    if kernel.log_slope is None:
        start = math.log(math.tan(0.5 * far))
        ends = kernel.attention(np.cos(np.array([far, 0.0])))
        # Under a normalised flow attention is positive; else it may repel, but on all of the way.
        unit = float(ends[1]) if normalized else math.copysign(1.0, float(ends[0]))

        def exponents(distance: FloatArray) -> FloatArray:
            s = np.cos(2.0 * np.arctan(np.exp(start - distance)))
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.asarray(np.log(kernel.attention(s) / unit))

        return 0.0, exponents, even
    # 1 / a = e^{2 |beta| x} with x = sin^2(phi / 2), or cos^2 for negative beta, is largest at
    # one end. There x = s and ln(1 / x - 1) = r; at a distance d x = s / (s + (1 - s) e^{2 d}).
    k = 2.0 * abs(kernel.log_slope)
    if kernel.log_slope >= 0:
        s, r = math.sin(0.5 * far) ** 2, -2.0 * math.log(math.tan(0.5 * far))
        peak = k * s
    else:
        s, r = math.cos(0.5 * near) ** 2, 2.0 * math.log(math.tan(0.5 * near))
        peak = -k * math.sin(0.5 * near) ** 2 if normalized else k * s  # a(1) = e^{-k}

    def falls(distance: FloatArray) -> FloatArray:
        odds = np.exp(np.minimum(2.0 * distance + r, 600.0))  # larger ones are infinite
        close = math.exp(r) * np.expm1(2.0 * np.minimum(distance, 1.0))
        gone = np.where(distance < 1.0, close, odds - math.exp(r)) / (1.0 + odds)
        return np.asarray(k * s * gone)

    # Where it has fallen by 4, 8, ... 80.
    levels = _FALL * np.arange(1.0, _FORGOTTEN / _FALL + 1.0)
    levels = levels[levels < falls(np.array([length]))[0]]
    steps = 0.5 * (np.log(k * s * math.exp(r) + levels) - np.log(k * s - levels) - r)
    return peak, falls, np.union1d(even, steps[(steps > 0) & (steps < length)])


def _time(
    problem: Problem,
    masses: tuple[float, float],
    edges: FloatArray,
    exponents: Exponents,
    peak: float,
) -> float:
    """Time at strength 1, by quadrature on panels with these edges."""
    nodes, weights = gauss_legendre(_ORDER)
    widths = np.diff(edges)
    d = exponents(edges[:-1, None] + 0.5 * widths[:, None] * (1.0 + nodes))  # (panels, nodes)
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        inverse = float(widths @ (np.exp(-d) @ weights))
        # In two factors: the product may be a number where e^peak is none.
        half = float(np.exp(0.5 * peak))
        total = sum(masses)
        if not problem.zonal.normalized:
            return half * (inverse / total) * half
        first, second = masses[0] / total, masses[1] / total
        p, q = first * second, first**2 + second**2
        share = (first - second) ** 2 / (2.0 * q)  # (Q^2 - 4 P^2) / 2 Q with Q + 2 P = 1
        b = np.exp(d - peak)
        rest = float(widths @ ((0.5 + share / (q + 2.0 * p * b)) @ weights))
        return half * (p / q * inverse) * half + rest


def _converged(integral: Callable[[FloatArray], float], edges: FloatArray) -> float:
    value = integral(edges)
    for _ in range(_HALVINGS):
        edges = np.sort(np.concatenate([edges, 0.5 * (edges[1:] + edges[:-1])]))
        coarse, value = value, integral(edges)
        if math.isnan(value) or math.isinf(value):
            return math.inf
        if abs(value - coarse) <= _CONVERGED * value:
            return value
    raise ValueError(
        "the time of two clusters does not converge: their kernel is too rough, or vanishes "
        "between the two angles."
    )


def _log_ratio_of_tangents(far: float, near: float) -> float:
    """Ln [tan(far / 2) / tan(near / 2)], exact to rounding where the two are near each other."""
    excess = math.sin(0.5 * (far - near)) / (math.cos(0.5 * far) * math.sin(0.5 * near))
    if excess < 1.0:
        return math.log1p(excess)
    return math.log(math.tan(0.5 * far)) - math.log(math.tan(0.5 * near))


def check_masses(masses: tuple[float, float]) -> None:
    """Refuse masses of two clusters that are negative or sum to more than 1."""
    total = sum(masses)
    if not (len(masses) == 2 and min(masses) >= 0 and 0 < total <= 1.0 + 1e-9):
        raise ValueError(f"masses must be two, not negative, with a sum up to 1, got {masses}.")
