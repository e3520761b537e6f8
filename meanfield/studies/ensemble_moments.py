"""Moments of many runs of N tokens: measured covariance and mean shift about the limit.

Moments of runs differ from their mean by N^{-1/2}, far more than the mean shift
E m - m(mu_t) = eta / N. Influence functions give this error of a run up to O(1/N) from its tokens
at time 0,

    m(mu^N_t) = p + O(1/N),    p = m(mu_t) + (1/N) sum_i psi(x_i),    E p = m(mu_t),

so that p is a control variate: with d = m - m(mu_t), q = p - m(mu_t), r = m - p

    N (E m - m(mu_t)) = N E r,    N Cov m = int psi psi* dmu_0 + N (Cov(q, r) + Cov(r, q) + Cov r),

and the measured r is O(1/N) itself. p does not contain later noise.

Glasserman, Monte Carlo Methods in Financial Engineering (2003), 4.1 (control variates).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from meanfield.arguments import at_least, checked
from meanfield.arrays import FloatArray, ModalArray
from meanfield.bases.coordinates import Coordinates, coordinates
from meanfield.carriers.options import MOMENTS_DEGREE
from meanfield.engines.threads import one_blas_thread
from meanfield.finite.influence import (
    BackwardSweep,
    Functional,
    check_degrees,
    function_of,
    swept,
    variation,
)
from meanfield.finite.path import Path, Settings, resolved
from meanfield.finite.results import moments_of_coordinates
from meanfield.problem import Problem
from meanfield.progress import followed, wants_bar
from meanfield.studies.executors import finished
from meanfield.studies.token_runs import TOLERANCE, TokenRuns, token_runs

# Tolerance of the limit: the shift contains N times its error.
_LIMIT_TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class Estimate:
    """Means over runs, `value`, and their standard errors, `error`, of the modulus if complex."""

    value: ModalArray
    error: FloatArray


@dataclass(frozen=True, eq=False)
class EnsembleMoments:
    """Moments of many runs of N tokens, and their predictions from the tokens at time 0.

    Attributes
    ----------
    problem : Problem
    tokens : int
        N.
    times : ndarray, shape (n_times,)
        Scaled.
    limit : ndarray, shape (n_times, coefficients)
        Moments of the limit, packed.
    samples : ndarray, shape (runs, n_times, coefficients)
        Moments of each run, packed.
    predicted : ndarray, shape (runs, n_times, coefficients)
        The same up to O(1/N), by influence functions of the tokens at time 0.
    drawn : ndarray, shape (n_times, size, size)
        Exact N Cov of the predictions, in the real coordinates of `bases.coordinates`.
    """

    problem: Problem
    tokens: int
    times: FloatArray
    limit: ModalArray
    samples: ModalArray
    predicted: ModalArray
    drawn: FloatArray

    @cached_property
    def _coordinates(self) -> Coordinates:
        space = self.problem.manifold
        return coordinates(space.dimension, space.degree_of(self.limit))

    def _flat(self, packed: ModalArray) -> ModalArray:
        """Moments in the flat layout of files."""
        array = self.problem.manifold.unpacked(packed)
        return np.asarray(array.reshape(*packed.shape[:-1], -1))

    @checked
    def shift(self, *, control: bool = True) -> Estimate:
        """N (E m - limit), shape (n_times, moments), in the order of `Fluctuations.shift`.

        control: whether influence functions are control variates; else it is a plain mean.
        """
        return self._linear(control).shift

    @checked
    def covariance(self, *, control: bool = True) -> Estimate:
        """N Cov(m_a, conj m_b), shape (n_times, moments, moments); control as in `shift`."""
        return self._linear(control).covariance

    @checked
    def of(self, observable: Functional, *, control: bool = True) -> tuple[Estimate, Estimate]:
        """N (E J - J(limit)) and N Var J of an observable, each of shape (n_times,).

        Its influence function follows from the moments' by the chain rule. ValueError if
        the observable is "energy" and the moments end below the degree of the kernel.
        """
        of, space = self._coordinates, self.problem.manifold
        check_degrees(self.problem, observable, space.degree_of(self.limit))
        here = [variation(self.problem, observable, each) for each in self.limit]
        estimates = np.array([each.value for each in here])
        slopes = np.array([of.to_vector(space.resize(each.field, space.degree_of(self.limit)))
                           for each in here])  # fmt: skip
        value = function_of(self.problem, observable)
        values = np.array([[value(moments) for moments in run] for run in self.samples])
        along = np.einsum("rtj,tj->rt", of.to_vector(self.predicted - self.limit), slopes)
        drawn = np.einsum("ti,tij,tj->t", slopes, self.drawn, slopes)
        deviations = _Deviations(
            self.tokens,
            (values - estimates)[..., None],
            along[..., None] if control else None,
            drawn[:, None, None],
        )
        shift, variance = deviations.shift, deviations.covariance
        return (
            Estimate(shift.value[:, 0], shift.error[:, 0]),
            Estimate(variance.value[:, 0, 0].real, variance.error[:, 0, 0]),
        )

    def _linear(self, control: bool) -> _Deviations:
        space = self.problem.manifold
        basis = moments_of_coordinates(space, space.degree_of(self.limit))
        return _Deviations(
            self.tokens,
            self._flat(self.samples - self.limit),
            self._flat(self.predicted - self.limit) if control else None,
            basis.T @ self.drawn @ basis.conj(),
        )

    def __repr__(self) -> str:
        return (
            f"EnsembleMoments({len(self.samples)} runs of {self.tokens} tokens, {len(self.times)} "
            f"times up to t = {self.times[-1]:.6g}, degree "
            f"{self.problem.manifold.degree_of(self.limit)})"
        )


@dataclass(frozen=True, eq=False)
class _Deviations:
    """Deviations of runs from the limit (R, T, M), control variates `known`, and their N Cov."""

    tokens: int
    found: ModalArray
    known: ModalArray | None
    drawn: ModalArray

    @cached_property
    def rest(self) -> ModalArray:
        """Deviations minus their control variates."""
        return self.found if self.known is None else self.found - self.known

    @property
    def shift(self) -> Estimate:
        """N times the mean."""
        return _mean(self.tokens * self.rest)

    @property
    def covariance(self) -> Estimate:
        """N times the covariance."""
        runs = len(self.rest)
        rest = self.rest - self.rest.mean(axis=0)
        products = _outer(rest, rest)
        if self.known is not None:
            products += _outer(self.known, rest) + _outer(rest, self.known)
        measured = _mean(self.tokens * runs / (runs - 1) * products)
        return measured if self.known is None else Estimate(
            self.drawn + measured.value, measured.error
        )  # fmt: skip


def _outer(first: ModalArray, second: ModalArray) -> ModalArray:
    return np.asarray(first[..., :, None] * second[..., None, :].conj())


def _mean(samples: ModalArray) -> Estimate:
    """Mean over the first axis, and its standard error."""
    mean = samples.mean(axis=0)
    variance = (np.abs(samples - mean) ** 2).sum(axis=0) / (len(samples) - 1)
    return Estimate(mean, np.sqrt(variance / len(samples)))


@checked
def ensemble_moments(
    problem: Problem,
    tokens: int,
    *,
    times: Sequence[float],
    runs: int = 1000,
    degree: int = MOMENTS_DEGREE,
    seed: int = 0,
    tolerance: float = TOLERANCE,
    step: float | None = None,
    executor: Executor | None = None,
    progress: bool | None = None,
) -> EnsembleMoments:
    """Moments of many runs of N tokens drawn from the initial law, with control variates.

    They measure what `mf.fluctuations` predicts. 1,000 runs of 1,000 tokens take some ten seconds
    and show the mean shift, for which plain means would need a thousand times as many runs.

    Parameters
    ----------
    problem : Problem
        On the circle or the sphere, with one stage, and a density as its initial law.
    tokens : int
        N.
    times : sequence of float
        Scaled times, positive and increasing; each costs a sweep for its influence functions.
    runs : int
        Number of independent runs, at least 2. More runs with the same seed repeat the first ones.
    degree : int
        Largest degree of the moments.
    seed : int
        Seed of all runs.
    tolerance : float
        Largest error of a token in a step; not used with noise.
    step : float, optional
        Longest step of weak order two, which noise needs. Without noise steps are adaptive.
    executor : concurrent.futures.Executor, optional
        Where to run; by default in this process. The result is the same to the bit.
    progress : bool, optional
        Show a bar; by default in notebooks.

    Returns
    -------
    EnsembleMoments

    Raises
    ------
    TypeError
        If the initial law gives points.
    ValueError
        If a value is out of range, or the flow has no linearisation, see `mf.influence`.
    SimulationError
        If the limit or its influence functions are not resolved up to a time, or a run fails.

    Examples
    --------
    The measured shift agrees with the predicted one, and control variates reduce its error:

    >>> import meanfield as mf
    >>> law = mf.from_density([1.0, 0.25])
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=2.0), mf.SA, law)
    >>> found = mf.ensemble_moments(problem, 200, times=[1.0], runs=100, degree=1)
    >>> expected = mf.fluctuations(problem, until=1.0, save=2, degree=1).shift[-1, 1].real
    >>> measured, plain = found.shift(), found.shift(control=False)
    >>> bool(abs(measured.value[-1, 1] - expected) < 4 * measured.error[-1, 1])
    True
    >>> bool(plain.error[-1, 1] > 4 * measured.error[-1, 1])
    True
    """
    at_least(1, degree=degree)
    wanted = np.asarray(times, dtype=np.float64)
    if not len(wanted) or not wanted[0] > 0.0:
        raise ValueError(f"times must be positive and increasing, got {list(times)}.")
    all_times = np.array([0.0, *wanted])
    of = token_runs(
        problem, tokens, all_times, runs, seed=seed, tolerance=tolerance, step=step,
        what="moments of ensembles",
    )  # fmt: skip
    with one_blas_thread():
        plan = _planned(of, degree)
    parts: dict[int, tuple[ModalArray, ModalArray]] = {}
    done = finished(partial(_moments, plan), of.blocks(runs), executor)
    if wants_bar(progress):
        done = followed(done, runs, "runs", weight=lambda part: len(part[0]))
    for block, part in done:
        parts[block.start] = part
    samples, predicted = (
        np.concatenate([parts[at][i] for at in sorted(parts)]) for i in (0, 1)
    )  # fmt: skip
    return EnsembleMoments(problem, tokens, wanted, plan.limit, samples, predicted, plan.drawn)


@dataclass(frozen=True, eq=False)
class _Plan:
    """Runs, and the map from their start to their predicted moments."""

    of: TokenRuns
    limit: ModalArray  # (n_times, coefficients): packed
    degree: int  # of influence functions
    # (n_times, size, 1 + size at that degree): maps 1 and the moments at time 0 to the change of
    # the predicted moments, all in real coordinates.
    matrix: FloatArray
    drawn: FloatArray  # (n_times, size, size): N Cov of the predicted coordinates


def _planned(of: TokenRuns, degree: int) -> _Plan:
    space = of.problem.manifold
    moments = coordinates(space.dimension, degree)
    fields = moments.to_coefficients(np.eye(moments.size))

    def made(path: Path) -> tuple[ModalArray, BackwardSweep]:
        return space.resize(path.last, degree), swept(path, fields, settings.allowed)

    limit: list[ModalArray] = []
    sweeps: list[BackwardSweep] = []
    for time in of.times[1:]:
        settings = Settings(of.problem, (0.0, float(time)), None, _LIMIT_TOLERANCE)
        last, sweep = resolved(settings, made)
        limit.append(last)
        sweeps.append(sweep)
    largest = max(space.degree_of(each.coefficients) for each in sweeps)
    psi = np.array([space.resize(each.coefficients, largest) for each in sweeps])
    fine = coordinates(space.dimension, largest).to_vector(psi)
    matrix = np.concatenate([psi[..., :1].real, fine], axis=-1)
    return _Plan(of, np.array(limit), largest, matrix, np.array([each.drawn for each in sweeps]))


def _moments(plan: _Plan, runs: range) -> tuple[ModalArray, ModalArray]:
    """Measured and predicted moments of a block, each (len(runs), n_times, coefficients)."""
    space = plan.of.problem.manifold
    degree = space.degree_of(plan.limit)
    coarse, fine = (coordinates(space.dimension, each) for each in (degree, plan.degree))
    samples = np.empty((len(runs), *plan.limit.shape), dtype=np.complex128)
    predicted = np.empty_like(samples)
    for row, index, points in plan.of.points(runs):
        if index:
            samples[row, index - 1] = space.moments(points, None, degree)
        else:
            start = fine.to_vector(space.moments(points, None, plan.degree))
            change = plan.matrix[..., 0] + plan.matrix[..., 1:] @ start
            predicted[row] = plan.limit + coarse.to_coefficients(change)
    return samples, predicted
