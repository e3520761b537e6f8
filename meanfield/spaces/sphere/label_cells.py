"""Labels on the sphere: rectangles of a cubed sphere with p x p Gauss-Legendre nodes each.

A rectangle splits along u or along v, since the flow stretches along one direction while it
contracts along the other. Functions of the label are polynomials of degree p - 1 along each
direction, sum_ij c_ij P_i P_j; rectangles know nothing of each other, so nothing has to fit at
their edges.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray
from meanfield.bases.legendre import Carry, halving, joining
from meanfield.spaces.sphere import cell_values
from meanfield.spaces.sphere.cell_values import along, by_blocks
from meanfield.spaces.sphere.cubed_sphere import checked_bounds, quadrature, uniform_bounds

ORDER = 10
# Width of the widest cell, as a share of pi/4: half a face.
_LARGEST = 1.0

Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SphereCells:
    """Rectangles of label space on the sphere; nodes go cell by cell, u outside, v inside."""

    bounds: FloatArray  # (cells, 5): face 0 to 5 and the sides u_0, u_1, v_0, v_1 as shares of pi/4
    order: int = ORDER  # p, nodes along each direction

    @property
    def per_cell(self) -> int:
        return self.order**2

    @property
    def points(self) -> FloatArray:
        return self._quadrature[0]

    @property
    def weights(self) -> FloatArray:
        return self._quadrature[1]

    @cached_property
    def _quadrature(self) -> tuple[FloatArray, FloatArray]:
        return quadrature(self.bounds, self.order)

    def tails(self, values: FloatArray) -> FloatArray:
        return by_blocks(cell_values.tails, self._grid(values))

    def lengths(self, points: FloatArray) -> FloatArray:
        return by_blocks(cell_values.lengths, self._grid(points))

    def fold(self, points: FloatArray, slack: FloatArray | None = None) -> int | None:
        """Index of the cell whose image has reversed its orientation most, or None.

        `slack`, (cells,), is the error of the points: shallower folds do not count.
        """
        orientation = by_blocks(cell_values.least_orientation, self._grid(points))
        if slack is not None:
            orientation = orientation + slack
        worst = int(orientation.argmin())
        return worst if orientation[worst] < 0.0 else None

    def split(self, which: Mask) -> tuple[SphereCells, Carry]:
        halves, first = self._split_along(0, which[:, 0])
        again = np.repeat(which[:, 1], 1 + which[:, 0])
        quarters, second = halves._split_along(1, again)
        return quarters, lambda values: second(first(values))

    def join(self, which: Mask) -> tuple[SphereCells, Carry] | None:
        free, bounds, pairs = which.copy(), self.bounds.copy(), []
        for direction in (0, 1):
            first, second = self._halves(direction, free)
            free[first] = free[second] = False
            bounds[first, 2 + 2 * direction] = self.bounds[second, 2 + 2 * direction]
            pairs.append((first, second))
        single = np.ones(len(bounds), dtype=np.bool_)
        single[np.concatenate([second for _, second in pairs])] = False
        if single.all():
            return None
        matrix = joining(self.order)

        def carry(values: FloatArray) -> FloatArray:
            grid = self._grid(values)
            carried = grid.copy()
            for axis, (first, second) in enumerate(pairs, start=1):
                both = np.concatenate([grid[first], grid[second]], axis=axis)
                carried[first] = along(axis, matrix, both)
            return carried[single].reshape(-1, values.shape[1])

        return SphereCells(bounds[single], self.order), carry

    def _split_along(self, direction: int, which: Mask) -> tuple[SphereCells, Carry]:
        parent = np.repeat(np.arange(len(which)), 1 + which)
        lower = (np.cumsum(1 + which) - 1 - which)[which]
        bounds = self.bounds[parent]
        middle = self.bounds[which, 1 + 2 * direction : 3 + 2 * direction].mean(axis=1)
        bounds[lower, 2 + 2 * direction] = middle
        bounds[lower + 1, 1 + 2 * direction] = middle
        matrix, p = halving(self.order), self.order

        def carry(values: FloatArray) -> FloatArray:
            grid = self._grid(values)
            carried = grid[parent]
            both = along(1 + direction, matrix, grid[which])
            halves = (slice(None),) * (1 + direction)
            carried[lower] = both[(*halves, slice(None, p))]
            carried[lower + 1] = both[(*halves, slice(p, None))]
            return carried.reshape(-1, values.shape[1])

        return SphereCells(bounds, p), carry

    def _halves(self, direction: int, which: Mask) -> tuple[Places, Places]:
        """Lower and upper halves of the same rectangles, along one direction.

        Other neighbours that share a side would never again fit to theirs.
        """
        cells = np.flatnonzero(which)
        face = self.bounds[cells, 0]
        lower, upper = self.bounds[cells, 1 + 2 * direction : 3 + 2 * direction].T
        left, right = self.bounds[cells, 3 - 2 * direction : 5 - 2 * direction].T
        sequence = np.lexsort((lower, right, left, face))
        one, other = sequence[:-1], sequence[1:]
        width = (upper - lower)[one]
        fits = (width <= 0.5 * _LARGEST) & ((upper - lower)[other] == width)
        for side in (face, left, right):
            fits &= side[one] == side[other]
        fits &= (upper[one] == lower[other]) & (np.mod(lower[one] + 1.0, 2.0 * width) == 0.0)
        return cells[one[fits]], cells[other[fits]]

    def _grid(self, values: FloatArray) -> FloatArray:
        return values.reshape(len(self.bounds), self.order, self.order, -1)


def tiling(length: float, order: int = ORDER) -> SphereCells:
    """Equal rectangles with sides of at most `length` radians, and of half a face."""
    if not length > 0:
        raise ValueError(f"length of label cells must be positive, got {length:g}.")
    # Powers of two, so that sides are exact and halves find each other again.
    parts = max(np.pi / 2.0 / length * (1.0 - 1e-12), 2.0 / _LARGEST)
    return SphereCells(uniform_bounds(1 << math.ceil(math.log2(parts))), order)


def cells_of(bounds: FloatArray, order: int = ORDER) -> SphereCells:
    """Cells that had these bounds; see `cubed_sphere.checked_bounds` for what is refused."""
    return SphereCells(checked_bounds(bounds), order)
