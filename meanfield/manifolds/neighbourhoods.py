"""Who is near whom: mass around points, groups of linked points, their means; one door.

Of axial measures points are rings, and near by their polar angles: a ring is one cluster.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray
from meanfield.manifolds import vector_neighbourhoods as vectors
from meanfield.manifolds.axial import neighbourhoods as axial
from meanfield.manifolds.circle import neighbourhoods as circle
from meanfield.manifolds.manifold import Geometry, of_space
from meanfield.manifolds.sphere import neighbourhoods as sphere

_DENSE = {"axial": axial.dense, "circle": circle.dense, "sphere": sphere.dense}
_LINKED = {"axial": axial.linked, "circle": circle.linked, "sphere": sphere.linked}
# "vectors" stand beside the tables: their distances need the space.
# A group whose mean vector is this short against its mass has no centre: uniform has none.
_NO_CENTRE = 1e-9


def dense(
    space: Geometry, points: FloatArray, mass: FloatArray | None, radius: float, threshold: float
) -> npt.NDArray[np.bool_]:
    """Whether the mass within `radius` of each point, itself included, reaches the threshold.

    Parameters
    ----------
    space : Geometry
        Of a known family.
    points : ndarray
        Points of it, in any order.
    mass : ndarray, shape (n,), or None
        Mass of each point; None means 1/n each.
    radius : float
        Radians, below pi.
    threshold : float
        Mass; exactly so much is enough.

    Returns
    -------
    ndarray of bool, shape (n,)

    Raises
    ------
    ValueError
        On spaces of other families.

    Examples
    --------
    >>> import meanfield as mf
    >>> dense(mf.Circle(), np.array([0.1, 3.0, 2 * np.pi - 0.1]), None, 0.25, 0.5)
    array([ True, False,  True])
    """
    if space.family == "vectors":
        return vectors.dense(space, points, mass, radius, threshold)
    return of_space(_DENSE, space, "neighbourhood")(points, mass, radius, threshold)


def linked(space: Geometry, points: FloatArray, radius: float) -> npt.NDArray[np.int64]:
    """Groups by single linkage: points closer than `radius` share a group.

    Parameters
    ----------
    space, points, radius
        As for `dense`.

    Returns
    -------
    ndarray of int, shape (n,)
        Numbers 0, 1, ... of the groups: on the circle in the order of their angles in [0, 2 pi),
        the group across 0 first; on the sphere in the order of their first points.

    Raises
    ------
    ValueError
        On other spaces.

    Examples
    --------
    >>> import meanfield as mf
    >>> linked(mf.Circle(), np.array([3.0, 0.1, 2 * np.pi - 0.1]), 0.25)
    array([1, 0, 0])
    >>> linked(mf.Sphere(), np.array([[1.0, 0.0, 0.0], [0.0, 0.6, 0.8], [0.0, 0.8, 0.6]]), 0.5)
    array([0, 1, 1])
    """
    if space.family == "vectors":
        return vectors.linked(space, points, radius)
    return of_space(_LINKED, space, "neighbourhood")(points, radius)


def mean_points(
    space: Geometry,
    points: FloatArray,
    mass: FloatArray,
    group: npt.NDArray[np.int64],
    count: int,
) -> FloatArray:
    """Mean point of each group, the direction of sum_j mass_j x_j; of rings on one meridian.

    Parameters
    ----------
    space : Geometry
        Any.
    points, mass : ndarray
        Points, and the mass of each, shape (n,).
    group : ndarray of int, shape (n,)
        Group of each point, 0 to count - 1.
    count : int
        Number of groups.

    Returns
    -------
    ndarray
        Points, one a group; NaN where the mean vector is shorter than 1e-9 of the mass.

    Examples
    --------
    >>> import meanfield as mf
    >>> points = np.array([0.1, 3.0, 0.3, 0.0, np.pi])
    >>> mean_points(mf.Circle(), points, np.ones(5), np.array([0, 1, 0, 2, 2]), 3).round(6)
    array([0.2, 3. , nan])
    """
    if space.family == "axial":
        # The half plane of all latitudes: vectors of R^d would be zeros but for two of d columns.
        sine, cosine = (np.bincount(group, mass * f(points), count) for f in (np.sin, np.cos))
        return np.asarray(np.arctan2(sine, cosine))
    columns = space.vectors(points).T
    sums = [np.bincount(group, mass * column, count) for column in columns]
    mean = np.column_stack(sums).astype(np.float64, copy=False)
    if not space.is_sphere:
        return np.asarray(mean / np.bincount(group, mass, count)[:, None])
    centre = space.points_of(mean)
    # Squares of next to no mass underflow: directions on the sphere are then not finite.
    known = np.isfinite(centre).reshape(count, -1).all(axis=1)
    known &= np.hypot.reduce(mean, axis=1) > _NO_CENTRE * np.bincount(group, mass, count)
    centre[~known] = np.nan
    return centre
