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
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray
from meanfield.problem import Problem
from meanfield.representations.options import DEFAULT_TOLERANCE, Options
from meanfield.representations.step_limits import check_step
from meanfield.run import problem_attributes
from meanfield.simulation import scaled_times
from meanfield.studies.convergence_results import ConvergenceStudy
from meanfield.studies.options import StudyOptions
from meanfield.studies.particle_systems import Reference, density_reference, system_distances
from meanfield.studies.study import Runs, Study, made, rng_of
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
    return comparison(
        problem,
        scaled_times(problem, until, save, unit),
        StudyOptions(tuple(int(n) for n in tokens), repetitions, metric, seed),
        tolerance=tolerance,
        max_degree=max_degree,
        step=None if step is None else step * time_unit(problem, unit),
    ).completed(executor)


@dataclass(frozen=True, eq=False)
class Comparison(Study[FloatArray, ConvergenceStudy]):
    """What a study is to do: the density run is done, the particle systems are not.

    A table of results has the shape (n_sizes, repetitions, n_times, 2); its last axis holds
    distance and width, as `system_distances` gives them.

    Attributes
    ----------
    reference : Reference
        Given.
    step : float or None
        Given. Time step of noisy tokens, scaled time.
    """

    options: StudyOptions
    reference: Reference
    step: float | None = None
    unit: ClassVar[str] = "particle systems"
    overhead: ClassVar[int] = 10_000

    def empty(self) -> FloatArray:
        """NaN."""
        sizes = (len(self.options.tokens), self.options.repetitions, len(self.reference.times))
        return np.full((*sizes, 2), np.nan)

    def lacking(self, table: FloatArray) -> npt.NDArray[np.bool_]:
        """NaN at some time."""
        return np.asarray(np.isnan(table).any(axis=(2, 3)))

    def run(self, runs: Runs) -> FloatArray:
        """Distances of some particle systems."""
        asked = self.options
        return np.array(
            [
                system_distances(
                    self.problem,
                    self.reference,
                    runs.tokens,
                    rng_of(asked.seed, runs.tokens, number),
                    metric=asked.metric,
                    tolerance=self.tolerance,
                    step=self.step,
                )
                for number in runs.numbers
            ]
        )

    def placed(self, table: FloatArray, runs: Runs, part: FloatArray) -> FloatArray:
        """The table itself, filled."""
        table[self.place(runs)] = part
        return table

    def resumed(self, stored: ConvergenceStudy) -> FloatArray:
        """What a study of the same times measured."""
        table = self.empty()
        for i, n in enumerate(stored.tokens.tolist()):
            held = np.stack([stored.distances[i], stored.widths[i]], axis=-1)
            table[self.options.tokens.index(n), : len(held)] = held
        return table

    def results(self, table: FloatArray) -> ConvergenceStudy:
        """Study of the distances measured so far."""
        return ConvergenceStudy(
            self.reference.times,
            np.array(self.options.tokens),
            table[..., 0].copy(),
            self.options.metric,
            growth_rate_max(self.problem),
            np.array([onset_time(self.problem, n) for n in self.options.tokens]),
            self.reference.note,
            problem_attributes(self.problem) | {"seed": self.options.seed},
            widths=table[..., 1].copy(),
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
    return Comparison(problem, options, tolerance, reference, step)
