"""Label space cut into cells of quadrature nodes: what carries a measure along the flow.

A label is the place where a characteristic starts. A cell holds p Gauss-Legendre nodes along
each direction; functions of the label are polynomials on it. Cells split where such a
polynomial no longer resolves what the flow has made of them, and join where nothing is left to
resolve. The circle cuts its labels into panels, as axial measures do their polar
angles, and the sphere into rectangles of a cubed sphere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray
from meanfield.bases.legendre import Carry
from meanfield.spaces.axial.measure import AxialPanels, axial_panels
from meanfield.spaces.circle.panels import ORDER, Panels, panels
from meanfield.spaces.manifold import Manifold, of_space
from meanfield.spaces.sphere import label_cells as sphere


class LabelCells(Protocol):
    """Cells of label space with their quadrature nodes, in a fixed order: cell by cell."""

    @property
    def bounds(self) -> FloatArray:
        """Bounds of the cells, shape (cells, ...): enough to rebuild them."""
        ...

    @property
    def order(self) -> int:
        """Nodes along each direction of a cell."""
        ...

    @property
    def per_cell(self) -> int:
        """Nodes of a cell: order ** dimension."""
        ...

    @property
    def points(self) -> FloatArray:
        """Labels of the nodes, as points of the manifold, shape (n, ...)."""
        ...

    @property
    def weights(self) -> FloatArray:
        """Quadrature weights of the nodes for sigma, shape (n,), summing to 1."""
        ...

    def tails(self, values: FloatArray) -> FloatArray:
        """How badly polynomials resolve values (n, k), shape (cells, directions).

        Along each direction the largest modulus of the last two Legendre coefficients.
        """
        ...

    def lengths(self, points: FloatArray) -> FloatArray:
        """Length of the image of each cell along each direction, shape (cells, directions).

        `points` are those to which the flow took the nodes, as the manifold stores them.
        """
        ...

    def split(self, which: npt.NDArray[np.bool_]) -> tuple[Self, Carry]:
        """Halve the cells along the directions where `which`, (cells, directions), is true.

        Cells whose halves would not differ in floating point stay whole.
        """
        ...

    def join(self, which: npt.NDArray[np.bool_]) -> tuple[Self, Carry] | None:
        """Join neighbours that are both in `which`, (cells,); None without such neighbours.

        The values carried are those that the old cells' polynomials take at the new nodes. Each
        old cell contains some new nodes, so the new polynomial depends on all of them.
        """
        ...

    def fold(self, points: FloatArray, slack: FloatArray | None = None) -> int | None:
        """Index of the cell whose image has reversed its orientation most, or None.

        `slack`, (cells,), is the error of the points: shallower folds do not count.
        """
        ...


# "axial" stands beside the tables: its weights need the dimension.
_CELLS: dict[str, Callable[[float], LabelCells]] = {"circle": panels, "sphere": sphere.tiling}
_AGAIN: dict[str, Callable[[FloatArray], LabelCells]] = {
    "circle": Panels,
    "sphere": sphere.cells_of,
}


def label_cells(space: Manifold, length: float) -> LabelCells:
    """Label space cut into equal cells with sides of at most that length in radians."""
    if space.has_rings:
        return axial_panels(space.ambient, length)
    return of_space(_CELLS, space, "label space")(length)


def usual_order(space: Manifold) -> int:
    """Nodes along each direction of a cell."""
    orders = {"axial": ORDER, "circle": ORDER, "sphere": sphere.ORDER}
    return of_space(orders, space, "label space")


def cells_of(space: Manifold, bounds: FloatArray) -> LabelCells:
    """The cells that had these `bounds`."""
    if space.has_rings:
        return AxialPanels(bounds, space.ambient)
    return of_space(_AGAIN, space, "label space")(bounds)
