"""Short runs of the corrected law in a file: more of them later, or in parts."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray
from meanfield.described import Rows, StudyResult, array, grid_columns, plot_method
from meanfield.problem import Problem
from meanfield.problem_facts import problem_attributes
from meanfield.spectrum.stability import growth_rates
from meanfield.studies.corrected_law import (
    BLOCK,
    MergeTimes,
    check_has_runs,
    clusters_of_samples,
    counting_time,
    merge_times,
    quartiles_by_count,
)
from meanfield.studies.ensemble_results import CountLaw, law_of
from meanfield.studies.study import ArrayStudy, Request, Runs, check_only_runs_grow, check_runs


@dataclass(frozen=True, eq=False, repr=False)
class CorrectedRuns(StudyResult):
    """Clusters and merge times of the short runs of the corrected law.

    Attributes
    ----------
    tokens : ndarray of int, shape (1,)
        Number N of independent uniform tokens.
    clusters, merge_times : ndarray, shape (1, runs)
        Number of clusters at twice the onset time, and the scaled time at which the next two have
        met, as in `ClusterPrediction`; NaN where not run, infinite for none.
    attributes : dict
        Facts of the problem; from a file also status, seed, ...
    """

    kind = "corrected_runs"

    tokens: npt.NDArray[np.int64] = array("tokens", kind="i", increasing=1, distinct=True)
    clusters: FloatArray = array("tokens run")
    merge_times: FloatArray = array("tokens run", "merge_time", unit="scaled time")
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def finished(self) -> npt.NDArray[np.int64]:
        """How many runs were made, shape (1,)."""
        return np.asarray((~np.isnan(self.clusters)).sum(axis=1))

    @property
    def law(self) -> CountLaw:
        """Law of the runs that were made."""
        return law_of(self.clusters[~np.isnan(self.clusters)].astype(np.int64))

    @property
    def quartiles(self) -> MergeTimes:
        """Quartiles of the merge times by number of clusters."""
        made = self.clusters > 1
        return quartiles_by_count(self.clusters[made].astype(np.int64), self.merge_times[made])

    @property
    def columns(self) -> dict[str, Any]:
        """A row a run."""
        axes = {"tokens": self.tokens, "run": np.arange(self.runs)}
        return grid_columns(axes, clusters=self.clusters, merge_times=self.merge_times)

    def parts(self) -> list[Rows | str]:
        rows = [[count, f"{share:.4f}"] for count, share in self.law.distribution.items()]
        return [repr(self), Rows(("clusters", "share of runs"), rows)]

    plot = plot_method("CorrectedRuns.plot", "Figure of the shares of numbers of clusters.")

    def __repr__(self) -> str:
        [made], [tokens] = self.finished, self.tokens
        law = f": {self.law.summary()}" if made else ""
        return f"CorrectedRuns({made} of {self.runs} runs of {tokens} tokens{law})"


@dataclass(frozen=True, eq=False)
class CorrectedOptions:
    """Problem, number of tokens, number of runs and seed of a study."""

    problem: Problem
    tokens: tuple[int]
    runs: int
    seed: int

    def facts(self) -> dict[str, Any]:
        """Facts that a file must share to be resumed; `runs` may grow."""
        return problem_attributes(self.problem) | {"tokens": self.tokens[0], "seed": self.seed}


@dataclass(frozen=True, eq=False)
class CorrectedPlan(ArrayStudy[CorrectedRuns]):
    """Plan of the runs; a table's last axis has the arrays of `CorrectedRuns`."""

    options: CorrectedOptions
    unit: ClassVar[str] = "runs"
    overhead: ClassVar[int] = 0
    measured: ClassVar[tuple[str, ...]] = ("clusters", "merge_times")

    def block_length(self, size: int) -> int:
        return BLOCK[self.options.problem.manifold.dimension]

    def run(self, runs: Runs) -> FloatArray:
        options, [number] = self.options, self.options.tokens
        groups = clusters_of_samples(options.problem, number, options.seed, runs.numbers)
        time = counting_time(options.problem, number)
        counts = [each.count for each in groups]
        return np.stack([counts, merge_times(options.problem, groups, time)], axis=-1)

    def check_resumes(self, stored: CorrectedRuns, path: Path, label: str) -> None:
        check_only_runs_grow(self.options, stored, path)

    def results(self, table: FloatArray) -> CorrectedRuns:
        counts, merges = np.moveaxis(table, -1, 0).copy()
        return CorrectedRuns(np.array(self.options.tokens), counts, merges, self.options.facts())


def corrected_request(
    problem: Problem, tokens: int, runs: int, seed: int
) -> Request[CorrectedRuns]:
    """Study of short runs from uniform tokens."""
    check_runs([tokens], "runs", runs, 1, seed)
    check_has_runs(problem)
    if not np.any(growth_rates(problem)[2:] > 0.0):
        raise ValueError(
            "nothing grows beyond degree 1, so there are no runs to keep: leave out -o."
        )
    options = CorrectedOptions(problem, (tokens,), runs, seed)
    text = json.dumps(options.facts())
    return Request("corrected_runs", lambda: CorrectedPlan(options), options, "predict", text=text)
