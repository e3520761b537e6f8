"""Elementary functions that compiled loops can vectorise.

Numba's `math.exp` and `math.sin` are calls, one number at a time. Here they are polynomials
with exact argument reduction, a few FMA each, accurate to 2 units in the last place:

    2^v     = 2^k (1 + r P(r)),               k = round(v), r = v - k in [-1/2, 1/2]
    sin y   = y + y z S(z),  z = y^2,         y in [-pi/4, pi/4]
    cos y   = 1 - z/2 + z^2 C(z)

S, C, P are Taylor polynomials economised by Chebyshev's: their highest terms T_n are dropped, in
exact rational arithmetic. That takes two or three degrees fewer for the same error.

Kernels fuse with `fma`, never with compiler flags (`fastmath`). With those the compiler contracts
each copy of a kernel in its own way, and results would depend on which process compiled it. It
could also reorder the rounding trick (x + c) - c.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types

from meanfield.engines.compiled import intrinsic, njit
from meanfield.engines.lanes import Lanes, bits_of, constant, spread_to
from meanfield.engines.rows import fused

# Adding 1.5 * 2^52 to |x| < 2^51 leaves the nearest integer in the low bits of the sum.
ROUNDING = 1.5 * 2.0**52
ROUNDING_EXPONENT = 0x433  # sign and exponent bits of any such sum

# pi = PI + PI_TAIL to 107 bits; sin(PI) = pi - PI to first order.
PI = math.pi
PI_TAIL = math.sin(math.pi)


def economised(taylor: list[Fraction], radius: float, degree: int) -> tuple[float, ...]:
    """Monomial coefficients of a Taylor polynomial on [-radius, radius], cut to a degree.

    It is cut in Chebyshev's T_n(x / radius), and errs by at most the sum of dropped coefficients.
    """
    unit = Fraction(radius)
    remaining = [coefficient * unit**n for n, coefficient in enumerate(taylor)]
    for top in range(len(taylor) - 1, degree, -1):
        chebyshev = _chebyshev(top)
        factor = remaining[top] / chebyshev[top]
        remaining = [r - factor * c for r, c in zip(remaining, chebyshev, strict=False)]
    return tuple(float(r / unit**n) for n, r in enumerate(remaining[: degree + 1]))


def _chebyshev(degree: int) -> list[int]:
    """Monomial coefficients of T_degree: T_n = 2 x T_{n-1} - T_{n-2}."""
    previous, current = [1] + degree * [0], [0, 1] + (degree - 1) * [0]
    for _ in range(degree - 1):
        shifted = [0] + [2 * c for c in current[:-1]]
        previous, current = current, [s - p for s, p in zip(shifted, previous, strict=True)]
    return current


def _inverse_factorials(first: int, step: int, count: int, sign: int) -> list[Fraction]:
    return [Fraction(sign**n, math.factorial(first + step * n)) for n in range(count)]


def _shifted(series: list[Fraction], radius: float, degree: int) -> tuple[float, ...]:
    # z = radius / 2 (1 + x): expand about the middle, economise, expand back, exactly.
    middle = Fraction(radius) / 2
    about = [
        sum(
            (series[n] * math.comb(n, m) * middle ** (n - m) for n in range(m, len(series))),
            Fraction(0),
        )
        for m in range(len(series))
    ]
    coefficients = [Fraction(c) for c in economised(about, float(middle), degree)]
    back = [
        sum(
            (
                coefficients[n] * math.comb(n, m) * (-middle) ** (n - m)
                for n in range(m, degree + 1)
            ),
            Fraction(0),
        )
        for m in range(degree + 1)
    ]
    return tuple(float(c) for c in back)


_SQUARE = (math.pi / 4) ** 2
_S0, _S1, _S2, _S3, _S4, _S5 = _shifted(_inverse_factorials(3, 2, 14, -1), _SQUARE, 5)
_S0, _S1, _S2, _S3, _S4, _S5 = -_S0, -_S1, -_S2, -_S3, -_S4, -_S5
_C0, _C1, _C2, _C3, _C4, _C5 = _shifted(_inverse_factorials(4, 2, 14, -1), _SQUARE, 5)
# 2^r - 1 = r sum_n L^(n+1) r^n / (n+1)!, L = ln 2: economised in L r, then times powers of L.
_P = tuple(
    c * math.log(2.0) ** (n + 1)
    for n, c in enumerate(economised(_inverse_factorials(1, 1, 20, 1), math.log(2.0) / 2, 10))
)
_P0, _P1, _P2, _P3, _P4, _P5, _P6, _P7, _P8, _P9, _P10 = _P


def _fused(x: Any, y: Any, z: Any) -> Any:
    # Dekker's product and Knuth's sum give their rounding errors; on overflow these are dropped.
    product = x * y
    (a, b), (c, d) = _split(x), _split(y)
    below = b * d - (((product - a * c) - b * c) - a * d)
    rounded = product + z
    part = rounded - product
    lost = below + ((product - (rounded - part)) + (z - part))
    return np.where(np.isfinite(lost), rounded + lost, rounded)[()]


def _split(x: Any) -> tuple[Any, Any]:
    """Upper and lower half of a number's digits."""
    scaled = (2.0**27 + 1.0) * x
    upper = scaled - (scaled - x)
    return upper, x - upper


