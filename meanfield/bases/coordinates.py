"""Real coordinates of fields without degree 0, on the circle and the sphere, for linear algebra.

Not all parts of the complex coefficients are free: on the sphere order 0 is real. The free parts,
scaled, form a real vector. The Euclidean product of two such vectors is int g h dsigma.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from meanfield.arrays import ComplexArray, FloatArray, IntArray, ModalArray
from meanfield.engines.harmonics.coefficients import degrees_orders


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Free real numbers of packed coefficients: real, then imaginary parts; m > 0 times sqrt(2)."""

    degrees: IntArray  # (count of coefficients,): degree of each complex coefficient
    orders: IntArray  # (count of coefficients,): order; a coefficient of order 0 is real

    @cached_property
    def real(self) -> IntArray:
        """Indices of the coefficients with a free real part."""
        return np.flatnonzero(self.degrees > 0)

    @cached_property
    def imaginary(self) -> IntArray:
        """Indices of the coefficients with a free imaginary part."""
        return np.flatnonzero(self.orders > 0)

    @cached_property
    def _scale(self) -> FloatArray:
        return np.where(self.orders == 0, 1.0, np.sqrt(2.0))

    @property
    def size(self) -> int:
        """Count of real coordinates: 2 K on the circle, (L + 1)^2 - 1 on the sphere."""
        return len(self.real) + len(self.imaginary)

    @cached_property
    def vector_degrees(self) -> IntArray:
        """Degree of each real coordinate, shape (size,)."""
        return self.degrees[self.coefficient_of]

    @cached_property
    def coefficient_of(self) -> IntArray:
        """Index of the coefficient that each real coordinate is a part of, shape (size,)."""
        return np.concatenate([self.real, self.imaginary])

    def to_vector(self, coefficients: ModalArray) -> FloatArray:
        """Real coordinates of coefficients, shape (..., size)."""
        scaled = self._scale * coefficients
        parts = [scaled.real[..., self.real], scaled.imag[..., self.imaginary]]
        return np.concatenate(parts, axis=-1)

    def to_coefficients(self, vector: npt.ArrayLike) -> ComplexArray:
        """Coefficients of real coordinates (..., size); degree 0 is 0."""
        numbers = np.asarray(vector, dtype=np.float64)
        shape = (*numbers.shape[:-1], len(self.degrees))
        coefficients = np.zeros(shape, dtype=np.complex128)
        coefficients.real[..., self.real] = numbers[..., : len(self.real)]
        coefficients.imag[..., self.imaginary] = numbers[..., len(self.real) :]
        return np.asarray(coefficients / self._scale)

    def units(self) -> Iterator[ComplexArray]:
        """Coefficients of each real coordinate alone."""
        return (self.to_coefficients(unit) for unit in np.eye(self.size))


@lru_cache(maxsize=16)
def coordinates(dimension: int, max_degree: int) -> Coordinates:
    """Coordinates of fields up to a degree, on the circle (dimension 1) or the sphere (2)."""
    if dimension == 1:
        degrees = np.arange(max_degree + 1)
        return Coordinates(degrees, degrees)
    return Coordinates(*degrees_orders(max_degree))


def coordinate_count(dimension: int, degree: int) -> int:
    """`Coordinates.size` up to a degree, without its arrays."""
    return 2 * degree if dimension == 1 else (degree + 1) ** 2 - 1
