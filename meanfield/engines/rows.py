"""Rows of eight doubles: functions that write LLVM code for compiled loops over them.

A row is 64 bytes: one cache line and, with AVX-512, one register. Numba has no vector type, so
these loops are intrinsics with LLVM's vectors, which narrower machines process in parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils

from meanfield.arrays import FloatArray

ROW = 8
ROW_BYTES = 64
DOUBLE, LONG, INT = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
VECTOR = ir.VectorType(DOUBLE, ROW)


def empty_rows(count: int) -> FloatArray:
    """Array (8 count,) whose rows begin on cache lines."""
    spare = np.empty(ROW * count + ROW)
    skip = (-spare.ctypes.data % ROW_BYTES) // spare.itemsize
    return spare[skip : skip + ROW * count]


def data_of(context: Any, builder: Any, signature: Any, args: Any, which: int) -> Any:
    """Pointer to the first double of an array argument."""
    return context.make_array(signature.args[which])(context, builder, args[which]).data


def row_at(builder: Any, data: Any, index: Any) -> Any:
    """Pointer to eight doubles, from a flat index on."""
    return builder.bitcast(builder.gep(data, [index]), VECTOR.as_pointer())


def load(builder: Any, pointer: Any, alignment: int = ROW_BYTES) -> Any:
    """Row at a pointer."""
    value = builder.load(pointer)
    value.align = alignment
    return value


def store(builder: Any, value: Any, pointer: Any, alignment: int = ROW_BYTES) -> None:
    """Write a row to a pointer."""
    builder.store(value, pointer).align = alignment


def shuffled(builder: Any, first: Any, second: Any, lanes: list[int]) -> Any:
    """Chosen lanes of two rows; the second row's lanes are numbered from eight on."""
    return builder.shuffle_vector(first, second, ir.Constant(ir.VectorType(INT, ROW), lanes))


def transposed(builder: Any, rows: list[Any]) -> list[Any]:
    """Transpose 8 x 8: exchange blocks of 4 x 4, then of 2 x 2, then of single lanes."""
    for size in (4, 2, 1):
        exchanged = list(rows)
        for upper in range(ROW):
            if upper & size:
                continue
            lower = upper + size
            keep = [n if not n & size else ROW + n - size for n in range(ROW)]
            give = [n + size if not n & size else ROW + n for n in range(ROW)]
            exchanged[upper] = shuffled(builder, rows[upper], rows[lower], keep)
            exchanged[lower] = shuffled(builder, rows[upper], rows[lower], give)
        rows = exchanged
    return rows


def spread(builder: Any, value: Any) -> Any:
    """Put the same number in all lanes."""
    nothing = ir.Constant(VECTOR, ir.Undefined)
    return shuffled(builder, builder.insert_element(nothing, value, INT(0)), nothing, [0] * ROW)


def constant(value: float) -> Any:
    """Row with the same number in all lanes."""
    return ir.Constant(VECTOR, [value] * ROW)


def fused(builder: Any, x: Any, y: Any, z: Any) -> Any:
    """Fused x y + z of rows or other vectors, rounded once."""
    kind = ir.FunctionType(x.type, [x.type] * 3)
    name = f"llvm.fma.v{x.type.count}f64"
    function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
        builder.module, kind, name
    )
    return builder.call(function, [x, y, z])


def repeated(
    builder: Any, count: Any, begin: list[Any], body: Callable[[Any, list[Any]], list[Any]]
) -> list[Any]:
    """Write the loop rows = body(i, rows), i = 0 ... count - 1, count > 0; return the last rows."""
    before = builder.block
    inside = builder.append_basic_block("rows")
    after = builder.append_basic_block("rows.end")
    builder.branch(inside)
    builder.position_at_end(inside)
    i = builder.phi(LONG)
    i.add_incoming(LONG(0), before)
    carried = []
    for row in begin:
        carried.append(builder.phi(row.type))
        carried[-1].add_incoming(row, before)
    results = body(i, carried)
    further = builder.add(i, LONG(1))
    end = builder.block
    i.add_incoming(further, end)
    for phi, row in zip(carried, results, strict=True):
        phi.add_incoming(row, end)
    builder.cbranch(builder.icmp_signed("<", further, count), inside, after)
    builder.position_at_end(after)
    return results
