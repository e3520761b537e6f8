"""Axial measures on the sphere S^{d-1}: polar angles and zonal harmonics.

The basis Y_l = sqrt(N_l) P_l(cos theta) is orthonormal for sigma; see `harmonics`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from meanfield.arguments import checked
from meanfield.arrays import EPS, ComplexArray, FloatArray, ModalArray
from meanfield.bases.gegenbauer import harmonics
from meanfield.spaces.manifold import Angles, check_mass, check_vectors, wrong_points

if TYPE_CHECKING:
    from meanfield.bases.gegenbauer.grid import AxialGrid

LARGEST_AMBIENT = 1000
"""Largest d: transforms are tested up to there."""
# Angles beyond the poles by rounding are reflected; larger ones are errors.
_BEYOND = 1e-9
# Share of the largest value of a divisor that is the rounding of its series.
_FLOOR = 16 * EPS


@checked
@dataclass(frozen=True, repr=False)
class Axial(Angles):
    """Measures on the unit sphere of R^ambient that are symmetric about its last axis.

    Points are polar angles in [0, pi], shape (n,). A point is a ring: mass spread evenly over its
    latitude. Coefficients are packed complex (L + 1,), f_l = sqrt(N_l) m_l. Users and files have
    real moments m_l = int P_l(cos theta) dmu, P_l(1) = 1; a real array means moments.

    ambient: d of S^{d-1}, 2 to 1,000.

    ValueError if `ambient` is out of range.

    >>> axial = Axial(8)
    >>> axial.name, axial.dimension
    ('axial:8', 7)
    >>> axial.unpacked(axial.moments(np.array([0.0, np.pi / 2]), None, 2)).round(6)
    array([1.      , 0.5     , 0.428571])
    """

    ambient: int
    family: ClassVar[str] = "axial"
    has_rings: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 2 <= self.ambient <= LARGEST_AMBIENT:
            raise ValueError(
                f"axial densities are those of S^(d-1), d = 2 to {LARGEST_AMBIENT}, got d = "
                f"{self.ambient!r}."
            )

    def __repr__(self) -> str:
        return f"Axial({self.ambient})"

    @property
    def name(self) -> str:
        """Name in run files: axial:D."""
        return f"axial:{self.ambient}"

    @property
    def dimension(self) -> int:
        return self.ambient - 1

    @property
    def largest_degree(self) -> int:
        return harmonics.largest_degree(self.ambient)

    def check_points(self, points: FloatArray) -> FloatArray:
        """Polar angles (n,), n >= 1, in [0, pi], from angles or vectors (n, d)."""
        angles = np.ascontiguousarray(points, dtype=np.float64)
        if angles.ndim == 2 and angles.shape[1] == self.ambient and len(angles) > 0:
            angles = self.points_of(check_vectors(angles))
        if angles.ndim != 1 or len(angles) == 0:
            raise wrong_points(angles.shape, f"polar angles (n,) or vectors (n, {self.ambient})")
        wrong = ~((angles >= -_BEYOND) & (angles <= np.pi + _BEYOND))
        if wrong.any():
            first = int(np.flatnonzero(wrong)[0])
            raise ValueError(
                f"point {first} is {angles[first]}, expected a polar angle in [0, pi]."
            )
        return np.minimum(np.abs(angles), 2.0 * np.pi - np.abs(angles))

    def vectors(self, points: FloatArray) -> FloatArray:
        """A vector of each latitude, (0, ..., sin theta, cos theta), shape (n, d)."""
        out = np.zeros((len(points), self.ambient))
        out[:, -2], out[:, -1] = np.sin(points), np.cos(points)
        return out

    def points_of(self, vectors: FloatArray) -> FloatArray:
        beside = np.sqrt((vectors[..., :-1] ** 2).sum(axis=-1))
        return np.asarray(np.arctan2(beside, vectors[..., -1]))

    def project(self, points: FloatArray, vectors: FloatArray) -> FloatArray:
        return np.asarray(np.cos(points) * vectors[:, -2] - np.sin(points) * vectors[:, -1])

    def check_coefficients(self, coefficients: ModalArray) -> ComplexArray:
        """Packed coefficients of a density of mass 1, from complex ones or real moments m_l."""
        checked = harmonics.check_coefficients(self.ambient, coefficients)
        check_mass(checked)
        return checked

    def from_modes(self, modes: Sequence[Sequence[float]]) -> ComplexArray:
        """Coefficients of 1 + sum_i A_i P_{l_i}(cos theta), modes [l, A]."""
        return harmonics.from_modes(self.ambient, modes)

    def unpacked(self, coefficients: ModalArray) -> FloatArray:
        """Moments m_l = int P_l dmu, real; leading axes are kept."""
        return harmonics.unpacked(self.ambient, coefficients)

    def packed(self, array: FloatArray) -> ModalArray:
        return harmonics.packed(self.ambient, np.asarray(array))

    def inner(self, first: ModalArray, second: ModalArray) -> float:
        """Inner product int f g dsigma of two real fields."""
        count = min(len(first), len(second))
        return float((first[:count] * np.conj(second[:count])).real.sum())

    def largest_sizes(self, max_degree: int) -> FloatArray:
        """Root of N_l for each degree: the size of f_l of a Dirac measure at a pole."""
        return harmonics.roots(self.ambient, max_degree)

    def order_parameter(self, moments: ModalArray) -> float:
        """Length of the mean vector, |m_1|."""
        return float(np.abs(moments[1:2]).sum()) / float(np.sqrt(self.ambient))

    def distance(self, first: FloatArray, second: FloatArray) -> FloatArray:
        return np.abs(np.subtract(first, second))

    def retract(self, points: FloatArray) -> tuple[FloatArray, None]:
        return np.clip(points, 0.0, np.pi), None

    def random_points(self, count: int, rng: np.random.Generator) -> FloatArray:
        along = rng.standard_normal(count)
        beside = np.sqrt(rng.chisquare(self.ambient - 1, count))
        return np.arctan2(beside, along)

    def diffuse(self, points: FloatArray, time: float, normals: FloatArray) -> FloatArray:
        """Refuse noise: a diffusing ring does not stay a ring."""
        raise ValueError(
            f"rings of {self.name} have no noise of their own: take the representation "
            f'"density", or tokens on Sphere({self.ambient}).'
        )

    def grid(self, max_degree: int) -> AxialGrid:
        """Gauss-Jacobi grid that integrates products of three fields up to max_degree exactly.

        Beyond `largest_degree` its harmonics may overflow.
        """
        from meanfield.bases.gegenbauer.grid import AxialGrid

        return AxialGrid(self.ambient, max_degree)

    def moments(
        self, points: FloatArray, weights: FloatArray | None, max_degree: int
    ) -> ComplexArray:
        """Coefficients sum_j w_j Y_l(theta_j), l = 0 ... max_degree."""
        from meanfield.bases.gegenbauer import series

        return series.moments(self.ambient, points, weights, max_degree).astype(np.complex128)

    def evaluate(
        self, coefficients: ModalArray, points: FloatArray, divisor: ModalArray | None = None
    ) -> FloatArray:
        from meanfield.bases.gegenbauer import series

        values = series.values(self.ambient, np.real(coefficients), points)
        return values if divisor is None else values / self._divisor(divisor, points)

    def gradient(
        self,
        coefficients: ModalArray,
        points: FloatArray,
        divisor: ModalArray | None = None,
        slope: float | None = None,
    ) -> FloatArray:
        from meanfield.bases.gegenbauer import series

        slopes = series.gradient(self.ambient, np.real(coefficients), points)
        return slopes if divisor is None else slopes / self._divisor(divisor, points)

    def _divisor(self, divisor: ModalArray, points: FloatArray) -> FloatArray:
        values = self.evaluate(divisor, points)
        return np.asarray(np.maximum(values, _FLOOR * np.abs(values).max()))
