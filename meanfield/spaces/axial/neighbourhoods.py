"""Mass around rings and groups of linked rings, by sorted polar angles."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray


def dense(
    points: FloatArray, mass: FloatArray | None, radius: float, threshold: float
) -> npt.NDArray[np.bool_]:
    """Mask of the angles with mass of at least the threshold within `radius`."""
    order = np.argsort(points, kind="stable")
    angles = points[order]
    masses = np.full(len(points), 1.0 / len(points)) if mass is None else mass
    below = np.concatenate([[0.0], np.cumsum(masses[order])])
    first = np.searchsorted(angles, points - radius, side="left")
    last = np.searchsorted(angles, points + radius, side="right")
    return np.asarray(below[last] - below[first] >= threshold)


def linked(points: FloatArray, radius: float) -> npt.NDArray[np.int64]:
    """Group of each angle, where angles closer than `radius` are linked."""
    order = np.argsort(points, kind="stable")
    group = np.zeros(len(points), dtype=np.int64)
    group[order[1:]] = np.cumsum(np.diff(points[order]) >= radius)
    return group
