"""W_1 on the circle when a density is involved.

With D the difference of the two cumulative distributions,

    W_1 = min_alpha int_0^{2 pi} |D(theta) - alpha| dtheta,

and alpha is the median of D. The circle is cut at the points and at the cells of
`cdf`; on each piece D is one polynomial. A median guessed from samples of D decides on
which side of it most pieces lie: they enter through their integral. Only the few pieces that may
meet the median are kept, and |D - alpha| is integrated on them between its zeros.
"""

from __future__ import annotations

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.engines.compiled import njit
from meanfield.engines.elementary import fma
from meanfield.engines.fourier.cdf import TERMS, polynomial
from meanfield.transport.circle.convex import SAMPLES, WINDOW, Evaluation, minimise_convex
from meanfield.transport.circle.w1_pieces import (
    BASE,
    CELL,
    COLUMNS,
    END,
    INTEGRAL,
    LARGEST,
    LEAST,
    START,
    integrate,
)

_DIRECT = 4096  # below that many pieces all are kept
_BLOCK = 64  # points of one cell that are evaluated together


def w1_with_density(points: FloatArray, levels: FloatArray, rows: FloatArray, mass: float) -> float:
    """W_1 between sorted points and a density, or of a difference of densities.

    points (n,): in [0, 2 pi], none for two densities; levels (n,): mass up to and with each, empty
    for (i + 1) / n; rows (M, TERMS): `local_polynomials`; mass: of rows, 1 or 0.
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
        # Samples may mislead: the slopes say whether the median is in the window.
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
    """Median of the values in the middle of the pieces, weighted by their lengths."""
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
    """Keep the pieces that may meet ]low, high[; sum (length, integral of D) of others."""
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
    """Copy the polynomial of a cell and its primitive / t; return how steep it may turn back."""
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
    """Evaluate a block of points in one cell, in flat arrays that the compiler vectorises."""
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
