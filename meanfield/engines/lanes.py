"""Lanes: eight or sixteen doubles that compiled loops work on at once, as vectors of LLVM.

A compiler may vectorise a sum only if it may reorder it. Flags that allow this let every copy of a
kernel choose its own order. Lanes state the order:

    a, b = load_8(array, i), load_8(array, i + 8)
    sums = fma(a, b, sums)                    # fma of `elementary`; also a + b, a - b, a * b, -a
    last = lane_sum(sums)

A number beside lanes means that number in all lanes. The compiler unrolls, vectorises and checks
nothing for aliasing, and so is quick; narrower machines process lanes in parts.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import lower_builtin, models, register_model, type_callable

from meanfield.engines.compiled import intrinsic
from meanfield.engines.rows import transposed

_DOUBLE, _INT, _LONG = ir.DoubleType(), ir.IntType(32), ir.IntType(64)


class Lanes(types.Type):
    """Numba's type of a vector of doubles."""

    def __init__(self, width: int) -> None:
        self.width = width
        super().__init__(name=f"Lanes({width})")


@register_model(Lanes)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, lanes: Any) -> None:
        super().__init__(manager, lanes, ir.VectorType(_DOUBLE, lanes.width))


def bits_of(builder: Any, value: Any) -> Any:
    """Bit pattern of a double or of lanes, as integers."""
    kind = value.type
    vector = isinstance(kind, ir.VectorType)
    return builder.bitcast(value, ir.VectorType(_LONG, kind.count) if vector else _LONG)


def constant(kind: Any, value: float) -> Any:
    """Constant of an LLVM type, in all lanes if the type is a vector."""
    return ir.Constant(kind, [value] * kind.count if isinstance(kind, ir.VectorType) else value)


def spread_to(context: Any, builder: Any, value: Any, kind: Any, lanes: Any) -> Any:
    """Value as lanes: lanes unchanged, a number in all of them."""
    if isinstance(kind, Lanes):
        return value
    one = context.cast(builder, value, kind, types.float64)
    nothing = ir.Constant(ir.VectorType(_DOUBLE, lanes.width), ir.Undefined)
    mask = ir.Constant(ir.VectorType(_INT, lanes.width), [0] * lanes.width)
    return builder.shuffle_vector(builder.insert_element(nothing, one, _INT(0)), nothing, mask)


def _place(context: Any, builder: Any, signature: Any, args: Any, width: int) -> Any:
    data = context.make_array(signature.args[0])(context, builder, args[0]).data
    return builder.bitcast(builder.gep(data, [args[1]]), ir.VectorType(_DOUBLE, width).as_pointer())


def _loaded(array: Any, i: int, width: int) -> Any:
    if not 0 <= i <= array.size - width:
        raise IndexError(f"{width} numbers from {i} on are not in an array of {array.size}.")
    return array.ravel()[i : i + width].copy()


def _loader(width: int) -> Any:
    @intrinsic(lambda array, i: _loaded(array, i, width))
    def load(typing_context: Any, array: Any, i: Any) -> Any:
        """Load lanes from a contiguous array, from a flat index on."""
        if array.layout != "C":
            return None

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            value = builder.load(_place(context, builder, signature, args, width))
            value.align = 8
            return value

        return Lanes(width)(array, types.int64), generate

    return load


load_8, load_16 = _loader(8), _loader(16)


def _stored(array: Any, i: int, lanes: Any) -> None:
    if not 0 <= i <= array.size - len(lanes):
        raise IndexError(f"{len(lanes)} numbers do not fit at {i} in an array of {array.size}.")
    array.reshape(-1)[i : i + len(lanes)] = lanes


@intrinsic(_stored)
def store(typing_context: Any, array: Any, i: Any, lanes: Any) -> Any:
    """Write lanes into a contiguous array from a flat index on."""
    if array.layout != "C":
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _place(context, builder, signature, args, signature.args[2].width)
        builder.store(args[2], place).align = 8
        return context.get_dummy_value()

    return types.void(array, types.int64, lanes), generate


def _stored_transposed(array: Any, i: int, *lanes: Any) -> None:
    _stored(array, i, np.stack(lanes, axis=-1).ravel())


@intrinsic(_stored_transposed)
def store_transposed_8(
    typing_context: Any, array: Any, i: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any,
    h: Any,
) -> Any:  # fmt: skip
    """Write lane 0 of all eight into a contiguous array from a flat index on, then lane 1, ..."""
    if array.layout != "C":
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        for n, lanes in enumerate(transposed(builder, args[2:])):
            place = [args[0], builder.add(args[1], args[1].type(8 * n))]
            builder.store(lanes, _place(context, builder, signature, place, 8)).align = 8
        return context.get_dummy_value()

    return types.void(array, types.int64, a, b, c, d, e, f, g, h), generate


def _spreader(width: int) -> Any:
    @intrinsic(lambda x: np.full(width, float(x)))
    def spread(typing_context: Any, x: Any) -> Any:
        lanes = Lanes(width)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return spread_to(context, builder, args[0], types.float64, lanes)

        return lanes(types.float64), generate

    return spread


spread_8, spread_16 = _spreader(8), _spreader(16)


def _shuffle(builder: Any, first: Any, second: Any, lanes: Any) -> Any:
    mask = ir.Constant(ir.VectorType(_INT, len(lanes)), list(lanes))
    return builder.shuffle_vector(first, second, mask)


