"""A tree of boxes around points in space, compiled: what is near what, without asking all pairs.

Points are put in the order of a Z-curve (Morton's): cubes halved along x, y, z in turn hold
ranges of it. A node is such a range, with the smallest box around its points and their mass.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meanfield.arrays import FloatArray, IntArray
from meanfield.engines.compiled import njit

# Halvings of [-1, 1] on each axis: three times so many bits fill a positive integer.
_BITS = 21
# Points up to which a node has no children: about as much work as asking for two boxes.
_LEAF = 8


class Tree(NamedTuple):
    """Nodes, root first, of points first, ..., last - 1 in the order of the curve."""

    points: FloatArray  # (n, 3)
    mass: FloatArray  # (n,)
    first: IntArray
    last: IntArray
    child: IntArray  # (nodes,): its children are child and child + 1; 0 for a leaf, which has none
    box: FloatArray  # (nodes, 6): least coordinates, then largest
    total: FloatArray  # (nodes,): mass of the node's points


def curve_order(points: FloatArray, stable: bool) -> IntArray | None:
    """Order of points along the curve; None if they are in it."""
    keys = _keys(points)
    if np.all(keys[1:] >= keys[:-1]):
        return None
    # Points with one key are 1e-6 apart: their order shows only in the rounding of sums of
    # unequal masses. Without it, sorting is three times faster.
    return np.argsort(keys, kind="stable" if stable else None)


def build(points: FloatArray, mass: FloatArray) -> Tree:
    """Tree over at least one point; points in the order of the curve."""
    first, last, child = _split(_keys(points))
    box, total = _measured(points, mass, first, last, child)
    return Tree(points, mass, first, last, child, box, total)


@njit
def _spread(number):  # type: ignore[no-untyped-def]
    """Bits of a number of 21 bits, with two zeros between each and the next."""
    x = np.int64(number)
    x = (x | x << 32) & 0x1F00000000FFFF
    x = (x | x << 16) & 0x1F0000FF0000FF
    x = (x | x << 8) & 0x100F00F00F00F00F
    x = (x | x << 4) & 0x10C30C30C30C30C3
    return (x | x << 2) & 0x1249249249249249


@njit
def _keys(points):  # type: ignore[no-untyped-def]
    """Number of each point's cube along the curve."""
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
    """Ranges of all nodes and their children; children come after their parents."""
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
                # All keys agree above one bit: where it becomes 1, the cube is cut.
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
