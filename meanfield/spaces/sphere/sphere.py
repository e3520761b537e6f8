"""Spheres S^{d-1} of any dimension, with unit vectors in R^d, and the harmonics of S^2.

S^2 has complex harmonics Y_lm, orthonormal for sigma, with coefficients packed as in
`coefficients`. Files and users get pyshtools' arrays of real 4-pi-normalised harmonics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from meanfield.arguments import checked
from meanfield.arrays import EPS, ComplexArray, FloatArray, ModalArray
from meanfield.engines.harmonics import coefficients as packing
from meanfield.spaces import mean_vectors
from meanfield.spaces.manifold import (
    Vectors,
    check_duration,
    check_mass,
    check_vectors,
    wrong_points,
)

if TYPE_CHECKING:
    from meanfield.bases.harmonics import SphereGrid

# Coordinates from which one call of einsum is faster than a loop; it sums in another order.
_MANY_COORDINATES = 8


class _Coefficients(Protocol):
    """Interface that `coefficients` and `mean_vectors` share."""

    def degree_of(self, coefficients: ModalArray) -> int: ...
    def resize(self, coefficients: ModalArray, max_degree: int) -> ModalArray: ...
    def convolve(self, multipliers: FloatArray, coefficients: ModalArray) -> ModalArray: ...
    def inner(self, first: ModalArray, second: ModalArray) -> float: ...
    def unpacked(self, coefficients: ModalArray) -> FloatArray: ...
    def packed(self, array: FloatArray) -> ModalArray: ...
    def from_modes(self, modes: Sequence[Sequence[float]]) -> ComplexArray: ...


@checked
@dataclass(frozen=True, repr=False)
class Sphere(Vectors):
    """Unit sphere of R^ambient; points are vectors (n, ambient), coefficients packed complex.

    ambient: at least 2, by default 3: S^2, with its harmonics. Other spheres carry tokens, whose
    moments are mass and mean vector; their densities have an axis, see `Axial`. `Sphere(2)` has the
    tokens of the circle, as vectors.

    ValueError if `ambient` is below 2, or for harmonics of a sphere other than S^2.

    >>> Sphere(8).name
    'sphere:8'
    >>> Sphere(5).distance(np.eye(5)[0], np.eye(5)[:2]).round(6)
    array([0.      , 1.570796])
    >>> Sphere().moments(np.array([[0, 0, 1.0], [0, 0, -1.0]]), None, 1).real.round(12) + 0.0
    array([1., 0., 0.])
    """

    ambient: int = 3
    is_sphere: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.ambient < 2:
            raise ValueError(f"a sphere lies in R^D, D an integer >= 2, got D = {self.ambient!r}.")

    @property
    def dimension(self) -> int:
        return self.ambient - 1

    def __repr__(self) -> str:
        return "Sphere()" if self.ambient == 3 else f"Sphere({self.ambient})"

    @property
    def name(self) -> str:
        """Name in run files and on the command line: sphere, or sphere:D in R^D."""
        return "sphere" if self.ambient == 3 else f"sphere:{self.ambient}"

    @property
    def family(self) -> str:
        """Key for `of_space`: "sphere" for S^2, else "vectors", which have no series."""
        return "sphere" if self.ambient == 3 else "vectors"

    @property
    def has_series(self) -> bool:
        return self.ambient == 3

    @property
    def _basis(self) -> _Coefficients:
        """Functions of coefficients: of harmonics, or of mass and mean vector."""
        return packing if self.ambient == 3 else mean_vectors

    @property
    def modal_axes(self) -> tuple[str, ...]:
        return ("kind", "degree", "order") if self.ambient == 3 else mean_vectors.MODAL_AXES

    @property
    def largest_degree(self) -> int:
        return 2047 if self.ambient == 3 else mean_vectors.LARGEST_DEGREE

    @property
    def origin(self) -> FloatArray:
        return np.asarray(np.eye(self.ambient)[-1])

    def check_points(self, points: FloatArray) -> FloatArray:
        return stored_points(points, self.ambient)

    def points_of(self, vectors: FloatArray) -> FloatArray:
        return self.retract(vectors)[0]

    def project(self, points: FloatArray, vectors: FloatArray) -> FloatArray:
        """Tangent vectors P_x v = v - <x, v> x, shape (n, d)."""
        along = (points * vectors).sum(axis=-1)
        return np.asarray(vectors - along[..., None] * points)

    def check_coefficients(self, coefficients: Any) -> ComplexArray:
        """Packed coefficients of a density; see `stored_coefficients`."""
        if self.ambient != 3:
            return mean_vectors.check_coefficients(coefficients)
        return stored_coefficients(coefficients)

    def degree_of(self, coefficients: ModalArray) -> int:
        return self._basis.degree_of(coefficients)

    def resize(self, coefficients: ModalArray, max_degree: int) -> ModalArray:
        return self._basis.resize(coefficients, max_degree)

    def convolve(self, multipliers: FloatArray, coefficients: ModalArray) -> ModalArray:
        return self._basis.convolve(multipliers, coefficients)

    def inner(self, first: ModalArray, second: ModalArray) -> float:
        return self._basis.inner(first, second)

    def sizes_by_degree(self, coefficients: ModalArray) -> FloatArray:
        """Size of each degree, sqrt(sum_m C_lm^2 + S_lm^2)."""
        if self.ambient != 3:
            return mean_vectors.sizes_by_degree(coefficients)
        return np.asarray(np.sqrt(packing.power_by_degree(coefficients)))

    def largest_sizes(self, max_degree: int) -> FloatArray:
        if self.ambient != 3:
            return mean_vectors.largest_sizes(max_degree)
        return np.asarray(np.sqrt(2.0 * np.arange(max_degree + 1) + 1.0))

    def unpacked(self, coefficients: ModalArray) -> FloatArray:
        """Real coefficients as pyshtools' array (2, L + 1, L + 1)."""
        return self._basis.unpacked(coefficients)

    def to_shcoeffs(self, coefficients: ModalArray) -> Any:
        """Field as a pyshtools.SHCoeffs ('4pi', csphase 1), for its spectra, maps and files."""
        return packing.to_shcoeffs(coefficients)

    def packed(self, array: FloatArray) -> ModalArray:
        return self._basis.packed(array)

    def from_modes(self, modes: Sequence[Sequence[float]]) -> ModalArray:
        """Coefficients of 1 + sum of modes [l, m, amplitude].

        Harmonics are real, 4-pi-normalised, without Condon-Shortley phase; m < 0 is the sine.
        Equal modes add up.
        """
        return self._basis.from_modes(modes)

    def order_parameter(self, moments: ModalArray) -> float:
        """Length of the mean vector, sqrt(sum_m |m_1m|^2 / 3) over m = -1, 0, 1."""
        if self.ambient != 3:
            return mean_vectors.order_parameter(moments)
        return float(np.sqrt(packing.power_by_degree(packing.resize(moments, 1))[1] / 3.0))

    def distance(self, first: FloatArray, second: FloatArray) -> FloatArray:
        chord = np.sqrt((np.subtract(first, second) ** 2).sum(axis=-1))
        cochord = np.sqrt((np.add(first, second) ** 2).sum(axis=-1))
        return np.asarray(2.0 * np.arctan2(chord, cochord))

    def random_points(self, count: int, rng: np.random.Generator) -> FloatArray:
        return self.points_of(rng.standard_normal((count, self.ambient)))

    def retract(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        lengths = np.sqrt(self.squared_norm(points))
        with np.errstate(invalid="ignore", divide="ignore"):
            return points / lengths[..., None], lengths

    def squared_norm(self, vectors: FloatArray) -> FloatArray:
        return _squared_lengths(vectors)

    def diffuse(self, points: FloatArray, time: float, normals: FloatArray) -> FloatArray:
        from meanfield.engines.harmonics import heat, heat_moments

        check_duration(time)
        if self.ambient == 3:
            return heat.diffuse(points, time, normals)
        return heat_moments.diffuse(points, time, normals)

    def grid(self, max_degree: int) -> SphereGrid:
        self._check_harmonics()
        from meanfield.bases.harmonics import SphereGrid

        return SphereGrid(max_degree)

    def moments(
        self, points: FloatArray, weights: FloatArray | None, max_degree: int
    ) -> ComplexArray:
        """Moments sum_j w_j conj(Y_lm(x_j)), l = 0 ... max_degree."""
        if self.ambient != 3:
            return mean_vectors.moments(points, weights, max_degree)
        from meanfield.engines.harmonics import points as sphere_points

        return sphere_points.moments(points, weights, max_degree)

    def evaluate(
        self, coefficients: ModalArray, points: FloatArray, divisor: ModalArray | None = None
    ) -> FloatArray:
        self._check_harmonics()
        from meanfield.engines.harmonics import points as sphere_points

        values = sphere_points.evaluate(coefficients, points)
        return values if divisor is None else values / sphere_points.evaluate(divisor, points)

    def gradient(
        self,
        coefficients: ModalArray,
        points: FloatArray,
        divisor: ModalArray | None = None,
        slope: float | None = None,
    ) -> FloatArray:
        self._check_harmonics()
        from meanfield.engines.harmonics import points as sphere_points

        return sphere_points.gradient(coefficients, points, divisor, slope)

    def _check_harmonics(self) -> None:
        if self.dimension != 2:
            raise ValueError(
                f"{self.name} has no harmonics: it carries tokens, and its densities with an axis "
                f"live on Axial({self.ambient})."
            )


# Largest imaginary part of order 0 that counts as rounding.
_REAL_TOLERANCE = 1e-12
# Largest distance of a length from 1 that counts as rounding: normalised points keep their bits.
_UNIT = 8 * EPS


def _squared_lengths(vectors: FloatArray) -> FloatArray:
    if vectors.shape[-1] >= _MANY_COORDINATES:
        return np.asarray(np.einsum("...d,...d->...", vectors, vectors))
    # The same order as a sum over the last axis, in a fifth of its time.
    total = vectors[..., 0] ** 2
    for k in range(1, vectors.shape[-1]):
        total = total + vectors[..., k] ** 2
    return np.asarray(total)


def stored_points(points: FloatArray, dimension: int = 3) -> FloatArray:
    """Unit vectors (n, dimension), n >= 1, from vectors of any length but zero."""
    vectors = np.ascontiguousarray(points, dtype=np.float64)
    if vectors.ndim != 2 or vectors.shape[1] != dimension or len(vectors) == 0:
        raise wrong_points(vectors.shape, f"vectors (n, {dimension})")
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.sqrt(_squared_lengths(vectors))
    if np.all(np.abs(lengths - 1.0) <= _UNIT):
        return vectors
    check_vectors(vectors)
    # Scaled first, so that squares of huge or tiny vectors stay in range.
    scaled = vectors / np.abs(vectors).max(axis=1)[:, None]
    scaled /= np.sqrt((scaled * scaled).sum(axis=1))[:, None]
    return np.where((np.abs(lengths - 1.0) <= _UNIT)[:, None], vectors, scaled)


def stored_coefficients(coefficients: Any) -> ComplexArray:
    """Packed coefficients of a density; ValueError unless finite, mass 1 and real at order 0.

    Takes packed ones, pyshtools' array (2, L + 1, L + 1) or a pyshtools.SHCoeffs.
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
