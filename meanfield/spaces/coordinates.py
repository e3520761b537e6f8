"""Coordinates of points: one angle each, or a vector each; shared by the spaces that have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from meanfield.arrays import FloatArray, ModalArray


class Angles:
    """Points are angles (n,), velocities numbers; coefficients are complex (..., degree + 1)."""

    is_sphere: ClassVar[bool] = True
    has_series: ClassVar[bool] = True
    is_circle: ClassVar[bool] = False
    has_rings: ClassVar[bool] = False
    modal_axes: ClassVar[tuple[str, ...]] = ("degree",)
    point_axes: ClassVar[tuple[str, ...]] = ()
    point_shape: ClassVar[tuple[int, ...]] = ()
    origin: ClassVar[float] = 0.0

    def unflattened(self, state: FloatArray) -> FloatArray:
        return state

    def per_point(self, numbers: FloatArray) -> FloatArray:
        return numbers

    def squared_norm(self, vectors: FloatArray) -> FloatArray:
        return vectors**2

    def degree_of(self, coefficients: ModalArray) -> int:
        return int(coefficients.shape[-1]) - 1

    def resize(self, coefficients: ModalArray, max_degree: int) -> ModalArray:
        resized = np.zeros((*coefficients.shape[:-1], max_degree + 1), dtype=np.complex128)
        common = min(coefficients.shape[-1], max_degree + 1)
        resized[..., :common] = coefficients[..., :common]
        return resized

    def convolve(self, multipliers: FloatArray, coefficients: ModalArray) -> ModalArray:
        count = min(len(multipliers), coefficients.shape[-1])
        return np.asarray(multipliers[:count] * coefficients[..., :count])

    def sizes_by_degree(self, coefficients: ModalArray) -> FloatArray:
        return np.abs(coefficients)


class Vectors:
    """Points are vectors (n, d) of R^d, and so are velocities."""

    is_circle: ClassVar[bool] = False
    has_rings: ClassVar[bool] = False
    point_axes: ClassVar[tuple[str, ...]] = ("axis",)

    if TYPE_CHECKING:

        @property
        def ambient(self) -> int: ...

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (self.ambient,)

    def vectors(self, points: FloatArray) -> FloatArray:
        return points

    def unflattened(self, state: FloatArray) -> FloatArray:
        return state.reshape(-1, *self.point_shape)

    def per_point(self, numbers: FloatArray) -> FloatArray:
        return numbers[:, None]
