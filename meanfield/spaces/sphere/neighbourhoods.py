"""Mass around points on the sphere, and groups of linked points.

Distances are geodesic: two points are within r of each other if their chord is at most
2 sin(r/2). Exact for any set of points, from uniform to all in one place.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray


def dense(
    points: FloatArray, mass: FloatArray | None, radius: float, threshold: float
) -> npt.NDArray[np.bool_]:
    """Mask of the points with mass of at least the threshold within `radius`.

    Much faster than sums where that is far above or below.
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
    """Group of each point, where points closer than `radius` are linked."""
    from meanfield.engines.harmonics import box_tree, neighbourhood_kernels

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


def _square_of_chord(radius: float) -> float:
    return (2.0 * math.sin(0.5 * radius)) ** 2


def _mass_within(
    points: FloatArray, mass: FloatArray | None, radius: float, enough: float
) -> FloatArray:
    """Mass within the radius of every point, or the count if mass is None.

    Perhaps less where that makes no difference to being below `enough`.
    """
    from meanfield.engines.harmonics import box_tree, neighbourhood_kernels

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
    restored = np.empty_like(within)
    restored[order] = within
    return restored
