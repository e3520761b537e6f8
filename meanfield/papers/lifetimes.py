r"""Lifetimes of polygons of clusters, where two clusters meet, and the law of the closest pair.

k equal clusters (k even) at equal angles break up in pairs: gaps are g and 4 pi / k - g in turn,
with g = 2 pi / k - x. For h(phi) = a(cos phi) sin phi and phi_j = 2 pi (2 j + 1) / k:

    x' = strength (2 / k) sum_{j < k/2} [h(phi_j - x) - h(phi_j + x)] / 2 Z = x (Lambda + O(x^2))

Here Z = 1 (USA) or (1 / k) sum_j [a(cos 4 pi j / k) + a(cos(phi_j - x))] (SA), by the symmetry of
the angles phi_j. The bracket cancels near x = 0. The equal form

    a e^{...} [sin phi_j cos x sinh(beta sin phi_j sin x) - cos phi_j sin x cosh(...)]

is accurate for all x. For small g the same sum is used with the opposite sign, 4 pi j / k in place
of phi_j, and g in place of x. The time from x = error to g = gap is a quadrature in ln(x / g),
whose integrand is smooth at both ends:

    Lambda T = ln(1 / error) + C + O(error^2).

k = 2 is a pair of opposite clusters. k = 4 is the square, g' = -sin g sinh(beta cos g) in the time
of papers (SA: over (cosh beta + cosh(beta cos g)) / 2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from meanfield.arguments import at_least, at_most, checked
from meanfield.arrays import FloatArray
from meanfield.bases.legendre import gauss_legendre
from meanfield.observables.clusters import cluster_radius
from meanfield.papers.random_tokens import cap_mass
from meanfield.papers.two_clusters import check_masses
from meanfield.problem import Problem
from meanfield.spaces import Geometry
from meanfield.spectrum.cluster_rates import check_no_diffusion

_ORDER = 16
# Panels of ln(x / g) are halved until the integral changes by at most _CONVERGED. The error of the
# last result, about 2^32 times smaller, is rounding. The integrand falls like (beta x)^2 and is
# rounding below _SMALLEST.
_PANEL = 0.5
_SMALLEST = 1e-9
_CONVERGED = 1e-10
# Rounding of a sum with one term a cluster.
_ROUNDING = 1e-14
_HALVINGS = 8
# Panels per width beta^{-1/2} of e^{beta cos phi}: poles are farther from all nodes than a panel.
_PER_WIDTH = 4
_MOST_ORDERS = 4
# Least ln(time): the series neglects times of size 1, at the other end and, under SA, elsewhere.
_LEAST_LOG = 4.0


_Pace = Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True)
class PolygonLifetime:
    """Lifetime of an even polygon of k equal clusters, whose error grows like e^{rate t}.

    - gap: geodesic angle at which two clusters have met.
    - rate: lambda, in scaled time.
    - constant: C of rate x time = ln(1 / error) + C + O(error^2).
    """

    clusters: int
    gap: float
    rate: float
    constant: float
    _pace: _Pace

    def time(self, error: float) -> float:
        """Scaled time until pairs have met, from gaps 2 pi / k -+ error (radians) in turn."""
        if not error > 0.0:
            raise ValueError(f"error must be positive, got {error:g}: a polygon stays one.")
        end = 2.0 * math.pi / self.clusters - self.gap
        if error >= end:
            return 0.0
        excess = _excess(self._pace, self.rate, error, end, self.gap)
        return (math.log(end) - math.log(error)) / self.rate + excess

    def __repr__(self) -> str:
        return (
            f"PolygonLifetime({self.clusters} clusters: rate {self.rate:.4g}, "
            f"rate x time = ln(1/error) {self.constant:+.4g})"
        )


@checked
def polygon_lifetime(problem: Problem, clusters: int, gap: float | None = None) -> PolygonLifetime:
    """Lifetime of an even polygon of equal clusters that pair up, with its constant.

        rate x time = ln(1 / error) + constant + O(error^2)

    for gaps of 2 pi / k - error and 2 pi / k + error in turn; `.time(error)` is exact. The rate
    alone is `cluster_rates(...).escape` of that mode. The constant matters: opposite clusters at
    beta = 9 with an error of 0.2 live 0.7 / rate, not ln(1 / 0.2) / rate = 1.6 / rate.

    Parameters
    ----------
    problem : Problem
        On a sphere of any dimension (the polygon on a great circle), with exponential(beta) or, for
        two clusters, linear(), and without diffusion; its initial measure is not used.
    clusters : int
        Even, 2 to 1,000.
    gap : float, optional
        Geodesic angle at which clusters have met. Default: 0.25 / sqrt(|beta|), as for counts of
        clusters.

    Returns
    -------
    PolygonLifetime
        Times have a relative error of about 1e-12.

    Raises
    ------
    ValueError
        If the number is odd, or the gap is not between 0 and 2 pi / clusters. If the mode does not
        grow until clusters meet (repulsion, beta < 0), or the lifetime is beyond 1e308. If the
        kernel is another, or there is diffusion.

    Examples
    --------
    A square, USA, in the papers' time:

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA)
    >>> square = polygon_lifetime(problem, 4, gap=math.acos(0.999))
    >>> square
    PolygonLifetime(4 clusters: rate 0.03369, rate x time = ln(1/error) -0.5459)
    >>> round(square.time(0.02) * math.exp(-5.0), 10)
    0.673371825
    """
    problem.check_own_clock("lifetimes of clusters")
    check_no_diffusion(problem)
    zonal, k = problem.zonal, clusters
    at_least(2, clusters=k)
    at_most(1_000, clusters=k)
    if k % 2:
        raise ValueError(f"clusters must be even to meet in pairs, got {k}: see mf.cluster_rates.")
    beta = zonal.kernel.log_slope
    if beta is None:
        raise ValueError("lifetimes of polygons need mf.exponential(beta) or mf.linear().")
    met = cluster_radius(beta) if gap is None else gap
    end = 2.0 * math.pi / k - met
    if not (met > 0.0 and end > 0.0):
        raise ValueError(f"gap must lie between 0 and 2 pi / {k}, got {met:g}.")
    pace, rate = _polygon_pace(k, beta, zonal.normalized, zonal.strength)
    x = np.linspace(0.0, end, 201)[1:]
    if not (rate > 0.0 and np.all(pace(x, met + (end - x)) > 0.0)):
        raise ValueError(
            f"{k} clusters do not pair up at beta = {beta:g} and strength {zonal.strength:g}: "
            "their alternating mode does not grow, or not until they meet."
        )
    constant = math.log(end) + rate * _excess(pace, rate, 0.0, end, met)
    return PolygonLifetime(k, met, rate, constant, pace)


def _polygon_pace(k: int, beta: float, normalized: bool, strength: float) -> tuple[_Pace, float]:
    """Relative speed x' / x as a function of x and the gap, each (n,), and its limit at x = 0."""
    j = np.arange(k // 2)
    phi, even = 2.0 * np.pi * (2 * j + 1) / k, 4.0 * np.pi * j / k
    own = np.exp(beta * np.cos(even) - abs(beta)).sum()

    def partition(x: FloatArray) -> FloatArray:
        near = np.exp(beta * np.cos(phi - x[:, None]) - abs(beta)).sum(axis=1)
        return np.asarray((own + near) / k) if normalized else np.ones(len(x))

    def pull(angles: FloatArray, x: FloatArray) -> FloatArray:
        """Sum of [h(angle - x) - h(angle + x)] / 2."""
        sine, cosine = _sine_and_cosine(angles)
        x = x[:, None]
        turned = beta * sine * np.sin(x)
        size = np.abs(turned)
        peak = np.exp(beta * cosine * np.cos(x) - abs(beta) + size)
        sinh = 0.5 * np.copysign(np.expm1(-2.0 * size), turned)
        cosh = 0.5 * (1.0 + np.exp(-2.0 * size))
        terms = peak * (sine * np.cos(x) * sinh - cosine * np.sin(x) * cosh)
        return np.asarray(terms.sum(axis=1))

    def pace(x: FloatArray, gap: FloatArray) -> FloatArray:
        speed, late = np.empty(len(x)), x > gap
        speed[~late], speed[late] = pull(phi, x[~late]), -pull(even, gap[late])
        return np.asarray(speed / x * (2.0 * strength / k) / partition(x))

    sine, cosine = _sine_and_cosine(phi)
    attention = np.exp(beta * cosine - abs(beta))
    if attention.max() == 0.0:
        raise ValueError(
            f"{k} clusters live longer than 1e308 at beta = {beta:g}: log_pair_time has the "
            "logarithm for one of the pairs alone."
        )
    slopes = attention * (beta * sine**2 - cosine)
    total = float(slopes.sum())
    if abs(total) <= _ROUNDING * np.abs(slopes).sum():
        total = 0.0
    return pace, 2.0 * strength / k * total / float(partition(np.zeros(1))[0])


def _sine_and_cosine(angles: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sine and cosine of multiples of 2 pi / k, exactly 0 at their zeros."""
    sine, cosine = np.sin(angles), np.cos(angles)
    sine[np.abs(sine) < 1e-15], cosine[np.abs(cosine) < 1e-15] = 0.0, 0.0
    return sine, cosine


def _excess(pace: _Pace, rate: float, error: float, end: float, gap: float) -> float:
    """Integral of 1 / pace - 1 / rate over ln x, from x = error to end, where the gap is `gap`."""
    full = end + gap
    start = max(error, _SMALLEST * end)
    low, high = math.log(start / (full - start)), math.log(end / gap)
    panels = math.ceil((high - low) / _PANEL)
    nodes, weights = gauss_legendre(_ORDER)
    value = math.nan
    for _ in range(_HALVINGS):
        width = (high - low) / panels
        ratio = np.exp(low + width * (np.arange(panels)[:, None] + 0.5 * (1.0 + nodes)))
        x, left = full * ratio / (1.0 + ratio), full / (1.0 + ratio)
        inverse = 1.0 / pace(x.ravel(), left.ravel()).reshape(x.shape) - 1.0 / rate
        coarse, value = value, float(width * ((inverse * left / full) @ weights).sum())
        if abs(value - coarse) <= _CONVERGED * (abs(value) + 1.0 / rate):
            break
        panels *= 2
    return value


@checked
def meeting_share(
    problem: Problem, angle: float, masses: tuple[float, float], until: float = 0.0
) -> float:
    """Share of the distance that the first of two clusters alone moves until they meet.

    USA and doubly stochastic attention conserve the mean angle, so it is m_2 / (m_1 + m_2). Under
    SA, with b = a(cos phi) / a(1), speeds are m_2 b / (m_1 + m_2 b) and m_1 b / (m_2 + m_1 b). Far
    apart their ratio is m_2^2 : m_1^2, and m_2 : m_1 within a distance of about beta^{-1/2}.

    - problem: on a sphere of any dimension, with exponential(beta) or linear(), without diffusion.
    - angle, until: geodesic angles between clusters, radians, 0 <= until < angle <= pi.
    - masses (float, float): as for `two_cluster_time`.

    >>> import meanfield as mf
    >>> steep = mf.Problem(mf.Circle(), mf.exponential(1e6), mf.SA)
    >>> round(meeting_share(steep, 1.2, (0.3, 0.7)), 6), round(0.7**2 / (0.3**2 + 0.7**2), 6)
    (0.844652, 0.844828)
    """
    problem.check_own_clock("meetings of clusters")
    check_no_diffusion(problem)
    check_masses(masses)
    if not 0.0 <= until < angle <= math.pi:
        raise ValueError(f"angles must be 0 <= until < angle <= pi, got {until:g} and {angle:g}.")
    beta = problem.zonal.kernel.log_slope
    if beta is None:
        raise ValueError("where clusters meet needs mf.exponential(beta) or mf.linear().")
    first, second = masses
    if not problem.zonal.normalized:
        return second / (first + second)
    panels = math.ceil(_PER_WIDTH * (1.0 + (angle - until) * math.sqrt(abs(beta))))
    nodes, weights = gauss_legendre(_ORDER)
    phi = until + (angle - until) / panels * (
        np.arange(panels)[:, None] + 0.5 * (1.0 + nodes)
    )  # (panels, nodes)
    # b or 1 / b, whichever is at most 1.
    b = np.exp(-2.0 * abs(beta) * np.sin(0.5 * phi) ** 2)
    near, far = (1.0, b) if beta >= 0 else (b, 1.0)
    speed = second * (second * near + first * far)
    other = first * (first * near + second * far)
    return float(((speed / (speed + other)) @ weights).mean())


@checked
def log_pair_time(
    problem: Problem, angle: float, masses: tuple[float, float] = (0.5, 0.5), orders: int = 4
) -> float:
    """Ln of the scaled time of two clusters alone, by Laplace's series for large beta.

        int 1/a du / (1 - u^2) = e^{beta (1 - u_0)} [G / beta + G' / beta^2 + ...],
        G = 1 / (1 - u_0^2), G' = 2 u_0 G^2, G'' = (2 + 6 u_0^2) G^3, G''' = 24 u_0 (1 + u_0^2) G^4

    with u_0 = cos angle, divided by M = m_1 + m_2 (USA) or times m_1 m_2 / (m_1^2 + m_2^2) (SA). It
    is finite where `two_cluster_time` overflows. It does not depend on the angle of meeting.

    - problem: with exponential(beta), beta > 0, a positive strength and without diffusion.
    - angle: between 0 and pi, radians, and well beyond beta^{-1/2}.
    - orders: number of terms, 1 to 4.

    ValueError if the terms left out, up to the fifth, sum to more than a tenth of the first, or the
    time is below e^4.

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=81.0), mf.USA)
    >>> exact = math.log(mf.two_cluster_time(problem, 1.2, 0.01))
    >>> [f"{math.expm1(log_pair_time(problem, 1.2, orders=n) - exact):.1e}" for n in (1, 2, 3, 4)]
    ['-1.1e-02', '-5.9e-04', '-3.1e-05', '-2.6e-06']
    """
    problem.check_own_clock("times of clusters")
    check_no_diffusion(problem)
    check_masses(masses)
    at_least(1, orders=orders)
    at_most(_MOST_ORDERS, orders=orders)
    zonal = problem.zonal
    beta = zonal.kernel.log_slope
    if beta is None or beta <= 0.0 or zonal.strength <= 0.0:
        raise ValueError("Laplace's series needs mf.exponential(beta) with beta > 0, strength > 0.")
    if not 0.0 < angle < math.pi:
        raise ValueError(f"angle must lie between 0 and pi, got {angle:g}.")
    u, g = math.cos(angle), 1.0 / math.sin(angle) ** 2
    derivatives = [1.0, 2.0 * u * g, (2.0 + 6.0 * u * u) * g**2, 24.0 * u * (1.0 + u * u) * g**3]
    derivatives.append(24.0 * (1.0 + 10.0 * u**2 + 5.0 * u**4) * g**4)
    terms = [each / beta**n for n, each in enumerate(derivatives)]
    series = sum(terms[:orders])
    if sum(map(abs, terms[orders:])) > 0.1:
        raise ValueError(
            f"angle {angle:g} is too near 0 or pi for a series in 1 / beta at beta = {beta:g} with "
            f"orders = {orders}: two_cluster_time is exact."
        )
    first, second = masses
    factor = 1.0 / (first + second)
    if zonal.normalized:
        factor = first * second / (first**2 + second**2)
    start = 2.0 * beta * math.sin(0.5 * angle) ** 2
    logarithm = start + math.log(g / beta * series * factor) if factor else -math.inf
    if logarithm < _LEAST_LOG:
        raise ValueError(
            f"what Laplace's series leaves out is no small share of a time of e^{logarithm:.3g} "
            f"(beta = {beta:g}, angle = {angle:g}, masses {first:g}, {second:g}): two_cluster_time "
            "is exact."
        )
    return logarithm - math.log(zonal.strength)


@checked
def closest_pair_survival(manifold: Geometry, tokens: int, angles: FloatArray) -> FloatArray:
    """Probability that no two of n independent uniform tokens are nearer than an angle.

    On the circle (1 - n angle / 2 pi)^{n - 1}, exactly. On S^{d-1} (1 - q)^{n (n - 1) / 2}, q the
    mass of a cap, as if pairs were independent: pairwise they are.

    It gives the law of the time T of the first merger of n equal clusters at random positions:
    (1 / beta) ln T -> w = 1 - cos(angle) as beta -> infinity. On S^2 w is nearly exponential with
    mean 4 / (n (n - 1)).

    Parameters
    ----------
    manifold : Circle or Sphere
        The unit sphere of R^d, any d.
    tokens : int
        n, at least 2.
    angles : ndarray
        From 0 to pi, radians.

    Returns
    -------
    ndarray, shape of angles

    Raises
    ------
    ValueError
        If tokens < 2, or an angle is not between 0 and pi.

    Examples
    --------
    >>> import meanfield as mf
    >>> closest_pair_survival(mf.Circle(), 5, [0.1, 0.5]).round(4)
    array([0.7177, 0.1314])
    """
    at_least(2, tokens=tokens)
    angles = np.asarray(angles, dtype=np.float64)
    masses = np.array([cap_mass(manifold, float(angle)) for angle in angles.ravel()])
    if manifold.dimension == 1:
        left = np.maximum(1.0 - 0.5 * tokens * masses, 0.0)
        return np.asarray((left ** (tokens - 1)).reshape(angles.shape))
    with np.errstate(divide="ignore"):
        logs = 0.5 * tokens * (tokens - 1) * np.log1p(-masses)
    return np.asarray(np.exp(logs).reshape(angles.shape))
