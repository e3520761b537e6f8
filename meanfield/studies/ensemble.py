"""Ensembles: many runs from sampled tokens, and the number of clusters of each.

N tokens are drawn from the initial law and move up to multiples of the onset time
T = ln N / (2 lambda_max), in one of two representations:

    particles   the tokens; few tokens move in many runs at once, by sums over pairs
    density     weighted nodes x_j of mass f(x_j) w_j with the quadrature weights w_j, where
                f = sum_l m_l Y_l has the tokens' moments of the relevant degrees

A degree is relevant if its part l w_l of the velocity is above the tolerance of the steps, relative
to the largest. Both start in the same field. Later the tokens' other moments change it by a share
of order N^{-1/2}. The cost of the second does not depend on N. The Z of softmax is truncated
likewise, and is right where there is mass.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from meanfield.arguments import checked
from meanfield.arrays import FloatArray
from meanfield.carriers.options import Options
from meanfield.carriers.particles import ParticleRepresentation
from meanfield.carriers.schemes import Scheme, explicit
from meanfield.carriers.step_limits import FEATURES, check_carries, check_movable, check_no_layers
from meanfield.engines.threads import one_blas_thread
from meanfield.fields.lost_digits import partition_cancels
from meanfield.files import OutputError
from meanfield.laws.sampling import tokens_of
from meanfield.measures import Density, Measure
from meanfield.observables.clusters import Clusters, clusters
from meanfield.problem import Problem
from meanfield.problem_facts import problem_attributes
from meanfield.spaces import MANIFOLDS
from meanfield.spectrum.cluster_counts import mean_clusters
from meanfield.spectrum.stability import onset_time
from meanfield.studies.ensemble_results import (
    NOT_RUN,
    ClusterTable,
    Ensemble,
    empty_table,
    point_shape,
    put,
    table_of,
)
from meanfield.studies.study import (
    Execution,
    Request,
    Runs,
    Study,
    as_problem,
    check_runs,
    initial_density,
    rng_of,
)
from meanfield.studies.token_runs import moved_together, moves_together
from meanfield.trajectory import trajectory

ENSEMBLE_TOLERANCE = 1e-6
"""Tolerance of the steps of an ensemble, which only counts clusters."""

# Latest time, in onset times: later only clusters merge, which atoms follow better.
_LATEST = 1000.0
# Tokens of one block, by dimension: a few tenths of a second, many times the cost of sending a
# block to another process and its clusters back.
_BLOCK_TOKENS = {1: 50_000, 2: 5_000}
_MOST_BLOCKED = 64
# Degree of the grid whose nodes carry a density, by coordinates of a point (angles 0, vectors 1):
# per degree of the kernel, and at least. A grid has three nodes for each degree on a great circle.
_GRID_DEGREES = (16.0 / 3.0, 1.0)
_LEAST_GRID_DEGREE = (171, 24)


@dataclass(frozen=True)
class EnsembleOptions:
    """Runs of an ensemble, and the times at which their clusters are counted.

    >>> EnsembleOptions(times=(0.0, 1.0))
    Traceback (most recent call last):
    ...
    ValueError: times must be positive multiples of the onset time, got [0.0, 1.0].
    """

    tokens: tuple[int, ...] = (1000,)  # sizes N, increasing, at least 2
    runs: int = 400  # independent runs of each size, at least 1
    # When to count: multiples of the onset time of each size, positive, increasing.
    times: tuple[float, ...] = (1.0, 2.0)
    # "particles", or "density" for runs of the density that has the tokens' moments.
    representation: str = "particles"
    seed: int = 0  # not negative

    def __post_init__(self) -> None:
        check_runs(self.tokens, "runs", self.runs, 1, self.seed)
        times = list(self.times)
        if not times or not all(0.0 < t < math.inf for t in times):
            raise ValueError(f"times must be positive multiples of the onset time, got {times}.")
        if times != sorted(set(times)):
            raise ValueError(f"times must be increasing, got {times}.")
        if times[-1] > _LATEST:
            raise ValueError(f"times must be at most {_LATEST:g} onset times, got {times[-1]:g}.")
        if self.representation not in CARRIERS:
            names = ", ".join(sorted(CARRIERS))
            raise ValueError(
                f"representation {self.representation!r} is not known. Known: {names}."
            )


@checked
def ensemble(
    problem: Problem | Callable[[], Problem],
    *,
    tokens: Sequence[int] | int = 1000,
    runs: int = 400,
    times: Sequence[float] = (1.0, 2.0),
    representation: str = "particles",
    seed: int = 0,
    tolerance: float = ENSEMBLE_TOLERANCE,
    output: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: bool | None = None,
) -> Ensemble:
    """Clusters of many runs from tokens drawn from the initial law.

    Parameters
    ----------
    problem : Problem or callable () -> Problem
        With a density as its initial law, uniform by default; or a function that returns it.
    tokens : int or sequence of int
        Number of tokens, or several such sizes, increasing.
    runs : int
        Independent runs of each size. A run's generator is seeded by (seed, size, run) alone.
    times : sequence of float
        When clusters are counted: multiples of the onset time of each size.
    representation : str
        "particles": the tokens move. "density": weighted nodes with their moments up to the
        relevant degree move, at a cost that does not depend on the number of tokens.
    seed : int
        Seed of the ensemble.
    tolerance : float
        Tolerance of the time steps.
    output : path, optional
        File (.h5) of the study, complete at every instant; `mf.load` reads it.
    resume, overwrite : bool
        Make the runs that the file lacks, or replace the file. Only sizes and runs may be added.
    workers : int, optional
        Local processes; by default this process alone. A script with more needs
        `if __name__ == "__main__":`.
    executor : concurrent.futures.Executor, optional
        Where to run, instead of `workers`. The result is the same.
    progress : bool, optional
        Show a bar; by default in notebooks.

    Returns
    -------
    Ensemble

    Raises
    ------
    TypeError
        If the initial law gives points. If a function in the problem, such as a lambda, cannot be
        sent to the processes of the executor.
    ValueError
        If a value is out of range, nothing grows, or a density would be negative.
    SimulationError
        If a run fails.

    See Also
    --------
    meanfield.observables.clusters.clusters : the rule that counts clusters.

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
        tuple(int(n) for n in sizes), runs, tuple(float(t) for t in times), representation, seed
    )
    problem = as_problem(problem)
    usual = tolerance == ENSEMBLE_TOLERANCE
    request = Request(
        "ensemble",
        partial(ensemble_plan, problem, options, tolerance=tolerance),
        options,
        "ensemble",
        problem,
        Options(tolerance=None if usual else tolerance),
        {"end": 1.0},
    )
    return request.results(Execution(output, resume, overwrite, workers, executor, progress))


