"""Cumulative distribution of a density on the circle, as local polynomials.

A density f(theta) = Re[c_0 + 2 sum c_k e^{ik theta}] has the cumulative distribution

    F(theta) = c_0 theta / 2 pi + (1 / pi) Re sum_{k>=1} c_k e^{ik theta} / (ik),

up to a constant, which no distance depends on. The circle is cut into M >= 4 K cells, and F is
expanded about the centre of each, in units of half a cell, h = pi / M. Terms of degree k are at
most (k h)^j / j! <= (pi / 4)^j / j!, below 1e-15 from j = TERMS on.

Cell numbers may exceed M or be negative, because F(theta + 2 pi) = F + c_0.
"""

from __future__ import annotations

import numpy as np
import scipy.fft

from meanfield.arrays import ComplexArray, FloatArray
from meanfield.engines.compiled import njit
from meanfield.engines.elementary import fma
from meanfield.engines.newton import narrowed

TERMS = 16  # (pi / 4)^16 / (16! 16 pi) = 2e-17, the error of F if all |c_k| are 1
_NEGLIGIBLE = 1e-17  # coefficients below this move F by less than its own rounding
_NEGATIVE_MASS = 1e-3
_MAX_STEPS = 64
_RECIPROCALS = tuple(1.0 / (j + 1) for j in range(TERMS))


def local_polynomials(coefficients: ComplexArray) -> FloatArray:
    """Taylor coefficients of F, less its uniform part at the centre, in cells, (M, TERMS).

    In the cell of centre 2 pi (m + 1/2) / M, with t = (theta - centre) / h in [-1, 1],

        F = c_0 (m + 1/2) / M + sum_j rows[m, j] t^j.
    """
    degree = _significant_degree(coefficients)
    cells = _cell_count(degree)
    half = np.pi / cells
    k = np.arange(1, degree + 1)
    # Column j: (1/pi) c_k e^{ikh} (ikh)^j / (ik j!), by multiplication with ikh / j.
    spectrum = np.zeros((TERMS, cells // 2 + 1), dtype=np.complex128)
    term = coefficients[1 : degree + 1] * np.exp(1j * half * k) / (1j * k) * (0.5 * cells / np.pi)
    for j in range(TERMS):
        spectrum[j, 1 : degree + 1] = term
        term = term * (1j * half / (j + 1)) * k
    rows: FloatArray = np.ascontiguousarray(scipy.fft.irfft(spectrum, cells, axis=1).T)
    rows[:, 1] += 0.5 * coefficients[0].real / cells
    return rows


def cell_edges(rows: FloatArray) -> FloatArray:
    """Running maximum of F of a probability density at the edges of the cells, (M + 1,)."""
    signs = (-1.0) ** np.arange(TERMS)
    left = (np.arange(len(rows)) + 0.5) / len(rows) + rows @ signs
    edges = np.maximum.accumulate(np.append(left, left[0] + 1.0))
    increasing: FloatArray = np.minimum(edges, left[0] + 1.0)
    return increasing


def check_density(coefficients: ComplexArray, name: str) -> None:
    """Refuse a density whose negative part has a mass above 1e-3, too much for truncation."""
    cells = _cell_count(_significant_degree(coefficients))
    low = coefficients[: cells // 2 + 1]
    values = scipy.fft.irfft(low, cells) * cells
    check_negative_part(-np.minimum(values, 0.0).mean(), name)


def check_negative_part(negative: float, name: str) -> None:
    """Refuse a density whose negative part has this mass, if truncation does not explain it."""
    if negative > _NEGATIVE_MASS:
        raise ValueError(
            f"{name} density is negative: its negative part has mass {negative:.2g}, allowed "
            f"{_NEGATIVE_MASS:g}. Raise max_degree, or reduce the amplitudes."
        )


def _significant_degree(coefficients: ComplexArray) -> int:
    significant = np.flatnonzero(np.abs(coefficients[1:]) > _NEGLIGIBLE)
    return int(significant[-1]) + 1 if len(significant) else 0


def _cell_count(degree: int) -> int:
    # 4 K cells, see TERMS; a power of two, so that a cell number is reduced by a mask.
    return 1 << max(3, (4 * degree - 1).bit_length())


@njit
def locate(theta: float, cells: int) -> tuple[int, float]:
    """Cell number of an angle (not reduced) and its local coordinate t in [-1, 1)."""
    scaled = theta * (cells / (2.0 * np.pi))
    cell = np.floor(scaled)
    return int(cell), 2.0 * (scaled - cell) - 1.0


@njit
def polynomial(rows: FloatArray, cell: int, t: float) -> float:
    """Local polynomial of a cell at t."""
    value: float = rows[cell, TERMS - 1]
    for j in range(TERMS - 2, -1, -1):
        value = fma(value, t, rows[cell, j])
    return value


@njit
def polynomial_and_slope(rows: FloatArray, cell: int, t: float) -> tuple[float, float]:
    """Local polynomial of a cell at t, and its derivative in t."""
    value = rows[cell, TERMS - 1]
    slope = 0.0
    for j in range(TERMS - 2, -1, -1):
        slope = fma(slope, t, value)
        value = fma(value, t, rows[cell, j])
    return value, slope


@njit
def primitive(rows: FloatArray, cell: int, t: float) -> float:
    """Integral of the local polynomial of a cell from 0 to t."""
    value: float = rows[cell, TERMS - 1] * _RECIPROCALS[TERMS - 1]
    for j in range(TERMS - 2, -1, -1):
        value = fma(value, t, rows[cell, j] * _RECIPROCALS[j])
    return value * t


@njit
def cumulative(rows: FloatArray, theta: float) -> tuple[float, float]:
    """F of a probability density at an angle (not reduced), and the density f there."""
    cells = len(rows)
    cell, t = locate(theta, cells)
    value, slope = polynomial_and_slope(rows, cell & (cells - 1), t)
    return (cell + 0.5) / cells + value, 2.0 * cells * slope


@njit
def quantile(
    rows: FloatArray, cell: int, level: float, start: float, guess: float
) -> tuple[float, float]:
    """The t in [start, 1] at which F reaches the level inside a cell, and dF/dt there."""
    cells = len(rows)
    target = level - (cell + 0.5) / cells
    low, high = start, 1.0
    t = min(max(guess, low), high)
    slope = 0.0
    for _ in range(_MAX_STEPS):
        before = t
        value, slope = polynomial_and_slope(rows, cell, t)
        low, high, t = narrowed(low, high, t, value - target, slope)
        if abs(t - before) <= 1e-9:  # the next step is its square, up to the curvature of F
            break
    return t, slope
