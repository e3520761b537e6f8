"""Results of an ensemble: clusters of many runs, their mean and their distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray
from meanfield.described import Array, StudyResult, array, grid_columns, plot_method
from meanfield.observables.clusters import Clusters
from meanfield.spaces.manifold import Manifold
from meanfield.studies.count_law import CountLaw, law_of

NOT_RUN = -1
"""Count of a run that has not been made."""

# Predicted means of more are no single cluster.
_SEVERAL = 1.5


@dataclass(frozen=True, eq=False)
class Ensemble(StudyResult):
    """Clusters of many runs at multiples of the onset time.

    Attributes
    ----------
    times : ndarray, shape (n_times,)
        Multiples of the onset time.
    tokens : ndarray of int, shape (n_sizes,)
        Sizes N, increasing.
    onset_times : ndarray, shape (n_sizes,)
        ln N / (2 lambda_max), scaled time.
    counts : ndarray of int, shape (n_sizes, runs, n_times)
        Clusters of every run; -1 where not run.
    mass : ndarray, shape (n_sizes, runs, n_times, width)
        Their masses, largest first; NaN beyond the count.
    centre : ndarray, shape (n_sizes, runs, n_times, width) or (..., width, 3)
        Their mean angles or unit vectors; NaN beyond the count.
    predicted : ndarray, shape (n_sizes,)
        Mean count of the linear law in closed form, see `meanfield.mean_clusters`; NaN where
        the initial law is not uniform.
    attributes : dict
        Facts of the problem and of the runs; from a file also title, status, ...
    finished : ndarray of int, shape (n_sizes,)
        Runs that were made.
    mean_count, standard_error : ndarray, shape (n_sizes, n_times)
        Over the finished runs; NaN where there are too few.
    """

    kind = "ensemble"
    # Files call the representation carrier.
    stored_as = {"carrier": "representation"}
    derived = {"shares": Array(("tokens", "time", "count"), "distribution")}

    times: FloatArray = array("time", "time", unit="onset time", increasing=0)
    tokens: npt.NDArray[np.int64] = array("tokens", kind="i", increasing=1, distinct=True)
    onset_times: FloatArray = array("tokens", "onset_time", unit="scaled time")
    counts: npt.NDArray[np.int64] = array("tokens run time", kind="i")
    mass: FloatArray = array("tokens run time cluster")
    centre: FloatArray = array("tokens run time cluster component", points=True)
    predicted: FloatArray = array("tokens", "predicted_mean")
    attributes: dict[str, Any] = field(default_factory=dict)
    finished: npt.NDArray[np.int64] = field(init=False)
    mean_count: FloatArray = array("tokens time", init=False)
    standard_error: FloatArray = array("tokens time", init=False)

    @classmethod
    def check_values(cls, values: Mapping[str, Any], attributes: Mapping[str, Any]) -> None:
        counts, most = values["counts"], values["mass"].shape[-1]
        if counts.size and not (counts.min() >= NOT_RUN and counts.max() <= most):
            raise ValueError(f"counts holds other numbers than {NOT_RUN} to {most}")

    @classmethod
    def restored(cls, values: Mapping[str, Any], attributes: dict[str, Any]) -> Self:
        name = attributes.pop("carrier", None)
        return super().restored(
            values, attributes if name is None else attributes | {"representation": name}
        )

    def __post_init__(self) -> None:
        ran = self.counts >= 0
        counts_of_runs = ran.sum(axis=1)
        with np.errstate(all="ignore"):
            mean = np.where(ran, self.counts, 0).sum(axis=1) / counts_of_runs
            squares = np.where(ran, (self.counts - mean[:, None]) ** 2, 0.0).sum(axis=1)
            error = np.sqrt(squares / (counts_of_runs - 1) / counts_of_runs)
        object.__setattr__(self, "finished", counts_of_runs.min(axis=1))
        object.__setattr__(self, "mean_count", mean)
        object.__setattr__(self, "standard_error", error)

    @property
    def comparable(self) -> FloatArray:
        """Prediction of several clusters; NaN where most runs count a single group at the end.

        One group is one cluster, or tokens that have not separated.
        """
        last = self.counts[:, :, -1]
        single = (last == 1).sum(axis=1) * 2 > (last >= 0).sum(axis=1)
        return np.where(single & (self.predicted > _SEVERAL), np.nan, self.predicted)

    def law(self, size: int, time: int) -> CountLaw:
        """Law of the finished runs of one size at one time, by their indices.

        Raises
        ------
        ValueError
            If no run is finished.
        """
        counts = self.counts[size, :, time]
        return law_of(counts[counts >= 0])

    def distribution(self, size: int, time: int) -> dict[int, float]:
        """Share of the finished runs with each count; empty before a run has finished.

        Examples
        --------
        >>> counts = np.array([[[3], [4], [3], [-1]]])
        >>> nothing = np.full((1, 4, 1, 1), np.nan)
        >>> one = np.ones(1)
        >>> found = Ensemble(one, np.array([100]), one, counts, nothing, nothing, one)
        >>> found.distribution(0, 0)
        {3: 0.6666666666666666, 4: 0.3333333333333333}
        """
        return self.law(size, time).distribution if self.finished[size] else {}

    @property
    def representation(self) -> str:
        """Representation of the runs."""
        return str(self.attributes.get("representation", ""))

    @property
    def shares(self) -> FloatArray:
        """Distributions, shape (n_sizes, n_times, most + 1): share of the runs with each count."""
        sizes, times = self.mean_count.shape
        shares = np.zeros((sizes, times, max(int(self.counts.max()), 0) + 1))
        for i, j in np.ndindex(sizes, times):
            for count, share in self.distribution(i, j).items():
                shares[i, j, count] = share
        return shares

    @property
    def columns(self) -> dict[str, Any]:
        """Means: a row a size and time."""
        axes = {"tokens": self.tokens, "time": self.times}
        mean, error = self.mean_count, self.standard_error
        return grid_columns(axes, mean_count=mean, standard_error=error)

    plot = plot_method(
        "Ensemble.plot",
        "Figure of the ensemble: mean counts against the number of tokens, distributions.",
    )

    def __repr__(self) -> str:
        means = ", ".join(
            f"{mean:.3f} +- {error:.3f}"
            for mean, error in zip(self.mean_count[:, -1], self.standard_error[:, -1], strict=True)
        )
        return (
            f"Ensemble(n = {', '.join(str(n) for n in self.tokens)}, {self.counts.shape[1]} runs, "
            f"clusters at {self.times[-1]:g} onset times {means})"
        )


@dataclass(frozen=True, eq=False)
class ClusterTable:
    """Clusters indexed by run and time, or by size, run and time; largest mass first."""

    counts: npt.NDArray[np.int64]  # (...,): how many; -1 where not run
    mass: FloatArray  # (..., width): their masses; NaN beyond the count
    # (..., width) on the circle, (..., width, 3): their mean points; NaN beyond the count.
    centre: FloatArray

    @property
    def width(self) -> int:
        """Clusters that there is room for."""
        return int(self.mass.shape[self.counts.ndim])

    def __getitem__(self, index: Any) -> ClusterTable:
        return ClusterTable(self.counts[index], self.mass[index], self.centre[index])


def point_shape(space: Manifold) -> tuple[int, ...]:
    """Shape of one point: () on the circle, (3,) on the sphere."""
    return np.shape(space.origin)


def empty_table(shape: tuple[int, ...], point: tuple[int, ...], width: int = 1) -> ClusterTable:
    """Table in which nothing has been run.

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

    >>> one = Clusters(np.array([0.7, 0.3]), np.array([0.0, 2.0]))
    >>> table_of([[one]], ()).counts
    array([[2]])
    """
    width = max([1, *(groups.count for run in runs for groups in run)])
    table = empty_table((len(runs), len(runs[0])), point, width)
    for i, run in enumerate(runs):
        for j, groups in enumerate(run):
            table.counts[i, j] = groups.count
            table.mass[i, j, : groups.count] = groups.mass
            table.centre[i, j, : groups.count] = groups.centre
    return table


def put(table: ClusterTable, index: Any, part: ClusterTable) -> ClusterTable:
    """Table with a part of it filled: itself, or a wider one if it has too little room.

    table: filled in place while it is wide enough.
    index: where the part goes.
    part: what goes there.
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
