"""W_1 on the circle when a density is involved.

With D the difference of the two cumulative distributions,

    W_1 = min_alpha int_0^{2 pi} |D(theta) - alpha| dtheta,

and alpha is the median of D. The circle is cut at the points and at the cells of `cdf`; on each
piece D(t) = base - polynomial(t). Samples of D give a window for the median. Pieces on one side of
the window enter through their integral. On the few others |D - alpha| is integrated between its
zeros.
"""

from __future__ import annotations

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.engines.compiled import njit
from meanfield.engines.elementary import fma
from meanfield.engines.fourier.cdf import TERMS, polynomial, polynomial_and_slope, primitive
from meanfield.transport.circle.convex import SAMPLES, WINDOW, Evaluation, minimise_convex

_DIRECT = 4096  # up to so many pieces, all are kept
_BLOCK = 64  # points of one cell that are evaluated together


def w1_with_density(points: FloatArray, levels: FloatArray, rows: FloatArray, mass: float) -> float:
    """W_1 between sorted points and a density, or of a difference of densities.

    points (n,): in [0, 2 pi], empty for two densities. levels (n,): mass up to and including each
    point, empty for (i + 1) / n. rows (M, TERMS): `local_polynomials` of a total mass, 1 or 0.
    """
    capacity = len(points) + len(rows)
    cells = np.empty((capacity, COLUMNS))  # memory that is not written costs nothing
    low, high, start = -np.inf, np.inf, 0.0
    if capacity > _DIRECT:
        values = np.sort(_samples(points, levels, rows, mass, SAMPLES))
        low = values[int((0.5 - WINDOW) * SAMPLES)]
        high = values[int((0.5 + WINDOW) * SAMPLES)]
        start = values[SAMPLES // 2]
    count, aside = _sort_out(points, levels, rows, mass, low, high, cells)
    if np.isfinite(low):
        # Samples may mislead: slopes decide whether the median is in the window.
        falling = integrate(cells[:count], rows, low, aside)[1] <= 0.0
        rising = integrate(cells[:count], rows, high, aside)[1] >= 0.0
        if not (falling and rising):
            low, high = -np.inf, np.inf
            count, aside = _sort_out(points, levels, rows, mass, low, high, cells)
    pieces = cells[:count]
    if not np.isfinite(low):
        low, high = float(pieces[:, LEAST].min()), float(pieces[:, LARGEST].max())
        start = _middle(pieces)

    def evaluate(alpha: float) -> Evaluation:
        evaluation: Evaluation = integrate(pieces, rows, alpha, aside)
        return evaluation

    return minimise_convex(evaluate, float(low), float(high), float(start)).value


def _middle(pieces: FloatArray) -> float:
    """Median of mid-range values of the pieces, weighted by their lengths."""
    middle = 0.5 * (pieces[:, LEAST] + pieces[:, LARGEST])
    order = np.argsort(middle)
    lengths = np.cumsum((pieces[:, END] - pieces[:, START])[order])
    return float(middle[order[np.searchsorted(lengths, 0.5 * lengths[-1])]])


@njit
def _samples(
    points: FloatArray, levels: FloatArray, rows: FloatArray, mass: float, count: int
) -> FloatArray:
    """D at `count` equispaced angles."""
    cells = len(rows)
    values = np.empty(count)
    for j in range(count):
        position = (j + 0.5) * cells / count
        cell = min(int(position), cells - 1)
        before = int(np.searchsorted(points, position * (2.0 * np.pi / cells)))
        base = _level(levels, before, len(points)) - mass * (cell + 0.5) / cells
        values[j] = base - polynomial(rows, cell, 2.0 * (position - cell) - 1.0)
    return values


@njit
def _level(levels: FloatArray, before: int, n: int) -> float:
    """Mass of the first `before` of n points."""
    if before == 0:
        return 0.0
    return levels[before - 1] if len(levels) else before / n


@njit
def _sort_out(
    points: FloatArray,
    levels: FloatArray,
    rows: FloatArray,
    mass: float,
    low: float,
    high: float,
    store: FloatArray,
) -> tuple[int, tuple[float, float, float, float]]:
    """Store pieces that may meet ]low, high[; sum (length, integral of D) of those above, below."""
    cells = len(rows)
    half = np.pi / cells
    row = np.empty(2 * TERMS)  # polynomial of the cell, and its primitive / t
    ends, values, primitives = np.empty(_BLOCK + 1), np.empty(_BLOCK + 1), np.empty(_BLOCK + 1)
    count = 0
    done = 0
    level = 0.0
    above = above_integral = below = below_integral = 0.0
    for cell in range(cells):
        offset = mass * (cell + 0.5) / cells
        steepness = _expand(rows, cell, row)
        start = -1.0
        start_value, start_primitive = _at(row, start)
        edge = half * (2 * cell + 2) if cell < cells - 1 else np.inf
        finished = False
        while not finished:
            size = 0
            while size < _BLOCK and done + size < len(points) and points[done + size] < edge:
                size += 1
            _fill(points, done, size, half * (2 * cell + 1), half, row, ends, values, primitives)
            finished = size < _BLOCK
            if finished:
                ends[size] = 1.0
                values[size], primitives[size] = _at(row, 1.0)
            for k in range(size + 1 if finished else size):
                end, value, antiderivative = ends[k], values[k], primitives[k]
                base = level - offset
                if k < size:
                    done += 1
                    level = levels[done - 1] if len(levels) else done / len(points)
                length = end - start
                if length <= 0.0:
                    continue
                integral = half * (base * length - (antiderivative - start_primitive))
                turn = 0.5 * steepness * length
                least = base - max(start_value, value) - turn
                largest = base - min(start_value, value) + turn
                if least >= high:
                    above += half * length
                    above_integral += integral
                elif largest <= low:
                    below += half * length
                    below_integral += integral
                else:
                    store[count, CELL], store[count, BASE] = cell, base
                    store[count, START], store[count, END] = start, end
                    store[count, INTEGRAL] = integral
                    store[count, LEAST], store[count, LARGEST] = least, largest
                    count += 1
                start, start_value, start_primitive = end, value, antiderivative
    return count, (above, above_integral, below, below_integral)


@njit
def _expand(rows: FloatArray, cell: int, row: FloatArray) -> float:
    """Copy a cell's polynomial and its primitive / t; bound its slope, 0 if it is monotone."""
    bend = 0.0
    for j in range(TERMS):
        row[j] = rows[cell, j]
        row[TERMS + j] = rows[cell, j] / (j + 1)
        if j > 1:
            bend += j * abs(rows[cell, j])
    linear = abs(rows[cell, 1])
    return linear + bend if linear <= bend else 0.0


@njit
def _at(row: FloatArray, t: float) -> tuple[float, float]:
    """Polynomial and primitive at t."""
    value, antiderivative = row[TERMS - 1], row[2 * TERMS - 1]
    for j in range(TERMS - 2, -1, -1):
        value = fma(value, t, row[j])
        antiderivative = fma(antiderivative, t, row[TERMS + j])
    return value, antiderivative * t


@njit
def _fill(
    points: FloatArray,
    first: int,
    size: int,
    centre: float,
    half: float,
    row: FloatArray,
    ends: FloatArray,
    values: FloatArray,
    primitives: FloatArray,
) -> None:
    """`_at` for a block of points of one cell, in flat arrays that the compiler vectorises."""
    scale = 1.0 / half
    for i in range(size):
        t = (points[first + i] - centre) * scale
        value, antiderivative = row[TERMS - 1], row[2 * TERMS - 1]
        for j in range(TERMS - 2, -1, -1):
            value = fma(value, t, row[j])
            antiderivative = fma(antiderivative, t, row[TERMS + j])
        ends[i] = t
        values[i] = value
        primitives[i] = antiderivative * t


# Columns of a piece: its place, int D over it, and bounds of D on it.
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
    """Zero of a monotone E in [a, b] and |E'| there, by Newton steps inside the bracket."""
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
        if abs(proposed - t) <= 1e-9:  # one more step would move t by some 1e-18
            t = proposed
            break
        t = proposed
    return t, abs(slope)
