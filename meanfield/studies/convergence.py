"""Convergence of particle systems to the mean-field limit, and growth of errors with time.

mu^n_t is the empirical measure of n tokens drawn independently from the initial density f_0, and
f_t solves the mean-field equation from f_0. D_n(t) = W_p(mu^n_t, f_t) is measured for particle
systems of several sizes n. On the circle it is about n^{-1/2} at time 0. By propagation of chaos it
grows at most as fast as perturbations, about uniform like e^{lambda_max t}.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar, cast

import numpy as np

from meanfield.arguments import checked
from meanfield.arrays import FloatArray
from meanfield.carriers import density, particles
from meanfield.carriers.options import DEFAULT_TOLERANCE, Options
from meanfield.carriers.step_limits import check_no_layers, check_step
from meanfield.engines.threads import one_blas_thread
from meanfield.errors import SimulationError
from meanfield.files import OutputError
from meanfield.laws.sampling import sample_tokens
from meanfield.measures import Density, Measure
from meanfield.problem import Problem
from meanfield.problem_facts import problem_attributes
from meanfield.simulation import timing
from meanfield.spectrum.stability import growth_rate_max, onset_time
from meanfield.studies.convergence_results import ConvergenceStudy
from meanfield.studies.study import (
    ArrayStudy,
    Execution,
    Request,
    Runs,
    as_problem,
    check_runs,
    initial_density,
    rng_of,
)
from meanfield.trajectory import trajectory

# Relative width of a bracket, below the differences between systems of one size. Narrower ones
# would cost more without improving the means.
_TOLERANCE = 0.1

Metric = Callable[[Measure | Density, Measure | Density, Problem], tuple[float, float]]


def _wasserstein(p: int) -> Metric:
    def metric(
        first: Measure | Density, second: Measure | Density, problem: Problem
    ) -> tuple[float, float]:
        from meanfield.transport import Bracket, wasserstein

        distance = wasserstein(first, second, p, tolerance=_TOLERANCE)
        if isinstance(distance, Bracket):
            return distance.value, distance.width
        return distance, 0.0

    return metric


def _sobolev(
    first: Measure | Density, second: Measure | Density, problem: Problem
) -> tuple[float, float]:
    from meanfield.transport import sobolev_distance

    return sobolev_distance(first, second), 0.0


def _mmd(
    first: Measure | Density, second: Measure | Density, problem: Problem
) -> tuple[float, float]:
    from meanfield.transport import maximum_mean_discrepancy

    return maximum_mean_discrepancy(first, second, problem.beta), 0.0


METRICS: dict[str, Metric] = {
    "W1": _wasserstein(1),
    "W2": _wasserstein(2),
    "sobolev": _sobolev,
    "mmd": _mmd,
}
"""Functions of two measures and a problem that return a distance and the width of its bracket."""

LABELS = {"W1": "W_1", "W2": "W_2", "sobolev": r"H^{-1}_{12}", "mmd": r"\mathrm{MMD}"}
"""Symbols of the metrics in figures."""


@dataclass(frozen=True)
class StudyOptions:
    """Particle systems of a study, and their metric."""

    # Sizes of the particle systems, increasing, at least 2.
    tokens: tuple[int, ...] = (100, 1000, 10000)
    runs: int = 20  # independent systems of each size, at least 2
    metric: str = "W1"  # a name in `METRICS`
    seed: int = 0  # not negative

    def __post_init__(self) -> None:
        check_runs(self.tokens, "runs", self.runs, 2, self.seed)
        if self.metric not in METRICS:
            names = ", ".join(METRICS)
            raise ValueError(f"metric {self.metric!r} is not known. Known: {names}.")


@checked
def convergence_study(
    problem: Problem | Callable[[], Problem],
    until: float,
    *,
    save: int | Sequence[float] = 61,
    tokens: Sequence[int] = (100, 1000, 10000),
    runs: int = 20,
    metric: str = "W1",
    seed: int = 0,
    tolerance: float = DEFAULT_TOLERANCE,
    max_degree: int | None = None,
    unit: str = "scaled",
    step: float | None = None,
    output: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: bool | None = None,
) -> ConvergenceStudy:
    """Distances of particle systems of growing size to the density run from the same law.

    Parameters
    ----------
    problem : Problem or callable () -> Problem
        With a density as its initial law; or a function that returns it.
    until, save, unit : float, int or sequence of float, str
        As in `simulate`; time 0 is always saved.
    tokens : sequence of int
        Sizes of the particle systems, increasing.
    runs : int
        Independent systems of each size. Their generators are seeded by (seed, size, number) alone.
    metric : str
        "W1", "W2", "sobolev" (see `meanfield.sobolev_distance`) or "mmd"
        (`meanfield.maximum_mean_discrepancy` at the problem's beta, which is positive).
    seed : int
        Seed of the study.
    tolerance, max_degree : float, int
        As in `Options`, for the density run; the particle systems have the same tolerance.
    step : float, optional
        Time step of noisy particle systems, in `unit`; they need one.
    output, resume, overwrite, workers, executor, progress
        As in `meanfield.ensemble`.

    Returns
    -------
    ConvergenceStudy
        Up to the last resolved time of the density; `note` gives the reason of an early end.

    Raises
    ------
    TypeError
        If the initial law gives points, or a function in the problem, such as a lambda, cannot be
        sent to the processes of the executor.
    ValueError
        If a value is out of range, or the problem has layers or labels.
    SimulationError
        If the initial density is not resolved, or a run fails.

    Examples
    --------
    >>> import meanfield as mf
    >>> law = mf.perturbed_uniform([[3, 0.1, 0.0]])
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA, law)
    >>> study = convergence_study(problem, until=5.0, save=2, tokens=(20, 2000), runs=8)
    >>> bool(abs(study.exponent + 0.5) < 0.1)
    True
    """
    problem = as_problem(problem)
    times, scaled_step = timing(problem, until, save, unit=unit, step=step)
    options = StudyOptions(tuple(int(n) for n in tokens), runs, metric, seed)
    usual = tolerance == DEFAULT_TOLERANCE
    saved = save if isinstance(save, int) else [float(time) for time in save]
    request = Request(
        "comparison",
        lambda: comparison(
            problem, times, options, tolerance=tolerance, max_degree=max_degree, step=scaled_step
        ),
        options,
        "convergence_study",
        problem,
        Options(tolerance=None if usual else tolerance, max_degree=max_degree),
        {"end": float(until), "unit": unit, "save": saved, "step": step},
        left=partial(systems_left, options),
    )
    return request.results(Execution(output, resume, overwrite, workers, executor, progress))


def systems_left(options: StudyOptions, stored: ConvergenceStudy | None) -> int:
    """Number of particle systems that a stored study lacks."""
    finished = 0 if stored is None else int(stored.finished.sum())
    return len(options.tokens) * options.runs - finished


@dataclass(frozen=True, eq=False)
class Comparison(ArrayStudy[ConvergenceStudy]):
    """Plan of a study after its density run.

    Tables have the shape (n_sizes, runs, n_times, 2), with the values of `system_distances`.
    """

    problem: Problem
    options: StudyOptions
    tolerance: float  # of the time steps
    reference: Reference
    step: float | None = None  # time step of noisy tokens, scaled time
    # (n_times,): proved bounds of the exponents by which distances grow; NaN without a proof.
    certified: FloatArray = field(default_factory=lambda: np.full((), np.nan))
    unit: ClassVar[str] = "particle systems"
    overhead: ClassVar[int] = 10_000
    measured: ClassVar[tuple[str, ...]] = ("distances", "widths")

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.reference.times),)

    def run(self, runs: Runs) -> FloatArray:
        options = self.options
        return np.array(
            [
                system_distances(
                    self.problem,
                    self.reference,
                    runs.size,
                    rng_of(options.seed, runs.size, number),
                    metric=options.metric,
                    tolerance=self.tolerance,
                    step=self.step,
                )
                for number in runs.numbers
            ]
        )

    def check_resumes(self, stored: ConvergenceStudy, path: Path, label: str) -> None:
        # Times end with the resolution of the density.
        if len(stored.times) != len(self.reference.times):
            raise OutputError(f"{path} ends at another time. Use --overwrite to start again.")

    def results(self, table: FloatArray) -> ConvergenceStudy:
        # Heads with matrices have no rates by degree.
        isotropic = self.problem.is_isotropic
        return ConvergenceStudy(
            self.reference.times,
            np.array(self.options.tokens),
            table[..., 0].copy(),
            self.options.metric,
            growth_rate_max(self.problem) if isotropic else math.nan,
            np.array(
                [
                    onset_time(self.problem, n) if isotropic else math.inf
                    for n in self.options.tokens
                ]
            ),
            self.reference.note,
            problem_attributes(self.problem) | {"seed": self.options.seed},
            widths=table[..., 1].copy(),
            certified_exponents=self.certified,
        )


def comparison(
    problem: Problem,
    times: FloatArray,
    options: StudyOptions,
    *,
    tolerance: float,
    max_degree: int | None,
    step: float | None = None,
) -> Comparison:
    """Run the density, and return the plan of the particle systems; `times` are scaled."""
    # Check the ranges of tolerance and degree.
    checked = Options(tolerance=tolerance, max_degree=max_degree, step=step)
    check_step(problem, step)
    check_no_layers(problem, "comparisons")
    if options.metric == "mmd" and not _has_positive_kernel(problem):
        raise ValueError(
            'metric "mmd" is of the kernel e^{beta <x, y>}, beta > 0, and the problem has '
            f"beta = {problem.beta:g}: take W1, W2 or sobolev."
        )
    reference = density_reference(
        problem, times, tolerance=checked.step_tolerance, max_degree=checked.max_degree
    )
    certified = certified_exponents(problem, reference, options.metric)
    return Comparison(problem, options, tolerance, reference, step, certified)


def certified_exponents(problem: Problem, reference: Reference, metric: str) -> FloatArray:
    """Proved bounds of the exponents by which distances to the density grow.

    NaN for other metrics than W_1 and W_2, for noisy tokens, and where no bound is proved. For
    softmax they depend on the smallest Z of the density.
    """
    from meanfield.certificates.radius import growth

    unknown = np.full(len(reference.times), np.nan)
    # Empirical measures of noisy tokens do not solve the equation of the density.
    if metric not in ("W1", "W2") or problem.flow.diffusivity:
        return unknown
    try:
        return growth(problem, reference.times, reference.densities, p=int(metric[1]))[0]
    except ValueError:
        return unknown


def _has_positive_kernel(problem: Problem) -> bool:
    """True if the kernel is e^{beta <x, y>} with beta > 0; for heads beta is their largest."""
    return problem.kernel.is_exponential and problem.beta > 0.0


@dataclass(frozen=True, eq=False)
class Reference:
    """The density run up to its last resolved saved time."""

    times: FloatArray  # (n_times,): scaled times, 0 first
    densities: tuple[Density, ...]
    note: str = ""  # reason of an early end, else empty


def density_reference(
    problem: Problem, times: FloatArray, *, tolerance: float, max_degree: int | None
) -> Reference:
    """Density run from the problem's initial density, through time 0 and increasing scaled times.

    >>> import meanfield as mf
    >>> law = mf.perturbed_uniform([[3, 0.1, 0.0]])
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA, law)
    >>> density_reference(problem, [1.0], tolerance=1e-10, max_degree=64).times
    array([0., 1.])
    """
    if problem.has_labels:
        raise ValueError(
            "a comparison is with one density, and here each position or frequency has its own: "
            "compare runs of representation 'labelled' and 'particles'."
        )
    measure = initial_density(problem)
    times = np.asarray(times, dtype=np.float64)
    if times[0] > 0:
        times = np.concatenate([[0.0], times])
    start = density(problem, measure, tolerance=tolerance, max_degree=max_degree)
    reached: list[Density] = []
    note = ""
    try:
        for snapshot in trajectory(problem, start, times, tolerance=tolerance):
            reached.append(cast(Density, snapshot.measure))
    except SimulationError as error:
        if not reached:
            raise
        # The remedy in the error is for runs, which may change their representation.
        reason = error.reason.partition(";")[0]
        note = (
            f"the density is resolved up to scaled time {times[len(reached) - 1]:.6g} only "
            f"({reason}); a comparison is with a density, and later times are left out: raise "
            "max_degree, or end there"
        )
    return Reference(times[: len(reached)], tuple(reached), note)


def system_distances(
    problem: Problem,
    reference: Reference,
    tokens: int,
    rng: np.random.Generator,
    *,
    metric: str,
    tolerance: float,
    step: float | None = None,
) -> FloatArray:
    """Distances of one particle system to the density at the reference times, (n_times, 2).

    The last axis has the distance and the width of its bracket, 0 where it is exact.
    """
    points = sample_tokens(reference.densities[0], tokens, rng)
    noise = int(rng.integers(2**63))
    begin = Measure(problem.manifold, points)
    start = particles(problem, begin, seed=noise, step=step, tolerance=tolerance)
    stream = trajectory(problem, start, reference.times, tolerance=tolerance)
    # The last bits of BLAS sums depend on the number of threads.
    with one_blas_thread():
        return np.array(
            [
                METRICS[metric](snapshot.measure, there, problem)
                for snapshot, there in zip(stream, reference.densities, strict=True)
            ]
        )
