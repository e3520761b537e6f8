"""Compiled loops over tokens of the cell method (`cells`).

Tokens go in blocks that stay in the first-level cache: first all cells and offsets of a block,
vectorised over tokens; then one row of the table per token.
"""

from __future__ import annotations

import numpy as np

from meanfield.compiled import njit
from meanfield.elementary import (
    PI,
    PI_TAIL,
    ROUNDING,
    ROUNDING_EXPONENT,
    fma,
    to_bits,
    wide_vectors,
)
from meanfield.manifolds.circle_points.rows import ROW, add_powers, polynomials, quotients

_BLOCK = 512
# Added to every offset, far below its rounding: t^7 of a token that sits on the centre of a
# cell to 1e-45 would be a denormal number, a hundred times slower to multiply.
_NOT_DENORMAL = 1e-40


@njit
def _locate(points, cells, stride, rows, offsets):  # type: ignore[no-untyped-def]
    """Row (cell * stride) and offset t of each token; 0 if all could be reduced."""
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
def _squares(powers):  # type: ignore[no-untyped-def]
    """Fill t^2 and t^4 from t."""
    wide_vectors()
    for i in range(powers.shape[1]):
        t = powers[0, i]
        powers[1, i] = t * t
        powers[2, i] = (t * t) * (t * t)


@njit
def spread(points, weights, cells, table):  # type: ignore[no-untyped-def]
    """Sum w (1, t, ..., t^7) in every cell; weights (0,) means w = 1."""
    # Two tables in turns: with one, neighbours in the same cell would wait for each other,
    # and tokens that have clustered share a cell. Their sum is left in the first half.
    rows, powers = np.zeros(_BLOCK, np.int64), np.zeros((3, _BLOCK))
    table[:] = 0.0
    overflow = 0
    for start in range(0, len(points), _BLOCK):
        stop = min(start + _BLOCK, len(points))
        overflow |= _locate(points[start:stop], cells, 1, rows, powers[0])
        _squares(powers)
        even = (stop - start) & ~1
        if len(weights) == 0:
            for i in range(0, even, 2):
                add_powers(table, rows[i], powers, i, 1.0)
                add_powers(table, rows[i + 1] + cells, powers, i + 1, 1.0)
            if even < stop - start:
                add_powers(table, rows[even], powers, even, 1.0)
        else:
            for i in range(0, even, 2):
                add_powers(table, rows[i], powers, i, weights[start + i])
                add_powers(table, rows[i + 1] + cells, powers, i + 1, weights[start + i + 1])
            if even < stop - start:
                add_powers(table, rows[even], powers, even, weights[start + even])
    table[: ROW * cells] += table[ROW * cells :]
    return overflow == 0


@njit
def gather(points, cells, table, values):  # type: ignore[no-untyped-def]
    """Value at each token of the polynomial of its cell."""
    rows, offsets, last = np.zeros(_BLOCK, np.int64), np.zeros(_BLOCK), np.zeros(_BLOCK)
    overflow = 0
    for start in range(0, len(points), _BLOCK):
        stop = min(start + _BLOCK, len(points))
        overflow |= _locate(points[start:stop], cells, 1, rows, offsets)
        # The last block may end within a row of eight: it goes through a buffer.
        whole = (stop - start) % ROW == 0
        target = values[start:stop] if whole else last
        for i in range(0, stop - start, ROW):
            polynomials(table, rows, offsets, i, target)
        if not whole:
            values[start:stop] = last[: stop - start]
    return overflow == 0


@njit
def gather_quotient(points, cells, table, values):  # type: ignore[no-untyped-def]
    """Quotient at each token of the two polynomials of its cell, rows 2m and 2m + 1."""
    rows, offsets, last = np.zeros(_BLOCK, np.int64), np.zeros(_BLOCK), np.zeros(_BLOCK)
    overflow = 0
    for start in range(0, len(points), _BLOCK):
        stop = min(start + _BLOCK, len(points))
        overflow |= _locate(points[start:stop], cells, 2, rows, offsets)
        whole = (stop - start) % ROW == 0
        target = values[start:stop] if whole else last
        for i in range(0, stop - start, ROW):
            quotients(table, rows, offsets, i, target)
        if not whole:
            values[start:stop] = last[: stop - start]
    return overflow == 0
