"""Minimum of a convex function of one variable, which may have kinks.

The optimal cut of the circle is such a minimum: the function is piecewise linear between points,
and smooth between densities. Tangents bound a convex function from below:

    min F >= value where the tangents at the two ends of the bracket meet.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from meanfield.arrays import EPS

SAMPLES = 1024
"""Number of samples whose median estimates the median of a function."""

WINDOW = 0.03
"""Share of the samples on either side of their median that spans the window for the median."""

Evaluation = tuple[float, float, float]
"""Value, slope from the right, and curvature (0 where it is not used)."""

_MAX_EVALUATIONS = 400  # bisection alone, every fourth step, needs 4 x 61 for integers of 61 bits


class Minimum(NamedTuple):
    """Least value of a function, and its position."""

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

    Where there is a curvature, the search takes Newton's step. Else it moves outwards until two
    positions enclose the minimum. Then it alternates between the point where their tangents meet
    (exact at a kink) and the zero of the interpolated slope (superlinear where smooth). It bisects
    if three evaluations have not shrunk the bracket to a quarter. Integers stay integers.
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
        # Two small Newton steps, since one could come from an infinite curvature.
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
            # Towards the end that was not tried yet: the minimum may be there.
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
    """Lower bound from the tangents at the ends of the bracket; -inf while rounding is larger."""
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
    """Next position between two tangents; an integer strictly inside if they are integers."""
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
    """Position + distance; integers are not rounded to 53 bits."""
    return position + (round(distance) if isinstance(position, int) else distance)


def _meeting(left: _Tangent, right: _Tangent) -> float:
    """Distance from the left end to where the two tangents meet."""
    width = right.position - left.position
    return (right.value - left.value - right.slope * width) / (left.slope - right.slope)
