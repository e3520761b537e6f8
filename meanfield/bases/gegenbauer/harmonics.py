"""Zonal harmonics Y_l on S^{d-1}, and coefficients in two normalisations.

    N_l = (2l + d - 2) / (l + d - 2) binom(l + d - 2, l),      Y_l = sqrt(N_l) P_l,    P_l(1) = 1

Y_l is orthonormal for sigma. P_l is the Gegenbauer polynomial C_l^{(d-2)/2} over its value at 1
(DLMF 18.3.1), and N_l the dimension of the harmonics of degree l. Files and users get moments
m_l = int P_l dmu of a measure mu; the package works with the coefficients f_l = sqrt(N_l) m_l.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from meanfield.arrays import ComplexArray, FloatArray, ModalArray, read_only

# The grid of a density has degrees up to 3/2 of its largest; their sqrt(N_l) must not overflow.
_LARGEST_ROOT = 1e290
_MOST = 2048


@lru_cache(maxsize=64)
def roots(d: int, max_degree: int) -> FloatArray:
    """Roots sqrt(N_l), l = 0 ... max_degree."""
    l = np.arange(2, max_degree + 1, dtype=np.float64)
    growth = (2 * l + d - 2) * (l + d - 3) / ((2 * l + d - 4) * l)
    values = np.cumprod(np.concatenate([[1.0, np.sqrt(d)], np.sqrt(growth)]))[: max_degree + 1]
    return read_only(values)


@lru_cache(maxsize=64)
def largest_degree(d: int) -> int:
    """Largest degree of a density: 2,048, or where harmonics outgrow the range of doubles."""
    with np.errstate(over="ignore"):
        fits = roots(d, 3 * _MOST // 2 + 1) < _LARGEST_ROOT
    return min(_MOST, 2 * (int(fits.sum()) - 2) // 3)


def check_coefficients(d: int, coefficients: ModalArray) -> ComplexArray:
    """Packed coefficients of a density, from complex coefficients or from real moments."""
    array = np.asarray(coefficients)
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(f"coefficients have shape {array.shape}, expected (max_degree + 1,).")
    if not np.iscomplexobj(array):
        return packed(d, array.astype(np.float64))
    if np.any(array.imag):
        raise ValueError("coefficients of an axial density must be real: they are int Y_l dmu.")
    return np.array(array, dtype=np.complex128)


def unpacked(d: int, coefficients: ModalArray) -> FloatArray:
    """Moments m_l = f_l / sqrt(N_l), real; leading axes are kept."""
    return np.asarray(np.real(coefficients) / roots(d, coefficients.shape[-1] - 1))


def packed(d: int, array: FloatArray) -> ComplexArray:
    """Inverse of `unpacked`."""
    return np.asarray(array * roots(d, array.shape[-1] - 1), dtype=np.complex128)


def from_modes(d: int, modes: Sequence[Sequence[float]]) -> ComplexArray:
    """Coefficients of 1 + sum_i A_i P_{l_i}(cos theta), modes [l, A]."""
    for mode in modes:
        if not np.all(np.isfinite(mode)):
            raise ValueError(f"mode {list(mode)} must be finite.")
        if len(mode) != 2 or mode[0] != int(mode[0]) or mode[0] < 1:
            raise ValueError(
                f"mode {list(mode)} must be [l, amplitude] with an integer l >= 1: an axial "
                "density is 1 + sum of amplitude * P_l(cos theta), P_l(1) = 1."
            )
    f = np.zeros(1 + max([int(l) for l, _ in modes], default=0), dtype=np.complex128)
    f[0] = 1.0
    size = roots(d, len(f) - 1)
    for l, amplitude in modes:
        # int P_l^2 dsigma = 1 / N_l.
        f[int(l)] += amplitude / size[int(l)]
    return f