@dataclass(frozen=True, eq=False)
class EnsemblePlan(Study[ClusterTable, Ensemble]):
    """Plan of an ensemble; its tables are indexed by size, run and time."""

    problem: Problem
    options: EnsembleOptions
    tolerance: float  # of the time steps
    onset_times: FloatArray  # (n_sizes,): scaled
    predicted: FloatArray  # (n_sizes,): mean count of the linear law, NaN without a closed form
    unit: ClassVar[str] = "runs"
    overhead: ClassVar[int] = 1_000

    def empty(self) -> ClusterTable:
        options = self.options
        shape = (len(options.tokens), options.runs, len(options.times))
        return empty_table(shape, point_shape(self.problem.manifold))

    def lacking(self, table: ClusterTable) -> npt.NDArray[np.bool_]:
        return np.asarray((table.counts == NOT_RUN).any(axis=2))

    def run(self, runs: Runs) -> ClusterTable:
        """Clusters of some runs, indexed by run and time."""
        problem, options = self.problem, self.options
        times = np.array(options.times) * self.onset_times[options.tokens.index(runs.size)]
        if self._together(runs.size):
            return table_of(self._moved_together(runs, times), point_shape(problem.manifold))
        carrier = CARRIERS[options.representation]
        starts = (
            carrier(problem, run_tokens(problem, runs.size, run, options.seed), self.tolerance)
            for run in runs.numbers
        )
        # The last bits of BLAS sums depend on the number of threads.
        with one_blas_thread():
            groups = [
                clusters_of_run(problem, start, times, runs.size, self.tolerance)
                for start in starts
            ]
        return table_of(groups, point_shape(problem.manifold))

    def _together(self, tokens: int) -> bool:
        """True if runs move together: few tokens, under constant attention."""
        problem = self.problem
        changes = problem.has_labels or problem.is_time_dependent or problem.stages
        particles = self.options.representation == "particles"
        return particles and not changes and moves_together(problem, tokens)

    def _moved_together(self, runs: Runs, times: FloatArray) -> list[list[Clusters]]:
        """Clusters of each run at every time."""
        problem, space = self.problem, self.problem.manifold
        starts = [run_tokens(problem, runs.size, run, self.options.seed) for run in runs.numbers]
        vectors = np.array([space.vectors(points) for points in starts])
        groups = np.empty((len(starts), len(times)), dtype=object)
        moved = moved_together(problem, vectors, times, self.tolerance)
        for numbers, indices, states in moved:
            for number, index, x in zip(numbers, indices, states, strict=True):
                measure = Measure(space, space.points_of(x))
                groups[number, index] = clusters(measure, problem.beta, tokens=runs.size)
        return groups.tolist()

    def placed(self, table: ClusterTable, runs: Runs, part: ClusterTable) -> ClusterTable:
        return put(table, self.index(runs), part)

    def resumed(self, stored: Ensemble) -> ClusterTable:
        table = self.empty()
        values = ClusterTable(stored.counts, stored.mass, stored.centre)
        for i, n in enumerate(stored.tokens.tolist()):
            place = (self.options.tokens.index(n), slice(values.counts.shape[1]))
            table = put(table, place, values[i])
        return table

    def results(self, table: ClusterTable) -> Ensemble:
        options = self.options
        facts = {
            "representation": options.representation,
            "seed": options.seed,
            "tolerance": self.tolerance,
        }
        return Ensemble(
            np.array(options.times),
            np.array(options.tokens),
            self.onset_times,
            table.counts.copy(),
            table.mass.copy(),
            table.centre.copy(),
            self.predicted,
            problem_attributes(self.problem) | facts,
        )

    def check_resumes(self, stored: Ensemble, path: Path, label: str) -> None:
        # Defaults of runs and ensembles differ: equal run files may mean other steps.
        if stored.attributes["tolerance"] != self.tolerance:
            raise OutputError(
                f"{label}: [representation] tolerance differs from that of {path}, which "
                "--resume continues. Use --overwrite to start again."
            )

    def block_length(self, size: int) -> int:
        """Number of runs that take a few tenths of a second."""
        if self._together(size):
            return _MOST_BLOCKED
        share = _BLOCK_TOKENS[min(self.problem.manifold.dimension, 2)] // (size + self.overhead)
        return min(max(share, 1), _MOST_BLOCKED)


