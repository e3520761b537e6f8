"""Grids of all manifolds: the nodal side of their transforms."""

from __future__ import annotations

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

    def project(self, components: FloatArray) -> FloatArray:
        """Tangential part, as nodal vectors are, of (d, n) vectors of R^d at the nodes.

        On the circle also of (1, n), which are tangential already.
        """

    def divergence(self, flux: FloatArray, max_degree: int | None = None) -> ModalArray:
        """Coefficients of the divergence of a nodal vector field; degree 0 is exactly 0.

        Up to max_degree, which may be half as large again as the grid's, its default. Above that
        a flux made of products is seen with what its higher degrees are mistaken for.
        """
