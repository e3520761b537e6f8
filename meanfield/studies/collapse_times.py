"""Time to one cluster over many starts, compared with the law of the last two clusters.

N tokens are drawn from the initial law and move until they are one cluster, or until a latest time.
For most of that time only two clusters are left. If their masses are m_1, m_2 and their angle is
phi at t_2, the law (29) of docs/late-times.md predicts the time

    T = t_2 + two_cluster_time(phi, m_1, m_2).

It is exact for two points.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from meanfield.arguments import checked
from meanfield.arrays import FloatArray
from meanfield.carriers.options import Options
from meanfield.described import Rows, StudyResult, array, attribute, grid_columns, plot_method
from meanfield.engines.threads import one_blas_thread
from meanfield.laws.initial import from_points
from meanfield.observables.clusters import Clusters, cluster_radius, clusters
from meanfield.papers.two_clusters import two_cluster_time
from meanfield.problem import Problem
from meanfield.problem_facts import problem_attributes
from meanfield.simulation import Evolution, evolve
from meanfield.spaces import MANIFOLDS
from meanfield.studies.ensemble import run_tokens
from meanfield.studies.study import (
    ArrayStudy,
    Execution,
    Request,
    Runs,
    as_problem,
    check_runs,
    initial_density,
)

# First saved time, scaled, and number of saved times in a decade.
_FIRST, _A_DECADE = 0.05, 100
_LATEST = 1e100
# Tolerance of time steps: with 1e-6 errors of pairs' times are up to a thousandth.
_TOLERANCE = 1e-8
_QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class CollapseOptions:
    """Runs of a study, and their latest time."""

    until: float  # scaled time
    tokens: tuple[int, ...] = (64,)  # sizes N, increasing, at least 2
    runs: int = 100  # independent runs of each size, at least 1
    seed: int = 0  # not negative

    def __post_init__(self) -> None:
        check_runs(self.tokens, "runs", self.runs, 1, self.seed)
        if not _FIRST < self.until <= _LATEST:
            most = f"{_LATEST:g}"
            raise ValueError(f"until must lie between {_FIRST} and {most}, got {self.until:g}.")


@dataclass(frozen=True, eq=False, repr=False)
class CollapseTimes(StudyResult):
    """Times to one cluster of many runs, in scaled time, and their predictions by the law.

    Attributes
    ----------
    tokens : ndarray of int, shape (n_sizes,)
        Sizes N, increasing.
    until : float
        Latest time of a run.
    times : ndarray, shape (n_sizes, runs)
        Times from which on one cluster is left, to 2 % where clusters meet before they are points;
        infinite if later than `until`, NaN where not run.
    pair_times : ndarray, shape (n_sizes, runs)
        First saved time, of a hundred in a decade, from which on two clusters were left; else NaN.
    angles, masses : ndarray, shape (n_sizes, runs)
        Geodesic angle between the two at that time, and mass of the lighter one.
    predicted : ndarray, shape (n_sizes, runs)
        Time to one cluster by the law of two clusters.
    attributes : dict
        Facts of the problem; from a file also title, status, ...
    """

    kind = "collapse_times"

    tokens: npt.NDArray[np.int64] = array("tokens", kind="i", increasing=1, distinct=True)
    until: float = attribute()
    times: FloatArray = array("tokens run", "collapse_time", unit="scaled time")
    pair_times: FloatArray = array("tokens run", "pair_time", unit="scaled time")
    angles: FloatArray = array("tokens run", "pair_angle", unit="radian")
    masses: FloatArray = array("tokens run", "light_mass")
    predicted: FloatArray = array("tokens run", "predicted_time", unit="scaled time")
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def finished(self) -> npt.NDArray[np.int64]:
        """Number of finished runs of each size, shape (n_sizes,)."""
        return np.asarray((~np.isnan(self.times)).sum(axis=1))

    @checked
    def survival(self, times: Sequence[float] | FloatArray, *, law: bool = False) -> FloatArray:
        """Share of the runs with more than one cluster at some times.

        Parameters
        ----------
        times : sequence of float, shape (n,)
            Scaled, up to `until`.
        law : bool
            Use the predicted times, of the runs that had two clusters.

        Returns
        -------
        ndarray, shape (n_sizes, n)
            NaN if there is no run.
        """
        values = self.predicted if law else self.times
        known = ~np.isnan(values)
        later = values[..., None] > np.asarray(times, dtype=np.float64)
        with np.errstate(invalid="ignore"):
            return np.asarray((later & known[..., None]).sum(axis=1) / known.sum(axis=1)[:, None])

    def quartiles(self, *, law: bool = False) -> FloatArray:
        """Quartiles of the times, or of predicted ones, shape (n_sizes, 3); NaN without runs."""
        rows = [row[~np.isnan(row)] for row in (self.predicted if law else self.times)]
        # Without interpolation: a quartile may be infinite.
        return np.array(
            [
                np.quantile(row, _QUARTILES, method="inverted_cdf") if len(row) else [np.nan] * 3
                for row in rows
            ]
        )

    @property
    def columns(self) -> dict[str, Any]:
        """Columns with a row for each run."""
        names = ("times", "pair_times", "angles", "masses", "predicted")
        axes = {"tokens": self.tokens, "run": np.arange(self.runs)}
        return grid_columns(axes, **{name: getattr(self, name) for name in names})

    def parts(self) -> list[Rows | str]:
        if not self.finished.all():
            return [repr(self)]
        header = ("n", "runs", "one cluster", "time: 1/4", "1/2", "3/4", "law: 1/4", "1/2", "3/4")
        measured, law = self.quartiles(), self.quartiles(law=True)
        reached = np.isfinite(self.times).sum(axis=1)
        rows = [
            [n, runs, count, *(f"{time:.4g}" for time in (*times, *predicted))]
            for n, runs, count, times, predicted in zip(
                self.tokens.tolist(), self.finished, reached, measured, law, strict=True
            )
        ]
        legend = (
            f"one cluster: runs that are one by t = {self.until:g}. Quartiles of the scaled time "
            "to one cluster.\nlaw: the last two clusters alone, from when two are left."
        )
        return [
            Rows(header, rows, below=legend),
            Rows((), [("normalization", self.facts.normalization)]),
        ]

    plot = plot_method(
        "CollapseTimes.plot",
        "Figure of the share of runs with more than one cluster against time, and of the law.",
    )

    def __repr__(self) -> str:
        sizes = ", ".join(map(str, self.tokens))
        medians = ", ".join(f"{row[1]:.4g}" for row in self.quartiles())
        return (
            f"CollapseTimes(n = {sizes}, {self.runs} runs, median time to one cluster {medians}, "
            f"{np.isinf(self.times).sum()} later than {self.until:g})"
        )


@checked
def collapse_times(
    problem: Problem | Callable[[], Problem],
    *,
    until: float,
    tokens: Sequence[int] | int = 64,
    runs: int = 100,
    seed: int = 0,
    output: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: bool | None = None,
) -> CollapseTimes:
    """Time to one cluster of many runs from new tokens, and its prediction.

    Parameters
    ----------
    problem : Problem or callable () -> Problem
        On the circle or S^2, with a density as its initial law, uniform by default; beta > 0.
    until : float
        Latest scaled time of a run. Times grow like e^{beta (1 - cos phi)}: take a late one.
    tokens : int or sequence of int
        Number of tokens, or several such sizes, increasing.
    runs : int
        Independent runs of each size. A run's generator is seeded by (seed, size, run) alone.
    seed : int
        Seed of the study.
    output, resume, overwrite, workers, executor, progress
        As in `meanfield.ensemble`.

    Returns
    -------
    CollapseTimes

    Raises
    ------
    ValueError
        If a value is out of range, tokens do not attract, or no law is known: with noise, layers,
        stages, heads with matrices or other terms.

    See Also
    --------
    meanfield.two_cluster_time : the law.
    meanfield.certified_collapse : a proved bound for one start.

    Examples
    --------
    Two tokens are two clusters from the start, and the law is exact:

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=2.0), mf.SA)
    >>> made = mf.collapse_times(problem, tokens=2, runs=4, until=1e4)
    >>> bool((abs(made.times / made.predicted - 1.0) < 1e-5).all())
    True
    """
    sizes = (tokens,) if isinstance(tokens, int | np.integer) else tokens
    options = CollapseOptions(float(until), tuple(int(n) for n in sizes), runs, seed)
    problem = as_problem(problem)
    request = Request(
        "collapse_times",
        lambda: collapse_plan(problem, options),
        options,
        "collapse_times",
        problem,
        time={"end": options.until},
    )
    return request.results(Execution(output, resume, overwrite, workers, executor, progress))


@dataclass(frozen=True, eq=False)
class CollapsePlan(ArrayStudy[CollapseTimes]):
    """Plan of the runs; the last axis of tables is for the arrays of `CollapseTimes`."""

    problem: Problem
    options: CollapseOptions
    unit: ClassVar[str] = "runs"
    overhead: ClassVar[int] = 100
    measured: ClassVar[tuple[str, ...]] = ("times", "pair_times", "angles", "masses", "predicted")

    def run(self, runs: Runs) -> FloatArray:
        problem, options = self.problem, self.options
        with one_blas_thread():
            return np.array(
                [
                    collapse(
                        problem, run_tokens(problem, runs.size, n, options.seed), options.until
                    )
                    for n in runs.numbers
                ]
            )

    def results(self, table: FloatArray) -> CollapseTimes:
        options, measured = self.options, np.moveaxis(table, -1, 0).copy()
        times, pair_times, angles, masses, predicted = measured
        facts = problem_attributes(self.problem) | {"seed": options.seed}
        return CollapseTimes(
            np.array(options.tokens), options.until, times, pair_times, angles, masses, predicted,
            facts,
        )  # fmt: skip


def collapse_plan(problem: Problem, options: CollapseOptions) -> CollapsePlan:
    """Plan of the runs; refuse problems for which no law is known."""
    initial_density(problem)
    if problem.manifold.name not in MANIFOLDS:
        raise ValueError(
            f"collapse times are counted on the circle and S^2, got {problem.manifold.name}."
        )
    if problem.terms:
        raise ValueError("collapse times are of attention alone: leave out other terms.")
    if problem.beta <= 0.0 or problem.flow.strength <= 0.0:
        raise ValueError(
            f"tokens become one cluster where they attract: got beta = {problem.beta:g}, strength "
            f"= {problem.flow.strength:g}, expected both above 0."
        )
    # Refuses noise, layers, stages and heads with matrices.
    two_cluster_time(problem, 1.0, 0.5)
    return CollapsePlan(problem, options)


def collapse(problem: Problem, points: FloatArray, until: float) -> tuple[float, ...]:
    """Time, pair time, angle, lighter mass and predicted time of one run, see `CollapseTimes`."""
    start = replace(problem, initial=from_points(points))
    # Pair times are saved times, so these must not depend on `until`.
    grid = _FIRST * 10.0 ** (np.arange(_A_DECADE * np.log10(until / _FIRST)) / _A_DECADE)
    times = np.concatenate([[0.0], grid[grid < until], [until]])
    evolution = Evolution(start, Options(tolerance=_TOLERANCE), times, stop="one_cluster")
    ended: list[str] = []
    pair: tuple[float, Clusters] | None = None
    last: tuple[float, Clusters] | None = None
    met: list[float] = []
    time, representation, before = 0.0, "", ""
    for snapshot in evolve(evolution, ended=ended.append):
        groups = clusters(snapshot.measure, problem.beta, tokens=len(points))
        time, met = snapshot.time, [e.time for e in snapshot.events if e.kind == "merge"]
        before, representation = representation, snapshot.representation
        if groups.count != 1:
            last = (time, groups) if groups.count == 2 else None
            pair = (pair or last) if last else None
    law = (np.nan,) * 4 if pair is None else (pair[0], *_pair(problem, *pair))
    if not ended:
        return (np.inf, *law)
    if met and before == "atoms":
        return (met[-1], *law)
    # Tokens merge at the end of a step: for two clusters the closed form is more accurate.
    return (time if last is None else min(time, _pair(problem, *last)[2]), *law)


def _pair(problem: Problem, time: float, pair: Clusters) -> tuple[float, float, float]:
    """Angle of two clusters, mass of the lighter one, and the time of their merge."""
    angle = float(problem.manifold.distance(pair.centre[0], pair.centre[1]))
    first, second = (pair.mass / pair.mass.sum()).tolist()
    met = cluster_radius(problem.beta)
    later = two_cluster_time(problem, angle, met, (first, second)) if angle > met else 0.0
    return angle, min(first, second), time + later
