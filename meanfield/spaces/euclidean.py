"""R^d: tokens without layer normalisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from meanfield.arguments import checked
from meanfield.arrays import ComplexArray, FloatArray, ModalArray
from meanfield.bases.grid import Grid
from meanfield.errors import short_list
from meanfield.spaces import mean_vectors
from meanfield.spaces.manifold import Vectors, check_duration, wrong_points


@checked
@dataclass(frozen=True, repr=False)
class Euclidean(Vectors):
    """R^dimension, for attention without layer normalisation: lengths of tokens change.

    Points are vectors (n, dimension), velocities are not projected. It has no densities.

    dimension: at least 1.

    ValueError if `dimension` is below 1, or for a density.

    >>> Euclidean(2).name, Euclidean(2).distance(np.zeros(2), np.array([3.0, 4.0]))
    ('space:2', np.float64(5.0))
    """

    dimension: int
    family: ClassVar[str] = "vectors"
    is_sphere: ClassVar[bool] = False
    has_series: ClassVar[bool] = False
    modal_axes: ClassVar[tuple[str, ...]] = mean_vectors.MODAL_AXES
    largest_degree: ClassVar[int] = mean_vectors.LARGEST_DEGREE

    check_coefficients = staticmethod(mean_vectors.check_coefficients)
    from_modes = staticmethod(mean_vectors.from_modes)
    unpacked = staticmethod(mean_vectors.unpacked)
    packed = staticmethod(mean_vectors.packed)
    degree_of = staticmethod(mean_vectors.degree_of)
    resize = staticmethod(mean_vectors.resize)
    convolve = staticmethod(mean_vectors.convolve)
    inner = staticmethod(mean_vectors.inner)
    sizes_by_degree = staticmethod(mean_vectors.sizes_by_degree)
    order_parameter = staticmethod(mean_vectors.order_parameter)

    def __post_init__(self) -> None:
        if self.dimension < 1:
            raise ValueError(f"R^D needs an integer D >= 1, got D = {self.dimension!r}.")

    def __repr__(self) -> str:
        return f"Euclidean({self.dimension})"

    @property
    def name(self) -> str:
        """Name in run files: space:D."""
        return f"space:{self.dimension}"

    @property
    def ambient(self) -> int:
        return self.dimension

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (self.dimension,)

    @property
    def origin(self) -> FloatArray:
        return np.zeros(self.dimension)

    def check_points(self, points: FloatArray) -> FloatArray:
        """Finite vectors (n, d), n >= 1."""
        vectors = np.ascontiguousarray(points, dtype=np.float64)
        if vectors.ndim != 2 or vectors.shape[1] != self.dimension or len(vectors) == 0:
            raise wrong_points(vectors.shape, f"vectors (n, {self.dimension})")
        wrong = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if len(wrong):
            first = int(wrong[0])
            raise ValueError(
                f"point {first} is {short_list(vectors[first].tolist())}, expected it finite."
            )
        return vectors

    def points_of(self, vectors: FloatArray) -> FloatArray:
        return vectors

    def project(self, points: FloatArray, vectors: FloatArray) -> FloatArray:
        return vectors

    def retract(self, points: FloatArray) -> tuple[FloatArray, None]:
        return points, None

    def distance(self, first: FloatArray, second: FloatArray) -> FloatArray:
        return np.asarray(np.linalg.norm(np.subtract(first, second), axis=-1))[()]

    def squared_norm(self, vectors: FloatArray) -> FloatArray:
        return np.asarray((vectors * vectors).sum(axis=-1))

    def random_points(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Independent standard normal vectors, for R^d has no uniform law."""
        return rng.standard_normal((count, self.dimension))

    def diffuse(self, points: FloatArray, time: float, normals: FloatArray) -> FloatArray:
        check_duration(time)
        return np.asarray(points + np.sqrt(2.0 * time) * normals)

    def moments(
        self, points: FloatArray, weights: FloatArray | None, max_degree: int
    ) -> ComplexArray:
        return mean_vectors.moments(self.vectors(points), weights, max_degree)

    def largest_sizes(self, max_degree: int) -> FloatArray:
        return np.concatenate([[1.0], np.full(min(max_degree, 1), np.inf)])

    def grid(self, max_degree: int) -> Grid:
        raise ValueError(f"{self.name} carries tokens, no densities.")

    def evaluate(
        self, coefficients: ModalArray, points: FloatArray, divisor: ModalArray | None = None
    ) -> FloatArray:
        raise ValueError(f"{self.name} carries tokens, no densities.")

    def gradient(
        self,
        coefficients: ModalArray,
        points: FloatArray,
        divisor: ModalArray | None = None,
        slope: float | None = None,
    ) -> FloatArray:
        raise ValueError(f"{self.name} carries tokens, no densities.")
