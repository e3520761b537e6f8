"""Rows of a table of cells, which compiled loops read and write whole; see `engines.rows`.

A cell of the circle has one or two rows (`depth`), that is 8 or 16 coefficients:

    add_16                      row += w (1, t, ..., t^7), next row += w (t^8, ..., t^15)
    values_8, values_16         out_l = sum_j row_l[j] t_l^j,  l = 0 ... 7, eight tokens at once
    quotients_8, quotients_16   out_l divided by the same sum of the next rows
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types

from meanfield.engines.compiled import intrinsic
from meanfield.engines.rows import (
    LONG,
    ROW,
    constant,
    data_of,
    fused,
    load,
    row_at,
    spread,
    store,
    transposed,
)


def _added_16(table: Any, row: int, powers: Any, i: int) -> None:
    table[ROW * row :][: 2 * ROW] += powers[2, i] * powers[0, i] ** np.arange(2.0 * ROW)


@intrinsic(_added_16)
def add_16(typing_context: Any, table: Any, row: Any, powers: Any, i: Any) -> Any:
    """Add w (1, t, ..., t^15) to two rows; column i of `powers` is t, t^2, w, w t^4, t^8."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        columns = context.make_array(signature.args[2])(context, builder, args[2])
        stride = builder.extract_value(columns.shape, 1)

        def column(n: int) -> Any:
            place = builder.add(args[3], builder.mul(stride, LONG(n)))
            return spread(builder, builder.load(builder.gep(columns.data, [place])))

        ones = constant(1.0)
        # (1,t,1,t,...) times (1,1,t2,t2,...) times (w,w,w,w,w t4,w t4,w t4,w t4)
        p = builder.select(_lanes(1), column(0), ones)
        p = builder.select(_lanes(2), builder.fmul(p, column(1)), p)
        factor = builder.select(_lanes(4), column(3), column(2))
        for part in range(2):
            number = builder.shl(builder.add(args[1], LONG(part)), LONG(3))
            place = _place(context, builder, signature, args, 0, number)
            store(builder, fused(builder, p, factor, load(builder, place)), place)
            if part == 0:
                p = builder.fmul(p, column(4))
        return context.get_dummy_value()

    return types.void(table, row, powers, i), generate


def _reader(depth: int, series: int) -> Any:
    """Intrinsic (table, rows, t, start, out) for eight tokens from `start` on."""

    def read(typing_context: Any, table: Any, rows: Any, t: Any, start: Any, out: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            value, *below = (
                _polynomials(context, builder, signature, args, n * depth, depth)
                for n in range(series)
            )
            for divisor in below:
                value = builder.fdiv(value, divisor)
            store(builder, value, _place(context, builder, signature, args, 4, args[3]), 8)
            return context.get_dummy_value()

        return types.void(table, rows, t, start, out), generate

    def python(table: Any, rows: Any, t: Any, start: int, out: Any) -> None:
        for i in range(start, start + ROW):
            first = ROW * (rows[i] + depth * np.arange(series))
            parts = [
                table[begin:][: ROW * depth] @ t[i] ** np.arange(ROW * depth) for begin in first
            ]
            out[i] = parts[0] if series == 1 else parts[0] / parts[1]

    return intrinsic(python)(read)


def _polynomials(
    context: Any, builder: Any, signature: Any, args: Any, first: int, depth: int
) -> Any:
    """Eight polynomials, one per lane, of the rows from `first` on, counted from each token's."""
    numbers = context.make_array(signature.args[1])(context, builder, args[1]).data
    t = load(builder, _place(context, builder, signature, args, 2, args[3]), 8)
    value = None
    for part in reversed(range(depth)):
        loaded = []
        for lane in range(ROW):
            number = builder.load(builder.gep(numbers, [builder.add(args[3], LONG(lane))]))
            begin = builder.shl(builder.add(number, LONG(first + part)), LONG(3))
            loaded.append(load(builder, _place(context, builder, signature, args, 0, begin)))
        for c in reversed(transposed(builder, loaded)):
            value = c if value is None else fused(builder, value, t, c)
    return value


def _place(context: Any, builder: Any, signature: Any, args: Any, which: int, index: Any) -> Any:
    """Pointer to eight doubles of an array argument at a flat index."""
    return row_at(builder, data_of(context, builder, signature, args, which), index)


def _lanes(bit: int) -> Any:
    return ir.Constant(ir.VectorType(ir.IntType(1), ROW), [bool(n & bit) for n in range(ROW)])


values_8, values_16 = _reader(1, 1), _reader(2, 1)
quotients_8, quotients_16 = _reader(1, 2), _reader(2, 2)
