"""Label space cut into cells of quadrature nodes, which carry a measure along the flow.

A label is the start of a characteristic. A cell has p Gauss-Legendre nodes along each direction,
and functions of the label are polynomials on it. Cells split where polynomials no longer resolve
the flow, and join where fewer cells resolve it. Cells are panels of the circle or of polar angles,
or rectangles of a cubed sphere.
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
        """Bounds of the cells, shape (cells, ...); `cells_of` rebuilds the cells from them."""
        ...

    @property
    def order(self) -> int:
        """Nodes along each direction of a cell."""
        ...

    @property
    def per_cell(self) -> int:
        """Nodes of a cell, order ** dimension."""
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
        """Largest modulus of the last two Legendre coefficients of values (n, k).

        Shape (cells, directions): it measures how well polynomials resolve the values.
        """
        ...

    def lengths(self, points: FloatArray) -> FloatArray:
        """Length of the image of each cell along each direction, shape (cells, directions).

        `points` are the images of the nodes under the flow, as the manifold stores them.
        """
        ...

    def split(self, which: npt.NDArray[np.bool_]) -> tuple[Self, Carry]:
        """Halve the cells along the directions where `which`, (cells, directions), is true.

        Cells whose halves would not differ in floating point stay whole.
        """
        ...

    def join(self, which: npt.NDArray[np.bool_]) -> tuple[Self, Carry] | None:
        """Join neighbours that are both in `which`, (cells,); None without such neighbours.

        Carried values are the old cells' polynomials at the new nodes. Each old cell
        contains some new nodes.
        """
        ...

    def fold(self, points: FloatArray, slack: FloatArray | None = None) -> int | None:
        """Index of the cell whose image has reversed its orientation most, or None.

        `slack`, (cells,), is the error of the points: shallower folds do not count.
        """
        ...


# "axial" is not in these tables, because its weights depend on the dimension.
_CELLS: dict[str, Callable[[float], LabelCells]] = {"circle": panels, "sphere": sphere.tiling}
_AGAIN: dict[str, Callable[[FloatArray], LabelCells]] = {
    "circle": Panels,
    "sphere": sphere.cells_of,
}


def label_cells(space: Manifold, length: float) -> LabelCells:
    """Label space cut into equal cells with sides of at most `length` radians."""
    if space.has_rings:
        return axial_panels(space.ambient, length)
    return of_space(_CELLS, space, "label space")(length)


def usual_order(space: Manifold) -> int:
    """Nodes along each direction of a cell of `label_cells`."""
    orders = {"axial": ORDER, "circle": ORDER, "sphere": sphere.ORDER}
    return of_space(orders, space, "label space")


def cells_of(space: Manifold, bounds: FloatArray) -> LabelCells:
    """Cells of `bounds` (`LabelCells.bounds`)."""
    if space.has_rings:
        return AxialPanels(bounds, space.ambient)
    return of_space(_AGAIN, space, "label space")(bounds)
