"""The circle S^1: angles, Fourier coefficients, transforms.

Basis e^{ik theta}, orthonormal for d theta / 2 pi. Fields are real, so only k >= 0 is stored:
g(theta) = Re[g_0 + 2 sum_{k>=1} g_k e^{ik theta}]. Moments are c_k = int e^{-ik theta} dmu.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meanfield.arguments import checked
from meanfield.arrays import ComplexArray, FloatArray, ModalArray
from meanfield.bases.fourier import CircleGrid
from meanfield.spaces.manifold import (
    Angles,
    check_duration,
    check_mass,
    check_vectors,
    wrong_points,
)

_LARGEST_ANGLE = 200.0


@checked
@dataclass(frozen=True)
class Circle(Angles):
    """Circle of radius 1; points are angles in radians, coefficients complex (K + 1,).

    >>> Circle().moments(np.array([0.0, np.pi]), None, 2).real.round(12)
    array([1., 0., 1.])
    """

    name: ClassVar[str] = "circle"
    family: ClassVar[str] = "circle"
    is_circle: ClassVar[bool] = True
    ambient: ClassVar[int] = 2
    dimension: ClassVar[int] = 1
    largest_degree: ClassVar[int] = 2**17

    def check_points(self, points: FloatArray) -> FloatArray:
        """Finite angles (n,), n >= 1, from angles, reduced if above 200, or vectors (n, 2)."""
        angles = np.ascontiguousarray(points, dtype=np.float64)
        if angles.ndim == 2 and angles.shape[1] == 2 and len(angles) > 0:
            angles = self.points_of(check_vectors(angles))
        if angles.ndim != 1 or len(angles) == 0:
            raise wrong_points(angles.shape, "angles of shape (n,) or vectors (n, 2)")
        if not np.all(np.isfinite(angles)):
            first = int(np.flatnonzero(~np.isfinite(angles))[0])
            raise ValueError(f"point {first} is {angles[first]}, expected finite angles.")
        # Smaller angles keep their windings, which cost no digits.
        far, kept = np.abs(angles) > _LARGEST_ANGLE, angles.copy()
        kept[far] = np.arctan2(np.sin(angles[far]), np.cos(angles[far]))
        return kept

    def vectors(self, points: FloatArray) -> FloatArray:
        return np.column_stack([np.cos(points), np.sin(points)])

    def points_of(self, vectors: FloatArray) -> FloatArray:
        angles = np.arctan2(vectors[..., 1], vectors[..., 0])
        return np.where(angles == -np.pi, np.pi, angles)

    def project(self, points: FloatArray, vectors: FloatArray) -> FloatArray:
        x = self.vectors(points)
        return np.asarray(x[:, 0] * vectors[:, 1] - x[:, 1] * vectors[:, 0])

    def check_coefficients(self, coefficients: ModalArray) -> ComplexArray:
        """Coefficients of a density: complex (K + 1,), finite, c_0 = 1."""
        c = np.array(coefficients, dtype=np.complex128)
        if c.ndim != 1 or len(c) == 0:
            raise ValueError(f"coefficients have shape {c.shape}, expected (max_degree + 1,).")
        check_mass(c)
        return c

    def from_modes(self, modes: Sequence[Sequence[float]]) -> ComplexArray:
        """Coefficients of 1 + sum_i [A_i cos(k_i theta) + B_i sin(k_i theta)]."""
        for mode in modes:
            if not np.all(np.isfinite(mode)):
                raise ValueError(f"mode {list(mode)} must be finite.")
            if len(mode) != 3 or mode[0] != int(mode[0]) or mode[0] < 1:
                raise ValueError(
                    f"mode {list(mode)} must be [k, cosine, sine] with an integer k >= 1."
                )
        c = np.zeros(1 + max([int(k) for k, _, _ in modes], default=0), dtype=np.complex128)
        c[0] = 1.0
        for k, cosine, sine in modes:
            # A cos + B sin = Re[(A - iB) e^{ik theta}] = Re[2 c_k e^{ik theta}].
            c[int(k)] += 0.5 * (cosine - 1j * sine)
        return c

    def unpacked(self, coefficients: ModalArray) -> ModalArray:
        return coefficients

    def packed(self, array: ModalArray) -> ModalArray:
        return array

    def inner(self, first: ModalArray, second: ModalArray) -> float:
        count = min(len(first), len(second))
        products = (first[:count] * np.conj(second[:count])).real
        return float(products[0] + 2.0 * products[1:].sum())

    def largest_sizes(self, max_degree: int) -> FloatArray:
        return np.ones(max_degree + 1)

    def order_parameter(self, moments: ModalArray) -> float:
        return float(np.abs(moments[1:2]).sum())

    def distance(self, first: FloatArray, second: FloatArray) -> FloatArray:
        difference = np.abs(np.asarray(first) - np.asarray(second)) % (2.0 * np.pi)
        return np.minimum(difference, 2.0 * np.pi - difference)

    def retract(self, points: FloatArray) -> tuple[FloatArray, None]:
        return points, None

    def random_points(self, count: int, rng: np.random.Generator) -> FloatArray:
        return 2.0 * np.pi * rng.random(count)

    def diffuse(self, points: FloatArray, time: float, normals: FloatArray) -> FloatArray:
        check_duration(time)
        if points.ndim != 1 or normals.shape != points.shape:
            raise ValueError(
                f"points have shape {points.shape} and normals {normals.shape}, expected (n,) both."
            )
        return np.asarray(points + np.sqrt(2.0 * time) * normals)

    def grid(self, max_degree: int) -> CircleGrid:
        return CircleGrid(max_degree)

    def moments(
        self, points: FloatArray, weights: FloatArray | None, max_degree: int
    ) -> ComplexArray:
        """Moments sum_j w_j e^{-ik theta_j}, k = 0 ... max_degree."""
        from meanfield.engines import fourier as circle_points

        return circle_points.moments(points, weights, max_degree)

    def evaluate(
        self, coefficients: ModalArray, points: FloatArray, divisor: ModalArray | None = None
    ) -> FloatArray:
        from meanfield.engines import fourier as circle_points

        return circle_points.evaluate(coefficients, points, divisor)

    def gradient(
        self,
        coefficients: ModalArray,
        points: FloatArray,
        divisor: ModalArray | None = None,
        slope: float | None = None,
    ) -> FloatArray:
        from meanfield.engines import fourier as circle_points

        return circle_points.gradient(coefficients, points, divisor)
