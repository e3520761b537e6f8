"""Mass around points on the circle, and groups of linked points, by sorted angles."""

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
    reached = _dense(angles, ordered, radius, threshold)
    if order is None:
        return reached
    result = np.empty_like(reached)
    result[order] = reached
    return result


def dense_groups(
    points: FloatArray, mass: FloatArray | None, radius: float, threshold: float
) -> tuple[FloatArray, FloatArray | None, npt.NDArray[np.int64]]:
    """Dense angles, perhaps in another order, their masses and groups, after a single sort."""
    from meanfield.engines.fourier import neighbourhood_kernels as kernels

    if mass is None:
        if kernels.is_filled(points, radius, threshold):
            return points, None, np.zeros(len(points), np.int64)
        angles = np.sort(points % _TURN)
    else:
        angles, order = _sorted(points, stable=True)
        mass = mass if order is None else mass[order]
    reached = _dense(angles, mass, radius, threshold)
    if not reached.all():
        angles, mass = angles[reached], None if mass is None else mass[reached]
    return angles, mass, _numbers(angles, radius)


def linked(points: FloatArray, radius: float) -> npt.NDArray[np.int64]:
    """Group of each angle, where angles closer than `radius` are linked."""
    angles, order = _sorted(points, stable=False)
    numbers = _numbers(angles, radius)
    if order is None:
        return numbers
    group = np.empty_like(numbers)
    group[order] = numbers
    return group


def _numbers(angles: FloatArray, radius: float) -> npt.NDArray[np.int64]:
    """Group of each of increasing angles."""
    numbers = np.zeros(len(angles), dtype=np.int64)
    np.cumsum(np.diff(angles) >= radius, out=numbers[1:])
    if len(angles) and angles[0] + _TURN - angles[-1] < radius:
        numbers[numbers == numbers[-1]] = 0
    return numbers


def _sorted(points: FloatArray, stable: bool) -> tuple[FloatArray, npt.NDArray[np.int64] | None]:
    """Angles in [0, 2 pi) in increasing order, and the order; None if they had it already."""
    angles = points % _TURN
    if np.all(angles[1:] >= angles[:-1]):
        return angles, None
    # The order of equal angles changes only the rounding of sums of unequal masses. An unstable
    # sort is four times faster.
    order = np.argsort(angles, kind="stable" if stable else None)
    return angles[order], order


def _dense(
    angles: FloatArray, mass: FloatArray | None, radius: float, threshold: float
) -> npt.NDArray[np.bool_]:
    """Mask of increasing angles in [0, 2 pi)."""
    from meanfield.engines.fourier import neighbourhood_kernels as kernels

    below = np.empty(0) if mass is None else np.concatenate([[0.0], np.cumsum(mass)])
    return np.asarray(kernels.dense(angles, below, radius, threshold))
