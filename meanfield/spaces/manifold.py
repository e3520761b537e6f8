"""Interfaces of spaces: geometry (`Geometry`), and a basis where they have one (`Basis`).

Bases are orthonormal with respect to sigma, the uniform probability measure. A field or density is
g = sum_l g_l Y_l with modal coefficients g_l. Moments of a measure are m_l = int conj(Y_l) dmu, so
moments and coefficients of a density coincide. Inside the package coefficients are packed, complex
and one-dimensional. Files and users get `unpacked` arrays, with one axis for each index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar

import numpy as np

from meanfield.arrays import FloatArray, ModalArray
from meanfield.bases.grid import Grid
from meanfield.errors import short_list

_T = TypeVar("_T")

# Largest distance from 1 of the mass of a user's density.
_MASS_TOLERANCE = 1e-9


class Geometry(Protocol):
    """Points, tangent vectors and distances. A point is an angle, a unit vector or a vector."""

    def __hash__(self) -> int: ...

    @property
    def name(self) -> str:
        """Name in run files."""
        ...

    @property
    def dimension(self) -> int:
        """Dimension of the space: 1 for the circle, 2 for S^2."""
        ...

    @property
    def ambient(self) -> int:
        """Dimension d of the vectors that matrices act on: 2 for the circle."""
        ...

    @property
    def is_sphere(self) -> bool:
        """True if points are directions; points of R^d have lengths and no uniform law."""
        ...

    @property
    def has_series(self) -> bool:
        """True if densities have a series; otherwise measures are weighted points."""
        ...

    @property
    def is_circle(self) -> bool:
        """True for the circle, whose points are angles modulo 2 pi."""
        ...

    @property
    def has_rings(self) -> bool:
        """True if a point is a ring: mass spread evenly over a latitude."""
        ...

    @property
    def point_axes(self) -> tuple[str, ...]:
        """Names of the axes of one point in files; empty where a point is a number."""
        ...

    @property
    def point_shape(self) -> tuple[int, ...]:
        """Shape of one point; empty where a point is a number."""
        ...

    @property
    def origin(self) -> FloatArray | float:
        """Default centre of laws."""
        ...

    def check_points(self, points: FloatArray) -> FloatArray:
        """Points as this manifold stores them; ValueError for a wrong shape or value."""
        ...

    def vectors(self, points: FloatArray) -> FloatArray:
        """Points as vectors, shape (n, ambient): of length 1 on spheres."""
        ...

    def points_of(self, vectors: FloatArray) -> FloatArray:
        """Points in the direction of vectors (n, ambient) of any length but zero."""
        ...

    def unflattened(self, state: FloatArray) -> FloatArray:
        """Points or tangent vectors, from a one-dimensional state of their coordinates."""
        ...

    def per_point(self, numbers: FloatArray) -> FloatArray:
        """One number for each point, in a shape that multiplies tangent vectors."""
        ...

    def project(self, points: FloatArray, vectors: FloatArray) -> FloatArray:
        """Tangential part of vectors (n, ambient) at points, stored as velocities are."""
        ...

    def retract(self, points: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """Points moved onto the manifold, and their lengths before; None for angles and in R^d."""
        ...

    def distance(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Geodesic distance of points, elementwise."""
        ...

    def squared_norm(self, vectors: FloatArray) -> FloatArray:
        """Squared length of tangent vectors at scattered points, shape (n,)."""
        ...

    def random_points(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Independent points from sigma."""
        ...

    def diffuse(self, points: FloatArray, time: float, normals: FloatArray) -> FloatArray:
        """Points moved by Brownian motion (generator Laplacian) for a time.

        normals, independent and standard: (n,) on the circle, (n, d - 1) on S^(d-1), (n, d) in R^d.
        The law is exact, but on S^(d-1), d > 3, it errs by O(time^4).
        """
        ...


class Basis(Protocol):
    """Eigenfunctions Y_l of the Laplacian: Fourier series or harmonics."""

    @property
    def modal_axes(self) -> tuple[str, ...]:
        """Names of the axes of unpacked coefficients."""
        ...

    @property
    def largest_degree(self) -> int:
        """Largest degree of a density; memory grows with it."""
        ...

    def check_coefficients(self, coefficients: ModalArray) -> ModalArray:
        """Coefficients of a density as this manifold stores them; ValueError for a wrong shape."""
        ...

    def from_modes(self, modes: Sequence[Sequence[float]]) -> ModalArray:
        """Coefficients of 1 + a sum of modes of a run file; ValueError if malformed."""
        ...

    def unpacked(self, coefficients: ModalArray) -> ModalArray:
        """Coefficients with the axes `modal_axes`."""
        ...

    def packed(self, array: ModalArray) -> ModalArray:
        """Inverse of `unpacked`."""
        ...

    def degree_of(self, coefficients: ModalArray) -> int:
        """Largest degree in an array of coefficients."""
        ...

    def resize(self, coefficients: ModalArray, max_degree: int) -> ModalArray:
        """Coefficients cut, or filled with zeros, to `max_degree`."""
        ...

    def convolve(self, multipliers: FloatArray, coefficients: ModalArray) -> ModalArray:
        """Coefficients of each degree times its multiplier; cut to the shorter."""
        ...

    def inner(self, first: ModalArray, second: ModalArray) -> float:
        """Real inner product int f g dsigma of two real fields; cut to the shorter."""
        ...

    def sizes_by_degree(self, coefficients: ModalArray) -> FloatArray:
        """Size of each degree, shape (max_degree + 1,), which no rotation changes.

        It is at least the largest modulus of the degree's coefficients.
        """
        ...

    def largest_sizes(self, max_degree: int) -> FloatArray:
        """Size of each degree of a Dirac measure; no measure exceeds it."""
        ...

    def order_parameter(self, moments: ModalArray) -> float:
        """Length of the mean vector, |int x dmu|."""
        ...

    def grid(self, max_degree: int) -> Grid:
        """Grid on which products of two fields of max_degree are exact."""
        ...

    def moments(
        self, points: FloatArray, weights: FloatArray | None, max_degree: int
    ) -> ModalArray:
        """Moments sum_j w_j conj(Y_l(x_j)); weights None means 1/n each."""
        ...

    def evaluate(
        self, coefficients: ModalArray, points: FloatArray, divisor: ModalArray | None = None
    ) -> FloatArray:
        """Values of a field at scattered points, divided by the field `divisor` if given."""
        ...

    def gradient(
        self,
        coefficients: ModalArray,
        points: FloatArray,
        divisor: ModalArray | None = None,
        slope: float | None = None,
    ) -> FloatArray:
        """Gradient of a field at scattered points, divided by the field `divisor` if given.

        slope: the number c in divisor = constant + c field, if known; it saves work.
        """
        ...


class Manifold(Geometry, Basis, Protocol):
    """A space with a basis."""


def wrong_points(shape: tuple[int, ...], expected: str) -> ValueError:
    """Error for points of a wrong shape.

    >>> print(wrong_points((50, 768), "vectors (n, 3)"))
    points have shape (50, 768), expected vectors (n, 3): tokens of R^768 live on mf.Sphere(768).
    """
    hint, d = "", shape[-1] if shape else 0
    if len(shape) == 2 and d > 3:
        hint = f": tokens of R^{d} live on mf.Sphere({d})"
    return ValueError(f"points have shape {shape}, expected {expected}{hint}.")


def check_mass(coefficients: ModalArray) -> None:
    """Refuse coefficients of a density that are not finite or have a mass other than 1."""
    flat = np.ravel(coefficients)
    if not np.all(np.isfinite(flat)):
        raise ValueError("coefficients of a density must be finite.")
    mass = complex(flat[0]) if len(flat) else 0.0
    if abs(mass - 1.0) > _MASS_TOLERANCE:
        number = mass if mass.imag else mass.real
        raise ValueError(f"coefficient of degree 0 is {number:.12g}, expected the mass 1.")


def check_duration(time: float) -> None:
    """Refuse times of noise that are negative or NaN."""
    if not time >= 0.0:
        raise ValueError(f"time = {time} is not a time to diffuse for, expected at least 0.")


def check_vectors(vectors: FloatArray) -> FloatArray:
    """Vectors (n, d), unchanged; ValueError if one is zero or not finite."""
    largest = np.abs(vectors).max(axis=1)
    wrong = np.flatnonzero(~(np.isfinite(largest) & (largest > 0)))
    if len(wrong):
        first = int(wrong[0])
        raise ValueError(
            f"point {first} is {short_list(vectors[first].tolist())}, expected a finite vector, "
            "not zero."
        )
    return vectors


def of_space(table: Mapping[str, _T], space: Geometry, what: str, instead: str = "") -> _T:
    """Entry of a table for the family of a space; ValueError if it has none."""
    family = getattr(space, "family", "")
    if family not in table:
        names = ", ".join(sorted(table))
        raise ValueError(f"no {what} is known on the {space.name}. Known: {names}.{instead}")
    return table[family]


def laplacian_eigenvalues(dimension: int, max_degree: int) -> FloatArray:
    """Eigenvalues l(l + d - 2) of -Laplacian on S^{d-1}, d = dimension + 1."""
    l = np.arange(max_degree + 1, dtype=np.float64)
    return l * (l + dimension - 1)


class Angles:
    """Spaces whose points and velocities are numbers (n,), coefficients (..., degree + 1)."""

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
    """Spaces whose points and velocities are vectors (n, d)."""

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
