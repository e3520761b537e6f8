"""Mass around vectors of any dimension, and groups of linked vectors, by matrix products.

Distances on spheres are geodesic, r with the chord 2 sin(r/2); in R^d they are Euclidean.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from meanfield.arrays import EPS, FloatArray
from meanfield.spaces.manifold import Geometry

# Pairs whose distances are in memory at once: 32 MB.
_PAIRS = 2**22
# Near points for each row of a block up to which groups are components of a sparse graph.
_FEW_LINKS = 64
# Products err by less: a point's square distance from itself, in 1,000 dimensions.
_ROUNDING = 16 * EPS


def dense(
    space: Geometry, points: FloatArray, mass: FloatArray | None, radius: float, threshold: float
) -> npt.NDArray[np.bool_]:
    """Mask of the points with mass of at least the threshold within `radius`."""
    n = len(points)
    within = np.empty(n)
    rows = max(1, _PAIRS // max(n, 1))
    for i in range(0, n, rows):
        near = _squares(space, points[i : i + rows], points) <= _square(space, radius)
        within[i : i + rows] = near.sum(axis=1) / n if mass is None else near @ mass
    return np.asarray(within >= threshold)


def linked(space: Geometry, points: FloatArray, radius: float) -> npt.NDArray[np.int64]:
    """Group of each point, where points closer than `radius` are linked."""
    largest, rows = _square(space, radius), max(1, _PAIRS // max(len(points), 1))
    links = _links(space, points, largest, rows)
    if links is not None:
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        graph = csr_array((np.ones(len(links[0])), *links), shape=2 * (len(points),))
        return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)
    group = np.full(len(points), -1, dtype=np.int64)
    left, count = np.arange(len(points)), 0
    while len(left):
        # Collect all points linked to the first remaining one.
        front, left = left[:1], left[1:]
        group[front] = count
        while len(front) and len(left):
            near = np.zeros(len(left), dtype=bool)
            for i in range(0, len(front), rows):
                some = points[front[i : i + rows]]
                near |= (_squares(space, some, points[left]) < largest).any(axis=0)
            front, left = left[near], left[~near]
            group[front] = count
        count += 1
    return group


def _links(
    space: Geometry, points: FloatArray, largest: float, rows: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
    """Near points of each point, one point after the other, and bounds of each one's, as in CSR.

    None if there are many.
    """
    links, bounds = [np.zeros(0, dtype=np.int64)], [0]
    for i in range(0, len(points), rows):
        near = _squares(space, points[i : i + rows], points) < largest
        links.append(np.flatnonzero(near) % len(points))
        if len(links[-1]) > _FEW_LINKS * rows:
            return None
        bounds.extend(bounds[-1] + np.cumsum(near.sum(axis=1)))
    return np.concatenate(links), np.array(bounds)


def _square(space: Geometry, radius: float) -> float:
    return max((2.0 * math.sin(0.5 * radius)) ** 2, _ROUNDING) if space.is_sphere else radius**2


def _squares(space: Geometry, x: FloatArray, y: FloatArray) -> FloatArray:
    if not space.is_sphere:
        from scipy.spatial.distance import cdist

        # Near tokens may be far from 0, where products would lose their distance.
        return np.asarray(cdist(x, y, "sqeuclidean"))
    # One array of pairs: memory for a second one costs more than the product.
    squares = (-2.0 * x) @ y.T
    squares += (x * x).sum(axis=1)[:, None]
    squares += (y * y).sum(axis=1)
    return np.asarray(squares)
