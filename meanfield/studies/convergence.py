"""Convergence of particle systems to the mean-field limit, and how errors grow with time.

D_n(t) = W_p(mu^n_t, f_t) is measured for particle systems of several sizes n against the density
f_t run from the law that their tokens are drawn from. On the circle the empirical measure of n
independent tokens is about n^{-1/2} away from their law; propagation of chaos carries this to later
times, amplified at most as fast as perturbations grow, about uniform like e^{lambda_max t}.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.problem import Problem
from meanfield.representations.options import DEFAULT_TOLERANCE, Options
from meanfield.representations.step_limits import check_step
from meanfield.run import problem_attributes
from meanfield.simulation import scaled_times
from meanfield.studies.convergence_results import ConvergenceStudy
from meanfield.studies.executors.finished import finished
from meanfield.studies.options import StudyOptions
from meanfield.studies.particle_systems import (
    Reference,
    System,
    density_reference,
    system_distances,
)
from meanfield.studies.sources import made
from meanfield.theory.stability import growth_rate_max, onset_time
from meanfield.theory.time_units import time_unit


def convergence_study(
    problem: Problem | Callable[[], Problem],
    until: float,
    *,
    save: int | Sequence[float] = 61,
    tokens: Sequence[int] = (100, 1000, 10000),
    repetitions: int = 20,
    metric: str = "W1",
    seed: int = 0,
    tolerance: float = DEFAULT_TOLERANCE,
    max_degree: int | None = None,
    unit: str = "scaled",
    step: float | None = None,
    executor: Executor | None = None,
) -> ConvergenceStudy:
    """Particle systems of growing size against the density run from the same law.

    Parameters
    ----------
    problem : Problem or callable () -> Problem
        With a density as its initial law, or what makes it.
    until, save, unit : float, int or sequence of float, str
        As in `simulate`; time 0 is always saved.
    tokens : sequence of int
        Sizes of the particle systems, increasing.
    repetitions : int
        Independent systems of each size. Each draws from a generator seeded by (seed, size,
        repetition) and by nothing else.
    metric : str
        "W1", "W2" or "sobolev" (see `meanfield.transport.sobolev_distance`).
    seed : int
        Seed of the study.
    tolerance, max_degree : float, int
        As in `Options`, of the density run; the particle systems step with the same tolerance.
    step : float, optional
        Time step of noisy particle systems, in `unit`; they need one.
    executor : concurrent.futures.Executor, optional
        Where to run the particle systems; in this process by default. The result is the same.

    Returns
    -------
    ConvergenceStudy
        Up to the last time at which the density is resolved; `note` says so if that is early.

    Raises
    ------
    TypeError
        If the initial law gives points, or a function in the problem, such as a lambda, cannot be
        sent to the processes of the executor.
    ValueError
        If a value is out of range.
    SimulationError
        If the initial density is not resolved, or particles cannot go on.

    Examples
    --------
    >>> import meanfield as mf
    >>> law = mf.perturbed_uniform([[3, 0.1, 0.0]])
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA, law)
    >>> study = convergence_study(problem, until=5.0, save=2, tokens=(20, 2000), repetitions=8)
    >>> bool(abs(study.exponent + 0.5) < 0.1)
    True
    """
    problem = made(problem)
    plan = comparison(
        problem,
        scaled_times(problem, until, save, unit),
        StudyOptions(tuple(int(n) for n in tokens), repetitions, metric, seed),
        tolerance=tolerance,
        max_degree=max_degree,
        step=None if step is None else step * time_unit(problem, unit),
    )
    results = plan.empty()
    for system, row in finished(system_distances, plan.missing(results), executor):
        plan.place(results, system, row)
    return plan.study(results)


@dataclass(frozen=True, eq=False)
class Comparison:
    """What a study is to do: the density run is done, the particle systems are not.

    Attributes
    ----------
    problem : Problem
        Given.
    reference : Reference
        Given.
    options : StudyOptions
        Given.
    tolerance : float
        Given.
    step : float or None
        Given. Time step of noisy tokens, scaled time.
    """

    problem: Problem
    reference: Reference
    options: StudyOptions
    tolerance: float
    step: float | None = None

    def empty(self) -> FloatArray:
        """Results before anything is run: NaN, shape (n_sizes, repetitions, n_times, 2).

        The last axis holds distance and width, as `system_distances` gives them.
        """
        sizes = (len(self.options.tokens), self.options.repetitions, len(self.reference.times))
        return np.full((*sizes, 2), np.nan)

    def missing(self, results: FloatArray) -> list[System]:
        """Systems that are still to be run.

        By repetition, large systems first: what an interrupt leaves is balanced, and the
        last ones to finish are short.
        """
        return [
            System(
                self.problem,
                self.reference,
                self.options.tokens[i],
                repetition,
                self.options.seed,
                self.options.metric,
                self.tolerance,
                self.step,
            )
            for repetition in range(self.options.repetitions)
            for i in reversed(range(len(self.options.tokens)))
            if np.isnan(results[i, repetition]).any()
        ]

    def place(self, results: FloatArray, system: System, row: FloatArray) -> None:
        """Write the results of one system where they belong."""
        results[self.options.tokens.index(system.tokens), system.repetition] = row

    def study(self, results: FloatArray) -> ConvergenceStudy:
        """Study of the distances measured so far."""
        return ConvergenceStudy(
            self.reference.times,
            np.array(self.options.tokens),
            results[..., 0].copy(),
            self.options.metric,
            growth_rate_max(self.problem),
            np.array([onset_time(self.problem, n) for n in self.options.tokens]),
            self.reference.note,
            problem_attributes(self.problem) | {"seed": self.options.seed},
            widths=results[..., 1].copy(),
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
    """Run the density, and say which particle systems to run.

    `times` are scaled times; the rest is as in `convergence_study`.

    Raises
    ------
    TypeError, ValueError, SimulationError
        As `convergence_study`.
    """
    # Tolerance and degree have the ranges that they have in a run.
    checked = Options(tolerance=tolerance, max_degree=max_degree, step=step)
    check_step(problem, step)
    reference = density_reference(
        problem, times, tolerance=checked.step_tolerance, max_degree=checked.max_degree
    )
    return Comparison(problem, reference, options, tolerance, step)
