"""A second copy of the package in which compiled kernels are plain Python.

Python checks what compiled code does not: every index, every conversion. And coverage sees its
lines. NUMBA_DISABLE_JIT makes numba return functions as they are written; what is left are
functions that write LLVM code, which have stand-ins here. Both copies must give the same.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from fractions import Fraction
from types import ModuleType
from typing import Any

import numba
import numpy as np
import pytest

from meanfield.compute.rows import ROW

_COPIES: dict[str, ModuleType] = {}


def fma(x: float, y: float, z: float) -> float:
    """Fused x y + z, rounded once, as a quotient of integers is."""
    if not np.isfinite([x, y, z]).all():
        return x * y + z
    return float(Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)))


def to_bits(x: float) -> Any:
    """Bit pattern of a double."""
    return np.float64(x).view(np.int64)


def from_bits(bits: Any) -> Any:
    """Double of a bit pattern."""
    return np.int64(bits).view(np.float64)


def wide_vectors() -> None:
    """Nothing to widen."""


def add_16(table: Any, row: int, powers: Any, i: int) -> None:
    """Add w (1, t, ..., t^15) to two rows."""
    table[ROW * row :][: 2 * ROW] += powers[2, i] * powers[0, i] ** np.arange(2.0 * ROW)


def reader(depth: int, series: int) -> Callable[..., None]:
    """Eight polynomials of `depth` rows each, or the quotients of two, from `start` on."""

    def read(table: Any, rows: Any, t: Any, start: int, out: Any) -> None:
        for i in range(start, start + ROW):
            first = ROW * (rows[i] + depth * np.arange(series))
            parts = [
                table[begin:][: ROW * depth] @ t[i] ** np.arange(ROW * depth) for begin in first
            ]
            out[i] = parts[0] if series == 1 else parts[0] / parts[1]

    return read


def polynomials(steps: Any, start: int, pairs: int, work: Any, chosen: slice) -> Iterator[Any]:
    """Place n and R_n(z) of the tokens in these columns, degree by degree."""
    below, sign = work[3, chosen], work[4, chosen]
    r, e = np.ones_like(below), np.zeros_like(below)
    for n in range(2 * pairs):
        yield start + n, r * sign**n
        gamma, kappa = steps[2 * (start + n) :][:2]
        e = e - gamma * below * r
        r = r + kappa * e


def powers(work: Any, chosen: slice) -> Any:
    """Move x + iy on by four powers; (x + iy)^m to that of m + 4, and those before."""
    step = work[0, chosen] + 1j * work[1, chosen]
    first = (work[5, chosen] + 1j * work[6, chosen]) * step ** np.arange(5)[:, None]
    before = np.concatenate([[work[7, chosen] + 1j * work[8, chosen]], first[:-2]])
    work[5, chosen], work[6, chosen] = first[4].real, first[4].imag
    work[7, chosen], work[8, chosen] = first[3].real, first[3].imag
    return first[:4], before


def add_orders(sums: Any, steps: Any, start: int, pairs: int, work: Any, i: int) -> None:
    """Add R_n (x + iy)^m of sixteen tokens to the sums of four orders, lane by lane."""
    chosen = slice(i, i + 2 * ROW)
    parts = powers(work, chosen)[0]
    for n, value in polynomials(steps, start, pairs, work, chosen):
        rows = sums[8 * ROW * n :][: 8 * ROW].reshape(4, 2, ROW)
        products = (value * parts).reshape(4, 2, ROW).sum(axis=1)
        rows[:, 0] += products.real
        rows[:, 1] += products.imag


def adder(first_field: bool, second_field: bool) -> Callable[..., None]:
    """Add four orders of one or two fields to the sums of eight tokens."""

    def add(
        steps: Any, first: Any, second: Any, start: int, pairs: int, m: float, work: Any, i: int
    ) -> None:
        chosen = slice(i, i + ROW)
        power, before = powers(work, chosen)
        orders = m + np.arange(4.0)[:, None]
        for n, value in polynomials(steps, start, pairs, work, chosen):
            if first_field:
                real, imaginary, slope, imaginary_slope = first[16 * n :][:16].reshape(4, 4).T
                field = (real + 1j * imaginary)[:, None] * value
                lowered = orders * field * before
                slopes = (slope + 1j * imaginary_slope)[:, None] * value * power
                for line, sums in enumerate((field * power, lowered, 1j * lowered, slopes)):
                    work[9 + line, chosen] += sums.sum(axis=0).real
            if second_field:
                real, imaginary = second[8 * n :][:8].reshape(4, 2).T
                field = (real + 1j * imaginary)[:, None] * value
                work[13, chosen] += (field * power).sum(axis=0).real

    return add


STAND_INS = {f.__name__: f for f in (fma, to_bits, from_bits, wide_vectors, add_16, add_orders)}


def stand_in(function: Any) -> Any:
    """What `meanfield.compute.compiled.intrinsic` returns in the second copy."""
    if function.__name__ in STAND_INS:
        return STAND_INS[function.__name__]
    made = adder if function.__name__ == "add" else reader
    return made(**inspect.getclosurevars(function).nonlocals)


def _taken_out() -> dict[str, ModuleType]:
    names = [name for name in sys.modules if name.partition(".")[0] == "meanfield"]
    return {name: sys.modules.pop(name) for name in names}


@contextmanager
def interpreted() -> Iterator[None]:
    """Within, `import meanfield...` means the second copy."""
    compiled, disabled = _taken_out(), numba.config.DISABLE_JIT
    sys.modules.update(_COPIES)
    numba.config.DISABLE_JIT = True
    try:
        from meanfield.compute import compiled as compiling

        compiling.intrinsic = stand_in
        with warnings.catch_warnings():
            # Compiled code divides by zero and overflows in silence.
            warnings.simplefilter("ignore", RuntimeWarning)
            yield
    finally:
        numba.config.DISABLE_JIT = disabled
        _COPIES.update(_taken_out())
        sys.modules.update(compiled)


def _same(found: Any, expected: Any, **tolerance: float) -> None:
    if isinstance(expected, tuple):
        for one, other in zip(found, expected, strict=True):
            _same(one, other, **tolerance)
    else:
        np.testing.assert_allclose(found, expected, **tolerance)


def _call(function: str | Callable[..., Any], args: tuple[Any, ...]) -> Any:
    if isinstance(function, str):
        module, name = function.split(":")
        function = getattr(importlib.import_module(f"meanfield.{module}"), name)
    # A kernel may write into its arguments.
    return function(*deepcopy(args))


@pytest.fixture
def agree() -> Callable[..., None]:
    """Check that a function gives the same in both copies.

    The function is named, "module:name" without `meanfield.`, or imports what it calls.
    """

    def check(
        function: str | Callable[..., Any], *args: Any, rtol: float = 1e-12, atol: float = 0.0
    ) -> None:
        expected = _call(function, args)
        with interpreted():
            found = _call(function, args)
        _same(found, expected, rtol=rtol, atol=atol)

    return check
