"""Solid harmonics of eight tokens at once: the innermost loops over degrees.

Let t = 1 - |z|, and R_n the Gegenbauer polynomial of order m with value 1 at the pole, at |z|:

    e_n = e_{n-1} - gamma_n t R_n,    R_{n+1} = R_n + kappa_n e_n,    R_0 = 1, e_{-1} = 0.

Without the differences e_n, R_{n+1} from R_n and R_{n-1} would lose l^2 units in the last place
near the poles. R_n(z) = sign(z)^n R_n(|z|), so degrees come in pairs, an even n and an odd one. The
polynomials of the second of four orders (`ORDERS`) serve all four. Less than one operation for a
degree, order and token replaces three. `solid_tables` converts coefficients.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numba.core import types

from meanfield.engines import rows
from meanfield.engines.compiled import intrinsic

# Lines of `work`, with tokens in columns: direction, 1 - |z| and sign of z; (x + iy)^m and
# (x + iy)^(m-1); sums of a field, of its derivatives along the axes, and of another field.
X, Y, Z, BELOW, SIGN, C, S, BEFORE_C, BEFORE_S, VALUE, ALONG_X, ALONG_Y, ALONG_Z, OTHER = range(14)
LINES = 14
# Tokens of a block: all of its lines stay in the first-level cache.
BLOCK = 128
# Orders that share polynomials: more would lose digits.
ORDERS = 4
# Rows of tokens that go through the degrees together, as many as fit into registers.
_MOMENT_ROWS = 2
MOMENT_TOKENS, FIELD_TOKENS = rows.ROW * _MOMENT_ROWS, rows.ROW
# Numbers for a degree n. Steps: gamma and kappa. Sums: a real and an imaginary row for each order.
# Terms: real and imaginary part for each order, of a field and its derivative, or of a field alone.
STEP, SUMS, FIRST, SECOND = 2, 2 * ORDERS * rows.ROW, 4 * ORDERS, 2 * ORDERS


class _Emitter:
    """Writes code for one intrinsic, from its arguments and rows."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        self.builder = builder
        self.args = args
        self.data = {
            which: rows.data_of(context, builder, signature, args, which)
            for which, kind in enumerate(signature.args)
            if isinstance(kind, types.Array)
        }

    def fma(self, x: Any, y: Any, z: Any) -> Any:
        return rows.fused(self.builder, x, y, z)

    def mul(self, x: Any, y: Any) -> Any:
        return self.builder.fmul(x, y)

    def neg(self, x: Any) -> Any:
        return self.builder.fneg(x)

    def place(self, which: int, line: int, first: Any, row: int) -> Any:
        index = self.builder.add(first, rows.LONG(line * BLOCK + rows.ROW * row))
        return rows.row_at(self.builder, self.data[which], index)

    def line(self, which: int, line: int, first: Any, count: int) -> list[Any]:
        return [
            rows.load(self.builder, self.place(which, line, first, row)) for row in range(count)
        ]

    def number(self, which: int, index: Any, offset: int) -> Any:
        place = self.builder.add(index, rows.LONG(offset))
        return rows.spread(
            self.builder, self.builder.load(self.builder.gep(self.data[which], [place]))
        )

    def step(self, t: Any, r: Any, e: Any, which: int, index: Any) -> Any:
        gamma, kappa = self.number(which, index, 0), self.number(which, index, 1)
        e = self.fma(self.neg(self.mul(gamma, t)), r, e)
        return self.fma(kappa, e, r), e

    def turned(self, power: tuple[Any, Any], x: Any, y: Any) -> tuple[Any, Any]:
        c, s = power
        return self.fma(c, x, self.neg(self.mul(s, y))), self.fma(c, y, self.mul(s, x))


def _polynomials(steps: Any, start: int, pairs: int, work: Any, chosen: slice) -> Iterator[Any]:
    """Yield place and values R_n(z) of tokens in some columns, degree by degree, in NumPy."""
    below, sign = work[BELOW, chosen], work[SIGN, chosen]
    r, e = np.ones_like(below), np.zeros_like(below)
    for n in range(2 * pairs):
        yield start + n, r * sign**n
        gamma, kappa = steps[2 * (start + n) :][:2]
        e = e - gamma * below * r
        r = r + kappa * e


