"""Mass around points, groups of linked points and their means, on any space.

Points of axial measures are rings; their distance is that of the polar angles.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray
from meanfield.spaces.manifold import Geometry, of_space

_HOMES = {"axial": "axial", "circle": "circle", "sphere": "sphere"}
# A group whose mean vector is shorter than this share of its mass has no centre.
_NO_CENTRE = 1e-9


def _home(space: Geometry) -> tuple[Any, tuple[Geometry, ...]]:
    """Module for the space, and first arguments of its functions."""
    if not space.has_series:
        return import_module("meanfield.spaces.vector_neighbourhoods"), (space,)
    home = of_space(_HOMES, space, "neighbourhood")
    return import_module(f"meanfield.spaces.{home}.neighbourhoods"), ()


def dense(
    space: Geometry, points: FloatArray, mass: FloatArray | None, radius: float, threshold: float
) -> npt.NDArray[np.bool_]:
    """Mask (n,) of the points with mass of at least the threshold within `radius`.

    A point's own mass counts.

    mass (n,): mass of each point; None means 1/n each.
    radius: radians, below pi; a length in R^d.
    """
    home, distances = _home(space)
    return np.asarray(home.dense(*distances, points, mass, radius, threshold))


def dense_groups(
    space: Geometry, points: FloatArray, mass: FloatArray | None, radius: float, threshold: float
) -> tuple[FloatArray, FloatArray | None, npt.NDArray[np.int64]]:
    """Points that are `dense`, their masses, and their `linked` groups.

    On the circle points may come in another order.
    """
    home, distances = _home(space)
    if hasattr(home, "dense_groups"):
        return home.dense_groups(*distances, points, mass, radius, threshold)  # type: ignore[no-any-return]
    alone = 1.0 / max(len(points), 1) if mass is None else mass.min(initial=1.0)
    if alone < threshold:
        inside = dense(space, points, mass, radius, threshold)
        points, mass = points[inside], None if mass is None else mass[inside]
    return points, mass, linked(space, points, radius)


def linked(space: Geometry, points: FloatArray, radius: float) -> npt.NDArray[np.int64]:
    """Groups (n,) by single linkage: points closer than `radius` share a group.

    Groups are numbered 0, 1, ... in the order of their first points. On the circle and for rings
    it is the order of angles, on the circle in [0, 2 pi) with the group across 0 first.
    """
    home, distances = _home(space)
    return np.asarray(home.linked(*distances, points, radius))


def mean_points(
    space: Geometry,
    points: FloatArray,
    mass: FloatArray,
    group: npt.NDArray[np.int64],
    count: int,
) -> FloatArray:
    """Mean point of each group: the direction of sum_j mass_j x_j, or the mean in R^d.

    NaN where the mean vector is shorter than 1e-9 of the mass. Rings are averaged on one meridian.
    """
    if space.has_rings:
        # In the half plane of a meridian, which needs two of d columns.
        sine, cosine = (np.bincount(group, mass * f(points), count) for f in (np.sin, np.cos))
        return np.asarray(np.arctan2(sine, cosine))
    if space.is_circle:
        sums = [np.bincount(group, mass * f(points), count) for f in (np.cos, np.sin)]
        mean = np.column_stack(sums).astype(np.float64, copy=False)
    else:
        from scipy.sparse import csc_array

        # (count, n): one sparse product sums all coordinates.
        members = csc_array((mass, group, np.arange(len(mass) + 1)), shape=(count, len(mass)))
        mean = members @ space.vectors(points)
    total = np.asarray(np.bincount(group, mass, count), dtype=np.float64)
    return directions(space, mean, total) if space.is_sphere else mean / total[:, None]


def directions(space: Geometry, mean: FloatArray, mass: FloatArray) -> FloatArray:
    """Points in the directions of mean vectors (count, d), NaN where these are short."""
    centre = space.points_of(mean)
    # Squares of tiny masses underflow: directions on the sphere are then not finite.
    finite = np.isfinite(centre).reshape(len(mean), -1).all(axis=1)
    finite &= np.hypot.reduce(mean, axis=1) > _NO_CENTRE * mass
    centre[~finite] = np.nan
    return centre
