"""Compiled loops over tokens of the cell method (`cells`).

Blocks of tokens stay in the first-level cache. First come all cells and offsets of a block,
vectorised over tokens; then one row of the table for each token.
"""

from __future__ import annotations

import numpy as np

from meanfield.engines.compiled import njit
from meanfield.engines.elementary import (
    PI,
    PI_TAIL,
    ROUNDING,
    ROUNDING_EXPONENT,
    copy_to,
    fma,
    to_bits,
    wide_vectors,
)
from meanfield.engines.fourier.rows import (
    add_16,
    quotients_8,
    quotients_16,
    values_8,
    values_16,
)
from meanfield.engines.rows import ROW

_BLOCK = 512
# Added to every offset, and far below rounding: t^15 of a token within 1e-21 of the centre of a
# cell would be a denormal number, which multiplies a hundred times more slowly.
_NOT_DENORMAL = 1e-18


@njit
def _locate(points, cells, stride, rows, offsets):  # type: ignore[no-untyped-def]
    """Write row (cell * stride) and offset t of each token; return 0 if no angle is too large."""
    wide_vectors()
    per_radian = cells / (2.0 * PI)
    width, width_tail = 2.0 * PI / cells, 2.0 * PI_TAIL / cells  # exact: cells is 2^q
    overflow = 0
    for i in range(len(points)):
        shifted = points[i] * per_radian + ROUNDING
        cell = shifted - ROUNDING
        in_radians = fma(-cell, width_tail, fma(-cell, width, points[i]))
        offsets[i] = fma(in_radians, per_radian, _NOT_DENORMAL)
        rows[i] = (to_bits(shifted) & (cells - 1)) * stride
        overflow |= (to_bits(shifted) >> 52) ^ ROUNDING_EXPONENT
    return overflow


@njit
def _fill_powers(powers):  # type: ignore[no-untyped-def]
    """Fill t^2, w t^4 and t^8 from t and w; the rows are t, t^2, w, w t^4, t^8."""
    wide_vectors()
    for i in range(powers.shape[1]):
        square = powers[0, i] * powers[0, i]
        fourth = square * square
        powers[1, i] = square
        powers[3, i] = powers[2, i] * fourth
        powers[4, i] = fourth * fourth


@njit
def spread(points, weights, cells, table):  # type: ignore[no-untyped-def]
    """Sum w (1, t, ..., t^15) in every cell, into the first half of `table`; weights (0,): w = 1.

    Returns True if no angle is too large.
    """
    # Two tables in turns: with one, neighbours in the same cell would wait for each other, and
    # tokens of a cluster share a cell.
    half = 2 * cells
    rows, powers = np.zeros(_BLOCK, np.int64), np.zeros((5, _BLOCK))
    powers[2] = 1.0
    table[:] = 0.0
    overflow = 0
    for start in range(0, len(points), _BLOCK):
        n = min(_BLOCK, len(points) - start)
        overflow |= _locate(points[start : start + n], cells, 2, rows, powers[0])
        if len(weights) > 0:
            copy_to(powers[2], weights[start : start + n])
        if n % 2:
            # A token without mass at the same angle makes the number even.
            rows[n], powers[0, n], powers[2, n] = rows[n - 1], powers[0, n - 1], 0.0
        _fill_powers(powers)
        for i in range(0, n, 2):
            add_16(table, rows[i], powers, i)
            add_16(table, rows[i + 1] + half, powers, i + 1)
    for i in range(ROW * half):
        table[i] += table[ROW * half + i]
    return overflow == 0


@njit
def gather(points, cells, depth, series, table, values):  # type: ignore[no-untyped-def]
    """Write values at tokens of their cells' polynomials, or quotients of two (series = 2).

    Returns True if no angle is too large.
    """
    rows, offsets, last = np.zeros(_BLOCK, np.int64), np.zeros(_BLOCK), np.zeros(_BLOCK)
    overflow = 0
    for start in range(0, len(points), _BLOCK):
        n = min(_BLOCK, len(points) - start)
        overflow |= _locate(points[start : start + n], cells, depth * series, rows, offsets)
        # The last block may end within a row of eight, and is copied from a buffer.
        target = values[start : start + n] if n % ROW == 0 else last
        if series == 1 and depth == 1:
            for i in range(0, n, ROW):
                values_8(table, rows, offsets, i, target)
        elif series == 1:
            for i in range(0, n, ROW):
                values_16(table, rows, offsets, i, target)
        elif depth == 1:
            for i in range(0, n, ROW):
                quotients_8(table, rows, offsets, i, target)
        else:
            for i in range(0, n, ROW):
                quotients_16(table, rows, offsets, i, target)
        if n % ROW:
            copy_to(values[start : start + n], last[:n])
    return overflow == 0
