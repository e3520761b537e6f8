"""Sums over pairs of tokens."""

import numpy as np

from meanfield.arrays import FloatArray

PAIRS_AT_ONCE = 1 << 18
"""Pairs in an array of them, 2 MiB: several such arrays stay in cache."""

ROWS_PER_CHUNK = 512
"""Tokens from which sums over pairs are worth several threads: a quarter of a million, 0.1 ms."""


def beside_mass(points: FloatArray, masses: FloatArray) -> FloatArray:
    """Points (..., n), those of mass 0 moved to one that has mass.

    In the unit of the largest weight present, weights of massless points have any size, and
    infinity times 0 is NaN.
    """
    heavy = masses != 0.0
    return np.asarray(np.where(heavy, points, points[..., heavy.argmax(), None]))
