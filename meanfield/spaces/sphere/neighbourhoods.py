"""Mass around points on the sphere, and groups of linked points.

Distances are geodesic: two points are within r of each other if their chord is at most
2 sin(r/2).
"""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray
from meanfield.bases.grid import Grid
from meanfield.bases.harmonics import SphereGrid


def dense(
    points: FloatArray, mass: FloatArray | None, radius: float, threshold: float
) -> npt.NDArray[np.bool_]:
    """Mask of the points with mass of at least the threshold within `radius`."""
    enough = _enough(len(points), mass, threshold)
    return _mass_within(points, mass, radius, enough) >= enough


def _enough(count: int, mass: FloatArray | None, threshold: float) -> float:
    """Threshold, or for equal points the least k with k / n >= threshold in floating point."""
    if mass is not None:
        return threshold
    enough = math.ceil(threshold * count) - 1
    while enough / max(count, 1) < threshold:
        enough += 1
    return enough


def dense_groups(
    points: FloatArray, mass: FloatArray | None, radius: float, threshold: float
) -> tuple[FloatArray, FloatArray | None, npt.NDArray[np.int64]]:
    """Dense points, their masses and groups, after a single sort."""
    from meanfield.engines.harmonics import box_tree, neighbourhood_kernels

    if len(points) == 0:
        return points, mass, np.zeros(0, dtype=np.int64)
    enough, square = _enough(len(points), mass, threshold), _square_of_chord(radius)
    order = box_tree.curve_order(points, stable=mass is not None)
    masses = np.ones(len(points)) if mass is None else mass
    ordered = points
    if order is not None:
        ordered, masses = points[order], masses if mass is None else masses[order]
    tree = box_tree.build(ordered, masses)
    # Every point is dense if the lightest is enough by itself.
    if masses.min() < enough:
        inside = neighbourhood_kernels.mass_within(tree, square, enough) >= enough
        if not inside.all():
            tree = box_tree.build(ordered[inside], masses[inside])
            chosen = _restored(inside, order)
            points, mass = points[chosen], None if mass is None else mass[chosen]
            if order is not None:
                # Indices among the dense points, in the order of the curve.
                order = (np.cumsum(chosen) - 1)[order[inside]]
    leader = neighbourhood_kernels.linked_groups(tree, square)
    return points, mass, neighbourhood_kernels.numbered(_restored(leader, order))


def node_groups(
    grid: Grid, mass: FloatArray, radius: float, threshold: float
) -> tuple[FloatArray, FloatArray]:
    """Mass and sum of mass_j x_j of each group of dense nodes of a grid finer than the radius."""
    from meanfield.engines.harmonics import ring_groups

    of, square = cast(SphereGrid, grid), _square_of_chord(radius)
    sums = ring_groups.groups(of.rings.colatitudes, mass.reshape(of.shape), square, threshold)
    return sums[:, 0], sums[:, 1:]


def linked(points: FloatArray, radius: float) -> npt.NDArray[np.int64]:
    """Group of each point, where points closer than `radius` are linked."""
    from meanfield.engines.harmonics import box_tree, neighbourhood_kernels

    if len(points) == 0:
        return np.zeros(0, dtype=np.int64)
    order = box_tree.curve_order(points, stable=False)
    # The tree gets no name: so its memory is free before the groups are numbered.
    leader = neighbourhood_kernels.linked_groups(
        box_tree.build(points if order is None else points[order], np.ones(len(points))),
        _square_of_chord(radius),
    )
    return neighbourhood_kernels.numbered(_restored(leader, order))  # type: ignore[no-any-return]


def _restored(values: npt.NDArray[Any], order: npt.NDArray[np.int64] | None) -> npt.NDArray[Any]:
    """Values in the original order of the points."""
    if order is None:
        return values
    result = np.empty_like(values)
    result[order] = values
    return result


def _square_of_chord(radius: float) -> float:
    return (2.0 * math.sin(0.5 * radius)) ** 2


def _mass_within(
    points: FloatArray, mass: FloatArray | None, radius: float, enough: float
) -> FloatArray:
    """Mass within the radius of every point, or the count if mass is None.

    Sums stop early once their comparison with `enough` is certain.
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
    return _restored(
        neighbourhood_kernels.mass_within(tree, _square_of_chord(radius), enough), order
    )
