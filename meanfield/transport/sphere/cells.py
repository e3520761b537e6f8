"""A measure as masses in small sets of points, sorted along a path over the sphere.

Of each set its mass, its barycentre b (in the ball: |b| < 1 unless it is one point) and its
reach max |x - b| are known. With these the cost of moving it is bounded from both sides to second
order in the reach, see `certificate`; a token is a set of reach 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray, IntArray
from meanfield.transport.sphere.keys import DEPTH, keys_of

TOTAL = 2**60  # sums of two masses stay below 2^63


@dataclass(frozen=True, eq=False)
class Cells:
    """Masses in small sets."""

    masses: IntArray  # (n,): positive
    barycentres: FloatArray  # (n, 3)
    # (n,): largest Euclidean distance from the barycentre to a point of the set.
    reaches: FloatArray
    keys: IntArray  # (n,): increasing

    def __len__(self) -> int:
        return len(self.masses)

    @property
    def directions(self) -> FloatArray:
        """Barycentres projected to the sphere."""
        directions: FloatArray = self.barycentres / self.lengths[:, None]
        return directions

    @property
    def lengths(self) -> FloatArray:
        """Length of the barycentres; exactly 1 for single points."""
        lengths: FloatArray = np.linalg.norm(self.barycentres, axis=1)
        return np.where(self.reaches == 0.0, 1.0, np.minimum(lengths, 1.0))


def sorted_cells(
    masses: IntArray, barycentres: FloatArray, reaches: FloatArray, keys: IntArray
) -> Cells:
    """Cells sorted by key, without those that are empty."""
    order = np.argsort(keys, kind="stable")
    order = order[masses[order] > 0]
    return Cells(
        masses[order],
        np.ascontiguousarray(barycentres[order]),
        reaches[order],
        keys[order],
    )


def token_cells(points: FloatArray, masses: IntArray) -> Cells:
    """Every token a cell of its own."""
    return sorted_cells(masses, points, np.zeros(len(points)), keys_of(points))


def integer_masses(weights: FloatArray, total: int = TOTAL) -> IntArray:
    """Weights as integers with this sum; each moves by one unit of rounding, or 1 / total."""
    if len(weights) == 0:
        return np.zeros(0, dtype=np.int64)
    levels = np.cumsum(weights)
    scaled = np.rint(levels / levels[-1] * float(total)).astype(np.int64)
    scaled[-1] = total
    masses: IntArray = np.diff(np.minimum(scaled, total), prepend=0)
    return masses


def level_starts(cells: Cells, level: int) -> IntArray:
    """Where a new cell of this level begins, along the sorted sets."""
    prefixes = cells.keys >> 2 * (DEPTH - level)
    return np.append(0, np.flatnonzero(np.diff(prefixes)) + 1)


def grouped(cells: Cells, starts: IntArray) -> Cells:
    """Sets united into larger ones, each a run of neighbours."""
    masses = np.add.reduceat(cells.masses, starts)
    weighted = cells.masses[:, None] * cells.barycentres
    barycentres = np.add.reduceat(weighted, starts, axis=0) / masses[:, None]
    counts = np.diff(np.append(starts, len(cells)))
    single = counts == 1
    barycentres[single] = cells.barycentres[starts[single]]
    owner = np.repeat(np.arange(len(starts)), counts)
    distances = np.linalg.norm(cells.barycentres - barycentres[owner], axis=1)
    reaches = np.maximum.reduceat(distances + cells.reaches, starts)
    return Cells(masses, barycentres, reaches, cells.keys[starts])
