"""Integral of |D - alpha| over pieces of the circle, D a local polynomial on each.

D is the difference of two cumulative distributions on a piece of a cell of `cdf`,
D(t) = base - polynomial(t); the pieces come from `w1`.
"""

from __future__ import annotations

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.engines.compiled import njit
from meanfield.engines.fourier.cdf import TERMS, polynomial, polynomial_and_slope, primitive

# Columns of a piece: where it is, int D over it, and bounds of D on it.
CELL, START, END, BASE, INTEGRAL, LEAST, LARGEST = range(7)
COLUMNS = 7
_NEGLIGIBLE_AREA = 1e-18
_DEPTH = 64


@njit
def integrate(
    pieces: FloatArray,
    rows: FloatArray,
    alpha: float,
    aside: tuple[float, float, float, float],
) -> tuple[float, float, float]:
    """Integral of |D - alpha|, its slope |{D < alpha}| - |{D > alpha}| and its curvature."""
    half = np.pi / len(rows)
    stack = np.empty((_DEPTH, 2))
    value = aside[1] - aside[3] - alpha * (aside[0] - aside[2])
    slope = aside[2] - aside[0]
    curvature = 0.0
    for piece in pieces:
        length = half * (piece[END] - piece[START])
        if piece[LEAST] >= alpha:
            value += piece[INTEGRAL] - alpha * length
            slope -= length
        elif piece[LARGEST] <= alpha:
            value += alpha * length - piece[INTEGRAL]
            slope += length
        else:
            area, lean, bend = _crossing(
                rows, int(piece[CELL]), piece[BASE] - alpha, piece[START], piece[END], stack
            )
            value += half * area
            slope -= half * lean
            curvature += half * bend
    return value, slope, curvature


@njit
def _crossing(
    rows: FloatArray, cell: int, base: float, start: float, end: float, stack: FloatArray
) -> tuple[float, float, float]:
    """Integrals of |E| and of sign E, and 2 sum 1 / |E'| at the zeros, E = base - polynomial."""
    bend = 0.0
    for j in range(2, TERMS):
        bend += j * (j - 1) * abs(rows[cell, j])
    area = 0.0
    lean = 0.0
    curvature = 0.0
    stack[0, 0] = start
    stack[0, 1] = end
    size = 1
    while size > 0:
        size -= 1
        a = stack[size, 0]
        b = stack[size, 1]
        width = b - a
        middle = 0.5 * (a + b)
        value, slope = polynomial_and_slope(rows, cell, middle)
        value = base - value
        variation = 0.5 * width * (abs(slope) + 0.25 * width * bend)
        monotone = abs(slope) > 0.5 * width * bend
        negligible = variation * width <= _NEGLIGIBLE_AREA or size + 2 > _DEPTH
        zero = b
        if abs(value) <= variation and not negligible:
            if not monotone:
                stack[size, 0] = a
                stack[size, 1] = middle
                stack[size + 1, 0] = middle
                stack[size + 1, 1] = b
                size += 2
                continue
            first = base - polynomial(rows, cell, a)
            last = base - polynomial(rows, cell, b)
            value = first if first != 0.0 else last
            if first * last < 0.0:
                zero, steepness = _zero(rows, cell, base, a, b, first)
                curvature += 2.0 / steepness
        side = 1.0 if value > 0.0 else -1.0
        at_zero = primitive(rows, cell, zero)
        area += side * (base * (zero - a) - (at_zero - primitive(rows, cell, a)))
        lean += side * (zero - a)
        if zero < b:
            area -= side * (base * (b - zero) - (primitive(rows, cell, b) - at_zero))
            lean -= side * (b - zero)
    return area, lean, curvature


@njit
def _zero(
    rows: FloatArray, cell: int, base: float, a: float, b: float, first: float
) -> tuple[float, float]:
    """Zero of a monotone E in [a, b] and |E'| there, by Newton steps kept inside the bracket."""
    t = 0.5 * (a + b)
    slope = 1.0
    for _ in range(_DEPTH):
        value, slope = polynomial_and_slope(rows, cell, t)
        value = base - value
        if value * first > 0.0:
            a = t
        else:
            b = t
        step = value / slope
        proposed = t + step
        if not a <= proposed <= b:
            proposed = 0.5 * (a + b)
        if abs(proposed - t) <= 1e-9:  # one more step would move it by some 1e-18
            t = proposed
            break
        t = proposed
    return t, abs(slope)
