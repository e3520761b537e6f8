"""Who is near whom: mass around points, groups of linked points, their means; one door."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray
from meanfield.manifolds.circle import neighbourhoods as circle
from meanfield.manifolds.manifold import Manifold, of_space
from meanfield.manifolds.sphere import neighbourhoods as sphere

_DENSE = {"circle": circle.dense, "sphere": sphere.dense}
_LINKED = {"circle": circle.linked, "sphere": sphere.linked}
_MEAN_POINTS = {"circle": circle.mean_points, "sphere": sphere.mean_points}


def dense(
    space: Manifold,
    points: FloatArray,
    mass: FloatArray | None,
    radius: float,
    threshold: float,
) -> npt.NDArray[np.bool_]:
    """Whether the mass within `radius` of each point reaches the threshold; equal masses if None.

    Examples
    --------
    >>> import meanfield as mf
    >>> dense(mf.Circle(), np.array([0.1, 3.0, 2 * np.pi - 0.1]), None, 0.25, 0.5)
    array([ True, False,  True])
    """
    return of_space(_DENSE, space, "neighbourhood")(points, mass, radius, threshold)


def linked(space: Manifold, points: FloatArray, radius: float) -> npt.NDArray[np.int64]:
    """Group number of every point; points closer than `radius` share a group.

    Examples
    --------
    >>> import meanfield as mf
    >>> linked(mf.Circle(), np.array([3.0, 0.1, 2 * np.pi - 0.1]), 0.25)
    array([1, 0, 0])
    """
    return of_space(_LINKED, space, "neighbourhood")(points, radius)


def mean_points(
    space: Manifold,
    points: FloatArray,
    mass: FloatArray,
    group: npt.NDArray[np.int64],
    count: int,
) -> FloatArray:
    """Mean point of each of `count` groups; NaN where the mean vector is rounding."""
    return of_space(_MEAN_POINTS, space, "neighbourhood")(points, mass, group, count)
