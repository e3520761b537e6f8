"""The cluster-count law beyond linear theory: wells that merge while the field saturates.

At the onset time the linear law over-counts, because some wells merge before they have collapsed.
Short runs of the equation decide which. They begin where linear theory fails, with the relevant
degrees, on few nodes:

    m_l(t0) = e^{lambda_l t0} m_l(0),    m_l(0) Gaussian of variance 1/N,

where the root mean square deviation of the density from uniform is `_AMPLITUDE` at t0. A quiet
start gives nodes these moments. The flow moves them to twice the onset time, and the usual rule
counts their clusters. Nothing is fitted. The cost depends on beta, not on N. At most a thousand
tokens, or no more than nodes, move themselves.

For the time at which the next two clusters meet, clusters x_i of masses m_i move as atoms,

    x_i' = strength sum_j m_j a(s_ij) P_i x_j [/ Z_i],    s_ij = <x_i, x_j>,

until two are within the radius of the cluster rule. There a configuration stops with its clock
u = ln t, u' = e^{-u}. So times of any size cost a few hundred steps.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray, IntArray, ModalArray
from meanfield.carriers.schemes import order_five
from meanfield.carriers.step_limits import FEATURES, check_carries, check_movable
from meanfield.described import Rows, StudyResult, array, grid_columns, plot_method
from meanfield.fields.blocks import unit_vectors
from meanfield.measures import Measure
from meanfield.observables.clusters import Clusters, cluster_radius
from meanfield.problem import Problem
from meanfield.problem_facts import problem_attributes
from meanfield.schemes.replicas import Numbers, replicas_at
from meanfield.spaces.manifold import Manifold, laplacian_eigenvalues
from meanfield.spectrum.stability import growth_rates, onset_time
from meanfield.studies.ensemble import clusters_of_run
from meanfield.studies.ensemble_results import CountLaw, law_of
from meanfield.studies.executors import finished
from meanfield.studies.study import (
    ArrayStudy,
    Request,
    Runs,
    check_only_runs_grow,
    check_runs,
    rng_of,
)

# Smaller ones change the counts of one sample in fifty, and the mean by less than half a per cent:
# tests/studies/test_corrected_law.py.
_AMPLITUDE = 0.08
_TOLERANCE = 1e-4
# Degree of the grid of nodes, per relevant degree and at least, by dimension.
_GRID_DEGREES = {1: 12.0, 2: 1.5}
_LEAST_GRID_DEGREE = {1: 128, 2: 20}
# When clusters are counted, in onset times: most have collapsed, and few have merged.
_END = 2.0
# So few tokens cost no more than nodes, and their gaps decide the cluster rule.
_FEW_TOKENS = 1000
BLOCK = {1: 20, 2: 2}
"""Samples of one task, by dimension: few long runs, for progress and processes."""


@dataclass(frozen=True, eq=False)
class _Sampler:
    """Samples of one problem and number of tokens, without their random numbers."""

    problem: Problem
    tokens: int
    grid_degree: int
    start: float
    end: float
    variances: FloatArray
    on_nodes: bool


def default_corrected_samples(dimension: int, degree: int) -> int:
    """Default number of samples of the corrected law, which are short runs.

    It is 400 on the circle and 100 on the sphere, less for large degrees, and 0 where each run
    takes minutes.

    >>> default_corrected_samples(1, 20), default_corrected_samples(2, 33)
    (400, 22)
    >>> default_corrected_samples(1, 3000), default_corrected_samples(2, 100)
    (0, 0)
    """
    largest, full, power = (1000, 100, 1) if dimension == 1 else (40, 20, 3)
    most = 400 if dimension == 1 else 100
    if degree > largest:
        return 0
    return min(most, int(most * (full / max(degree, 1)) ** power))


def counting_time(problem: Problem, tokens: int) -> float:
    """Time 2 T = ln N / lambda_max at which clusters are counted, in scaled time.

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=7.0), mf.USA)
    >>> counting_time(problem, 1000) / mf.onset_time(problem, 1000)
    2.0
    """
    return _END * onset_time(problem, tokens)


def constants() -> dict[str, Any]:
    """Constants that the counts depend on, as JSON data."""
    return {
        "amplitude": _AMPLITUDE,
        "tolerance": _TOLERANCE,
        "grid_degrees": list(_GRID_DEGREES.values()),
        "least_grid_degrees": list(_LEAST_GRID_DEGREE.values()),
        "end": _END,
        "few_tokens": _FEW_TOKENS,
    }


def on_nodes(problem: Problem, tokens: int) -> bool:
    """True if nodes carry the samples; few tokens move themselves.

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=9.0), mf.USA)
    >>> on_nodes(problem, 1000), on_nodes(problem, 2000)
    (False, True)
    """
    return _sampler(problem, tokens).on_nodes


def corrected_clusters(
    problem: Problem,
    tokens: int,
    samples: int,
    seed: int,
    executor: Executor | None = None,
) -> Iterator[tuple[range, list[Clusters]]]:
    """Clusters of samples of the corrected law, for each block as it finishes."""
    check_has_runs(problem)
    size = BLOCK[problem.manifold.dimension]
    blocks = [range(first, min(first + size, samples)) for first in range(0, samples, size)]
    yield from finished(partial(clusters_of_samples, problem, tokens, seed), blocks, executor)


def corrected_counts(
    problem: Problem,
    tokens: int,
    samples: int,
    seed: int,
    executor: Executor | None = None,
) -> Iterator[tuple[range, IntArray]]:
    """Numbers of clusters of samples of the corrected law, see `corrected_clusters`."""
    for numbers, groups in corrected_clusters(problem, tokens, samples, seed, executor):
        yield numbers, np.array([each.count for each in groups])


def check_has_runs(problem: Problem) -> None:
    """Refuse problems that the runs of the corrected law do not support."""
    check_movable(problem)
    check_carries(problem, "the runs of the corrected law", FEATURES - {"diffusion"}, "Use 0.")


def clusters_of_samples(problem: Problem, tokens: int, seed: int, samples: range) -> list[Clusters]:
    """Clusters of some samples; each has its own random numbers."""
    sampler = _sampler(problem, tokens)
    return [_clusters_of(sampler, sample, seed) for sample in samples]


def _sampler(problem: Problem, tokens: int) -> _Sampler:
    end = counting_time(problem, tokens)
    dimension = problem.manifold.dimension
    degree = problem.zonal.kernel.degree(dimension, _TOLERANCE)
    rates = growth_rates(problem, degree)
    start = quiet_time(problem, tokens)
    variances = np.exp(2.0 * rates * start) / tokens
    variances[0] = 0.0
    grid_degree = quiet_degree(problem)
    carried = tokens > max(_FEW_TOKENS, len(problem.manifold.grid(grid_degree).points))
    return _Sampler(problem, tokens, grid_degree, start, end, variances, carried)


def quiet_degree(problem: Problem) -> int:
    """Degree of the grid whose nodes carry the samples."""
    dimension = problem.manifold.dimension
    degree = problem.zonal.kernel.degree(dimension, _TOLERANCE)
    return max(math.ceil(_GRID_DEGREES[dimension] * degree), _LEAST_GRID_DEGREE[dimension])


def quiet_time(problem: Problem, tokens: int) -> float:
    """Time t_0 at which fluctuations of the kernel's degrees reach the amplitude of the start.

    It is 0 for few tokens, whose initial fluctuations are larger.

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA)
    >>> quiet_time(problem, 1000), round(quiet_time(problem, 100_000), 3)
    (0.0, 20.164)
    """
    dimension = problem.manifold.dimension
    degree = problem.zonal.kernel.degree(dimension, _TOLERANCE)
    rates = growth_rates(problem, degree)
    number = np.ones(degree + 1) * (2.0 if dimension == 1 else 2.0 * np.arange(degree + 1) + 1.0)
    number[0] = 0.0

    def amplitude(time: float) -> float:
        return math.sqrt(float(number @ np.exp(2.0 * rates * time)) / tokens)

    if amplitude(0.0) >= _AMPLITUDE:
        return 0.0
    from scipy.optimize import brentq

    return float(brentq(lambda t: amplitude(t) - _AMPLITUDE, 0.0, onset_time(problem, tokens)))


def _clusters_of(sampler: _Sampler, sample: int, seed: int) -> Clusters:
    problem, tokens = sampler.problem, sampler.tokens
    space, start, rng = problem.manifold, sampler.start, rng_of(seed, tokens, sample)
    if not sampler.on_nodes:
        # With `rng` itself they would be the tokens of an ensemble of this seed.
        own = np.random.default_rng(rng.integers(2**63))
        measure, start = Measure(space, space.random_points(tokens, own)), 0.0
    else:
        from meanfield.spaces.maxima import gaussian_fields

        moments = gaussian_fields(space, sampler.variances, 1, rng)[0]
        measure = quiet_start(space, moments, sampler.grid_degree)
    times = np.array([sampler.end - start])
    return clusters_of_run(problem, measure, times, tokens, _TOLERANCE, order_five)[0]


def quiet_start(space: Manifold, perturbation: ModalArray, grid_degree: int) -> Measure:
    """Weighted nodes displaced from a grid, with the moments `perturbation` to first order.

    Zel'dovich, Gravitational instability: an approximate theory for large density perturbations,
    Astron. Astrophys. 5 (1970), 84-89.

    >>> import meanfield as mf
    >>> start = quiet_start(mf.Circle(), np.array([0.0, 0.001, 0.0]), 16)
    >>> mf.Circle().moments(start.points, start.weights, 2).real.round(5)
    array([1.   , 0.001, 0.   ])
    """
    eigenvalues = laplacian_eigenvalues(space.dimension, space.degree_of(perturbation))
    inverse = np.divide(1.0, eigenvalues, out=np.zeros_like(eigenvalues), where=eigenvalues > 0)
    displacement = space.convolve(inverse, perturbation)
    grid = space.grid(grid_degree)
    moved = grid.points + space.gradient(displacement, grid.points)
    return Measure(space, space.retract(moved)[0], grid.weights)


_MERGE_TOLERANCE = 1e-5
LATEST = 1e6
"""Latest computed merge, in units of the time at which clusters are counted."""
_QUARTILES = (0.25, 0.5, 0.75)

MergeTimes = dict[int, tuple[float, float, float]]
"""Number of clusters -> quartiles of the time of the next merge."""


def next_merges(problem: Problem, clusters: Sequence[Clusters], time: float) -> MergeTimes:
    """Quartiles of the scaled time of the next merge, for configurations at a time.

    The clusters share the mass of tokens outside. Times beyond `LATEST` times the time are
    infinite. Empty for beta < 0 or repulsion: clusters then rest apart, and explicit steps stay
    short.

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(9.0), mf.SA)
    >>> pair = Clusters(np.array([0.5, 0.5]), np.array([0.0, 1.0]))
    >>> [times] = next_merges(problem, [pair], 5.0).values()
    >>> exact = 5.0 + mf.two_cluster_time(problem, 1.0, cluster_radius(9.0))
    >>> bool(abs(times[1] / exact - 1.0) < 1e-3)
    True
    """
    counts = np.array([each.count for each in clusters])
    return quartiles_by_count(counts, merge_times(problem, clusters, time))


def quartiles_by_count(counts: IntArray, times: FloatArray) -> MergeTimes:
    """Quartiles of times by number of clusters, without NaN.

    >>> quartiles_by_count(np.array([2, 3, 2, 2]), np.array([5.0, 1.0, np.inf, np.nan]))
    {2: (5.0, 5.0, inf), 3: (1.0, 1.0, 1.0)}
    """
    # Without interpolation: a quartile may be infinite.
    groups = {int(k): times[(counts == k) & ~np.isnan(times)] for k in np.unique(counts)}
    quartiles = (
        (k, np.quantile(group, _QUARTILES, method="inverted_cdf").tolist())
        for k, group in groups.items()
        if len(group)
    )
    return {k: (low, middle, high) for k, (low, middle, high) in quartiles}


def merge_times(problem: Problem, clusters: Sequence[Clusters], time: float) -> FloatArray:
    """Times of `next_merges`; NaN for single clusters and without attraction."""
    space, times = problem.manifold, np.full(len(clusters), np.nan)
    if problem.beta < 0.0 or problem.flow.strength < 0.0:
        return times
    counts = np.array([each.count for each in clusters])
    for count in np.unique(counts[counts > 1]):
        chosen = np.flatnonzero(counts == count)
        equal = [clusters[int(i)] for i in chosen]
        points = np.stack([space.vectors(each.centre) for each in equal])
        masses = np.stack([each.mass / each.mass.sum() for each in equal])
        times[chosen] = _times(problem, points, masses, time)
    return times


def _times(problem: Problem, points: FloatArray, masses: FloatArray, time: float) -> FloatArray:
    """Times of the next merge of configurations (R, n, d) with masses (R, n) at `time`."""
    zonal, met, log_start = problem.zonal, np.cos(cluster_radius(problem.beta)), np.log(time)
    apart = -2.0 * np.eye(points.shape[1])

    def between(x: FloatArray) -> FloatArray:
        return np.clip(x @ x.transpose(0, 2, 1), -1.0, 1.0)

    def have_met(cosines: FloatArray) -> FloatArray:
        return np.asarray((cosines + apart).max(axis=(1, 2)) >= met)

    def velocity(numbers: Numbers, state: FloatArray) -> FloatArray:
        # Stages of a trial step may lie far from the manifold, and before the start.
        x, clock = unit_vectors(state[:, :-1]), np.maximum(state[:, -1, 0], log_start)
        cosines, moved = between(x), np.zeros_like(state)
        weights = masses[numbers][:, None] * zonal.kernel.attention(cosines)
        if zonal.normalized:
            weights /= weights.sum(axis=2, keepdims=True)
        along = (weights * cosines).sum(axis=2, keepdims=True)
        moved[:, :-1] = zonal.strength * (weights @ x - along * x)
        moved[:, -1, 0] = np.exp(-clock)
        moved[have_met(cosines)] = 0.0
        return moved

    def retract(state: FloatArray) -> FloatArray:
        return np.concatenate([unit_vectors(state[:, :-1]), state[:, -1:]], axis=1)

    start = np.zeros((len(points), points.shape[1] + 1, points.shape[2]))
    start[:, :-1], start[:, -1, 0] = points, log_start
    times = np.full(len(points), np.inf)
    end = np.array([LATEST * time])
    stream = replicas_at(velocity, start, end, tolerance=_MERGE_TOLERANCE, retract=retract)
    for numbers, _, state in stream:
        merged = have_met(between(state[:, :-1]))
        times[numbers[merged]] = np.exp(state[merged, -1, 0])
    return times


@dataclass(frozen=True, eq=False, repr=False)
class CorrectedRuns(StudyResult):
    """Clusters and merge times of the short runs of the corrected law.

    Attributes
    ----------
    tokens : ndarray of int, shape (1,)
        Number N of independent uniform tokens.
    clusters, merge_times : ndarray, shape (1, runs)
        Number of clusters at twice the onset time, and the scaled time of the next merge, as in
        `ClusterPrediction`; NaN where not run, infinite without one.
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
        """Number of finished runs, shape (1,)."""
        return np.asarray((~np.isnan(self.clusters)).sum(axis=1))

    @property
    def law(self) -> CountLaw:
        """Law of the finished runs."""
        return law_of(self.clusters[~np.isnan(self.clusters)].astype(np.int64))

    @property
    def quartiles(self) -> MergeTimes:
        """Quartiles of the merge times by number of clusters."""
        made = self.clusters > 1
        return quartiles_by_count(self.clusters[made].astype(np.int64), self.merge_times[made])

    @property
    def columns(self) -> dict[str, Any]:
        """Columns with a row for each run."""
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
    """Problem and options of a study of the corrected law."""

    problem: Problem
    tokens: tuple[int]
    runs: int
    seed: int

    def facts(self) -> dict[str, Any]:
        """Facts that a resumed file must share; `runs` may grow."""
        return problem_attributes(self.problem) | {"tokens": self.tokens[0], "seed": self.seed}


@dataclass(frozen=True, eq=False)
class CorrectedPlan(ArrayStudy[CorrectedRuns]):
    """Plan of the runs; the last axis of tables is for the arrays of `CorrectedRuns`."""

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
    """Request of a study of the corrected law."""
    check_runs([tokens], "runs", runs, 1, seed)
    check_has_runs(problem)
    if not np.any(growth_rates(problem)[2:] > 0.0):
        raise ValueError(
            "nothing grows beyond degree 1, so there are no runs to keep: leave out -o."
        )
    options = CorrectedOptions(problem, (tokens,), runs, seed)
    text = json.dumps(options.facts())
    return Request(
        "corrected_runs", lambda: CorrectedPlan(options), options, "predict", problem, text=text
    )
