"""Regular polyhedra: their rotations, and how many harmonics these leave alone."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from meanfield.arrays import FloatArray, IntArray

POLYHEDRA = ("tetrahedral", "octahedral", "icosahedral")
"""Symmetries by name."""

GOLDEN = (1.0 + np.sqrt(5.0)) / 2.0
_CYCLE = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
# A half turn, a quarter turn about the third axis, a fifth about a vertex (0, 1, golden ratio);
# with the cycle of the axes, a third of a turn, each generates its group.
_OTHER = {
    "tetrahedral": [[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]],
    "octahedral": [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
    "icosahedral": [
        [0.5 / GOLDEN, -0.5 * GOLDEN, 0.5],
        [0.5 * GOLDEN, 0.5, 0.5 / GOLDEN],
        [-0.5, 0.5 / GOLDEN, 0.5 * GOLDEN],
    ],
}
# Rotations of one group differ by 0.8 in an entry, products of many by rounding.
_SAME = 1e-9


@lru_cache(maxsize=4)
def rotation_group(name: str) -> FloatArray:
    """All rotations of a regular polyhedron as matrices, shape (12, 24 or 60, 3, 3)."""
    if name not in _OTHER:
        raise ValueError(f"symmetry {name!r} is not known. Known: {', '.join(_OTHER)}.")
    generators = np.array([_CYCLE, _OTHER[name]])
    group = np.eye(3)[None]
    while True:
        products = np.einsum("gij,hjk->ghik", generators, group).reshape(-1, 3, 3)
        larger = _distinct(np.concatenate([group, products]))
        if len(larger) == len(group):
            return group
        group = larger


def invariants_by_degree(rotations: FloatArray, max_degree: int) -> IntArray:
    """Number of independent invariant harmonics of each degree, shape (max_degree + 1,)."""
    cosine = np.clip((np.trace(rotations, axis1=1, axis2=2) - 1.0) / 2.0, -1.0, 1.0)
    angles = np.arccos(cosine)
    # sin((2 l + 1) a / 2) / sin(a / 2) = 1 + 2 sum_{m <= l} cos m a
    cosines = np.cos(np.outer(np.arange(1, max_degree + 1), angles)).mean(axis=1)
    return np.rint(1.0 + 2.0 * np.concatenate([[0.0], np.cumsum(cosines)])).astype(np.int64)


def _distinct(arrays: FloatArray) -> FloatArray:
    """Arrays along the first axis, each once, where they first occur."""
    distinct: list[FloatArray] = []
    for array in arrays:
        if not any(np.abs(array - other).max() < _SAME for other in distinct):
            distinct.append(array)
    return np.array(distinct)
