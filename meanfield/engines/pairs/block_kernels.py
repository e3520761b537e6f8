"""Compiled exponentials of blocks of scores, in place."""

from __future__ import annotations

import math

import numpy as np

from meanfield.engines.compiled import njit
from meanfield.engines.elementary import exp2, fma, wide_vectors

_LOG2_E = 1.0 / math.log(2.0)


@njit
def exponentials(block, shifts, masses, first, rate, masked):  # type: ignore[no-untyped-def]
    """Write m_j e^{s_kj - shift_k - rate (k - j)} over scores s, shape (r, rows, m).

    Rows belong to tokens k = first, first + 1, ...; if masked, entries j > k become 0.
    """
    wide_vectors()
    count, rows, columns = block.shape
    for r in range(count):
        own = masses[r if len(masses) > 1 else 0]
        for i in range(rows):
            row, k = block[r, i], first + i
            shift = shifts[r, i]
            end = min(k + 1, columns) if masked else columns
            if rate == 0.0:
                for j in range(end):
                    row[j] = exp2(_LOG2_E * (row[j] - shift)) * own[j]
            else:
                for j in range(end):
                    row[j] = exp2(_LOG2_E * (fma(-rate, k - j, row[j]) - shift)) * own[j]
            for j in range(end, columns):
                row[j] = 0.0


@njit
def largest(block, masses, first, rate, masked, shifts):  # type: ignore[no-untyped-def]
    """Replace NaN in shifts by the row's largest exponent over tokens with mass; without one, 0."""
    count, rows, columns = block.shape
    for r in range(count):
        own = masses[r if len(masses) > 1 else 0]
        for i in range(rows):
            if shifts[r, i] == shifts[r, i]:
                continue
            k, most = first + i, -np.inf
            for j in range(min(k + 1, columns) if masked else columns):
                if own[j] != 0.0:
                    most = max(most, fma(-rate, k - j, block[r, i, j]))
            shifts[r, i] = most if most > -np.inf else 0.0