def _powers(work: Any, chosen: slice) -> Any:
    """Powers of x + iy for four orders from m on, and one order lower; moves `work` to m + 4."""
    step = work[X, chosen] + 1j * work[Y, chosen]
    first = (work[C, chosen] + 1j * work[S, chosen]) * step ** np.arange(ORDERS + 1)[:, None]
    before = np.concatenate([[work[BEFORE_C, chosen] + 1j * work[BEFORE_S, chosen]], first[:-2]])
    work[C, chosen], work[S, chosen] = first[4].real, first[4].imag
    work[BEFORE_C, chosen], work[BEFORE_S, chosen] = first[3].real, first[3].imag
    return first[:4], before


def _added(sums: Any, steps: Any, start: int, pairs: int, work: Any, i: int) -> None:
    chosen = slice(i, i + MOMENT_TOKENS)
    parts = _powers(work, chosen)[0]
    for n, value in _polynomials(steps, start, pairs, work, chosen):
        lines = sums[SUMS * n :][:SUMS].reshape(ORDERS, 2, rows.ROW)
        products = (value * parts).reshape(ORDERS, _MOMENT_ROWS, rows.ROW).sum(axis=1)
        lines[:, 0] += products.real
        lines[:, 1] += products.imag


@intrinsic(_added)
def add_orders(
    typing_context: Any, sums: Any, steps: Any, start: Any, pairs: Any, work: Any, i: Any
) -> Any:
    """Add R_n (x + iy)^m of tokens from column i on to sums of four orders; move to m + 4."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        emit = _Emitter(context, builder, signature, args)
        count, column = _MOMENT_ROWS, args[5]
        t, sign, x, y, c, s = (
            emit.line(4, name, column, count) for name in (BELOW, SIGN, X, Y, C, S)
        )
        powers = [[power] for power in zip(c, s, strict=True)]
        for row in range(count):
            for _ in range(ORDERS):
                powers[row].append(emit.turned(powers[row][-1], x[row], y[row]))

        def body(k: Any, carried: list[Any]) -> list[Any]:
            r, e = carried[:count], carried[count:]
            for parity in range(2):
                n = builder.add(args[2], builder.add(builder.add(k, k), rows.LONG(parity)))
                value = [emit.mul(a, b) for a, b in zip(r, sign, strict=True)] if parity else r
                begin = builder.mul(n, rows.LONG(SUMS))
                for order in range(ORDERS):
                    for part in range(2):
                        offset = rows.LONG((2 * order + part) * rows.ROW)
                        place = rows.row_at(builder, emit.data[0], builder.add(begin, offset))
                        total = rows.load(builder, place)
                        for row in range(count):
                            total = emit.fma(value[row], powers[row][order][part], total)
                        rows.store(builder, total, place)
                index = builder.mul(n, rows.LONG(STEP))
                for row in range(count):
                    r[row], e[row] = emit.step(t[row], r[row], e[row], 1, index)
            return [*r, *e]

        one, zero = rows.constant(1.0), rows.constant(0.0)
        rows.repeated(builder, args[3], [one] * count + [zero] * count, body)
        for row in range(count):
            for name, part in zip((C, S), powers[row][ORDERS], strict=True):
                rows.store(builder, part, emit.place(4, name, column, row))
        return context.get_dummy_value()

    return types.void(sums, steps, start, pairs, work, i), generate


def _adder(first_field: bool, second_field: bool) -> Any:
    """Intrinsic (steps, first, second, start, pairs, m, work, i) to add four orders of fields."""

    def add(
        typing_context: Any,
        steps: Any,
        first: Any,
        second: Any,
        start: Any,
        pairs: Any,
        order: Any,
        work: Any,
        i: Any,
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            emit = _Emitter(context, builder, signature, args)
            fma, neg, mul = emit.fma, emit.neg, emit.mul
            # Array, stride and offset of each number of a degree.
            terms = [(1, FIRST, k) for k in range(FIRST)] if first_field else []
            terms += [(2, SECOND, k) for k in range(SECOND)] if second_field else []

            def line(name: int) -> Any:
                return emit.line(6, name, args[7], 1)[0]

            def keep(name: int, value: Any) -> None:
                rows.store(builder, value, emit.place(6, name, args[7], 0))

            t, sign = line(BELOW), line(SIGN)

            def body(k: Any, carried: list[Any]) -> list[Any]:
                r, e, *sums = carried
                for parity in range(2):
                    n = builder.add(args[3], builder.add(builder.add(k, k), rows.LONG(parity)))
                    value = mul(r, sign) if parity else r
                    for which, (array, stride, offset) in enumerate(terms):
                        index = builder.mul(n, rows.LONG(stride))
                        sums[which] = fma(value, emit.number(array, index, offset), sums[which])
                    r, e = emit.step(t, r, e, 0, builder.mul(n, rows.LONG(STEP)))
                return [r, e, *sums]

            begin = [rows.constant(1.0)] + [rows.constant(0.0)] * (1 + len(terms))
            added = rows.repeated(builder, args[4], begin, body)[2:]
            first_sums = added[: FIRST if first_field else 0]
            second_sums = added[len(first_sums) :]
            x, y = line(X), line(Y)
            power, before = (line(C), line(S)), (line(BEFORE_C), line(BEFORE_S))
            names = [VALUE, ALONG_X, ALONG_Y, ALONG_Z] if first_field else []
            totals = {name: line(name) for name in [*names, *([OTHER] if second_field else [])]}

            def add_product(name: int, real: Any, imaginary: Any, factor: tuple[Any, Any]) -> None:
                """Add Re((real + i imaginary) factor)."""
                totals[name] = fma(real, factor[0], totals[name])
                totals[name] = fma(neg(imaginary), factor[1], totals[name])

            for k in range(ORDERS):
                if first_field:
                    a, b, a_slope, b_slope = first_sums[4 * k : 4 * k + 4]
                    m = rows.spread(builder, builder.fadd(args[5], rows.DOUBLE(float(k))))
                    add_product(VALUE, a, b, power)
                    # d/dx (x + iy)^m = m (x + iy)^{m-1}, d/dy that times i.
                    lowered = mul(m, before[0]), mul(m, before[1])
                    add_product(ALONG_X, a, b, lowered)
                    add_product(ALONG_Y, neg(b), a, lowered)
                    add_product(ALONG_Z, a_slope, b_slope, power)
                if second_field:
                    add_product(OTHER, second_sums[2 * k], second_sums[2 * k + 1], power)
                power, before = emit.turned(power, x, y), power
            for name, value in totals.items():
                keep(name, value)
            for name, value in zip((C, S, BEFORE_C, BEFORE_S), (*power, *before), strict=True):
                keep(name, value)
            return context.get_dummy_value()

        return types.void(steps, first, second, start, pairs, order, work, i), generate

    def python(
        steps: Any, first: Any, second: Any, start: int, pairs: int, m: float, work: Any, i: int
    ) -> None:
        chosen = slice(i, i + FIELD_TOKENS)
        power, before = _powers(work, chosen)
        orders = m + np.arange(float(ORDERS))[:, None]
        for n, value in _polynomials(steps, start, pairs, work, chosen):
            if first_field:
                real, imaginary, slope, imaginary_slope = first[FIRST * n :][:FIRST].reshape(4, 4).T
                field = (real + 1j * imaginary)[:, None] * value
                lowered = orders * field * before
                slopes = (slope + 1j * imaginary_slope)[:, None] * value * power
                for line, sums in enumerate((field * power, lowered, 1j * lowered, slopes)):
                    work[VALUE + line, chosen] += sums.sum(axis=0).real
            if second_field:
                real, imaginary = second[SECOND * n :][:SECOND].reshape(4, 2).T
                field = (real + 1j * imaginary)[:, None] * value
                work[OTHER, chosen] += (field * power).sum(axis=0).real

    return intrinsic(python)(add)


add_gradient = _adder(True, False)
add_values = _adder(False, True)
add_both = _adder(True, True)
