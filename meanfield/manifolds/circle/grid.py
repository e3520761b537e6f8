"""Equispaced grid on the circle and its Fourier transforms.

A product of a density of degree K and a velocity of degree H has degree K + H. On n nodes
the part of degree n - k is seen as degree k, so degrees up to K are exact when

    n > 2 K + H.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from meanfield.arrays import ComplexArray, FloatArray

_LEAST_VELOCITY_DEGREE = 64


def alias_free_size(max_degree: int, field_degree: int) -> int:
    """Nodes for alias-free products with a field of field_degree, even and fast to transform.

    Examples
    --------
    >>> alias_free_size(64, 31)
    160
    """
    import scipy.fft

    least = 2 * max_degree + field_degree + 1
    return 2 * int(scipy.fft.next_fast_len((least + 1) // 2, real=True))


@dataclass(frozen=True)
class CircleGrid:
    """Grid of `size` equispaced nodes for fields up to max_degree < size / 2.

    Attributes
    ----------
    max_degree : int
        Given. Largest degree of the modal side, shape (max_degree + 1,).
    size : int
        Derived. Number of nodes; products of two fields of max_degree are exact.

    Examples
    --------
    >>> grid = CircleGrid(2)
    >>> grid.size
    8
    >>> grid.gradient(np.array([0, 0.5, 0])).round(3)[1:4]  # d/dt cos t = -sin t
    array([-0.707, -1.   , -0.707])
    """

    max_degree: int

    @cached_property
    def size(self) -> int:
        """Number of nodes."""
        return alias_free_size(self.max_degree, self.max_degree)

    @cached_property
    def points(self) -> FloatArray:
        """Angles 2 pi j / size."""
        return 2.0 * np.pi * np.arange(self.size) / self.size

    @cached_property
    def weights(self) -> FloatArray:
        """Equal weights 1 / size."""
        return np.full(self.size, 1.0 / self.size)

    def squared_norm(self, vectors: FloatArray) -> FloatArray:
        """Square of each nodal velocity."""
        return vectors**2

    def to_nodal(self, coefficients: ComplexArray) -> FloatArray:
        """Values at the nodes of a field of any degree below size / 2."""
        return np.asarray(np.fft.irfft(coefficients, self.size, norm="forward"))

    def to_modal(self, values: FloatArray) -> ComplexArray:
        """Coefficients up to max_degree of nodal values."""
        modal = np.fft.rfft(values, norm="forward")
        return np.asarray(modal[: self.max_degree + 1])

    def gradient(self, coefficients: ComplexArray) -> FloatArray:
        """Derivative at the nodes."""
        return self.to_nodal(1j * np.arange(len(coefficients)) * coefficients)

    def divergence(self, flux: FloatArray, max_degree: int | None = None) -> ComplexArray:
        """Coefficients of the derivative of a nodal flux; the one of degree 0 is exactly 0."""
        degree = self.max_degree if max_degree is None else max_degree
        modal = np.fft.rfft(flux, norm="forward")[: degree + 1]
        return np.asarray(1j * np.arange(len(modal)) * modal)

    def advection(
        self, density: ComplexArray, potential: ComplexArray, partition: ComplexArray | None = None
    ) -> ComplexArray:
        """Coefficients of d/dtheta (f Phi' / Z), compiled; Z = 1 if `partition` is None."""
        from meanfield.manifolds.circle.advection import advection

        return advection(density, potential, partition, self.max_degree, self._product_sizes)

    def transport(
        self, potential_multipliers: FloatArray, attention_multipliers: FloatArray | None
    ) -> Callable[[ComplexArray, bool], ComplexArray]:
        """Compiled function of a density f, for its transport by the field that it creates.

        One call: up to a thousand degrees NumPy's would take as long as the rest.
        It gives the coefficients of -d/dtheta (f Phi' / Z), where Phi_k = w_k f_k, Z_k = a_k f_k,
        and Z = 1 if there are no a_k. Then f without its mean is what moves if the second
        argument, `perturbation`, is true.
        """
        from meanfield.manifolds.circle.advection import transport

        sizes = self._product_sizes
        return partial(
            transport, potential_multipliers, attention_multipliers, self.max_degree, sizes
        )

    @cached_property
    def _product_sizes(self) -> npt.NDArray[np.int64]:
        """Sizes free of aliasing for velocities of degree 64, 128, ..., at least max_degree."""
        degrees = [_LEAST_VELOCITY_DEGREE]
        while degrees[-1] < self.max_degree:
            degrees.append(2 * degrees[-1])
        return np.array([alias_free_size(self.max_degree, degree) for degree in degrees])
