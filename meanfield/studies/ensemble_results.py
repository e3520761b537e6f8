"""What an ensemble counted: clusters of many runs, their mean and their distribution."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray
from meanfield.studies.count_law import CountLaw, law_of
from meanfield.views import VIEWS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Clusters of many runs at multiples of the onset time.

    Attributes
    ----------
    times : ndarray, shape (n_times,)
        Given. Multiples of the onset time.
    tokens : ndarray of int, shape (n_sizes,)
        Given. Sizes N, increasing.
    onset_times : ndarray, shape (n_sizes,)
        Given. ln N / (2 lambda_max), scaled time.
    counts : ndarray of int, shape (n_sizes, runs, n_times)
        Given. Clusters of every run; -1 where not run.
    mass : ndarray, shape (n_sizes, runs, n_times, width)
        Given. Their masses, largest first; NaN beyond the count.
    centre : ndarray, shape (n_sizes, runs, n_times, width) or (..., width, 3)
        Given. Their mean angles or unit vectors; NaN beyond the count.
    predicted : ndarray, shape (n_sizes,)
        Given. Mean count of the linear law in closed form, see `meanfield.mean_clusters`; NaN where
        the initial law is not uniform.
    attributes : dict
        Given. Facts of the problem and of the runs; from a file also title, status, ...
    finished : ndarray of int, shape (n_sizes,)
        Derived. Runs that were made.
    mean_count, standard_error : ndarray, shape (n_sizes, n_times)
        Derived. Over the finished runs; NaN where there are too few.
    """

    times: FloatArray
    tokens: npt.NDArray[np.int64]
    onset_times: FloatArray
    counts: npt.NDArray[np.int64]
    mass: FloatArray
    centre: FloatArray
    predicted: FloatArray
    attributes: dict[str, Any] = field(default_factory=dict)
    finished: npt.NDArray[np.int64] = field(init=False)
    mean_count: FloatArray = field(init=False)
    standard_error: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        """Derive mean and error from the counts."""
        ran = self.counts >= 0
        made = ran.sum(axis=1)
        with np.errstate(all="ignore"):
            mean = np.where(ran, self.counts, 0).sum(axis=1) / made
            squares = np.where(ran, (self.counts - mean[:, None]) ** 2, 0.0).sum(axis=1)
            error = np.sqrt(squares / (made - 1) / made)
        object.__setattr__(self, "finished", made.min(axis=1))
        object.__setattr__(self, "mean_count", mean)
        object.__setattr__(self, "standard_error", error)

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
        """Share of the finished runs with each count; empty if there is none.

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

    def plot(self) -> Figure:
        """Figure of the ensemble: mean counts against the number of tokens, distributions."""
        figure: Figure = VIEWS["Ensemble.plot"](self)
        return figure

    def __repr__(self) -> str:
        """One line: sizes, runs and the mean counts at the last time."""
        means = ", ".join(
            f"{mean:.3f} +- {error:.3f}"
            for mean, error in zip(self.mean_count[:, -1], self.standard_error[:, -1], strict=True)
        )
        return (
            f"Ensemble(n = {', '.join(str(n) for n in self.tokens)}, {self.counts.shape[1]} runs, "
            f"clusters at {self.times[-1]:g} onset times {means})"
        )
