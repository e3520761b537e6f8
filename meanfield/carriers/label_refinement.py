"""Splitting and joining of label cells, so that they resolve the flow.

Functions of the label are polynomials on each cell. The error of a cell is the largest of the last
two Legendre coefficients: of position, times the mass of the cell; of the initial density, times
its share of sigma. The image of a cell must also be short enough for the fastest wave e^{-iKx} that
is summed over it. The log stretch needs no rule: until cells join, positions resolve it as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meanfield.arrays import EPS, FloatArray
from meanfield.bases.legendre import Carry
from meanfield.measures import Density
from meanfield.spaces.label_cells import LabelCells, label_cells
from meanfield.spaces.manifold import Manifold

# A cell splits when its error passes this share of the tolerance. Errors of the moments to degree
# 12 are proportional to the share: measured through collapses at beta = 4 and 25, tolerance 1e-7
# and 1e-10, they are 6 tolerances at 0.1, 0.7 (elsewhere up to 3) at 0.01, and 0.07 at 0.001 with a
# sixth more nodes.
SPLIT_EARLY = 1e-2
# Cells join when their image is shorter than this share of the tolerance over their mass, and the
# error of the joined cell is below this share of that at which it would split. Moments do not
# depend on it (0.01 to 10 were tried); larger shares join and split the same cells in turn.
_JOIN_LATE = 1e-1
# Tails below this share of the largest value are rounding.
_CARRIED_NOISE = 1e-14
# Length of cells before they split, in radians.
_LONGEST_CELL = 1.0
# Share of the tolerance by which moments of the start may differ from the exact ones. On cells that
# resolve the density they differ a hundred times less; a peak between nodes loses all its mass.
_MISSED = 1e-1
# Cells of less mass do not split: their mass is rounding in sums over the measure.
_LEAST_MASS = 1e-14

# Weight of the error of a node is this times mass over mean mass, at most 1.
_COUNT_MORE = 10.0
# Keeps the weights of nodes without mass positive.
_NO_MASS = 1e-20

BooleanArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LabelMap:
    """Label cells, the initial density on them, and where the flow has taken their nodes."""

    space: Manifold
    cells: LabelCells
    base: FloatArray  # (n,): initial density at the labels
    points: FloatArray  # (n,) or (n, 3): positions of the nodes; on the circle unwrapped angles
    log_stretch: FloatArray  # (n,): logarithm of the Jacobian of the flow
    # Count cells by their share of the labels where that exceeds their mass: if Z cancels, almost
    # no mass may move all of it (`positive_sums`).
    everywhere: bool = False

    def masses(self) -> FloatArray:
        """Mass of every node, shape (n,), summing to 1; rounding below 0 is clipped."""
        masses = np.maximum(self.base * self.cells.weights, 0.0)
        return np.asarray(masses / masses.sum())

    def cell_masses(self) -> FloatArray:
        return np.asarray(self.masses().reshape(-1, self.cells.per_cell).sum(axis=1))

    def cell_counts(self) -> FloatArray:
        """Weight of every cell: its mass; with `everywhere` at least its share of the labels."""
        mass = self.cell_masses()
        return np.maximum(mass, self._cell_shares()) if self.everywhere else mass

    def errors(self) -> FloatArray:
        """Error of every cell along each direction, (cells, directions)."""
        cells, mass = self.cells, self.cell_counts()[:, None]
        share = self._cell_shares()[:, None]
        errors = np.maximum(share * _tails(cells, self.base), mass * _tails(cells, self.points))
        return np.where(mass > _LEAST_MASS, errors, 0.0)

    def scale(self) -> FloatArray:
        """Weight min(10 n m_i, 1) of the error of each node, (n,); with `everywhere` 1.

        Lighter nodes than a tenth of the mean may err more: at the tolerance in these units, all
        of them move the mean by a tenth of it. The lightest have velocities of mere rounding.
        """
        masses = self.masses()
        if self.everywhere:
            return np.ones(len(masses))
        return np.minimum(_COUNT_MORE * len(masses) * (masses + _NO_MASS), 1.0)

    def state(self) -> FloatArray:
        """State of the representation: positions and log stretch times `scale`."""
        scale = self.scale()
        positions = self.points.reshape(len(scale), -1) * scale[:, None]
        return np.concatenate([np.ravel(positions), self.log_stretch * scale])

    def allowance(self, tolerance: float) -> FloatArray:
        """Allowed error of positions in every cell: tolerance / weight."""
        return np.asarray(tolerance / np.maximum(self.cell_counts(), _LEAST_MASS))

    def too_coarse(self, tolerance: float, degree: int, earlier: float = 1.0) -> BooleanArray:
        """True if the error (over `earlier`) or the image is too large, (cells, directions)."""
        too_long = degree * self.cells.lengths(self.points) > self.cells.order
        heavy = self.cell_counts()[:, None] > tolerance
        return np.asarray((self.errors() > earlier * SPLIT_EARLY * tolerance) | (too_long & heavy))

    def extents(self) -> FloatArray:
        """Weight of every cell, times the length of its image, (cells,)."""
        return np.asarray(self.cell_counts() * self.cells.lengths(self.points).max(axis=1))

    def moved(self, cells: LabelCells, carry: Carry, initial: Density) -> LabelMap:
        """The same map on other cells."""
        count = len(self.points)
        carried = carry(np.column_stack([self.points.reshape(count, -1), self.log_stretch]))
        points = carried[:, :-1].reshape(-1, *self.points.shape[1:])
        points, _ = self.space.retract(points)
        base = initial.at(cells.points)
        return LabelMap(self.space, cells, base, points, carried[:, -1], self.everywhere)

    def _cell_shares(self) -> FloatArray:
        return np.asarray(self.cells.weights.reshape(-1, self.cells.per_cell).sum(axis=1))


def beginning(
    space: Manifold,
    initial: Density,
    tolerance: float,
    degree: int,
    max_nodes: int,
    everywhere: bool = False,
) -> LabelMap:
    """Nodes at their labels, on cells that resolve the initial density.

    If moments differ from the exact ones, a peak lies between nodes, and cells start shorter.
    """
    exact, largest = initial.moments(degree), space.largest_sizes(degree)
    length = min(_LONGEST_CELL, label_cells(space, _LONGEST_CELL).order / degree)
    while True:
        here = _resolved(space, initial, tolerance, degree, max_nodes, length, everywhere)
        moments = space.moments(here.points, here.base * here.cells.weights, degree)
        rounding = float(EPS * np.abs(here.base).max())
        missed = np.abs(moments - exact)
        # In many dimensions a density has such large values that `rounding` allows any error. So
        # the moments int P_l dmu themselves must agree as well.
        shares = missed / largest if space.has_rings else 0.0
        if missed.max() <= _MISSED * tolerance + rounding and np.max(shares) <= tolerance:
            return here
        length *= 0.5


def _resolved(
    space: Manifold,
    initial: Density,
    tolerance: float,
    degree: int,
    max_nodes: int,
    length: float,
    everywhere: bool,
) -> LabelMap:
    """Nodes at their labels, on cells of at most `length` that resolve the initial density."""
    cells = label_cells(space, length)
    while True:
        base = initial.at(cells.points)
        here = LabelMap(space, cells, base, cells.points, np.zeros(len(base)), everywhere)
        which = here.too_coarse(tolerance, degree)
        needed = _count_after(cells, which) if which.any() else len(base)
        if needed > max_nodes:
            raise ValueError(
                f"the initial density needs {needed} nodes or more, max_nodes is {max_nodes}: "
                "raise it or the tolerance."
            )
        if not which.any():
            return here
        finer, _ = cells.split(which)
        if len(finer.bounds) == len(cells.bounds):
            raise ValueError(
                "the initial density varies within a rounding of its angles: raise the tolerance."
            )
        cells = finer


def halved(
    here: LabelMap, initial: Density, which: BooleanArray, max_nodes: int
) -> LabelMap | None:
    """Map on halved cells; None if no cell halves, or nodes become too many."""
    if not which.any() or _count_after(here.cells, which) > max_nodes:
        return None
    cells, carry = here.cells.split(which)
    return here.moved(cells, carry, initial) if len(cells.bounds) > len(which) else None


def joined(here: LabelMap, initial: Density, tolerance: float, degree: int) -> LabelMap | None:
    """Map on joined cells that would not soon split again; None if no cells join."""
    which = here.extents() < _JOIN_LATE * tolerance
    numbers = np.repeat(np.arange(len(which), dtype=np.float64), here.cells.per_cell)
    while which.any():
        result = here.cells.join(which)
        if result is None:
            return None
        cells, carry = result
        map_ = here.moved(cells, carry, initial)
        unresolved = map_.too_coarse(tolerance, degree, _JOIN_LATE).any(axis=1)
        # The old cell under each new node.
        old = np.rint(carry(numbers[:, None])[:, 0]).astype(int).reshape(len(cells.bounds), -1)
        refused = unresolved & (old != old[:, :1]).any(axis=1)
        if not refused.any():
            return map_
        which[old[refused]] = False
    return None


def _count_after(cells: LabelCells, which: BooleanArray) -> int:
    return int(cells.per_cell * (1 << which.sum(axis=1)).sum())


def _tails(cells: LabelCells, values: FloatArray) -> FloatArray:
    tails = cells.tails(values.reshape(len(values), -1))
    return np.where(tails > _CARRIED_NOISE * np.abs(values).max(), tails, 0.0)
