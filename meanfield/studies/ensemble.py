"""Ensembles: many runs from sampled tokens, and how many clusters each of them makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray
from meanfield.compute.threads import one_blas_thread
from meanfield.problem import Problem
from meanfield.representations.options import Options
from meanfield.representations.step_limits import check_movable, check_no_diffusion
from meanfield.run import problem_attributes
from meanfield.studies.cluster_runs import CARRIERS, clusters_of_run, run_tokens
from meanfield.studies.cluster_table import (
    NOT_RUN,
    ClusterTable,
    empty_table,
    point_shape,
    put,
    table_of,
)
from meanfield.studies.ensemble_results import Ensemble
from meanfield.studies.options import ENSEMBLE_TOLERANCE, EnsembleOptions
from meanfield.studies.study import Runs, Study, initial_density, made
from meanfield.theory.cluster_counts import mean_clusters
from meanfield.theory.stability import onset_time

# Tokens of one block, by dimension: a few tenths of a second, many times what it costs to send a
# block to another process and its clusters back.
_BLOCK_TOKENS = {1: 50_000, 2: 5_000}
_MOST_BLOCKED = 64


def ensemble(
    problem: Problem | Callable[[], Problem],
    *,
    tokens: Sequence[int] | int = 1000,
    runs: int = 400,
    times: Sequence[float] = (1.0, 2.0),
    carrier: str = "particles",
    seed: int = 0,
    tolerance: float = ENSEMBLE_TOLERANCE,
    executor: Executor | None = None,
) -> Ensemble:
    """Clusters of many runs from tokens drawn from the initial law.

    Parameters
    ----------
    problem : Problem or callable () -> Problem
        With a density as its initial law, uniform by default; or what makes it.
    tokens : int or sequence of int
        How many are drawn, or several such sizes, increasing.
    runs : int
        Independent runs of each size. Each draws from a generator seeded by (seed, size, run) and
        by nothing else.
    times : sequence of float
        When clusters are counted: multiples of the onset time of each size.
    carrier : str
        "particles": the tokens move; "density": the density with their moments up to the degree
        that is felt, at a cost that does not depend on their number.
    seed : int
        Seed of the ensemble.
    tolerance : float
        Of the time steps.
    executor : concurrent.futures.Executor, optional
        Where to run; in this process by default. The result is the same.

    Returns
    -------
    Ensemble

    Raises
    ------
    TypeError
        If the initial law gives points, or a function in the problem, such as a lambda, cannot be
        sent to the processes of the executor.
    ValueError
        If a value is out of range, nothing grows, or a density would be negative.
    SimulationError
        If particles cannot go on.

    See Also
    --------
    meanfield.observables.clusters.clusters : the rule by which they are counted.

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA)
    >>> found = ensemble(problem, tokens=200, runs=3)
    >>> found.counts.shape, bool((found.counts > 0).all())
    ((1, 3, 2), True)
    """
    sizes = (tokens,) if isinstance(tokens, int | np.integer) else tokens
    options = EnsembleOptions(
        tuple(int(n) for n in sizes), runs, tuple(float(t) for t in times), carrier, seed
    )
    return ensemble_plan(made(problem), options, tolerance=tolerance).completed(executor)


@dataclass(frozen=True, eq=False)
class EnsemblePlan(Study[ClusterTable, Ensemble]):
    """What an ensemble is to do; its tables are indexed by size, run and time.

    Attributes
    ----------
    onset_times : ndarray, shape (n_sizes,)
        Given. Scaled.
    predicted : ndarray, shape (n_sizes,)
        Given. Mean count of the linear law, NaN if tokens are not uniform.
    """

    options: EnsembleOptions
    onset_times: FloatArray
    predicted: FloatArray
    unit: ClassVar[str] = "runs"
    overhead: ClassVar[int] = 1_000

    def empty(self) -> ClusterTable:
        """No clusters."""
        asked = self.options
        shape = (len(asked.tokens), asked.runs, len(asked.times))
        return empty_table(shape, point_shape(self.problem.space))

    def lacking(self, table: ClusterTable) -> npt.NDArray[np.bool_]:
        """Not counted at some time."""
        return np.asarray((table.counts == NOT_RUN).any(axis=2))

    def run(self, runs: Runs) -> ClusterTable:
        """Clusters of some runs, indexed by run and time.

        Raises
        ------
        TypeError
            If the initial law gives points.
        ValueError
            If the density of a run is negative somewhere.
        SimulationError
            If particles cannot go on.
        """
        problem, asked = self.problem, self.options
        times = np.array(asked.times) * self.onset_times[asked.tokens.index(runs.tokens)]
        carrier = CARRIERS[asked.carrier]
        starts = (
            carrier(problem, run_tokens(problem, runs.tokens, run, asked.seed), self.tolerance)
            for run in runs.numbers
        )
        # The last bits of a sum by BLAS depend on its threads, and results must not.
        with one_blas_thread():
            found = [
                clusters_of_run(problem, start, times, runs.tokens, self.tolerance)
                for start in starts
            ]
        return table_of(found, point_shape(problem.space))

    def placed(self, table: ClusterTable, runs: Runs, part: ClusterTable) -> ClusterTable:
        """The table itself, filled, or a wider one."""
        return put(table, self.place(runs), part)

    def resumed(self, stored: Ensemble) -> ClusterTable:
        """What an ensemble of the same times counted."""
        table = self.empty()
        held = ClusterTable(stored.counts, stored.mass, stored.centre)
        for i, n in enumerate(stored.tokens.tolist()):
            place = (self.options.tokens.index(n), slice(held.counts.shape[1]))
            table = put(table, place, held[i])
        return table

    def results(self, table: ClusterTable) -> Ensemble:
        """Ensemble of what was counted so far."""
        asked = self.options
        facts = {"carrier": asked.carrier, "seed": asked.seed, "tolerance": self.tolerance}
        return Ensemble(
            np.array(asked.times),
            np.array(asked.tokens),
            self.onset_times,
            table.counts.copy(),
            table.mass.copy(),
            table.centre.copy(),
            self.predicted,
            problem_attributes(self.problem) | facts,
        )

    def together(self, tokens: int) -> int:
        """As many runs as take a few tenths of a second."""
        share = _BLOCK_TOKENS[self.problem.space.dimension] // (tokens + self.overhead)
        return min(max(share, 1), _MOST_BLOCKED)


def ensemble_plan(problem: Problem, options: EnsembleOptions, *, tolerance: float) -> EnsemblePlan:
    """Say which runs to make, after everything that could be wrong was looked at.

    Raises
    ------
    TypeError
        If the initial law gives points.
    ValueError
        If the tolerance is out of range, the problem cannot be moved, or nothing grows.
    """
    Options(tolerance=tolerance)
    check_movable(problem)
    check_no_diffusion(problem, "ensembles", "Use 0.")
    law = initial_density(problem)
    onset = np.array([onset_time(problem, n) for n in options.tokens])
    if not np.all(np.isfinite(onset)):
        raise ValueError("nothing grows: uniform is stable, there is no onset time.")
    predicted = [
        mean_clusters(problem, n) if law.max_degree == 0 else np.nan for n in options.tokens
    ]
    return EnsemblePlan(problem, options, tolerance, onset, np.array(predicted))
