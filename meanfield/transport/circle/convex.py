"""Least value of a convex function of one variable, which may have kinks.

The optimal cut of the circle is such a minimum for every pair of measures: piecewise linear
between points, smooth between densities, both at once between the two. Tangents bound a convex
function from below, so the search bounds its distance from the minimum:

    min F >= value where the tangents at the two ends of the bracket meet.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from meanfield.arrays import EPS

SAMPLES = 1024
"""Points whose median estimates that of all."""

WINDOW = 0.03
"""Of the circle, on either side of the sampled median: the median of all is there."""

Evaluation = tuple[float, float, float]
"""Value, one right slope, and curvature (0 where there is none to speak of)."""

_MAX_EVALUATIONS = 400  # bisection alone, every fourth step, needs 4 x 61 for integers of 61 bits


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
    two positions. Then in turn the point where their tangents meet (exact at a kink) and the zero
    of the interpolated slope (superlinear where it is smooth). Bisection whenever three evaluations
    have not shrunk the bracket to one quarter. With integers only integers are tried.

    evaluate: position -> (value, slope from the right, curvature).
    """
    position = min(max(start, low), high)
    left: _Tangent | None = None
    right: _Tangent | None = None
    best = Minimum(float("inf"), position)
    reach = (high - low) / 4096
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
        if slope == 0 or best.value - _bound(left, right, low, high, allowed) <= allowed:
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
            position = _moved(position, -math.copysign(reach, slope))
            position = min(max(position, low), high)
            reach *= 8
            continue
        else:
            position = _between(left, right, count, stalled)
        if not low < position < high:
            break
    return best


def _bound(
    left: _Tangent | None, right: _Tangent | None, low: float, high: float, allowed: float
) -> float:
    """Lower bound on the bracket from the tangents at its ends; -inf while rounding is larger."""
    width = high - low
    bound, scale = -float("inf"), 0.0
    if left is not None and right is not None:
        bound = left.value + left.slope * _meeting(left, right)
        scale = max(left.value, right.value, -left.slope * width, right.slope * width)
    elif left is not None:
        bound, scale = left.value + left.slope * width, left.value
    elif right is not None:
        bound, scale = right.value - right.slope * width, right.value
    return bound if EPS * scale <= allowed else -float("inf")


def _between(left: _Tangent, right: _Tangent, count: int, stalled: bool) -> float:
    """Next position between two tangents; of integers, one strictly inside if there is any."""
    width = right.position - left.position
    if stalled:
        distance = 0.5 * width
    elif count % 2:
        distance = _meeting(left, right)
    else:
        distance = width * left.slope / (left.slope - right.slope)
    if isinstance(left.position, int):
        distance = min(max(distance, 1.0), width - 1)
    return _moved(left.position, distance)


def _moved(position: float, distance: float) -> float:
    """Position + distance; of integers without rounding to 53 bits."""
    return position + (round(distance) if isinstance(position, int) else distance)


def _meeting(left: _Tangent, right: _Tangent) -> float:
    """Distance from the left end to where the two tangents meet."""
    width = right.position - left.position
    return (right.value - left.value - right.slope * width) / (left.slope - right.slope)
