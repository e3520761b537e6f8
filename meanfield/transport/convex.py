"""Least value of a convex function of one variable, which may have kinks.

The optimal cut of the circle is such a minimum for every pair of measures: piecewise linear
between points, smooth between densities, both at once between the two. Tangents bound a convex
function from below, so the search knows how far it is from the minimum:

    min F >= value where the tangents at the two ends of the bracket meet.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

Evaluation = tuple[float, float, float]
"""Value, one right slope, and curvature (0 where there is none to speak of)."""

_MAX_EVALUATIONS = 200  # bisection alone needs 61 for integers below 2^61


class Minimum(NamedTuple):
    """Where a function is least, and its value there."""

    value: float
    position: float


class _Tangent(NamedTuple):
    position: float
    value: float
    slope: float


def minimise_convex(
    evaluate: Callable[..., Evaluation],
    low: float,
    high: float,
    start: float,
    tolerance: float = 1e-15,
) -> Minimum:
    """Minimum of a convex function on [low, high], to a relative `tolerance`.

    Newton's step where the function has a curvature. Else outwards until the minimum lies between
    two positions; then in turn the point where their tangents meet (exact at a kink) and the
    zero of the interpolated slope (superlinear where it is smooth), and bisection whenever three
    evaluations have not shrunk the bracket to one quarter.

    Parameters
    ----------
    evaluate : callable
        Position -> (value, slope from the right, curvature).
    low, high, start : float or int
        Bracket of the minimum and first position. With integers only integers are tried, and
        the minimum is exact if all kinks lie on integers.
    tolerance : float
        Allowed excess over the minimum, relative to it.

    Examples
    --------
    >>> minimise_convex(lambda x: (abs(x - 0.25) + 1, 1 if x >= 0.25 else -1, 0), -1.0, 1.0, 0.0)
    Minimum(value=1.0, position=0.25)
    """
    position = min(max(start, low), high)
    left: _Tangent | None = None
    right: _Tangent | None = None
    best = Minimum(float("inf"), position)
    reach = (high - low) / 64
    widths = [float("inf")] * 3
    settled = False
    for count in range(_MAX_EVALUATIONS):
        value, slope, curvature = evaluate(position)
        if value < best.value:
            best = Minimum(value, position)
        if slope < 0:
            low, left = position, _Tangent(position, value, slope)
        else:
            high, right = position, _Tangent(position, value, slope)
        allowed = tolerance * best.value
        if slope == 0 or best.value - _bound(left, right, low, high) <= allowed:
            break
        # A single small Newton step could be the infinite curvature of one bad position.
        small = curvature > 0 and slope * slope <= allowed * curvature
        if small and settled:
            break
        settled = small
        stalled = high - low > 0.25 * widths[-3]
        widths.append(high - low)
        newton = position - slope / curvature if curvature > 0 and not stalled else high
        if low < newton < high:
            position = newton
        elif left is None or right is None:
            # Towards the end that was never tried, which may be the minimum itself.
            position = _inside(position - math.copysign(reach, slope), low, high, 0)
            reach *= 8
            continue
        elif stalled:
            position = _inside(low + 0.5 * (high - low), low, high, 1)
        elif count % 2:
            position = _inside(low + _meeting(left, right), low, high, 1)
        else:
            chord = left.slope / (left.slope - right.slope)
            position = _inside(low + chord * (high - low), low, high, 1)
        if not low < position < high:
            break
    return best


def _bound(left: _Tangent | None, right: _Tangent | None, low: float, high: float) -> float:
    """Lower bound of the function on the bracket, from the tangents known at its ends."""
    if left is not None and right is not None:
        return left.value + left.slope * _meeting(left, right)
    if left is not None:
        return left.value + left.slope * (high - low)
    if right is not None:
        return right.value - right.slope * (high - low)
    return -float("inf")


def _meeting(left: _Tangent, right: _Tangent) -> float:
    """Distance from the left end to where the two tangents meet."""
    width = right.position - left.position
    return (right.value - left.value - right.slope * width) / (left.slope - right.slope)


def _inside(position: float, low: float, high: float, margin: int) -> float:
    """Position kept in the bracket; in one of integers rounded, and off its ends by `margin`."""
    if isinstance(low, int) and isinstance(high, int):
        return min(max(round(position), low + margin), high - margin)
    return min(max(position, low), high)
