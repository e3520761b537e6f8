"""Time that two clusters take from one angle to another, and until the first pair of many meets.

Masses m_1, m_2 at the angle phi move along their great circle. Let tau = ln tan(phi / 2),
M = m_1 + m_2, P = m_1 m_2, Q = m_1^2 + m_2^2 and b = a(cos phi) / a(1). Then

    dt = -d tau / strength * { 1 / (M a)                                              (USA)
                             { 1/2 + (P / Q) / b + (Q^2 - 4 P^2) / (2 Q (Q + 2 P b))   (SA).

(SA by partial fractions; its third term vanishes for equal masses.) For the exponential kernel the
integral of 1 / a = e^{2 beta sin^2(phi / 2)} is the difference between the two ends of

    1/2 [Ei(beta (1 - u)) + e^{2 beta} E1(beta (1 + u))],    u = cos phi.

It would cancel for near ends, and the last term has no such form. All terms are positive, and
analytic in tau with no singularity nearer than about pi / 4 (for beta < 0 also
pi / (2 ln(Q / 2 P))). So Gauss-Legendre panels, with e^{largest exponent} factored out, are
accurate to rounding.

Among many clusters, let phi be the smallest angle and psi the next. The others change the time of
the pair alone by a share delta of about e^{-beta (cos phi - cos psi)}: they attract the pair, and
hardly move meanwhile. So the leading pairs move in the mean field of the others, which stay fixed.
The independent variable is the angle of the pair,

    dt / dphi = 1 / phi',    dx_i / dphi = v_i / phi',    dx_j / dphi = v_j / phi'.

The error is of order delta^2, as the others move by a share delta of the pair's distance. If
several angles are equal, delta is not small, and a run of atoms gives the exact answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from meanfield.arguments import checked
from meanfield.arrays import FloatArray
from meanfield.bases.legendre import gauss_legendre
from meanfield.measures import Measure
from meanfield.observables.clusters import cluster_radius
from meanfield.problem import Problem
from meanfield.spectrum.cluster_rates import check_clusters, check_no_diffusion
from meanfield.spectrum.pair_attention import attention_and_slope

_ORDER = 16
# In a panel the exponential falls by at most e^-4 and no singularity is near, so the error is below
# rounding. Values below e^-80 do not matter.
_LONGEST_PANEL = 0.5
_FALL = 4.0
_FORGOTTEN = 80.0
# Panels are halved until the result changes by at most this share. Halving divides the error by
# about 2^32, so the error of the last result is rounding.
_CONVERGED = 1e-10
_HALVINGS = 12

Exponents = Callable[[FloatArray], FloatArray]
"""ln(largest / value) of 1 / a or 1 / b, as a function of the distance in tau from the largest."""


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
        Geodesic angles between the clusters, radians, 0 to pi. until <= angle if clusters attract,
        until >= angle if they repel.
    masses : (float, float)
        Not negative, with a sum above 0 and at most 1. Under USA the time is inversely proportional
        to the sum; under SA it depends on the ratio only.

    Returns
    -------
    float
        Relative error a few eps times max(1, ln(time)), as a relative error eps of beta causes;
        1e-12 for smooth kernels given by a function. 0 if the angles are equal. Infinite if the
        clusters never reach `until` (0, pi, or kernels that change sign) and beyond 1e308.

    Raises
    ------
    ValueError
        If an angle is not between 0 and pi, or the flow moves away from `until`. If a mass is
        negative, or their sum exceeds 1. If there is diffusion, or a user's kernel is too rough to
        integrate.

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
    """A number that is positive if two clusters at this angle attract, negative if they repel."""
    kernel, strength = problem.zonal.kernel, problem.zonal.strength
    # Kernels in closed form are positive even where they underflow.
    if kernel.log_slope is not None:
        return strength
    return strength * float(kernel.attention(np.cos(np.array([angle])))[0])


def _inverse_attention(
    problem: Problem, far: float, near: float, length: float
) -> tuple[float, Exponents, FloatArray]:
    """Largest ln(1 / a) (USA) or ln(1 / b) (SA), `Exponents` relative to it, and first panels."""
    kernel, normalized = problem.zonal.kernel, problem.zonal.normalized
    count = math.ceil(length / _LONGEST_PANEL)
    even = np.linspace(0.0, length, count + 1)
    if kernel.log_slope is None:
        start = math.log(math.tan(0.5 * far))
        ends = kernel.attention(np.cos(np.array([far, 0.0])))
        # Under softmax attention is positive. Without it, its sign must not change on the way.
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
        # In two factors: e^peak may overflow although the product does not.
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
    """Ln [tan(far / 2) / tan(near / 2)], accurate also for near angles."""
    excess = math.sin(0.5 * (far - near)) / (math.cos(0.5 * far) * math.sin(0.5 * near))
    if excess < 1.0:
        return math.log1p(excess)
    return math.log(math.tan(0.5 * far)) - math.log(math.tan(0.5 * near))


def check_masses(masses: tuple[float, float]) -> None:
    """Refuse masses of two clusters that are negative or sum to more than 1."""
    total = sum(masses)
    if not (len(masses) == 2 and min(masses) >= 0 and 0 < total <= 1.0 + 1e-9):
        raise ValueError(f"masses must be two, not negative, with a sum up to 1, got {masses}.")


# Only this many pairs with the shortest times alone move in the mean field of the others, and only
# if their time is at most this multiple of the shortest.
_LEADING = 4
_RIVAL = 30.0
# The others separate a pair if it approaches more slowly than this share of its own attraction.
_PARTED = 0.05
# Far below the error of fixing the others.
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class MergeEstimate:
    """Which two clusters meet first, and when, in the mean field of the others.

    - pair, runner_up (int, int) or None: indices in the measure, smaller first; None if no pair
      meets.
    - time, runner_up_time: scaled times of meeting; infinite if no pair meets. The order is not
      reliable unless the second is several times the first.
    """

    pair: tuple[int, int] | None
    time: float
    runner_up: tuple[int, int] | None
    runner_up_time: float

    def __repr__(self) -> str:
        if self.pair is None:
            return "MergeEstimate(no pair meets before 1e308)"
        if self.runner_up is None:
            return f"MergeEstimate(clusters {self.pair} at about {self.time:.4g})"
        return (
            f"MergeEstimate(clusters {self.pair} at about {self.time:.4g}, "
            f"or {self.runner_up} at about {self.runner_up_time:.4g})"
        )


@checked
def next_merge_estimate(
    problem: Problem, measure: Measure, gap: float | None = None
) -> MergeEstimate:
    """Estimate of which two clusters meet first, and when, with the others fixed.

    The fastest pairs move in the mean field of the others at their present positions. Pairs that
    the others separate are left out; if all are separated, as in a polygon, each pair has its time
    alone. Two clusters have the exact `two_cluster_time`.

    Parameters
    ----------
    problem : Problem
        On the circle or the sphere, without diffusion; its initial measure is not used.
    measure : Measure
        The clusters, two or more. On the circle neighbours are compared, on the sphere all
        n (n - 1) / 2 pairs.
    gap : float, optional
        Geodesic angle at which clusters have met. Default: 0.25 / sqrt(|beta|), as for counts of
        clusters.

    Returns
    -------
    MergeEstimate
        Times are infinite beyond 1e308, for pairs that repel, and for pairs without mass.

    Raises
    ------
    TypeError
        If measure is not a Measure.
    ValueError
        If there are fewer than two clusters, they live on another manifold, the gap is not
        between 0 and pi, or there is diffusion.

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=25.0), mf.SA)
    >>> next_merge_estimate(problem, mf.Measure(mf.Circle(), [0.0, 0.9, 2.1, 4.0]))
    MergeEstimate(clusters (0, 1) at about 467, or (1, 2) at about 2.007e+05)
    """
    check_clusters(problem, measure)
    points, mass = measure.points, measure.mass
    if len(points) < 2:
        raise ValueError("a merge needs at least two clusters, got 1.")
    met = cluster_radius(problem.zonal.kernel.beta) if gap is None else gap
    if not 0 < met <= np.pi:
        raise ValueError(f"gap must lie between 0 and pi, got {met}.")
    candidates = []
    for i, j in _candidates(measure):
        angle = float(measure.manifold.distance(points[i], points[j]))
        if angle <= met:
            candidates.append((0.0, angle, (i, j)))
        elif mass[i] + mass[j] > 0 and attraction(problem, angle) > 0:
            time = two_cluster_time(problem, angle, met, (float(mass[i]), float(mass[j])))
            candidates.append((time, angle, (i, j)))
    # Among pairs that have already met the nearer one comes first.
    alone = sorted(entry for entry in candidates if np.isfinite(entry[0]))
    late = _RIVAL * alone[0][0] if alone else np.inf
    among = [
        (_among_others(problem, measure, entry, met) if entry[0] <= late else entry[0], *entry[1:])
        for entry in alone[:_LEADING]
    ]
    # In a balance the others separate all pairs.
    ranked = sorted(entry for entry in among if np.isfinite(entry[0])) or alone
    first, second = [*ranked, None, None][:2]
    return MergeEstimate(
        pair=first[2] if first else None,
        time=first[0] if first else np.inf,
        runner_up=second[2] if second else None,
        runner_up_time=second[0] if second else np.inf,
    )


def _among_others(
    problem: Problem, measure: Measure, entry: tuple[float, float, tuple[int, int]], met: float
) -> float:
    """Time of a pair in the mean field of the fixed others; infinite if they separate it."""
    from scipy.integrate import solve_ivp

    alone, angle, pair = entry
    others = np.delete(np.arange(len(measure.points)), pair)
    if alone == 0.0 or not np.any(measure.mass[others]):
        return alone
    points = measure.points
    if not measure.manifold.point_axes:
        points = np.stack([np.cos(points), np.sin(points)], axis=1)
    d = points.shape[1]
    fixed, unit = points[others], problem.zonal.strength * alone
    # Masses for each of the two, in the order: itself, its partner, the others.
    masses = [measure.mass[[*order, *others]] for order in (pair, pair[::-1])]

    def velocity(phi: float, state: FloatArray) -> tuple[float, float, FloatArray]:
        """Speed of approach, its part due to the pair itself, and velocities; unit 1 / alone."""
        two = state[: 2 * d].reshape(2, d)
        # A trial step may leave the sphere.
        two = two / np.linalg.norm(two, axis=1, keepdims=True)
        moved, own = np.zeros((2, d)), 0.0
        for i in (0, 1):
            x, y = two[i], two[1 - i]
            angles = np.concatenate([[0.0, phi], _angles(x, fixed)])[None]
            attention = unit * attention_and_slope(problem, masses[i], angles)[0][0]
            # P_x (y - x) in place of P_x y, without cancellation for near y.
            toward = np.concatenate([[y], fixed]) - x
            toward -= (toward @ x)[:, None] * x
            moved[i] = attention[1:] @ toward
            own += float(attention[1]) * np.sin(phi)
        along = (two[1] - np.cos(phi) * two[0], two[0] - np.cos(phi) * two[1])
        approach = (moved[0] @ along[0] + moved[1] @ along[1]) / np.sin(phi)
        return float(approach), own, moved

    def speed(phi: float, state: FloatArray) -> FloatArray:
        approach, own, moved = velocity(phi, state)
        # At smaller speeds the event ends the integration.
        return np.asarray(-np.append(moved.ravel(), 1.0) / max(approach, 0.5 * _PARTED * own))

    def approaching(phi: float, state: FloatArray) -> float:
        approach, own, _ = velocity(phi, state)
        return approach - _PARTED * own

    approaching.terminal = True  # type: ignore[attr-defined]
    start = np.append(points[list(pair)].ravel(), 0.0)
    if approaching(angle, start) <= 0.0:
        return np.inf
    run = solve_ivp(
        speed,
        (angle, met),
        start,
        method="DOP853",
        rtol=_TOLERANCE,
        atol=_TOLERANCE,
        events=approaching,
    )
    return alone * float(run.y[-1, -1]) if run.status == 0 else np.inf


def _angles(x: FloatArray, points: FloatArray) -> FloatArray:
    """Geodesic angles from one unit vector to others, accurate also for small angles."""
    return np.asarray(
        2.0 * np.arctan2(np.linalg.norm(x - points, axis=1), np.linalg.norm(x + points, axis=1))
    )


def _candidates(measure: Measure) -> list[tuple[int, int]]:
    """Pairs that may meet before any other: on the circle neighbours, else all."""
    n = len(measure.points)
    if measure.manifold.dimension > 1 or n < 3:
        return list(combinations(range(n), 2))
    angles = measure.points % (2.0 * np.pi)
    order = np.argsort(angles, kind="stable")
    ends = np.sort(np.stack([order, np.roll(order, -1)], axis=1), axis=1)
    gaps = np.diff(angles[order], append=angles[order[0]] + 2.0 * np.pi)
    # Neighbours more than half the circle apart have all the others on their short side.
    return [(int(i), int(j)) for i, j in ends[gaps <= np.pi]]