def ensemble_plan(problem: Problem, options: EnsembleOptions, *, tolerance: float) -> EnsemblePlan:
    """Plan of an ensemble; refuse problems and options that it does not support."""
    Options(tolerance=tolerance)
    check_movable(problem)
    check_no_layers(problem, "ensembles")
    check_carries(problem, "ensembles", FEATURES - {"diffusion"}, "Use 0.")
    law = initial_density(problem)
    if options.representation == "density":
        check_carries(problem, "a density", FEATURES - {"labels"})
    onset = np.array([onset_time(problem, n) for n in options.tokens])
    if not np.all(np.isfinite(onset)):
        raise ValueError("nothing grows: uniform is stable, there is no onset time.")
    # The closed form counts maxima on the circle and S^2.
    has_law = law.max_degree == 0 and problem.kernel_alone and problem.manifold.name in MANIFOLDS
    predicted = [mean_clusters(problem, n) if has_law else np.nan for n in options.tokens]
    return EnsemblePlan(problem, options, tolerance, onset, np.array(predicted))


def run_tokens(problem: Problem, tokens: int, run: int, seed: int) -> FloatArray:
    """Tokens of a run, drawn from the initial law.

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA)
    >>> run_tokens(problem, 100, 0, 7).shape
    (100,)
    """
    return tokens_of(problem.manifold, initial_density(problem), tokens, rng_of(seed, tokens, run))


def clusters_of_run(
    problem: Problem,
    start: Measure,
    times: FloatArray,
    tokens: int,
    tolerance: float,
    scheme: Scheme = explicit,
) -> list[Clusters]:
    """Clusters at every time of one run, moved by the relevant degrees.

    tokens: number of tokens that the nodes represent; the cluster rule needs three in a cluster.
    """
    # Where Z may be small, all degrees count.
    degree = None if partition_cancels(problem) else problem.relevant_degree(tolerance)
    carried = ParticleRepresentation(
        problem, start.points.ravel(), start.weights, degree, tolerance=tolerance
    )
    stream = trajectory(
        problem, carried, times, tolerance=tolerance, scheme=lambda problem, carrier: scheme
    )
    beta = problem.beta
    return [clusters(snapshot.measure, beta, tokens=tokens) for snapshot in stream]


def _tokens(problem: Problem, points: FloatArray, tolerance: float) -> Measure:
    return Measure(problem.manifold, points)


def _nodes(problem: Problem, points: FloatArray, tolerance: float) -> Measure:
    """Weighted nodes of the density with the tokens' moments up to the relevant degree."""
    space, degree = problem.manifold, problem.relevant_degree(tolerance)
    density = Density(space, space.moments(points, None, degree))
    axes = len(space.point_shape)
    fineness = math.ceil(_GRID_DEGREES[axes] * problem.kernel_degree)
    grid = space.grid(max(fineness, _LEAST_GRID_DEGREE[axes]))
    values = grid.to_nodal(density.moments(grid.max_degree))
    if values.min() < 0:
        raise ValueError(
            f"the density with the moments up to degree {degree} of {len(points)} tokens is "
            f'negative: {values.min():.3g}. Take more tokens, or representation = "particles".'
        )
    mass = values * grid.weights
    return Measure(space, grid.points, mass / mass.sum())


CARRIERS: dict[str, Callable[[Problem, FloatArray, float], Measure]] = {
    "particles": _tokens,
    "density": _nodes,
}
"""Representations of a run: (problem, tokens, tolerance) -> points that move."""
