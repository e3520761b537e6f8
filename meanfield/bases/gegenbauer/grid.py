"""Gauss-Jacobi grid for zonal functions on S^{d-1} and its transforms.

    sigma: (1 - u^2)^{(d-3)/2} du, normalised;    nodes: zeros of P_n

Transforms multiply by the matrix sqrt(w_i) Y_l(theta_i), whose columns are orthonormal. So nothing
overflows where weights are 1e-200, as next to the poles of S^999.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from meanfield.arrays import EPS, ComplexArray, FloatArray, read_only
from meanfield.bases.gegenbauer.harmonics import roots

_NEWTON_STEPS = 3
# Largest rounding error of a nodal value that counts as resolved.
_RESOLVED = 1e-9


@dataclass(frozen=True)
class AxialGrid:
    """Gauss-Jacobi nodes that integrate products of three fields up to max_degree exactly."""

    ambient: int  # d of S^{d-1}
    max_degree: int

    @cached_property
    def _tables(self) -> _Tables:
        return _tables(self.ambient, self.max_degree)

    @property
    def points(self) -> FloatArray:
        return self._tables.angles

    @property
    def weights(self) -> FloatArray:
        return self._tables.root**2

    def squared_norm(self, vectors: FloatArray) -> FloatArray:
        return vectors**2

    def to_nodal(self, coefficients: ComplexArray) -> FloatArray:
        """Values at the nodes of a field up to degree 3/2 max_degree.

        Their error is rounding over the root of the weight. Next to the poles in many dimensions,
        where sigma has almost no mass, they are noise.
        """
        f = np.real(coefficients)
        return np.asarray((self._tables.values[:, : len(f)] @ f) / self._tables.root)

    def resolved(self, coefficients: ComplexArray) -> npt.NDArray[np.bool_]:
        size = float(np.sqrt((np.abs(coefficients) ** 2).sum()))
        return np.asarray(self._tables.root * _RESOLVED > EPS * size)

    def to_modal(self, values: FloatArray) -> ComplexArray:
        tables = self._tables
        modal = (tables.root * values) @ tables.values[:, : self.max_degree + 1]
        return modal.astype(np.complex128)

    def gradient(self, coefficients: ComplexArray) -> FloatArray:
        f = np.real(coefficients)
        return np.asarray((self._tables.slopes[:, : len(f)] @ f) / self._tables.root)

    def project(self, components: FloatArray) -> FloatArray:
        """Refuse vectors of R^d, which need not keep the axis."""
        raise ValueError("vectors of R^d have no place on the grid of an axial density.")

    def divergence(self, flux: FloatArray, max_degree: int | None = None) -> ComplexArray:
        """Coefficients of the divergence of a nodal flux, -int Y_l' F dsigma; degree 0 is 0."""
        tables = self._tables
        degree = self.max_degree if max_degree is None else max_degree
        modal = (tables.root * flux) @ tables.slopes[:, : degree + 1]
        return np.negative(modal).astype(np.complex128)


@dataclass(frozen=True, eq=False)
class _Tables:
    """Nodes theta_i, sqrt(w_i), sqrt(w_i) Y_l(theta_i) and sqrt(w_i) Y_l'(theta_i)."""

    angles: FloatArray
    root: FloatArray
    values: FloatArray
    slopes: FloatArray


@lru_cache(maxsize=8)
def _tables(d: int, max_degree: int) -> _Tables:
    from meanfield.bases.gegenbauer import series

    # 2 n - 1 >= 3 L; n nodes determine degrees up to n - 1.
    n = 3 * max_degree // 2 + 1
    angles = nodes(d, n)
    values = series.harmonics(d, angles, n - 1)
    # Christoffel: 1 / w_i = sum_{l < n} Y_l^2, scaled because the squares may overflow.
    largest = np.abs(values).max(axis=1)
    root = 1.0 / (largest * np.sqrt(((values / largest[:, None]) ** 2).sum(axis=1)))
    slopes = series.slopes(d, angles, n - 1)
    for table in (values, slopes):
        table *= root[:, None]
    return _Tables(*map(read_only, (angles, root, values, slopes)))


def nodes(d: int, count: int) -> FloatArray:
    """Polar angles of the zeros of P_count, increasing, to rounding.

    Eigenvalues of the Jacobi matrix (Golub and Welsch 1969) start Newton's method in the angle.
    """
    from scipy.linalg import eigvalsh_tridiagonal

    from meanfield.bases.gegenbauer import series

    l = np.arange(2, count, dtype=np.float64)
    beside = np.sqrt(l * (l + d - 3) / ((2 * l + d - 2) * (2 * l + d - 4)))
    beside = np.concatenate([[1.0 / np.sqrt(d)], beside])[: count - 1]
    zeros = eigvalsh_tridiagonal(np.zeros(count), beside)
    half = count // 2
    theta = np.arccos(np.clip(zeros[::-1][:half], -1.0, 1.0))
    one = np.zeros(count + 1)
    one[count] = 1.0 / roots(d, count)[count]
    for _ in range(_NEWTON_STEPS):
        theta = theta - series.values(d, one, theta) / series.gradient(d, one, theta)
    middle = np.full(count % 2, 0.5 * np.pi)
    return np.concatenate([theta, middle, np.pi - theta[::-1]])
