"""Layout of scalar coefficients for which ducc0's results repeat to the bit.

ducc0 (0.42) has two ways to round the recurrence of an order m in the last 11 degrees below the
largest. The addresses of its work arrays decide between them, so equal calls may differ in the last
bits. With more degrees than orders it never reaches those degrees. So orders stop at L, and degrees
L + 1 ... L + 16 are zero or dropped. Gradients need no margin: their recurrence has one form.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from meanfield.arrays import ComplexArray
from meanfield.engines.harmonics.coefficients import degrees_orders

_MARGIN = 16
# Harmonics orthonormal for sigma are this times ducc0's.
SCALE = np.sqrt(4.0 * np.pi)


@lru_cache(maxsize=32)
def _layout(max_degree: int) -> tuple[dict[str, Any], Any, int]:
    """Keywords for ducc0, positions of the coefficients, and length of the array."""
    widest = max_degree + _MARGIN
    lengths = widest + 1 - np.arange(max_degree + 1)
    # Position that degree 0 of each order would have.
    starts = np.cumsum(lengths) - lengths - np.arange(max_degree + 1)
    degrees, orders = degrees_orders(max_degree)
    keywords = {"lmax": widest, "mmax": max_degree, "mstart": starts.astype(np.uint64), "spin": 0}
    return keywords, starts[orders] + degrees, int(lengths.sum())


def arguments(max_degree: int) -> dict[str, Any]:
    """Keywords for a scalar transform of ducc0 with the margin."""
    return _layout(max_degree)[0]


def with_margin(coefficients: ComplexArray, max_degree: int) -> ComplexArray:
    """Coefficients (..., count) as ducc0's array (..., 1, more), zeros in the margin."""
    _, positions, length = _layout(max_degree)
    alm = np.zeros((*coefficients.shape[:-1], 1, length), dtype=np.complex128)
    alm[..., 0, positions] = coefficients
    return alm


def without_margin(alm: ComplexArray, max_degree: int) -> ComplexArray:
    """Coefficients (..., count) of ducc0's array (..., 1, more)."""
    return np.asarray(alm[..., 0, :].take(_layout(max_degree)[1], axis=-1))
