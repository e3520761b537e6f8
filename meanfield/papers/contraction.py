"""Bounds on the growth and decay of the distance between any two runs.

h(phi) = a(cos phi) sin phi is the speed at which two tokens at the angle phi approach. With

    M+ = max h' = 1,     M- = max -h' = e^{(R - 3) / 2 - beta} (R - 2) / beta,  R^2 = 4 beta^2 + 5

(beta >= 1/3; below, M- = e^{-2 beta}, at phi = pi) two runs without normalisation and with a
strength c > 0 keep, on the circle,

    e^{-c M+ t} W_2(0) <= W_2(t) <= e^{c M- t} W_2(0),        W_1 with twice the rates.

Proof: follow an optimal coupling. With delta the lifted difference of its two ends,
d/dt int delta^2 = -c int int H (delta - delta')^2, -M- <= H <= M+, and the double integral of
(delta - delta')^2 is 2 (int delta^2 - (int delta)^2). On S^{d-1} E'' along geodesics splits into
-h' (a - b)^2 and a(s) [(1 - s) |e + e'|^2 - (1 + s) |e - e'|^2] / 2, which gives W_2 the rates
2 c M-, 2 c M+. For W_1 on S^{d-1}, test particles separate at the rate c M-, and the mean field
adds c.

With c < 0, and with beta < 0 (by the antipode of one end), M- and M+ change places. Diffusivity D
reduces the upper rate by D (d - 2), from the Ricci curvature, and leaves no lower bound.

Times are scaled times: the largest value of a is 1. In the papers' time without normalisation,
rates are e^{|beta|} times these.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from meanfield.arguments import at_least, checked
from meanfield.arrays import FloatArray
from meanfield.problem import Problem

# Nodes of each refinement of the maximum in `softmax_source`; they cover this many widths
# beta^{-1/2}.
_NODES = 4_001
_WIDTHS = 12.0


@dataclass(frozen=True)
class ContractionRates:
    """Rates of e^{-lower t} W_p(0) <= W_p(t) <= e^{upper t} W_p(0), in scaled time.

    With diffusion `lower` is infinite, and `upper` may be negative.
    """

    upper: float
    lower: float


def slopes(beta: float) -> tuple[float, float]:
    """Largest -h' and largest h' of h(phi) = e^{beta cos phi - |beta|} sin phi.

    >>> fall, rise = slopes(5.0)
    >>> round(fall, 10), rise
    (0.4163958113, 1.0)
    >>> slopes(-5.0) == (rise, fall)
    True
    """
    b = abs(beta)
    fall = math.exp(-2.0 * b)
    if b > 1.0 / 3.0:
        root = math.hypot(2.0 * b, math.sqrt(5.0))
        # (R - 3) / 2 - beta, and R - 2, without cancellation.
        fall = math.exp(2.5 / (root + 2.0 * b) - 1.5) * (4.0 * b + 1.0 / b) / (root + 2.0)
    return (fall, 1.0) if beta >= 0 else (1.0, fall)


@checked
def contraction_rates(problem: Problem, p: int = 2) -> ContractionRates:
    """Proved rates of growth and decay of the distance W_p of any two runs, scaled time.

        e^{-lower t} W_p(0) <= W_p(t) <= e^{upper t} W_p(0)

    With strength c: on the circle upper = c M-, lower = c M+ for W_2, and twice that for W_1; both
    upper rates are sharp. On S^{d-1} twice c M-, c M+ for W_2, and c (M- + 1), c (M+ + 1) for W_1.

    Parameters
    ----------
    problem : Problem
        On a sphere, with the linear kernel, or an exponential one without normalisation; its
        initial law is not used.
    p : int
        1 or 2.

    Returns
    -------
    ContractionRates

    Raises
    ------
    ValueError
        If the kernel is exponential with softmax (rates then depend on Z along runs, see
        `meanfield.certified_radius`), or p is not 1 or 2. For other kernels, heads with matrices,
        labels, fixed fields, stages, and layers with a clock of their own.

    References
    ----------
    Sturm, von Renesse, Transport inequalities, gradient estimates, entropy and Ricci curvature,
    Comm. Pure Appl. Math. 58 (2005), 923-940 (diffusion).

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA)
    >>> rates = contraction_rates(problem)
    >>> round(rates.upper, 10), rates.lower
    (0.4163958113, 1.0)

    Perturbations of uniform grow more slowly:

    >>> round(mf.growth_rate_max(problem), 4)
    0.1253
    """
    check_order(p)
    problem.check_own_clock("bounds of distances")
    zonal = problem.zonal
    beta = zonal.kernel.log_slope
    if beta is None:
        raise ValueError(
            "rates of distances are proved for mf.exponential(beta) and mf.linear(): another "
            "kernel has a largest slope of its own."
        )
    if zonal.normalized and beta != 0.0:
        raise ValueError(
            "with softmax the rate depends on how small Z gets along a run: "
            "mf.certified_radius(first, second) has a bound for two runs."
        )
    fall, rise = slopes(beta)
    upper, lower = (fall, rise) if zonal.strength >= 0 else (rise, fall)
    if zonal.dimension > 1 and p == 1:
        upper, lower = upper + 1.0, lower + 1.0
    elif zonal.dimension > 1 or p == 1:
        upper, lower = 2.0 * upper, 2.0 * lower
    upper, lower = abs(zonal.strength) * upper, abs(zonal.strength) * lower
    if zonal.diffusivity:
        upper, lower = upper - zonal.diffusivity * (zonal.dimension - 1), math.inf
    return ContractionRates(upper, lower)


def check_order(p: int) -> None:
    """Refuse a p other than 1 and 2."""
    if p not in (1, 2):
        raise ValueError(f"p must be 1 or 2, got {p}.")


def softmax_stretch(beta: float) -> float:
    """Largest rate at which softmax separates two test particles, over all measures, strength 1.

    It is the maximum of beta (1 - s^2) - s. From beta = 1/2 on this is beta + 1 / (4 beta), for two
    equal masses on both sides at <x, y> = -1/(2 beta). Below beta = 1/2 it is 1.

    >>> round(softmax_stretch(3.0), 8), softmax_stretch(-2.0)
    (3.08333333, 1.0)
    """
    return beta + 0.25 / beta if beta >= 0.5 else 1.0


def softmax_source(beta: float, dimension: int = 1) -> float:
    """Lipschitz constant of y -> a(<x, y>)(P_x y - v) over all |v| <= 1, scaled.

    It is M = max e^{beta cos phi - |beta|} (|cos phi - beta sin^2 phi| + |beta| sin phi) on the
    circle, and sqrt(M^2 + 1) on spheres of larger dimension. Divided by Z it bounds the change of
    softmax velocities when the measure changes.

    >>> round(softmax_source(5.0), 6), round(softmax_source(5.0, 2), 6)
    (1.626804, 1.909579)
    """
    b = abs(beta)

    def size(angle: FloatArray) -> FloatArray:
        half, sine, cosine = np.sin(0.5 * angle), np.sin(angle), np.cos(angle)
        bent = np.abs(cosine - b * sine**2) + b * sine
        return np.asarray(np.exp(-2.0 * b * half**2) * bent)

    low, high = 0.0, min(math.pi, _WIDTHS / math.sqrt(b)) if b else math.pi
    # Each round keeps two cells around the largest value; the error is of second order.
    for _ in range(4):
        angles = np.linspace(low, high, _NODES)
        values = size(angles)
        best, cell = int(values.argmax()), (high - low) / (_NODES - 1)
        low, high = max(angles[best] - cell, 0.0), min(angles[best] + cell, math.pi)
    largest = float(values.max()) * (1.0 + 1e-12)
    return largest if dimension == 1 else math.hypot(largest, 1.0)


def pair_force(beta: float, angle: FloatArray) -> FloatArray:
    """Speed h(phi) = e^{beta cos phi - |beta|} sin phi at which two tokens approach, scaled time.

    It is largest at `convex_angle`. In the papers' time it is e^{|beta|} h. The angle phi
    (array_like) between two tokens without normalisation shrinks at h; each token moves at h / 2.

    Geshkovski, Letrouit, Polyanskiy, Rigollet, arXiv:2312.10794.

    >>> tau = convex_angle(4.0)
    >>> near, largest, far = pair_force(4.0, np.array([0.9 * tau, tau, 1.1 * tau])).round(4)
    >>> bool(near < largest > far), largest
    (True, np.float64(0.2939))
    """
    phi = np.asarray(angle, dtype=np.float64)
    half = np.sin(0.5 * phi) if beta >= 0 else np.cos(0.5 * phi)
    return np.asarray(np.exp(-2.0 * abs(beta) * half**2) * np.sin(phi))


def convex_angle(beta: float) -> float:
    """Angle tau at which `pair_force` h is largest: closer tokens approach more slowly.

        cos tau = beta sin^2 tau = (sqrt(1 + 4 beta^2) - 1) / (2 beta)

    It is about beta^{-1/2} for large beta, and tau(-beta) = pi - tau(beta).

    >>> tau = convex_angle(7.0)
    >>> bool(abs(np.cos(tau) - 7.0 * np.sin(tau) ** 2) < 1e-14)
    True
    """
    if beta < 0:
        return math.pi - convex_angle(-beta)
    root = math.hypot(1.0, 2.0 * beta)
    # sin(tau / 2)^2 = (1 - cos tau) / 2, without cancellation.
    return 2.0 * math.asin(math.sqrt(0.5 * (1.0 + 1.0 / (root + 2.0 * beta)) / (1.0 + root)))


def arc_rate(beta: float, length: float) -> float:
    """Contraction rate h'(l) of measures in an arc of length l below `convex_angle`, strength 1.

    Two such measures with equal means have W_2(t) <= e^{-h'(l) t} W_2(0), in scaled time. The
    energy E of one measure is near its maximum (Polyak and Lojasiewicz):

        a(1) / (2 beta) - E <= int |v|^2 dmu / (2 h'(l)).

    >>> arc_rate(5.0, 0.0), arc_rate(5.0, convex_angle(5.0)) < 1e-15
    (1.0, True)
    """
    peak = math.exp(-2.0 * beta * math.sin(0.5 * length) ** 2 + beta - abs(beta))
    return peak * (math.cos(length) - beta * math.sin(length) ** 2)


@checked
def is_one_cluster_almost_surely(beta: float, tokens: int) -> bool:
    """True if (n - 1) tau < pi: n tokens on the circle end as one cluster from almost every start.

    The condition, beta > cos(x) / sin(x)^2 with x = pi / (n - 1), is sufficient, not necessary. At
    a local maximum of the energy every subset of tokens is closer than tau to the rest. So tokens
    form a chain of length below (n - 1) tau. In half a circle only one cluster is stationary.

    >>> [is_one_cluster_almost_surely(beta, 7) for beta in (3.4641, 3.4642)]
    [False, True]
    """
    at_least(1, tokens=tokens)
    at_least(0.0, beta=beta)
    return (tokens - 1) * convex_angle(beta) < math.pi
