"""Distances on the circle between weighted points, and from points to the uniform measure.

Masses are integers that sum to the same total on both sides, so that levels which coincide do so
exactly, whatever the order in which they were added up: equal measures are at distance 0, and
small distances keep their digits. The total is n m for equal weights, 2^60 for others (a weight
then moves by 4e-19, less than it was rounded by).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray
from meanfield.transport._njit import njit
from meanfield.transport.convex import Evaluation, minimise_convex

IntArray = npt.NDArray[np.int64]

_TOTAL = 2**60  # sums of two levels stay below 2^63


def reduce_angles(points: FloatArray) -> FloatArray:
    """Angles in [0, 2 pi), as a new array.

    Examples
    --------
    >>> reduce_angles(np.array([1.0, -1.0, 2 * np.pi])).round(3)
    array([1.   , 5.283, 0.   ])
    """
    reduced: FloatArray = _reduced(points)
    return reduced


def w1_points(
    first: FloatArray,
    first_weights: FloatArray | None,
    second: FloatArray,
    second_weights: FloatArray | None,
) -> float:
    """W_1 = min_alpha int |F - G - alpha| between points with angles in [0, 2 pi).

    F - G is constant between neighbouring points; its median over all arcs, the one across 0
    among them, is alpha.
    """
    masses, other, total = _integer_masses(first_weights, len(first), second_weights, len(second))
    points = np.concatenate([first, second])
    order = np.argsort(points)
    points = points[order]
    levels = np.cumsum(np.concatenate([masses, -other])[order])
    arcs = np.append(np.diff(points), points[0] + 2.0 * np.pi - points[-1])
    by_level = np.argsort(levels)
    lengths = np.cumsum(arcs[by_level])
    median = levels[by_level[np.searchsorted(lengths, 0.5 * lengths[-1])]]
    return float(arcs @ (np.abs(levels - median) / total))


def w2_points(
    first: FloatArray,
    first_weights: FloatArray | None,
    second: FloatArray,
    second_weights: FloatArray | None,
) -> float:
    """W_2 between points with angles in [0, 2 pi).

        W_2^2 = min_alpha int_0^1 (Q_F(s + alpha) - Q_G(s))^2 ds

    with the quantile functions carried on beyond [0, 1] by Q(s + 1) = Q(s) + 2 pi. It is convex
    and piecewise linear in alpha, with kinks where levels of F and G meet.
    """
    masses, other, total = _integer_masses(first_weights, len(first), second_weights, len(second))
    x, x_levels = _sorted_levels(first, masses)
    y, y_levels = _sorted_levels(second, other)
    # The best shift near uniform is the mean of F - G, and int F dtheta = int (2 pi - x) dmu.
    mean = (second @ (other / total) - first @ (masses / total)) / (2.0 * np.pi)
    start = round(mean * total)

    def evaluate(shift: int) -> Evaluation:
        value, slope = _shifted_cost(x, x_levels, y, y_levels, shift)
        return value / total, slope / total, 0.0

    return float(np.sqrt(minimise_convex(evaluate, -total, total, start).value))


def w2_points_uniform(points: FloatArray, weights: FloatArray | None) -> float:
    """W_2 to the uniform measure of points with angles in [0, 2 pi), in closed form.

    Point i receives an arc of length 2 pi w_i, centred at a_i + alpha with alpha free, so that

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


def _integer_masses(
    first: FloatArray | None, n: int, second: FloatArray | None, m: int
) -> tuple[IntArray, IntArray, int]:
    """Masses of both measures in units that make both totals the same integer."""
    if first is None and second is None:
        return np.full(n, m, dtype=np.int64), np.full(m, n, dtype=np.int64), n * m
    return _quantised(first, n), _quantised(second, m), _TOTAL


def _quantised(weights: FloatArray | None, n: int) -> IntArray:
    shares = np.full(n, 1.0 / n) if weights is None else weights / weights.sum()
    masses = np.rint(shares * float(_TOTAL)).astype(np.int64)
    masses[np.argmax(masses)] += _TOTAL - masses.sum()  # rounding, to where it matters least
    return masses


def _sorted_levels(points: FloatArray, masses: IntArray) -> tuple[FloatArray, IntArray]:
    """Points in increasing order without those of no mass, and the mass up to and with each."""
    order = np.argsort(points)
    order = order[masses[order] > 0]
    return points[order], np.cumsum(masses[order])


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
def _shifted_cost(
    x: FloatArray, x_levels: IntArray, y: FloatArray, y_levels: IntArray, shift: int
) -> tuple[float, float]:
    """Cost of the coupling at one shift, in units of mass, and its slope in shift / total.

    At a jump of Q_F from x to x', where Q_G = y, more shift replaces (x - y)^2 by (x' - y)^2:

        slope = sum over jumps of (x' - x) (x' + x - 2 y).
    """
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
