"""Who is near whom on the circle: mass around points, groups of linked points, their means.

All of it is sorting: the points within a radius of a point are a range of the sorted angles.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray

_TURN = 2.0 * np.pi
# A group whose mean vector is this short against its mass has no centre: uniform has none.
_NO_CENTRE = 1e-9


def neighbourhood_mass(points: FloatArray, mass: FloatArray | None, radius: float) -> FloatArray:
    """Mass within a distance of every point, m_i = sum of mass_j over |d_ij| <= radius.

    Parameters
    ----------
    points : ndarray, shape (n,)
        Angles in radians, any real numbers in any order.
    mass : ndarray, shape (n,), or None
        Mass of each point; None means 1/n each.
    radius : float
        Radians, below pi.

    Returns
    -------
    ndarray, shape (n,)

    Examples
    --------
    >>> neighbourhood_mass(np.array([0.1, 3.0, 2 * np.pi - 0.1]), None, 0.25).round(6)
    array([0.666667, 0.333333, 0.666667])
    """
    angles, order = _sorted(points, stable=mass is not None)
    ordered = mass if mass is None or order is None else mass[order]
    within = _mass_within(angles, ordered, radius)
    if order is None:
        return within
    result = np.empty(len(points))
    result[order] = within
    return result


def dense(
    points: FloatArray, mass: FloatArray | None, radius: float, threshold: float
) -> npt.NDArray[np.bool_]:
    """Whether the mass within `radius` of each point reaches the threshold.

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
    >>> dense(np.array([0.1, 3.0, 2 * np.pi - 0.1]), None, 0.25, 0.5)
    array([ True, False,  True])
    """
    return np.asarray(neighbourhood_mass(points, mass, radius) >= threshold)


def linked(points: FloatArray, radius: float) -> npt.NDArray[np.int64]:
    """Groups by single linkage: points closer than `radius` share a group.

    Parameters
    ----------
    points : ndarray, shape (n,)
        Angles in radians, any real numbers in any order.
    radius : float
        Radians, below pi.

    Returns
    -------
    ndarray of int, shape (n,)
        Numbers 0, 1, ... of the groups, in the order of their angles in [0, 2 pi); the group
        across 0 is the first.

    Examples
    --------
    >>> linked(np.array([3.0, 0.1, 2 * np.pi - 0.1]), 0.25)
    array([1, 0, 0])
    """
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


def mean_points(
    points: FloatArray, mass: FloatArray, group: npt.NDArray[np.int64], count: int
) -> FloatArray:
    """Mean angle of each group, arg sum_j mass_j e^{i theta_j}.

    Parameters
    ----------
    points, mass : ndarray, shape (n,)
        Angles and the mass of each.
    group : ndarray of int, shape (n,)
        Group of each point, 0 to count - 1.
    count : int
        Number of groups.

    Returns
    -------
    ndarray, shape (count,)
        Angles in (-pi, pi]; NaN where the mean vector is shorter than 1e-9 of the mass.

    Examples
    --------
    >>> points = np.array([0.1, 3.0, 0.3, 0.0, np.pi])
    >>> mean_points(points, np.ones(5), np.array([0, 1, 0, 2, 2]), 3).round(6)
    array([0.2, 3. , nan])
    """
    total = np.bincount(group, mass, count)
    x = np.bincount(group, mass * np.cos(points), count)
    y = np.bincount(group, mass * np.sin(points), count)
    angle = np.arctan2(y, x)
    angle[angle == -np.pi] = np.pi
    return np.where(np.hypot(x, y) > _NO_CENTRE * total, angle, np.nan)


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
