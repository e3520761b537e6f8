"""Mass around points on the circle, and groups of linked points.

All of it is sorting: the points within a radius of a point are a range of the sorted angles.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray

_TURN = 2.0 * np.pi


def dense(
    points: FloatArray, mass: FloatArray | None, radius: float, threshold: float
) -> npt.NDArray[np.bool_]:
    """Mask of the angles with mass of at least the threshold within `radius`."""
    angles, order = _sorted(points, stable=mass is not None)
    ordered = mass if mass is None or order is None else mass[order]
    reached = _mass_within(angles, ordered, radius) >= threshold
    if order is None:
        return reached
    result = np.empty_like(reached)
    result[order] = reached
    return result


def linked(points: FloatArray, radius: float) -> npt.NDArray[np.int64]:
    """Group of each angle, where angles closer than `radius` are linked."""
    if len(points) == 0:
        return np.zeros(0, dtype=np.int64)
    angles, order = _sorted(points, stable=False)
    numbers = np.zeros(len(angles), dtype=np.int64)
    np.cumsum(np.diff(angles) >= radius, out=numbers[1:])
    if angles[0] + _TURN - angles[-1] < radius:
        numbers[numbers == numbers[-1]] = 0
    if order is None:
        return numbers
    group = np.empty_like(numbers)
    group[order] = numbers
    return group


def _sorted(points: FloatArray, stable: bool) -> tuple[FloatArray, npt.NDArray[np.int64] | None]:
    """Angles in [0, 2 pi) in increasing order, and that order; None if they are in it."""
    angles = points % _TURN
    if np.all(angles[1:] >= angles[:-1]):
        return angles, None
    # The order of equal angles shows only in the rounding of sums of unequal masses. Without
    # it, sorting is four times faster.
    order = np.argsort(angles, kind="stable" if stable else None)
    return angles[order], order


def _mass_within(angles: FloatArray, mass: FloatArray | None, radius: float) -> FloatArray:
    """Mass within `radius` of every point; angles sorted in [0, 2 pi)."""
    low = int(np.searchsorted(angles, radius, side="right"))
    high = int(np.searchsorted(angles, _TURN - radius, side="left"))
    # The points within reach of the cut are repeated on its other side.
    around = np.concatenate([angles[high:] - _TURN, angles, angles[:low] + _TURN])
    right = np.searchsorted(around, around + radius, side="right")
    # i lies right of j's reach, i >= right[j], if and only if j lies left of i's: counting
    # those j is several times faster than a second search.
    left = np.cumsum(np.bincount(right, minlength=len(around)))
    own = slice(len(angles) - high, 2 * len(angles) - high)
    right, left = right[own], left[own]
    if mass is None:
        return np.asarray((right - left) / len(angles))
    around_mass = np.concatenate([mass[high:], mass, mass[:low]])
    cumulative = np.concatenate([[0.0], np.cumsum(around_mass)])
    return np.asarray(cumulative[right] - cumulative[left])
