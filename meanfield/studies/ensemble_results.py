"""Laws of the number of clusters, and results of an ensemble: clusters of many runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray, IntArray
from meanfield.described import Array, StudyResult, array, grid_columns, plot_method
from meanfield.observables.clusters import Clusters
from meanfield.spaces.manifold import Manifold

NOT_RUN = -1
"""Count of a run that has not been made."""

# A larger predicted mean is more than a single cluster.
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
    centre : ndarray, shape (n_sizes, runs, n_times, width) or (..., width, d)
        Their mean angles or unit vectors; NaN beyond the count.
    predicted : ndarray, shape (n_sizes,)
        Mean count of the linear law in closed form, see `meanfield.mean_clusters`; NaN for other
        initial laws than uniform, for heads and in higher dimensions.
    attributes : dict
        Facts of the problem and of the runs; from a file also title, status, ...
    finished : ndarray of int, shape (n_sizes,)
        Number of finished runs.
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
        """`predicted`; NaN where it is several and most runs count a single group at the end.

        A single group is one cluster, or tokens that have not separated.
        """
        last = self.counts[:, :, -1]
        single = (last == 1).sum(axis=1) * 2 > (last >= 0).sum(axis=1)
        return np.where(single & (self.predicted > _SEVERAL), np.nan, self.predicted)

    def law(self, size: int, time: int) -> CountLaw:
        """Law of the finished runs of one size at one time, by their indices.

        ValueError if no run is finished.
        """
        counts = self.counts[size, :, time]
        return law_of(counts[counts >= 0])

    def distribution(self, size: int, time: int) -> dict[int, float]:
        """Share of the finished runs with each count; empty before a run has finished.

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
        """Share of the runs with each count, shape (n_sizes, n_times, most + 1)."""
        sizes, times = self.mean_count.shape
        shares = np.zeros((sizes, times, max(int(self.counts.max()), 0) + 1))
        for i, j in np.ndindex(sizes, times):
            for count, share in self.distribution(i, j).items():
                shares[i, j, count] = share
        return shares

    @property
    def columns(self) -> dict[str, Any]:
        """Columns of means, a row for each size and time."""
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

    counts: npt.NDArray[np.int64]  # (...,): numbers of clusters; -1 where not run
    mass: FloatArray  # (..., width): their masses; NaN beyond the count
    # (..., width) on the circle, (..., width, d): their mean points; NaN beyond the count.
    centre: FloatArray

    @property
    def width(self) -> int:
        """Largest number of clusters that fits."""
        return int(self.mass.shape[self.counts.ndim])

    def __getitem__(self, index: Any) -> ClusterTable:
        return ClusterTable(self.counts[index], self.mass[index], self.centre[index])


def point_shape(space: Manifold) -> tuple[int, ...]:
    """Shape of one point: () on the circle, (d,) on S^{d-1}."""
    return np.shape(space.origin)


def empty_table(shape: tuple[int, ...], point: tuple[int, ...], width: int = 1) -> ClusterTable:
    """Table without runs.

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
    """Table with a part of it filled: in place, or a wider table if it is too narrow."""
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


# Limits of a summary: share of the listed counts, their number, and least per cent of others.
_ENOUGH_COUNTS, _MOST_COUNTS, _LEAST_OTHERS = 0.95, 3, 0.05


@dataclass(frozen=True)
class CountLaw:
    """Distribution of the number of clusters.

    - distribution (dict of int to float): probability of each number of clusters that occurred, in
      increasing order.
    - mean, standard_error: mean number, and its standard error; NaN for one sample.
    - samples: number of samples; 0 if the law is exact.
    """

    distribution: dict[int, float]
    mean: float
    standard_error: float
    samples: int = 0

    @property
    def most_likely(self) -> int:
        """Number of clusters with the largest probability."""
        return max(self.distribution, key=self.distribution.__getitem__)

    def summary(self) -> str:
        """The likely numbers in words, up to 95 % of the law and at most three.

        Each share p of n samples has its standard error sqrt(p (1 - p) / n).

        >>> CountLaw({4: 0.44, 5: 0.55, 6: 0.01}, 4.57, 0.03, 400).summary()
        '5 clusters (55 +- 2 %) or 4 (44 +- 2 %), others 1 %'
        """
        likely = sorted(self.distribution, key=self.distribution.__getitem__, reverse=True)
        listed = 0.0
        parts: list[str] = []
        for number in likely[:_MOST_COUNTS]:
            if listed > _ENOUGH_COUNTS:
                break
            share = self.distribution[number]
            listed += share
            plural = "" if parts else " cluster" if number == 1 else " clusters"
            parts.append(f"{number}{plural} ({self._share(share)})")
        text = ", ".join(parts[:-1]) + " or " * (len(parts) > 1) + parts[-1]
        others = 100.0 * (1.0 - listed)
        left = f", others {others:.0f} %" if others >= 1.0 else f", others {others:.1g} %"
        return text + left * (others >= _LEAST_OTHERS)

    def _share(self, share: float) -> str:
        if not self.samples:
            return "certain" if share == 1.0 else f"{100 * share:.1f} %"
        if share == 1.0:
            return f"all of {self.samples} samples"
        error = 100.0 * math.sqrt(share * (1.0 - share) / self.samples)
        digits = 1 if error < 1.0 else 0
        return f"{100 * share:.{digits}f} +- {error:.{digits}f} %"

    def __repr__(self) -> str:
        return (
            f"CountLaw(mean {self.mean:.4g} +- {self.standard_error:.1g}, most likely "
            f"{self.most_likely}: {self.distribution[self.most_likely]:.2f})"
        )


def law_of(counts: IntArray) -> CountLaw:
    """Distribution, mean and standard error of counts.

    >>> law_of(np.array([2, 3, 3, 3]))
    CountLaw(mean 2.75 +- 0.2, most likely 3: 0.75)
    """
    if len(counts) == 0:
        raise ValueError("no counts: a law needs one at least.")
    # Sorted, so that the last digit does not depend on the order in which blocks finish.
    counts = np.sort(counts)
    values, occurrences = np.unique(counts, return_counts=True)
    n = len(counts)
    error = float(np.std(counts, ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
    shares = {int(k): float(m / n) for k, m in zip(values, occurrences, strict=True)}
    return CountLaw(shares, float(np.mean(counts)), error, n)


def total_variation(first: Mapping[int, float], second: Mapping[int, float]) -> float:
    """Total-variation distance of two distributions, half the sum of |p_k - q_k|.

    first, second (mapping): count -> probability, each summing to 1.

    >>> total_variation({3: 0.5, 4: 0.5}, {4: 0.75, 5: 0.25})
    0.5
    """
    counts = {*first, *second}
    return 0.5 * sum(abs(first.get(count, 0.0) - second.get(count, 0.0)) for count in counts)
