"""Exact Wasserstein distances on the circle, geodesic distance, radius 1.

    W_p(mu, nu)^p = min over couplings of int d(x, y)^p,   d = |x - y| mod 2 pi,   p = 1 or 2,

for any two of: weighted points, a density, the uniform measure. On the circle an optimal coupling
is monotone once the circle is cut, so that only the cut, one number alpha, is searched for
[1]_ [2]_; it minimises a convex function. Each pair has its file: `points` (points),
`w1` (W_1 with densities), `w2` (points and a density), `w2_densities`.
"""

from __future__ import annotations

import numpy as np

from meanfield.arrays import ComplexArray, FloatArray
from meanfield.measures import Density, Measure


def wasserstein_circle(
    first: Measure | Density,
    second: Measure | Density,
    p: int = 1,
    *,
    cost: str = "geodesic",
    tolerance: float = 0.0,
) -> float:
    """Wasserstein distance W_p of two measures on the circle, p = 1 or 2, in radians.

        W_1 = min_alpha int_0^{2 pi} |F - G - alpha| dtheta,
        W_2^2 = min_alpha int_0^1 (Q_F(s + alpha) - Q_G(s))^2 ds,

    with the cumulative distributions F, G and their quantile functions. To the uniform measure
    W_2^2 = 2 sum_{k >= 1} |c_k|^2 / k^2. Exact up to rounding for points, at a cost of O(n log n),
    and of O(K log K) for degree K. Densities enter as they are, without a grid of their own; where
    one is negative by rounding or truncation, by a mass of 1e-3 at most, W_p^p is right to some
    pi^p times that mass. The cost is "geodesic" only, and the tolerance not used.

    .. [1] Rabin, Delon, Gousseau, Transportation distances on the circle, J. Math. Imaging
       Vision 41 (2011), 147-167.
    .. [2] Delon, Salomon, Sobolevski, Fast transport optimization for Monge costs on the circle,
       SIAM J. Appl. Math. 70 (2010), 2239-2258.

    >>> import meanfield as mf
    >>> dirac, uniform = mf.Measure(mf.Circle(), [0.3]), mf.Density(mf.Circle(), [1.0])
    >>> 2 * wasserstein_circle(dirac, uniform) / np.pi
    1.0
    """
    from meanfield.engines.fourier.cdf import check_density

    if cost != "geodesic":
        raise ValueError(f'cost = {cost!r} is not known on the circle. Known: "geodesic".')
    if p not in (1, 2):
        raise ValueError(f"p = {p!r} is not known, expected 1 or 2.")
    for name, measure in (("first", first), ("second", second)):
        if isinstance(measure, Density):
            check_density(measure.coefficients, name)
    if isinstance(first, Measure):
        if isinstance(second, Measure):
            return _between_points(first, second, p)
        return _points_to_density(first, second.coefficients, p)
    if isinstance(second, Measure):
        return _points_to_density(second, first.coefficients, p)
    return _between_densities(first.coefficients, second.coefficients, p)


def _between_points(first: Measure, second: Measure, p: int) -> float:
    from meanfield.transport.circle.points import reduce_angles, w1_points, w2_points

    distance = w1_points if p == 1 else w2_points
    x, y = reduce_angles(first.points), reduce_angles(second.points)
    return distance(x, _unequal(first.weights), y, _unequal(second.weights))


def _points_to_density(measure: Measure, coefficients: ComplexArray, p: int) -> float:
    from meanfield.engines.fourier.cdf import local_polynomials
    from meanfield.transport.circle.points import reduce_angles, w2_points_uniform
    from meanfield.transport.circle.w1 import w1_with_density
    from meanfield.transport.circle.w2 import w2_points_density

    points, weights = reduce_angles(measure.points), _unequal(measure.weights)
    if p == 2 and not np.any(coefficients[1:]):
        return w2_points_uniform(points, weights)
    rows = local_polynomials(coefficients)
    if weights is None:
        points.sort()  # many times faster than argsort
        levels = np.empty(0)
    else:
        order = np.argsort(points)
        points, levels = points[order], np.cumsum(weights[order])
    if p == 1:
        return w1_with_density(points, levels, rows, 1.0)
    if weights is None:
        levels = np.arange(1, len(points) + 1) / len(points)
    return w2_points_density(points, levels, rows)


def _between_densities(first: ComplexArray, second: ComplexArray, p: int) -> float:
    from meanfield.engines.fourier.cdf import local_polynomials
    from meanfield.transport.circle.w1 import w1_with_density
    from meanfield.transport.circle.w2_densities import w2_densities

    difference = np.zeros(max(len(first), len(second)), dtype=np.complex128)
    difference[: len(first)] -= first
    difference[: len(second)] += second
    difference[0] = 0.0  # both have mass 1
    if not np.any(difference):
        return 0.0
    if p == 1:
        return w1_with_density(np.empty(0), np.empty(0), local_polynomials(difference), 0.0)
    if not (np.any(first[1:]) and np.any(second[1:])):
        k = np.arange(1, len(difference))
        return float(np.sqrt(2.0) * np.linalg.norm(difference[1:] / k))
    return w2_densities(local_polynomials(first), local_polynomials(second))


def _unequal(weights: FloatArray | None) -> FloatArray | None:
    """Weights, or None if they are all the same."""
    return None if weights is None or np.ptp(weights) == 0.0 else weights
