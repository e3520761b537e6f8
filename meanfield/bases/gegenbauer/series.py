"""Zonal series at scattered polar angles, and moments of weighted angles: compiled recurrences.

    (l + d - 2) P_{l+1} = (2l + d - 2) u P_l - l P_{l-1},      u = cos(theta)     (DLMF 18.9.1)

Near the poles the recurrence computes the steps P_{l+1} - P_l from 1 - |u|, without cancellation.
P_l from u would carry l^2 times the rounding of u.
"""

from __future__ import annotations

import math

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.bases.gegenbauer.harmonics import roots
from meanfield.engines.compiled import njit

# For smaller 1 - |u| the recurrence computes steps.
_NEAR_A_POLE = 0.5


@njit
def _polynomials(angle, d, row):  # type: ignore[no-untyped-def]
    """Write P_0 ... P_L at an angle into a row (L + 1,), by P_l(-u) = (-1)^l P_l(u) for u < 0."""
    cosine = math.cos(angle)
    half = 0.5 * angle
    # 1 - |u|
    gap = 2.0 * (math.sin(half) ** 2 if cosine >= 0.0 else math.cos(half) ** 2)
    u = abs(cosine)
    degree = len(row) - 1
    row[0] = 1.0
    if degree == 0:
        return
    row[1] = 1.0 - gap if gap < _NEAR_A_POLE else u
    step = -gap
    for l in range(1, degree):
        if gap < _NEAR_A_POLE:
            step = (l * step - (2 * l + d - 2) * gap * row[l]) / (l + d - 2)
            row[l + 1] = row[l] + step
        else:
            row[l + 1] = ((2 * l + d - 2) * u * row[l] - l * row[l - 1]) / (l + d - 2)
    if cosine < 0.0:
        for l in range(1, degree + 1, 2):
            row[l] = -row[l]


@njit
def _table(angles, d, max_degree):  # type: ignore[no-untyped-def]
    table = np.empty((len(angles), max_degree + 1))
    for i in range(len(angles)):
        _polynomials(angles[i], d, table[i])
    return table


@njit
def _sums(angles, weights, d, max_degree):  # type: ignore[no-untyped-def]
    row = np.empty(max_degree + 1)
    sums = np.zeros(max_degree + 1)
    for i in range(len(angles)):
        _polynomials(angles[i], d, row)
        for l in range(max_degree + 1):
            sums[l] += weights[i] * row[l]
    return sums


@njit
def _values(coefficients, angles, d):  # type: ignore[no-untyped-def]
    row = np.empty(len(coefficients))
    values = np.empty(len(angles))
    for i in range(len(angles)):
        _polynomials(angles[i], d, row)
        total = 0.0
        # High degrees first: the smallest terms of a series that has decayed.
        for l in range(len(coefficients) - 1, -1, -1):
            total += coefficients[l] * row[l]
        values[i] = total
    return values


def harmonics(d: int, angles: FloatArray, max_degree: int) -> FloatArray:
    """Y_l(theta) = sqrt(N_l) P_l(cos theta), shape (n, max_degree + 1)."""
    return np.asarray(_table(_contiguous(angles), d, max_degree) * roots(d, max_degree))


def slopes(d: int, angles: FloatArray, max_degree: int) -> FloatArray:
    """Derivatives of Y_l in theta, shape (n, max_degree + 1), by the harmonics Y' of S^{d+1}.

    dY_l / dtheta = -sqrt(l(l+d-2) d/(d-1)) sin(theta) Y'_{l-1}    (DLMF 18.9.19)
    """
    derivatives = np.zeros((len(angles), max_degree + 1))
    if max_degree:
        derivatives[:, 1:] = harmonics(d + 2, angles, max_degree - 1)
        derivatives[:, 1:] *= _slope_factors(d, max_degree)
        derivatives *= -np.sin(angles)[:, None]
    return derivatives


def moments(d: int, angles: FloatArray, weights: FloatArray | None, max_degree: int) -> FloatArray:
    """Coefficients sum_j w_j Y_l(theta_j), shape (max_degree + 1,); equal weights if None."""
    if weights is None:
        weights = np.full(len(angles), 1.0 / len(angles))
    sums = _sums(_contiguous(angles), _contiguous(weights), d, max_degree)
    return np.asarray(sums * roots(d, max_degree))


def values(d: int, coefficients: FloatArray, angles: FloatArray) -> FloatArray:
    """Series sum_l f_l Y_l at angles, shape (n,)."""
    scaled = coefficients * roots(d, len(coefficients) - 1)
    return np.asarray(_values(_contiguous(scaled), _contiguous(angles), d))


def gradient(d: int, coefficients: FloatArray, angles: FloatArray) -> FloatArray:
    """Derivative of the series in theta, shape (n,)."""
    if len(coefficients) < 2:
        return np.zeros(len(angles))
    scaled = coefficients[1:] * _slope_factors(d, len(coefficients) - 1)
    return -np.sin(angles) * values(d + 2, scaled, angles)


def _slope_factors(d: int, max_degree: int) -> FloatArray:
    l = np.arange(1, max_degree + 1)
    return np.asarray(np.sqrt(l * (l + d - 2.0) * d / (d - 1.0)))


def _contiguous(array: FloatArray) -> FloatArray:
    return np.ascontiguousarray(array, dtype=np.float64)
