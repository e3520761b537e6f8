"""Results of a merging diagram: the share of merged pairs of tokens over beta and time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray
from meanfield.views import ResultBase, plot_method


@dataclass(frozen=True, eq=False)
class MergingTable:
    """Sums over runs of merged pairs and their squares, whole numbers (n_betas, n_times)."""

    # (n_betas, runs); of one beta (runs,): runs that are counted.
    done: npt.NDArray[np.bool_]
    sums: npt.NDArray[np.int64]
    squares: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class MergingDiagram(ResultBase):
    """Probability that two tokens have merged, over inverse temperatures and times.

    Attributes
    ----------
    betas : ndarray, shape (n_betas,)
    times : ndarray, shape (n_times,)
        The papers' time t: under softmax scaled time, without normalisation that of weights
        e^{beta <x, y>}.
    tokens, dimension : int
        n, and d of tokens on the unit sphere of R^d.
    table : MergingTable
        What was counted.
    attributes : dict
        What was asked for; from a file also title, status, ...
    finished : ndarray of int, shape (n_betas,)
        Runs that were made.
    fraction, standard_error : ndarray, shape (n_betas, n_times)
        Share of the pairs that have merged, mean over runs, and its error; NaN where
        there are too few.
    """

    betas: FloatArray
    times: FloatArray
    tokens: int
    dimension: int
    table: MergingTable
    attributes: dict[str, Any] = field(default_factory=dict)
    finished: npt.NDArray[np.int64] = field(init=False)
    fraction: FloatArray = field(init=False)
    standard_error: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        pairs = self.tokens * (self.tokens - 1) // 2
        runs = self.table.done.sum(axis=1)
        with np.errstate(all="ignore"):
            mean = self.table.sums / runs[:, None]
            # Exact but for one rounding each, hence not negative by more than that.
            spread = np.maximum(self.table.squares / runs[:, None] - mean**2, 0.0)
            error = np.sqrt(spread / (runs - 1)[:, None])
        error[runs < 2] = np.nan
        object.__setattr__(self, "finished", runs)
        object.__setattr__(self, "fraction", mean / pairs)
        object.__setattr__(self, "standard_error", error / pairs)

    @property
    def columns(self) -> dict[str, Any]:
        """Means of every beta at every time, as `pandas.DataFrame` takes them."""
        return {
            "beta": np.repeat(self.betas, len(self.times)),
            "time": np.tile(self.times, len(self.betas)),
            "fraction": self.fraction.ravel(),
            "standard_error": self.standard_error.ravel(),
        }

    plot = plot_method(
        "MergingDiagram.plot",
        "Figure of the share of merged pairs over beta and time, with the curve (6.12).",
    )

    def __repr__(self) -> str:
        return (
            f"MergingDiagram({self.tokens} tokens in R^{self.dimension}, {len(self.betas)} betas "
            f"from {self.betas[0]:g} to {self.betas[-1]:g}, {len(self.times)} times up to "
            f"{self.times[-1]:g}, {self.finished.min()} of {self.table.done.shape[1]} runs)"
        )
