"""Clusters of many runs at several times, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray
from meanfield.manifolds.manifold import Manifold
from meanfield.observables.clusters import Clusters

NOT_RUN = -1
"""Count of a run that has not been made."""


@dataclass(frozen=True, eq=False)
class ClusterTable:
    """Clusters indexed by run and time, or by size, run and time; largest mass first.

    Attributes
    ----------
    counts : ndarray of int, shape (...,)
        Given. How many; -1 where not run.
    mass : ndarray, shape (..., width)
        Given. Their masses; NaN beyond the count.
    centre : ndarray, shape (..., width) on the circle, (..., width, 3) on the sphere
        Given. Their mean points; NaN beyond the count.
    """

    counts: npt.NDArray[np.int64]
    mass: FloatArray
    centre: FloatArray

    @property
    def width(self) -> int:
        """Clusters that there is room for."""
        return int(self.mass.shape[self.counts.ndim])

    def __getitem__(self, index: Any) -> ClusterTable:
        """Part of the table."""
        return ClusterTable(self.counts[index], self.mass[index], self.centre[index])


def point_shape(space: Manifold) -> tuple[int, ...]:
    """Shape of one point: () on the circle, (3,) on the sphere."""
    return np.shape(space.origin)


def empty_table(shape: tuple[int, ...], point: tuple[int, ...], width: int = 1) -> ClusterTable:
    """Table in which nothing has been run.

    Examples
    --------
    >>> empty_table((4, 2), (3,)).centre.shape
    (4, 2, 1, 3)
    """
    return ClusterTable(
        np.full(shape, NOT_RUN, dtype=np.int64),
        np.full((*shape, width), np.nan),
        np.full((*shape, width, *point), np.nan),
    )


def table_of(runs: Sequence[Sequence[Clusters]], point: tuple[int, ...]) -> ClusterTable:
    """Table of runs, each with its clusters at every time.

    Examples
    --------
    >>> one = Clusters(np.array([0.7, 0.3]), np.array([0.0, 2.0]))
    >>> table_of([[one]], ()).counts
    array([[2]])
    """
    width = max([1, *(found.count for run in runs for found in run)])
    table = empty_table((len(runs), len(runs[0])), point, width)
    for i, run in enumerate(runs):
        for j, found in enumerate(run):
            table.counts[i, j] = found.count
            table.mass[i, j, : found.count] = found.mass
            table.centre[i, j, : found.count] = found.centre
    return table


def put(table: ClusterTable, index: Any, part: ClusterTable) -> ClusterTable:
    """Table with a part of it filled: itself, or a wider one if it has too little room.

    Parameters
    ----------
    table : ClusterTable
        Filled in place while it is wide enough.
    index : index of the leading axes
        Where the part goes.
    part : ClusterTable
        What goes there.
    """
    axis = table.counts.ndim
    if part.width > table.width:
        wide = empty_table(table.counts.shape, table.centre.shape[axis + 1 :], part.width)
        inside = (*[slice(None)] * axis, slice(table.width))
        wide.mass[inside], wide.centre[inside] = table.mass, table.centre
        table = ClusterTable(table.counts, wide.mass, wide.centre)
    room = table[index]
    slots = (*[slice(None)] * part.counts.ndim, slice(part.width))
    room.mass[...], room.centre[...] = np.nan, np.nan
    room.counts[...], room.mass[slots], room.centre[slots] = part.counts, part.mass, part.centre
    return table
