"""The sphere S^2: unit vectors, spherical harmonics, transforms.

Basis: complex harmonics orthonormal for sigma, packed by order as in `coefficients`. Files and
users see pyshtools' arrays of real 4-pi-normalised harmonics. m_lm = int conj(Y_lm) dmu.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from meanfield.arrays import ComplexArray, FloatArray, ModalArray
from meanfield.manifolds.sphere import checks
from meanfield.manifolds.sphere import coefficients as packing

if TYPE_CHECKING:
    from meanfield.manifolds.sphere.grid import SphereGrid


@dataclass(frozen=True)
class Sphere:
    """Sphere of radius 1; points are unit vectors (n, 3), coefficients packed complex.

    Examples
    --------
    >>> Sphere().moments(np.array([[0, 0, 1.0], [0, 0, -1.0]]), None, 1).real.round(12) + 0.0
    array([1., 0., 0.])
    """

    name: str = field(default="sphere", init=False, repr=False)
    dimension: int = field(default=2, init=False, repr=False)
    modal_axes: tuple[str, ...] = field(default=("kind", "degree", "order"), init=False, repr=False)
    point_axes: tuple[str, ...] = field(default=("axis",), init=False, repr=False)
    default_max_degree: int = field(default=512, init=False, repr=False)
    full_degree: int = field(default=256, init=False, repr=False)
    largest_degree: int = field(default=2047, init=False, repr=False)

    @property
    def origin(self) -> FloatArray:
        """Where laws have their mean unless told otherwise: the north pole."""
        return np.array([0.0, 0.0, 1.0])

    def check_points(self, points: FloatArray) -> FloatArray:
        """Unit vectors of shape (n, 3), n >= 1, of vectors of any length but zero."""
        return checks.check_points(points)

    def check_coefficients(self, coefficients: Any) -> ComplexArray:
        """Coefficients of a density: finite, mass 1, real where the order is 0.

        Packed complex, pyshtools' array (2, L + 1, L + 1), or a pyshtools.SHCoeffs.
        """
        return checks.check_coefficients(coefficients)

    def degree_of(self, coefficients: ModalArray) -> int:
        """Largest degree L of (L + 1)(L + 2) / 2 coefficients."""
        return packing.degree_of(coefficients)

    def resize(self, coefficients: ModalArray, max_degree: int) -> ModalArray:
        """Coefficients cut, or filled with zeros, to `max_degree`."""
        return packing.resize(coefficients, max_degree)

    def convolve(self, multipliers: FloatArray, coefficients: ModalArray) -> ModalArray:
        """Zonal convolution: product degree by degree, cut to the shorter."""
        return packing.convolve(multipliers, coefficients)

    def inner(self, first: ModalArray, second: ModalArray) -> float:
        """Inner product int f g dsigma of two real fields."""
        return packing.inner(first, second)

    def sizes_by_degree(self, coefficients: ModalArray) -> FloatArray:
        """Size of each degree, sqrt(sum_m C_lm^2 + S_lm^2): no rotation changes it."""
        return np.asarray(np.sqrt(packing.power_by_degree(coefficients)))

    def largest_sizes(self, max_degree: int) -> FloatArray:
        """Root of 2l + 1 for each degree: the power of one point, by the addition theorem."""
        return np.asarray(np.sqrt(2.0 * np.arange(max_degree + 1) + 1.0))

    def spread(self, coefficients: ModalArray) -> FloatArray:
        """Array (2, L + 1, L + 1) of real coefficients as pyshtools has it, for files."""
        return packing.spread(coefficients)

    def to_shcoeffs(self, coefficients: ModalArray) -> Any:
        """Field as a pyshtools.SHCoeffs ('4pi', csphase 1), for its spectra, maps and files."""
        return packing.to_shcoeffs(coefficients)

    def packed(self, array: FloatArray) -> ModalArray:
        """Coefficients of an array (2, L + 1, L + 1): inverse of `spread`."""
        return packing.packed(array)

    def from_modes(self, modes: Sequence[Sequence[float]]) -> ModalArray:
        """Coefficients of 1 + sum of modes [l, m, amplitude].

        Amplitudes of real 4-pi-normalised harmonics without Condon-Shortley phase; m < 0 is the
        sine. A mode named twice counts twice.
        """
        return packing.from_modes(modes)

    def order_parameter(self, moments: ModalArray) -> float:
        """Length of the mean vector, sqrt(sum_m |m_1m|^2 / 3) over m = -1, 0, 1."""
        return float(np.sqrt(packing.power_by_degree(packing.resize(moments, 1))[1] / 3.0))

    def distance(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Angle between unit vectors (..., 3), exact to rounding near 0 and near pi."""
        chord = np.sqrt((np.subtract(first, second) ** 2).sum(axis=-1))
        cochord = np.sqrt((np.add(first, second) ** 2).sum(axis=-1))
        return np.asarray(2.0 * np.arctan2(chord, cochord))

    def random_points(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Independent uniform points: directions of normal vectors."""
        return self.retract(rng.standard_normal((count, 3)))[0]

    def retract(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Points divided by their lengths, and the lengths."""
        lengths = np.sqrt(self.squared_norm(points))
        with np.errstate(invalid="ignore", divide="ignore"):
            return points / lengths[..., None], lengths

    def squared_norm(self, vectors: FloatArray) -> FloatArray:
        """Squared length of tangent vectors, (n, 3) to (n,)."""
        # As a sum over the last axis adds them, in a fifth of its time.
        x, y, z = vectors[..., 0], vectors[..., 1], vectors[..., 2]
        return np.asarray(x * x + y * y + z * z)

    def diffuse(self, points: FloatArray, time: float, normals: FloatArray) -> FloatArray:
        """Directions moved by Brownian motion for a time, driven by normals (n, 2)."""
        from meanfield.manifolds.sphere import heat

        return heat.diffuse(points, time, normals)

    def grid(self, max_degree: int) -> SphereGrid:
        """Gauss-Legendre grid on which products of two fields of max_degree are exact."""
        from meanfield.manifolds.sphere.grid import SphereGrid

        return SphereGrid(max_degree)

    def moments(
        self, points: FloatArray, weights: FloatArray | None, max_degree: int
    ) -> ComplexArray:
        """Moments sum_j w_j conj(Y_lm(x_j)), l = 0 ... max_degree."""
        from meanfield.manifolds.sphere import points as sphere_points

        return sphere_points.moments(points, weights, max_degree)

    def evaluate(self, coefficients: ModalArray, points: FloatArray) -> FloatArray:
        """Values of the real field at points."""
        from meanfield.manifolds.sphere import points as sphere_points

        return sphere_points.evaluate(coefficients, points)

    def gradient(
        self,
        coefficients: ModalArray,
        points: FloatArray,
        divisor: ModalArray | None = None,
        slope: float | None = None,
    ) -> FloatArray:
        """Tangent gradient of the field at points, divided by the field `divisor` if given."""
        from meanfield.manifolds.sphere import points as sphere_points

        return sphere_points.gradient(coefficients, points, divisor, slope)
