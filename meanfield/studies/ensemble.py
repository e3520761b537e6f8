"""Ensembles: many runs from sampled tokens, and how many clusters each of them makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.problem import Problem
from meanfield.representations.options import Options
from meanfield.representations.step_limits import check_movable, check_no_diffusion
from meanfield.run import problem_attributes
from meanfield.studies.cluster_runs import RunBlock, block_clusters
from meanfield.studies.cluster_table import NOT_RUN, ClusterTable, empty_table, point_shape, put
from meanfield.studies.ensemble_results import Ensemble
from meanfield.studies.executors.finished import finished
from meanfield.studies.options import ENSEMBLE_TOLERANCE, EnsembleOptions
from meanfield.studies.sources import initial_density, made
from meanfield.theory.cluster_counts import mean_clusters
from meanfield.theory.stability import onset_time

# A run costs about as much as this many tokens beyond its own.
_TOKENS_WORTH_A_RUN = 1_000
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
    plan = ensemble_plan(made(problem), options, tolerance=tolerance)
    found = plan.empty()
    for block, part in finished(block_clusters, plan.missing(found), executor):
        found = plan.placed(found, block, part)
    return plan.ensemble(found)


@dataclass(frozen=True, eq=False)
class EnsemblePlan:
    """What an ensemble is to do.

    Attributes
    ----------
    problem : Problem
        Given.
    options : EnsembleOptions
        Given.
    tolerance : float
        Given.
    onset_times : ndarray, shape (n_sizes,)
        Given. Scaled.
    predicted : ndarray, shape (n_sizes,)
        Given. Mean count of the linear law, NaN if tokens are not uniform.
    """

    problem: Problem
    options: EnsembleOptions
    tolerance: float
    onset_times: FloatArray
    predicted: FloatArray

    def empty(self) -> ClusterTable:
        """Results before anything is run, indexed by size, run and time."""
        asked = self.options
        shape = (len(asked.tokens), asked.runs, len(asked.times))
        return empty_table(shape, point_shape(self.problem.space))

    def resumed(self, stored: Ensemble) -> ClusterTable:
        """Results of which some are known, of no other sizes or times and no more runs."""
        found = self.empty()
        held = ClusterTable(stored.counts, stored.mass, stored.centre)
        for i, n in enumerate(stored.tokens.tolist()):
            place = (self.options.tokens.index(n), slice(held.counts.shape[1]))
            found = put(found, place, held[i])
        return found

    def missing(self, found: ClusterTable) -> list[RunBlock]:
        """Blocks of runs that are still to be run.

        By number of the run, large sizes first: what an interrupt leaves is balanced, and the
        last ones to finish are short.
        """
        blocks = []
        for i, n in enumerate(self.options.tokens):
            runs = np.flatnonzero((found.counts[i] == NOT_RUN).any(axis=1))
            blocks += [(part.start, -n, i, part) for part in _consecutive(runs, self._length(n))]
        times = np.array(self.options.times)
        return [
            RunBlock(
                self.problem,
                -n,
                part,
                times * self.onset_times[i],
                self.options.carrier,
                self.options.seed,
                self.tolerance,
            )
            for _, n, i, part in sorted(blocks, key=lambda block: block[:2])
        ]

    def placed(self, found: ClusterTable, block: RunBlock, part: ClusterTable) -> ClusterTable:
        """Results with those of one block where they belong."""
        size = self.options.tokens.index(block.tokens)
        return put(found, (size, slice(block.runs.start, block.runs.stop)), part)

    def ensemble(self, found: ClusterTable) -> Ensemble:
        """Ensemble of what was found so far."""
        asked = self.options
        facts = {"carrier": asked.carrier, "seed": asked.seed, "tolerance": self.tolerance}
        return Ensemble(
            np.array(asked.times),
            np.array(asked.tokens),
            self.onset_times,
            found.counts.copy(),
            found.mass.copy(),
            found.centre.copy(),
            self.predicted,
            problem_attributes(self.problem) | facts,
        )

    def _length(self, tokens: int) -> int:
        """Runs of one block."""
        share = _BLOCK_TOKENS[self.problem.space.dimension] // (tokens + _TOKENS_WORTH_A_RUN)
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


def block_work(block: RunBlock) -> float:
    """Work of a block, in tokens."""
    return float(len(block.runs) * (block.tokens + _TOKENS_WORTH_A_RUN))


def _consecutive(runs: np.ndarray, longest: int) -> list[range]:
    """Sorted numbers as ranges within equal blocks of `longest`."""
    parts: list[range] = []
    for run in runs.tolist():
        if parts and parts[-1].stop == run and run % longest:
            parts[-1] = range(parts[-1].start, run + 1)
        else:
            parts.append(range(run, run + 1))
    return parts
