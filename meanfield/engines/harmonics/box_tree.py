"""A compiled tree of boxes around points in space, to find near points without all pairs.

Points are sorted along Morton's Z-curve: a cube that is halved along x, y, z in turn contains a
range of the order. A node is such a range, with the smallest box around its points and their mass.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meanfield.arrays import FloatArray, IntArray
from meanfield.engines.compiled import njit

# Halvings of [-1, 1] on each axis: 63 bits fill a positive integer.
_BITS = 21
# Points of a leaf: they take about as much work as two boxes.
_LEAF = 8


class Tree(NamedTuple):
    """Nodes, root first; a node has the points first, ..., last - 1 in the order of the curve."""

    points: FloatArray  # (n, 3)
    mass: FloatArray  # (n,)
    first: IntArray
    last: IntArray
    child: IntArray  # (nodes,): the children are child and child + 1; 0 for a leaf
    box: FloatArray  # (nodes, 6): least coordinates, then largest
    total: FloatArray  # (nodes,): mass of the node's points


def curve_order(points: FloatArray, stable: bool) -> IntArray | None:
    """Order of points along the curve; None if they have it already."""
    keys = _keys(points)
    if np.all(keys[1:] >= keys[:-1]):
        return None
    # Points with equal keys are 1e-6 apart: their order changes only the rounding of sums of
    # unequal masses. An unstable sort is three times faster.
    return np.argsort(keys, kind="stable" if stable else None)


def build(points: FloatArray, mass: FloatArray) -> Tree:
    """Tree over at least one point; points in the order of the curve."""
    first, last, child = _split(_keys(points))
    box, total = _measured(points, mass, first, last, child)
    return Tree(points, mass, first, last, child, box, total)


@njit
def _spread(number):  # type: ignore[no-untyped-def]
    """Number of 21 bits with two zeros inserted after each bit."""
    x = np.int64(number)
    x = (x | x << 32) & 0x1F00000000FFFF
    x = (x | x << 16) & 0x1F0000FF0000FF
    x = (x | x << 8) & 0x100F00F00F00F00F
    x = (x | x << 4) & 0x10C30C30C30C30C3
    return (x | x << 2) & 0x1249249249249249


@njit
def _keys(points):  # type: ignore[no-untyped-def]
    """Number along the curve of the cube of each point."""
    keys = np.empty(len(points), np.int64)
    scale = 0.5 * 2.0**_BITS
    for i in range(len(points)):
        key = np.int64(0)
        for k in range(3):
            cube = min(max((points[i, k] + 1.0) * scale, 0.0), 2.0**_BITS - 1.0)
            key = key << 1 | _spread(cube)
        keys[i] = key
    return keys


@njit
def _split(keys):  # type: ignore[no-untyped-def]
    """Ranges and children of all nodes; children come after their parents."""
    first, last, child = np.zeros(64, np.int64), np.zeros(64, np.int64), np.zeros(64, np.int64)
    last[0] = len(keys)
    count, node = 1, 0
    while node < count:
        begin, end = first[node], last[node]
        if end - begin > _LEAF:
            if count + 2 > len(first):
                more = np.zeros(count, np.int64)
                first, last = np.concatenate((first, more)), np.concatenate((last, more))
                child = np.concatenate((child, more))
            middle = (begin + end) // 2
            if keys[begin] != keys[end - 1]:
                # All keys agree above one bit: the cube is cut where this bit becomes 1.
                below = keys[begin] ^ keys[end - 1]
                for shift in (1, 2, 4, 8, 16, 32):
                    below |= below >> shift
                cut = keys[end - 1] & ~(below >> 1)
                middle = begin + np.searchsorted(keys[begin:end], cut)
            child[node] = count
            first[count], last[count] = begin, middle
            first[count + 1], last[count + 1] = middle, end
            count += 2
        node += 1
    return first[:count].copy(), last[:count].copy(), child[:count].copy()


@njit
def _measured(points, mass, first, last, child):  # type: ignore[no-untyped-def]
    """Boxes and masses of all nodes, children before their parents."""
    box, total = np.empty((len(first), 6)), np.zeros(len(first))
    for node in range(len(first) - 1, -1, -1):
        if child[node]:
            a, b = child[node], child[node] + 1
            total[node] = total[a] + total[b]
            for k in range(3):
                box[node, k] = min(box[a, k], box[b, k])
                box[node, 3 + k] = max(box[a, 3 + k], box[b, 3 + k])
            continue
        for k in range(3):
            box[node, k] = box[node, 3 + k] = points[first[node], k]
        for i in range(first[node], last[node]):
            total[node] += mass[i]
            for k in range(3):
                box[node, k] = min(box[node, k], points[i, k])
                box[node, 3 + k] = max(box[node, 3 + k], points[i, k])
    return box, total