@intrinsic(lambda lanes: lanes[::-1])
def reverse(typing_context: Any, lanes: Any) -> Any:
    """Lanes from the last to the first."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _shuffle(builder, args[0], args[0], range(lanes.width)[::-1])

    return lanes(lanes), generate


def _loaded_complex(array: Any, i: int) -> Any:
    numbers = _loaded(array.view(float), 2 * i, 16)
    return numbers[::2], numbers[1::2]


@intrinsic(_loaded_complex)
def load_complex_8(typing_context: Any, array: Any, i: Any) -> Any:
    """Load real and imaginary lanes from a contiguous complex array, from an index on."""
    if array.layout != "C" or array.ndim != 1:
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        both = builder.load(_place(context, builder, signature, args, 16))
        both.align = 8
        parts = [_shuffle(builder, both, both, range(n, 16, 2)) for n in (0, 1)]
        return context.make_tuple(builder, signature.return_type, parts)

    return types.UniTuple(Lanes(8), 2)(array, types.int64), generate


def _stored_complex(array: Any, i: int, real: Any, imag: Any) -> None:
    _stored(array.view(float), 2 * i, np.stack([real, imag], axis=-1).ravel())


@intrinsic(_stored_complex)
def store_complex_8(typing_context: Any, array: Any, i: Any, real: Any, imag: Any) -> Any:
    """Write real and imaginary lanes into a contiguous complex array, from an index on."""
    if array.layout != "C" or array.ndim != 1:
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        order = [n + part for n in range(8) for part in (0, 8)]
        place = _place(context, builder, signature, args, 16)
        builder.store(_shuffle(builder, args[2], args[3], order), place).align = 8
        return context.get_dummy_value()

    return types.void(array, types.int64, real, imag), generate


def _halved(lanes: Any) -> float:
    while len(lanes) > 1:
        lanes = lanes[: len(lanes) // 2] + lanes[len(lanes) // 2 :]
    return float(lanes[0])


@intrinsic(_halved)
def lane_sum(typing_context: Any, lanes: Any) -> Any:
    """Sum of the lanes: halves are added until one lane is left."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value, width = args[0], signature.args[0].width
        while width > 1:
            width //= 2
            low, high = range(width), range(width, 2 * width)
            value = _sum_of_lanes(builder, value, value, low, high)
        return builder.extract_element(value, _INT(0))

    return types.float64(lanes), generate


def _sum_of_lanes(builder: Any, a: Any, b: Any, *places: Iterable[int]) -> Any:
    """Sum of two choices among the lanes of a and b; numbers of b follow the numbers of a."""
    choices = [[_INT(place) for place in each] for each in places]
    masks = [ir.Constant(ir.VectorType(_INT, len(choice)), choice) for choice in choices]
    return builder.fadd(*(builder.shuffle_vector(a, b, mask) for mask in masks))


@intrinsic(lambda *eight: np.array([_halved(lanes) for lanes in eight]))
def lane_sums(
    typing_context: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any
) -> Any:
    """`lane_sum` of each of eight times eight lanes, as eight lanes."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        values = list(args)
        for half in (4, 2, 1):
            low = [i for i in range(16) if not i & half]
            high = [i for i in range(16) if i & half]
            pairs = zip(values[::2], values[1::2], strict=True)
            values = [_sum_of_lanes(builder, *pair, low, high) for pair in pairs]
        return values[0]

    return a(a, b, c, d, e, f, g, h), generate


@intrinsic(lambda x, s: np.copysign(1.0, s) * x)
def times_sign(typing_context: Any, x: Any, s: Any) -> Any:
    """Change the sign of x where the sign of s is minus; each is a number or lanes."""
    kind = x if isinstance(x, Lanes) else types.float64

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = spread_to(context, builder, args[0], kind, s) if isinstance(s, Lanes) else args[0]
        bits = bits_of(builder, args[1])
        sign = builder.and_(bits, constant(bits.type, -(1 << 63)))
        return builder.bitcast(builder.xor(bits_of(builder, value), sign), value.type)

    return s(kind, s), generate


def _arithmetic(operation: Callable[..., Any], instruction: str) -> None:
    """Register an operation of lanes with lanes or numbers in numba."""

    @type_callable(operation)
    def typing(context: Any) -> Any:
        def typer(a: Any, b: Any) -> Any:
            lanes = [kind for kind in (a, b) if isinstance(kind, Lanes)]
            numbers = types.Float | types.Integer
            if lanes and all(kind == lanes[0] or isinstance(kind, numbers) for kind in (a, b)):
                return lanes[0]
            return None

        return typer

    def lowered(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        values = [
            spread_to(context, builder, value, kind, signature.return_type)
            for value, kind in zip(args, signature.args, strict=True)
        ]
        return getattr(builder, instruction)(*values)

    lower_builtin(operation, Lanes, Lanes)(lowered)
    for number in (types.Float, types.Integer):
        lower_builtin(operation, Lanes, number)(lowered)
        lower_builtin(operation, number, Lanes)(lowered)


_arithmetic(operator.add, "fadd")
_arithmetic(operator.sub, "fsub")
_arithmetic(operator.mul, "fmul")


@type_callable(operator.neg)
def _typed_negative(context: Any) -> Any:
    return lambda a: a if isinstance(a, Lanes) else None


@lower_builtin(operator.neg, Lanes)
def _negative(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.fneg(args[0])