@intrinsic(_fused)
def fma(typing_context: Any, x: Any, y: Any, z: Any) -> Any:
    """Fused x y + z, rounded once, for numbers, or lanes and numbers."""
    lanes = next((kind for kind in (x, y, z) if isinstance(kind, Lanes)), None)
    result = types.float64 if lanes is None else lanes
    kinds = [kind if isinstance(kind, Lanes) else types.float64 for kind in (x, y, z)]

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if lanes is None:
            return builder.fma(*args)
        pairs = zip(args, kinds, strict=True)
        return fused(builder, *(spread_to(context, builder, *pair, lanes) for pair in pairs))

    return result(*kinds), generate


@intrinsic(lambda x: np.float64(x).view(np.int64))
def to_bits(typing_context: Any, x: Any) -> Any:
    """Bit pattern of a double."""
    signature = types.int64(types.float64)
    return signature, lambda context, builder, sig, args: builder.bitcast(args[0], ir.IntType(64))


@intrinsic(lambda bits: np.int64(bits).view(np.float64))
def from_bits(typing_context: Any, bits: Any) -> Any:
    """Double with a bit pattern."""
    signature = types.float64(types.int64)
    return signature, lambda context, builder, sig, args: builder.bitcast(args[0], ir.DoubleType())


def _by_powers(power: Any, shifted: Any, v: Any) -> Any:
    bits = np.float64(power).view(np.int64) + (np.float64(shifted).view(np.int64) << 52)
    return np.where(v > -1021.0, bits.view(np.float64), 0.0)[()]


@intrinsic(_by_powers)
def _scaled(typing_context: Any, power: Any, shifted: Any, v: Any) -> Any:
    """2^k power with k in the low bits of `shifted`; 0 unless v > -1021."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = args[0].type
        power, shifted = bits_of(builder, args[0]), bits_of(builder, args[1])
        bits = builder.add(power, builder.shl(shifted, constant(shifted.type, 52)))
        normal = builder.fcmp_ordered(">", args[2], constant(kind, -1021.0))
        return builder.select(normal, builder.bitcast(bits, kind), constant(kind, 0.0))

    return power(power, shifted, v), generate


@intrinsic(lambda: None)
def wide_vectors(typing_context: Any) -> Any:
    """Let LLVM use vectors of 512 bits in the calling kernel, where the machine has them.

    LLVM prefers 256 bits on Intel; kernels of arithmetic alone gain a factor 1.5.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        # llvmlite refuses attributes that it does not list; LLVM takes this one as a string.
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.void(), generate


@njit
def copy_to(target, source):  # type: ignore[no-untyped-def]
    """Copy an array of one axis; `target[:] = source` takes ten times as long to compile."""
    for i in range(len(source)):
        target[i] = source[i]


@njit
def small_sine_cosine(y):  # type: ignore[no-untyped-def]
    """(sin y, cos y) for |y| <= pi/4; sin y with relative accuracy."""
    # Estrin's scheme, here and below: Horner's waits four cycles for each coefficient.
    z = y * y
    w = z * z
    s = fma(w, fma(w, fma(z, _S5, _S4), fma(z, _S3, _S2)), fma(z, _S1, _S0))
    c = fma(w, fma(w, fma(z, _C5, _C4), fma(z, _C3, _C2)), fma(z, _C1, _C0))
    return fma(y * z, s, y), fma(w, c, fma(-0.5, z, 1.0))


@njit
def exp2(v):  # type: ignore[no-untyped-def]
    """2^v for v <= 1000, a number or lanes; 0 up to -1021, where doubles lose digits."""
    shifted = v + ROUNDING
    r = v - (shifted - ROUNDING)
    square = r * r
    fourth = square * square
    low = fma(square, fma(r, _P3, _P2), fma(r, _P1, _P0))
    high = fma(square, fma(r, _P7, _P6), fma(r, _P5, _P4))
    top = fma(square, _P10, fma(r, _P9, _P8))
    return _scaled(fma(r, fma(fourth, fma(fourth, top, high), low), 1.0), shifted, v)
