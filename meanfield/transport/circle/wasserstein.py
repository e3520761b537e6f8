"""Exact Wasserstein distances on the circle of radius 1, for weighted points and densities.

    W_p(mu, nu)^p = min over couplings of int d(x, y)^p,   d geodesic,   p = 1 or 2.

Once the circle is cut, an optimal coupling is monotone. The cut is one number alpha, the minimum
of a convex function [1]_ [2]_. `w1` and `w2` treat densities; this module treats points, and points
against the uniform measure.

Masses of points are integers with the same total on both sides. So coinciding levels are exactly
equal, in whatever order masses are added: equal measures have distance 0, and small distances keep
their digits. The total is n m for equal weights, and 2^60 for others: weights move by 4e-19.
"""

from __future__ import annotations

import numpy as np

from meanfield.arrays import ComplexArray, FloatArray, IntArray
from meanfield.engines.compiled import njit
from meanfield.engines.fourier.cdf import check_density, local_polynomials
from meanfield.measures import Density, Measure
from meanfield.transport.bracket import check_power
from meanfield.transport.circle.convex import SAMPLES, WINDOW, Evaluation, minimise_convex
from meanfield.transport.circle.w1 import w1_with_density
from meanfield.transport.circle.w2 import w2_densities, w2_points_density


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

    with the cumulative distributions F, G and their quantile functions Q. To the uniform measure
    W_2^2 = 2 sum_{k >= 1} |c_k|^2 / k^2. Exact up to rounding, in time O(n log n) for n points and
    O(K log K) for degree K. A density may have a negative part of mass 1e-3; the error of W_p^p is
    then some pi^p times that mass. `cost` must be "geodesic"; `tolerance` is not used.

    .. [1] Rabin, Delon, Gousseau, Transportation distances on the circle, J. Math. Imaging
       Vision 41 (2011), 147-167.
    .. [2] Delon, Salomon, Sobolevski, Fast transport optimization for Monge costs on the circle,
       SIAM J. Appl. Math. 70 (2010), 2239-2258.

    >>> import meanfield as mf
    >>> dirac, uniform = mf.Measure(mf.Circle(), [0.3]), mf.Density(mf.Circle(), [1.0])
    >>> 2 * wasserstein_circle(dirac, uniform) / np.pi
    1.0
    """
    check_power(p)
    if cost != "geodesic":
        raise ValueError(f'cost = {cost!r} is not known on the circle. Known: "geodesic".')
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
    distance = w1_points if p == 1 else w2_points
    x, y = reduce_angles(first.points), reduce_angles(second.points)
    return distance(x, _unequal(first.weights), y, _unequal(second.weights))


def _points_to_density(measure: Measure, coefficients: ComplexArray, p: int) -> float:
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
    """Weights, or None if all are equal."""
    return None if weights is None or np.ptp(weights) == 0.0 else weights


_TOTAL = 2**60  # sums of two levels stay below 2^63
_DIRECT = 8192


def reduce_angles(points: FloatArray) -> FloatArray:
    """Angles in [0, 2 pi), as a new array."""
    reduced: FloatArray = _reduced(points)
    return reduced


def w1_points(
    first: FloatArray,
    first_weights: FloatArray | None,
    second: FloatArray,
    second_weights: FloatArray | None,
) -> float:
    """W_1 = int |F - G - alpha| of angles in [0, 2 pi), alpha the median of F - G over arcs."""
    x, x_levels, y, y_levels = _sorted_levels(first, first_weights, second, second_weights)
    points, levels = _merge(x, x_levels, y, y_levels)
    arcs = np.append(np.diff(points), points[0] + 2.0 * np.pi - points[-1])
    differences = np.abs(levels - _median(points, levels, arcs))
    return float(arcs @ differences / x_levels[-1])


def w2_points(
    first: FloatArray,
    first_weights: FloatArray | None,
    second: FloatArray,
    second_weights: FloatArray | None,
) -> float:
    """W_2^2 = min_alpha int_0^1 (Q_F(s + alpha) - Q_G(s))^2 ds between angles in [0, 2 pi).

    Quantile functions continue by Q(s + 1) = Q(s) + 2 pi. The integral is convex and piecewise
    linear in alpha, with kinks where levels of F and G meet.
    """
    x, x_levels, y, y_levels = _sorted_levels(first, first_weights, second, second_weights)
    total = int(x_levels[-1])
    # Near uniform the best shift is the mean of F - G, and int F dtheta = int (2 pi - x) dmu.
    start = round((_first_moment(y, y_levels) - _first_moment(x, x_levels)) / (2.0 * np.pi))

    def evaluate(shift: int) -> Evaluation:
        value, slope = _shifted_cost(x, x_levels, y, y_levels, shift)
        return value / total, slope / total, 0.0

    return float(np.sqrt(minimise_convex(evaluate, -total, total, start).value))


def w2_points_uniform(points: FloatArray, weights: FloatArray | None) -> float:
    """W_2 between angles in [0, 2 pi) and the uniform measure, in closed form.

    Point i receives an arc of length 2 pi w_i, centred at a_i + alpha with alpha free:

        W_2^2 = Var_w(a - x) + sum_i w_i (2 pi w_i)^2 / 12.
    """
    if weights is None:
        points = np.sort(points)
        weights = np.full(len(points), 1.0 / len(points))
    else:
        order = np.argsort(points)
        points, weights = points[order], weights[order]
    displacement = 2.0 * np.pi * (np.cumsum(weights) - 0.5 * weights) - points
    displacement -= weights @ displacement
    spread = (2.0 * np.pi * weights) ** 2 / 12.0
    return float(np.sqrt(weights @ (displacement**2 + spread)))


def _sorted_levels(
    first: FloatArray,
    first_weights: FloatArray | None,
    second: FloatArray,
    second_weights: FloatArray | None,
) -> tuple[FloatArray, IntArray, FloatArray, IntArray]:
    """Sorted points with mass, and the cumulative mass up to and including each."""
    n, m = len(first), len(second)
    if first_weights is None and second_weights is None:
        # sort is many times faster than argsort.
        return np.sort(first), m * np.arange(1, n + 1), np.sort(second), n * np.arange(1, m + 1)
    return *_by_angle(first, first_weights), *_by_angle(second, second_weights)


def _by_angle(points: FloatArray, weights: FloatArray | None) -> tuple[FloatArray, IntArray]:
    n = len(points)
    shares = np.full(n, 1.0 / n) if weights is None else weights / weights.sum()
    masses = np.rint(shares * float(_TOTAL)).astype(np.int64)
    masses[np.argmax(masses)] += _TOTAL - masses.sum()  # the largest mass takes the rounding
    order = np.argsort(points)
    order = order[masses[order] > 0]
    return points[order], np.cumsum(masses[order])


def _first_moment(points: FloatArray, levels: IntArray) -> float:
    """Integral of the angle, in units of mass."""
    return float(np.diff(levels, prepend=0) @ points)


def _median(points: FloatArray, levels: IntArray, arcs: FloatArray) -> int:
    """Median of levels weighted by the arcs that begin at the points."""
    remaining = np.arange(len(levels))
    before = 0.0
    if len(levels) > _DIRECT:
        # Levels at equispaced angles give a window; only levels inside it need sorting.
        angles = np.linspace(0.0, 2.0 * np.pi, SAMPLES, endpoint=False)
        sample = np.sort(levels[np.searchsorted(points, angles) - 1])
        low = sample[int((0.5 - WINDOW) * SAMPLES)]
        high = sample[int((0.5 + WINDOW) * SAMPLES)]
        under = float(arcs @ (levels < low))
        inside = np.flatnonzero((levels >= low) & (levels <= high))
        if under < np.pi <= under + arcs[inside].sum():
            remaining, before = inside, under
    order = remaining[np.argsort(levels[remaining])]
    lengths = np.cumsum(arcs[order]) + before
    return int(levels[order[min(int(np.searchsorted(lengths, np.pi)), len(order) - 1)]])


@njit
def _reduced(points: FloatArray) -> FloatArray:
    reduced = np.empty_like(points)
    turn = 2.0 * np.pi
    for i in range(len(points)):
        angle = points[i]
        if angle < 0.0 or angle >= turn:
            angle -= turn * np.floor(angle / turn)
            if angle >= turn or angle < 0.0:  # -1e-17 + 2 pi rounds to 2 pi
                angle = 0.0
        reduced[i] = angle
    return reduced


@njit
def _merge(
    x: FloatArray, x_levels: IntArray, y: FloatArray, y_levels: IntArray
) -> tuple[FloatArray, IntArray]:
    """All points in increasing order, and F - G from each to the next."""
    n, m = len(x), len(y)
    points = np.empty(n + m)
    levels = np.empty(n + m, dtype=np.int64)
    i = j = 0
    level = other = np.int64(0)
    for k in range(n + m):
        if j == m or (i < n and x[i] <= y[j]):
            points[k], level = x[i], x_levels[i]
            i += 1
        else:
            points[k], other = y[j], y_levels[j]
            j += 1
        levels[k] = level - other
    return points, levels


@njit
def _shifted_cost(
    x: FloatArray, x_levels: IntArray, y: FloatArray, y_levels: IntArray, shift: int
) -> tuple[float, float]:
    """Cost of the coupling at a shift, times `total`, and its slope with respect to the shift."""
    turn = 2.0 * np.pi
    total = y_levels[-1]
    laps = shift // total
    i = np.searchsorted(x_levels, shift - laps * total, side="right")
    j = 0
    at = 0
    value = 0.0
    slope = 0.0
    while at < total:
        position = x[i] + turn * laps
        next_x = x_levels[i] + laps * total - shift
        next_y = y_levels[j]
        until = min(next_x, next_y)
        value += (until - at) * (position - y[j]) ** 2
        at = until
        if next_x == until:
            following = x[i + 1] if i + 1 < len(x) else x[0] + turn
            following += turn * laps
            slope += (following - position) * (following + position - 2.0 * y[j])
            i += 1
            if i == len(x):
                i = 0
                laps += 1
        if next_y == until:
            j += 1
    return value, slope
