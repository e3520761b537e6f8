"""Points and coefficients on the sphere as users give them, made what the package stores."""

from __future__ import annotations

from typing import Any

import numpy as np

from meanfield.arrays import EPS, ComplexArray, FloatArray
from meanfield.engines.harmonics import coefficients as packing
from meanfield.spaces.manifold import check_mass, check_vectors, wrong_points

# What rounding leaves where a coefficient of order 0 should be real.
_REAL_TOLERANCE = 1e-12
# Lengths this near to 1 are 1: points once normalised keep their bits.
_UNIT = 8 * EPS


def check_points(points: FloatArray, dimension: int = 3) -> FloatArray:
    """Unit vectors of shape (n, dimension), n >= 1, of vectors of any length but zero."""
    vectors = np.ascontiguousarray(points, dtype=np.float64)
    if vectors.ndim != 2 or vectors.shape[1] != dimension or len(vectors) == 0:
        raise wrong_points(vectors.shape, f"vectors (n, {dimension})")
    with np.errstate(over="ignore", invalid="ignore"):
        # Column by column in a fifth of the time.
        lengths = np.sqrt(sum(column * column for column in vectors.T))
    if np.all(np.abs(lengths - 1.0) <= _UNIT):
        return vectors
    check_vectors(vectors)
    # Scaled first: neither huge nor tiny vectors overflow or vanish when squared.
    scaled = vectors / np.abs(vectors).max(axis=1)[:, None]
    scaled /= np.sqrt((scaled * scaled).sum(axis=1))[:, None]
    return np.where((np.abs(lengths - 1.0) <= _UNIT)[:, None], vectors, scaled)


def check_coefficients(coefficients: Any) -> ComplexArray:
    """Coefficients of a density: finite, mass 1, real where the order is 0.

    Packed complex, pyshtools' array (2, L + 1, L + 1), or a pyshtools.SHCoeffs.
    """
    if packing.is_shcoeffs(coefficients):
        c = packing.from_shcoeffs(coefficients)
    else:
        array = np.asarray(coefficients)
        c = packing.packed(array) if array.ndim == 3 else array.astype(np.complex128)
    if c.ndim != 1:
        raise ValueError(
            f"coefficients have shape {c.shape}, expected (2, L + 1, L + 1) as pyshtools has "
            "them, or packed ((L + 1)(L + 2) / 2,)."
        )
    degree = packing.degree_of(c)
    check_mass(c)
    imaginary = np.abs(c[: degree + 1].imag)
    if imaginary.max() > _REAL_TOLERANCE * np.abs(c).max():
        worst = int(imaginary.argmax())
        raise ValueError(
            f"coefficient of degree {worst} and order 0 is {c[worst]:.6g}, expected it real."
        )
    c[: degree + 1] = c[: degree + 1].real
    return c
