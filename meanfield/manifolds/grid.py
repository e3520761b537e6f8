"""What the grid of every manifold provides: the nodal side of its transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from meanfield.arrays import FloatArray, ModalArray


class Grid(Protocol):
    """Nodal side of the transforms, for fields up to one degree."""

    @property
    def max_degree(self) -> int:
        """Largest degree of the modal side."""

    @property
    def points(self) -> FloatArray:
        """Nodes."""

    @property
    def weights(self) -> FloatArray:
        """Quadrature weights for sigma, shape (n,), summing to 1."""

    def squared_norm(self, vectors: FloatArray) -> FloatArray:
        """Squared length of nodal vectors, shape (n,)."""

    def to_nodal(self, coefficients: ModalArray) -> FloatArray:
        """Values at the nodes."""

    def to_modal(self, values: FloatArray) -> ModalArray:
        """Coefficients up to max_degree of nodal values."""

    def gradient(self, coefficients: ModalArray) -> FloatArray:
        """Gradient at the nodes of a field given by its coefficients."""

    def divergence(self, flux: FloatArray, max_degree: int | None = None) -> ModalArray:
        """Coefficients of the divergence of a nodal vector field; degree 0 is exactly 0.

        Up to max_degree, which may be half as large again as the grid's, its default. Above that
        a flux made of products is seen with what its higher degrees are mistaken for.
        """

    def transport(
        self, potential_multipliers: FloatArray, attention_multipliers: FloatArray | None
    ) -> Callable[[ModalArray, bool], ModalArray]:
        """Function of a density f: coefficients of -div(f grad Phi / Z), of fields created by f.

        Phi_l = w_l f_l and Z_l = a_l f_l; without a_l, Z = 1, and then f without its mean is what
        moves if the second argument, `perturbation`, is true.
        """
