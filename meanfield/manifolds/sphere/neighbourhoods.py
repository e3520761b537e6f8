"""Who is near whom on the sphere: mass around points, groups of linked points, their means.

Distances are geodesic: two points are within r of each other if their chord is at most
2 sin(r/2). Exact for any set of points, from uniform to all in one place.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray

# A group whose mean vector is this short against its mass has no centre: uniform has none.
_NO_CENTRE = 1e-9


def neighbourhood_mass(points: FloatArray, mass: FloatArray | None, radius: float) -> FloatArray:
    """Mass within a distance of every point, m_i = sum of mass_j over |x_i - x_j| <= 2 sin(r/2).

    Parameters
    ----------
    points : ndarray, shape (n, 3)
        Unit vectors, in any order.
    mass : ndarray, shape (n,), or None
        Mass of each point; None means 1/n each.
    radius : float
        Radians, at most pi.

    Returns
    -------
    ndarray, shape (n,)

    Examples
    --------
    >>> neighbourhood_mass(np.array([[0.0, 0.6, 0.8], [0.0, 0.8, 0.6], [1.0, 0.0, 0.0]]), None, 0.5)
    array([0.66666667, 0.66666667, 0.33333333])
    """
    if mass is None:
        # Counts are exact.
        return _mass_within(points, None, radius, math.inf) / len(points)
    return _mass_within(points, mass, radius, math.inf)


def dense(
    points: FloatArray, mass: FloatArray | None, radius: float, threshold: float
) -> npt.NDArray[np.bool_]:
    """Whether the mass within `radius` of each point reaches the threshold.

    Much faster than `neighbourhood_mass` where that is far above or below.

    Parameters
    ----------
    points, mass, radius
        As for `neighbourhood_mass`.
    threshold : float
        Mass; exactly so much is enough.

    Returns
    -------
    ndarray of bool, shape (n,)

    Examples
    --------
    >>> dense(np.array([[0.0, 0.6, 0.8], [0.0, 0.8, 0.6], [1.0, 0.0, 0.0]]), None, 0.5, 0.5)
    array([ True,  True, False])
    """
    if mass is None:
        n = len(points)
        # The least count k with k / n >= threshold in rounded arithmetic.
        enough = math.ceil(threshold * n) - 1
        while enough / max(n, 1) < threshold:
            enough += 1
        return _mass_within(points, None, radius, enough) >= enough
    return _mass_within(points, mass, radius, threshold) >= threshold


def linked(points: FloatArray, radius: float) -> npt.NDArray[np.int64]:
    """Groups by single linkage: points closer than `radius` share a group.

    Parameters
    ----------
    points : ndarray, shape (n, 3)
        Unit vectors, in any order.
    radius : float
        Radians, at most pi.

    Returns
    -------
    ndarray of int, shape (n,)
        Numbers 0, 1, ... of the groups, in the order of their first points.

    Examples
    --------
    >>> linked(np.array([[1.0, 0.0, 0.0], [0.0, 0.6, 0.8], [0.0, 0.8, 0.6]]), 0.5)
    array([0, 1, 1])
    """
    from meanfield.manifolds.sphere import box_tree, neighbourhood_kernels

    if len(points) == 0:
        return np.zeros(0, dtype=np.int64)
    order = box_tree.curve_order(points, stable=False)
    # Without a name for the tree its memory is free again when the groups are numbered.
    leader = neighbourhood_kernels.linked_groups(
        box_tree.build(points if order is None else points[order], np.ones(len(points))),
        _square_of_chord(radius),
    )
    if order is not None:
        leader[order] = leader.copy()
    return neighbourhood_kernels.numbered(leader)  # type: ignore[no-any-return]


def mean_points(
    points: FloatArray, mass: FloatArray, group: npt.NDArray[np.int64], count: int
) -> FloatArray:
    """Mean point of each group, the direction of sum_j mass_j x_j.

    Parameters
    ----------
    points : ndarray, shape (n, 3)
        Unit vectors.
    mass : ndarray, shape (n,)
        Mass of each.
    group : ndarray of int, shape (n,)
        Group of each point, 0 to count - 1.
    count : int
        Number of groups.

    Returns
    -------
    ndarray, shape (count, 3)
        Unit vectors; NaN where the mean vector is shorter than 1e-9 of the mass.

    Examples
    --------
    >>> points = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, -1.0]])
    >>> mean_points(points, np.ones(3), np.array([0, 1, 1]), 2)
    array([[ 1.,  0.,  0.],
           [nan, nan, nan]])
    """
    total = np.bincount(group, mass, count)
    mean = np.column_stack([np.bincount(group, mass * points[:, k], count) for k in range(3)])
    length = np.linalg.norm(mean, axis=1)
    centre = np.full((count, 3), np.nan)
    found = length > _NO_CENTRE * total
    centre[found] = mean[found] / length[found, None]
    return centre


def _square_of_chord(radius: float) -> float:
    return (2.0 * math.sin(0.5 * radius)) ** 2


def _mass_within(
    points: FloatArray, mass: FloatArray | None, radius: float, enough: float
) -> FloatArray:
    """Mass within the radius of every point, or the count if mass is None.

    Perhaps less where that makes no difference to being below `enough`.
    """
    from meanfield.manifolds.sphere import box_tree, neighbourhood_kernels

    if len(points) == 0:
        return np.zeros(0)
    order = box_tree.curve_order(points, stable=mass is not None)
    if mass is None:
        mass = np.ones(len(points))
    if order is not None:
        points, mass = points[order], mass[order]
    tree = box_tree.build(points, mass)
    within = neighbourhood_kernels.mass_within(tree, _square_of_chord(radius), enough)
    if order is None:
        return within
    found = np.empty_like(within)
    found[order] = within
    return found
