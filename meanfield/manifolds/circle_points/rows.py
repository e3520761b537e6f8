"""Rows of eight doubles, read and written whole by compiled loops.

A cell of the circle owns one row of 64 bytes: one cache line and, with AVX-512, one register.
Numba has no vector type, so the two loops that live on rows are spelled in LLVM's, which
serves narrower machines by halves and quarters.

    add_powers    row += w (1, t, ..., t^7)                         one token
    polynomials   out_l = sum_j row_l[j] t_l^j,  l = 0 ... 7        eight tokens
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types

from meanfield.arrays import FloatArray
from meanfield.compiled import intrinsic

ROW = 8
_ROW_BYTES = 64
_DOUBLE, _LONG, _INT = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
_VECTOR = ir.VectorType(_DOUBLE, ROW)
_FUSED = ("contract",)


def empty_rows(count: int) -> FloatArray:
    """Array (8 count,) whose rows begin on cache lines."""
    spare = np.empty(ROW * count + ROW)
    skip = (-spare.ctypes.data % _ROW_BYTES) // spare.itemsize
    return spare[skip : skip + ROW * count]


@intrinsic
def add_powers(typing_context: Any, table: Any, row: Any, powers: Any, i: Any, w: Any) -> Any:
    """Add w (1, t, ..., t^7) to a row; t, t^2, t^4 are column i of `powers` (3, BLOCK)."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        target = _place(context, builder, signature, args, 0, builder.shl(args[1], _LONG(3)))
        columns = context.make_array(signature.args[2])(context, builder, args[2])
        stride = builder.extract_value(columns.shape, 1)
        t, t2, t4 = (
            builder.load(
                builder.gep(columns.data, [builder.add(args[3], builder.mul(stride, _LONG(n)))])
            )
            for n in range(3)
        )
        ones = ir.Constant(_VECTOR, [1.0] * ROW)
        # (1,t,1,t,...) times (1,1,t2,t2,...) times (1,1,1,1,t4,t4,t4,t4)
        p = builder.select(_lanes(1), _spread(builder, t), ones)
        p = builder.select(_lanes(2), builder.fmul(p, _spread(builder, t2)), p)
        p4 = builder.select(_lanes(4), _spread(builder, t4), ones)
        p = builder.fmul(p, _spread(builder, args[4]))
        p = builder.fmul(p, p4, _FUSED)
        _store(builder, builder.fadd(_load(builder, target), p, _FUSED), target)
        return context.get_dummy_value()

    return types.void(table, row, powers, i, w), generate


@intrinsic
def polynomials(typing_context: Any, table: Any, rows: Any, t: Any, start: Any, out: Any) -> Any:
    """Set out[start:start+8] to the polynomials of rows[start:start+8] at t."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = _values(context, builder, signature, args, 0)
        _store(builder, value, _place(context, builder, signature, args, 4, args[3]), 8)
        return context.get_dummy_value()

    return types.void(table, rows, t, start, out), generate


@intrinsic
def quotients(typing_context: Any, table: Any, rows: Any, t: Any, start: Any, out: Any) -> Any:
    """Set out[start:start+8] to the polynomials of rows[...] over those of the rows after."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        upper, lower = (_values(context, builder, signature, args, row) for row in (0, 1))
        place = _place(context, builder, signature, args, 4, args[3])
        _store(builder, builder.fdiv(upper, lower), place, 8)
        return context.get_dummy_value()

    return types.void(table, rows, t, start, out), generate


def _values(context: Any, builder: Any, signature: Any, args: Any, row: int) -> Any:
    """Eight polynomials, one per lane, of eight rows (`row` after the given ones) at eight t."""
    numbers = context.make_array(signature.args[1])(context, builder, args[1]).data
    loaded = []
    for lane in range(ROW):
        number = builder.load(builder.gep(numbers, [builder.add(args[3], _LONG(lane))]))
        begin = builder.shl(builder.add(number, _LONG(row)), _LONG(3))
        loaded.append(_load(builder, _place(context, builder, signature, args, 0, begin)))
    coefficients = _transposed(builder, loaded)
    t = _load(builder, _place(context, builder, signature, args, 2, args[3]), 8)
    value = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        value = builder.fadd(builder.fmul(value, t, _FUSED), coefficient, _FUSED)
    return value


def _place(context: Any, builder: Any, signature: Any, args: Any, which: int, index: Any) -> Any:
    """Pointer to eight doubles of an array argument, from a flat index on."""
    data = context.make_array(signature.args[which])(context, builder, args[which]).data
    return builder.bitcast(builder.gep(data, [index]), _VECTOR.as_pointer())


def _load(builder: Any, pointer: Any, alignment: int = _ROW_BYTES) -> Any:
    value = builder.load(pointer)
    value.align = alignment
    return value


def _store(builder: Any, value: Any, pointer: Any, alignment: int = _ROW_BYTES) -> None:
    builder.store(value, pointer).align = alignment


def _lanes(bit: int) -> Any:
    """Mask of the lanes whose number has this bit."""
    return ir.Constant(ir.VectorType(ir.IntType(1), ROW), [bool(n & bit) for n in range(ROW)])


def _shuffled(builder: Any, first: Any, second: Any, lanes: list[int]) -> Any:
    return builder.shuffle_vector(first, second, ir.Constant(ir.VectorType(_INT, ROW), lanes))


def _spread(builder: Any, value: Any) -> Any:
    """Put the same number in all lanes."""
    nothing = ir.Constant(_VECTOR, ir.Undefined)
    return _shuffled(builder, builder.insert_element(nothing, value, _INT(0)), nothing, [0] * ROW)


def _transposed(builder: Any, rows: list[Any]) -> list[Any]:
    """Transpose 8 x 8: exchange blocks of 4 x 4, then of 2 x 2, then of single lanes."""
    for size in (4, 2, 1):
        exchanged = list(rows)
        for upper in range(ROW):
            if upper & size:
                continue
            lower = upper + size
            keep = [n if not n & size else ROW + n - size for n in range(ROW)]
            give = [n + size if not n & size else ROW + n for n in range(ROW)]
            exchanged[upper] = _shuffled(builder, rows[upper], rows[lower], keep)
            exchanged[lower] = _shuffled(builder, rows[upper], rows[lower], give)
        rows = exchanged
    return rows
