"""Smallest c(x_i, y_k) - g_k over all k, for many i: the hard c-transform and its candidates.

Sets are sorted along a path over the sphere, so that runs of neighbours are compact: a binary tree
of runs, each with a ball round it and the largest g in it, leaves out what is too far away. Nothing
is approximate: the minimum is over all k.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray
from meanfield.compute.compiled import njit
from meanfield.compute.threads import map_chunks
from meanfield.transport.sphere.costs import pair_cost

IntArray = npt.NDArray[np.int64]

LEAF = 8
_CHUNK = 2048


class Tree(NamedTuple):
    """Runs of neighbours: run j has the halves 2 j and 2 j + 1; the last `leaves` are leaves."""

    centres: FloatArray  # (2 leaves, 3)
    reaches: FloatArray  # radius of the balls
    least: FloatArray  # smallest variance
    largest: FloatArray  # largest dual


class Sites(NamedTuple):
    """Positions between which transport is priced: cost (d(x, y)^2 + v_x + v_y)^(p/2)."""

    points: FloatArray  # (n, 3)
    variances: FloatArray  # (n,)


def nearest(
    queries: Sites,
    targets: Sites,
    duals: FloatArray,
    count: int,
    limits: FloatArray | None,
    geodesic: bool,
    p: int,
) -> tuple[IntArray, FloatArray]:
    """The `count` targets of smallest cost less dual, for every query.

    Parameters
    ----------
    queries, targets : Sites
        Both sorted by key.
    duals : ndarray, shape (m,)
        g_k of the targets.
    count : int
        How many.
    limits : ndarray, shape (n,), or None
        Only values below these are wanted.
    geodesic : bool
        Which distance.
    p : int
        Its power.

    Returns
    -------
    indices : ndarray, shape (n, count)
        In increasing order of the value; -1 where there are no more below the limit.
    values : ndarray, shape (n, count)
        Values, or infinity.
    """
    tree = build_tree(targets, duals)
    n = len(queries.points)
    indices = np.full((n, count), -1, np.int64)
    values = np.full((n, count), np.inf)
    if limits is None:
        limits = np.full(n, np.inf)

    def work(chunk: int) -> None:
        part = slice(chunk * _CHUNK, min((chunk + 1) * _CHUNK, n))
        _nearest(
            queries.points[part],
            queries.variances[part],
            limits[part],
            targets.points,
            targets.variances,
            duals,
            *tree,
            geodesic,
            p,
            indices[part],
            values[part],
        )

    map_chunks(work, -(-n // _CHUNK))
    return indices, values


def build_tree(targets: Sites, duals: FloatArray) -> Tree:
    """Tree of runs over targets sorted by key."""
    leaves = 1
    while leaves * LEAF < len(duals):
        leaves *= 2
    tree = Tree(
        np.zeros((2 * leaves, 3)),
        np.zeros(2 * leaves),
        np.full(2 * leaves, np.inf),
        np.full(2 * leaves, -np.inf),
    )
    _fill(targets.points, targets.variances, duals, leaves, *tree)
    return tree


@njit
def _fill(
    points: FloatArray,
    variances: FloatArray,
    duals: FloatArray,
    leaves: int,
    centres: FloatArray,
    reaches: FloatArray,
    least: FloatArray,
    largest: FloatArray,
) -> None:
    count = len(duals)
    size = leaves
    length = LEAF  # of a run on this level
    while size >= 1:
        for j in range(size):
            start, stop = j * length, min((j + 1) * length, count)
            if start >= stop:
                continue
            low, high = points[start].copy(), points[start].copy()
            for k in range(start, stop):
                for c in range(3):
                    low[c] = min(low[c], points[k, c])
                    high[c] = max(high[c], points[k, c])
            node = size + j
            reach2 = 0.0
            for c in range(3):
                centres[node, c] = 0.5 * (low[c] + high[c])
            for k in range(start, stop):
                far = 0.0
                for c in range(3):
                    far += (points[k, c] - centres[node, c]) ** 2
                reach2 = max(reach2, far)
                least[node] = min(least[node], variances[k])
                largest[node] = max(largest[node], duals[k])
            reaches[node] = np.sqrt(reach2) * (1.0 + 1e-12)
        size //= 2
        length *= 2


@njit
def _nearest(
    points: FloatArray,
    variances: FloatArray,
    limits: FloatArray,
    targets: FloatArray,
    target_variances: FloatArray,
    duals: FloatArray,
    centres: FloatArray,
    reaches: FloatArray,
    least: FloatArray,
    largest: FloatArray,
    geodesic: bool,
    p: int,
    indices: IntArray,
    values: FloatArray,
) -> None:
    leaves = len(reaches) // 2
    count = indices.shape[1]
    stack = np.empty(128, np.int64)
    bounds = np.empty(128)
    pair = np.empty(2)
    for i in range(len(points)):
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        limit = limits[i]
        stack[0] = 1
        bounds[0] = -np.inf
        height = 1
        while height > 0:
            height -= 1
            node = stack[height]
            if bounds[height] >= limit:
                continue
            if node >= leaves:
                start = (node - leaves) * LEAF
                for k in range(start, min(start + LEAF, len(duals))):
                    chord2 = (
                        (x - targets[k, 0]) ** 2
                        + (y - targets[k, 1]) ** 2
                        + (z - targets[k, 2]) ** 2
                    )
                    value = pair_cost(chord2, variances[i] + target_variances[k], geodesic, p)
                    value -= duals[k]
                    if value < limit:
                        at = count - 1
                        while at > 0 and values[i, at - 1] > value:
                            values[i, at] = values[i, at - 1]
                            indices[i, at] = indices[i, at - 1]
                            at -= 1
                        values[i, at] = value
                        indices[i, at] = k
                        limit = min(limit, values[i, count - 1])
                continue
            for half in range(2):
                son = 2 * node + half
                if largest[son] == -np.inf:
                    pair[half] = np.inf
                    continue
                away = np.sqrt(
                    (x - centres[son, 0]) ** 2
                    + (y - centres[son, 1]) ** 2
                    + (z - centres[son, 2]) ** 2
                )
                away = max(0.0, (away - reaches[son]) * (1.0 - 1e-14))
                pair[half] = (
                    pair_cost(away * away, variances[i] + least[son], geodesic, p) - largest[son]
                )
            near = 0 if pair[0] <= pair[1] else 1
            for half in (1 - near, near):
                if pair[half] < limit:
                    stack[height] = 2 * node + half
                    bounds[height] = pair[half]
                    height += 1
