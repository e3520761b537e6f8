"""Results of a merging diagram: the share of merged pairs of tokens over beta and time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray
from meanfield.described import StudyResult, array, attribute, grid_columns, plot_method


@dataclass(frozen=True, eq=False)
class MergingTable:
    """Sums over runs of merged pairs and their squares, whole numbers (n_betas, n_times)."""

    # (n_betas, runs); of one beta (runs,): runs that are counted.
    done: npt.NDArray[np.bool_]
    sums: npt.NDArray[np.int64]
    squares: npt.NDArray[np.int64]

    def __getitem__(self, index: Any) -> MergingTable:
        """Runs of one beta, (row, runs): all that are counted."""
        return MergingTable(self.done[index], self.sums[index[0]], self.squares[index[0]])


@dataclass(frozen=True, eq=False)
class MergingDiagram(StudyResult):
    """Probability that two tokens have merged, over inverse temperatures and times.

    Attributes
    ----------
    betas : ndarray, shape (n_betas,)
    times : ndarray, shape (n_times,)
        The papers' time t: under softmax scaled time, without normalisation that of weights
        e^{beta <x, y>}.
    tokens, dimension : int
        n, and d of tokens on the unit sphere of R^d.
    done : ndarray of bool, shape (n_betas, runs)
        Runs that are counted.
    sums, squares : ndarray of int, shape (n_betas, n_times)
        Of the number of merged pairs over the runs, and of its square.
    attributes : dict
        What was asked for; from a file also title, status, ...
    finished : ndarray of int, shape (n_betas,)
        Runs that were made.
    fraction, standard_error : ndarray, shape (n_betas, n_times)
        Share of the pairs that have merged, mean over runs, and its error; NaN where
        there are too few.
    """

    kind = "diagram"
    required = ("normalization", "matrices", "threshold", "motion")

    betas: FloatArray = array("beta", "beta")
    times: FloatArray = array("time", "time", unit="papers' time", increasing=0)
    tokens: int = attribute()
    dimension: int = attribute()
    done: npt.NDArray[np.bool_] = array("beta run", kind="b")
    sums: npt.NDArray[np.int64] = array("beta time", kind="i")
    squares: npt.NDArray[np.int64] = array("beta time", kind="i")
    attributes: dict[str, Any] = field(default_factory=dict)
    finished: npt.NDArray[np.int64] = field(init=False)
    fraction: FloatArray = array("beta time", init=False)
    standard_error: FloatArray = array("beta time", init=False)

    @classmethod
    def check_values(cls, values: Mapping[str, Any], attributes: Mapping[str, Any]) -> None:
        betas, sums, tokens = values["beta"], values["sums"], int(attributes["tokens"])
        if not (np.all(np.isfinite(betas)) and np.all(np.diff(betas) > 0)):
            raise ValueError("beta holds other numbers than finite ones, increasing")
        if tokens < 2 or not len(betas) or not len(values["time"]):
            raise ValueError("a diagram needs at least two tokens, one beta and one time")
        most = values["done"].sum(axis=1, dtype=np.int64)[:, None] * (tokens * (tokens - 1) // 2)
        if np.any(sums < 0) or np.any(sums > most):
            raise ValueError("sums holds other numbers than 0 to the pairs of the runs done")

    def __post_init__(self) -> None:
        pairs = self.tokens * (self.tokens - 1) // 2
        runs = self.done.sum(axis=1)
        with np.errstate(all="ignore"):
            mean = self.sums / runs[:, None]
            # Exact but for one rounding each, hence not negative by more than that.
            spread = np.maximum(self.squares / runs[:, None] - mean**2, 0.0)
            error = np.sqrt(spread / (runs - 1)[:, None])
        error[runs < 2] = np.nan
        object.__setattr__(self, "finished", runs)
        object.__setattr__(self, "fraction", mean / pairs)
        object.__setattr__(self, "standard_error", error / pairs)

    @property
    def columns(self) -> dict[str, Any]:
        """Means: a row a beta and time."""
        axes, error = {"beta": self.betas, "time": self.times}, self.standard_error
        return grid_columns(axes, fraction=self.fraction, standard_error=error)

    plot = plot_method(
        "MergingDiagram.plot",
        "Figure of the share of merged pairs over beta and time, with the curve (6.12).",
    )

    def __repr__(self) -> str:
        return (
            f"MergingDiagram({self.tokens} tokens in R^{self.dimension}, {len(self.betas)} betas "
            f"from {self.betas[0]:g} to {self.betas[-1]:g}, {len(self.times)} times up to "
            f"{self.times[-1]:g}, {self.finished.min()} of {self.done.shape[1]} runs)"
        )
