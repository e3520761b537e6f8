"""Interface of the grids of all manifolds."""

from __future__ import annotations

from typing import Protocol

from meanfield.arrays import FloatArray, ModalArray


class Grid(Protocol):
    """Nodes of a manifold, and transforms of fields up to one degree."""

    @property
    def max_degree(self) -> int:
        """Largest degree of coefficients."""

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
        """Nodal vectors: tangential part of vectors (d, n) of R^d at the nodes.

        On the circle (1, n) is allowed too, and tangential already.
        """

    def divergence(self, flux: FloatArray, max_degree: int | None = None) -> ModalArray:
        """Coefficients of the divergence of a nodal vector field; degree 0 is exactly 0.

        max_degree is the grid's by default, and at most 3/2 of it. Products of fields are aliased
        in the degrees above the grid's.
        """
