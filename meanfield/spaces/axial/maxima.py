"""Maxima of zonal fields on S^{d-1}, as maxima of an even field on the circle.

sum_l f_l Y_l(theta) is an even trigonometric polynomial of the same degree; `circle` counts its
maxima with proof. A latitude of maxima counts as one.
"""

from __future__ import annotations

import numpy as np
import scipy.fft

from meanfield.arrays import ComplexArray, FloatArray, IntArray, ModalArray
from meanfield.bases.gegenbauer import series
from meanfield.spaces.circle import maxima as circle

# Maxima of an even field are exact to rounding; a flat one at a pole errs by the root of rounding.
_POLE = 1e-6


def cosines(d: int, field: ModalArray) -> ComplexArray:
    """Fourier coefficients c_k of a field, sum_l f_l Y_l = c_0 + 2 sum_k c_k cos(k theta)."""
    degree = len(field) - 1
    if degree == 0:
        return np.asarray(field, dtype=np.complex128)
    angles = np.pi * np.arange(2 * degree + 1) / (2 * degree)
    values = series.values(d, np.real(field), angles)
    return np.asarray(scipy.fft.dct(values, type=1)[: degree + 1] / (4 * degree) + 0j)


def count_maxima(d: int, fields: ModalArray) -> IntArray:
    """Number of local maxima of each field, (count, L + 1) to (count,)."""
    return np.array([len(maxima(d, field)) for field in fields], dtype=np.int64)


def maxima(d: int, field: ModalArray) -> FloatArray:
    """Polar angles of all local maxima in [0, pi], highest first."""
    angles = _at_poles(circle.maxima(cosines(d, field)))
    return angles[angles >= 0.0]


def basins(d: int, field: ModalArray, points: FloatArray) -> IntArray:
    """Index into `maxima(d, field)` of the end of the gradient ascent from each angle."""
    even = cosines(d, field)
    summits = _at_poles(circle.maxima(even))
    index = circle.basins(even, points)
    if not len(summits):
        return index
    # Index of the latitude of each maximum on the circle.
    nearest = np.abs(np.abs(summits)[index][:, None] - summits[summits >= 0.0])
    return np.asarray(np.argmin(nearest, axis=1))


def _at_poles(angles: FloatArray) -> FloatArray:
    """Angles in [-pi, pi], rounded to the poles, so that each latitude has one in [0, pi]."""
    angles = np.where(np.abs(angles) < _POLE, 0.0, angles)
    return np.where(np.pi - np.abs(angles) < _POLE, np.pi, angles)
