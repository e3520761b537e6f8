"""Pair correlations of N tokens, measured in many runs by their second moments.

Every run draws N tokens from the initial law, moves them, and records at each time

    q_l = int int P_l(<x, y>) dmu^N dmu^N = |c_l|^2 (circle),  1/(2l+1) sum_m |c_lm|^2 (sphere).

The means of q_l determine the law of the angle between two tokens, `papers.pair_correlation` (1).
Its errors follow from covariances, as psi at an angle and the energy are linear sums of q_l.

Runs may also start without tokens. About uniform, small moments are Gaussian with variance C_l / N
(`linear_growth`). A quiet start (`corrected_law`) makes nodes from a draw of such moments, and the
flow moves the nodes. No closure is needed, so these runs reach clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt

from meanfield.arguments import at_least, checked
from meanfield.arrays import FloatArray, ModalArray
from meanfield.described import plot_method
from meanfield.errors import list_names
from meanfield.measures import Measure
from meanfield.papers.pair_correlation import (
    CLOSURES,
    correlations_of,
    linear_growth,
    pair_basis,
    pair_energies,
)
from meanfield.problem import Problem
from meanfield.progress import followed, wants_bar
from meanfield.spectrum.stability import growth_rates
from meanfield.studies.corrected_law import quiet_degree, quiet_start, quiet_time
from meanfield.studies.executors import finished
from meanfield.studies.study import initial_density, rng_of
from meanfield.studies.token_runs import TOLERANCE, TokenRuns, moved_by_moments, token_runs


@dataclass(frozen=True, eq=False)
class PairCorrelation:
    """Second moments of many runs of N tokens, and pair correlations computed from them.

    Attributes
    ----------
    problem : Problem
    tokens, runs : int
        N, and the number of independent runs.
    times : ndarray, shape (n_times,)
        Scaled time.
    second_moments : ndarray, shape (n_times, max_degree + 1)
        E|c_l|^2, the means of q_l over the runs; 1 for degree 0.
    covariances : ndarray, shape (n_times, max_degree + 1, max_degree + 1)
        Covariances of these means, estimated from the runs.
    standard_errors : ndarray, shape (n_times, max_degree + 1)
        Standard errors of the second moments.
    correlations, correlation_errors : ndarray, shape (n_times, max_degree + 1)
        psi^_l = E P_l(<x_1, x_2>) from the identity E|c_l|^2 = 1/N + (1 - 1/N) psi^_l, and
        its standard errors.
    energy, energy_error : ndarray, shape (n_times,)
        Mean interaction energy in the unit of `interaction_energy`; NaN for heads with matrices.
        For large beta, once clusters have formed, it is the weight of the peak of psi at angle 0.
    """

    problem: Problem
    tokens: int
    runs: int
    times: FloatArray
    second_moments: FloatArray
    covariances: FloatArray
    standard_errors: FloatArray = field(init=False)
    correlations: FloatArray = field(init=False)
    correlation_errors: FloatArray = field(init=False)
    energy: FloatArray = field(init=False)
    energy_error: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        variances = np.diagonal(self.covariances, axis1=1, axis2=2)
        errors = np.sqrt(np.maximum(variances, 0.0))
        object.__setattr__(self, "standard_errors", errors)
        object.__setattr__(self, "correlations", correlations_of(self.second_moments, self.tokens))
        object.__setattr__(self, "correlation_errors", errors / (1.0 - 1.0 / self.tokens))
        nothing = np.full(len(self.times), np.nan)
        energy, error = nothing, nothing
        if self.problem.kernel_alone:
            weights = pair_energies(self.problem, self.max_degree)
            energy, error = self.second_moments @ weights, self._error_of(weights)
        object.__setattr__(self, "energy", energy)
        object.__setattr__(self, "energy_error", error)

    @property
    def max_degree(self) -> int:
        """Largest degree of the moments."""
        return len(self.second_moments[0]) - 1

    @checked
    def psi(self, angles: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Pair correlation psi(t, angle) and its standard error, a series up to max_degree.

        It is the density of the angle between two tokens relative to uniform tokens. A peak
        narrower than 2 pi / max_degree is not resolved, and oscillates.

        angles (n,) are in radians, on the sphere from 0 to pi; results have shape (n_times, n).
        """
        places = np.atleast_1d(np.asarray(angles, dtype=np.float64))
        if places.ndim != 1 or not np.isfinite(places).all():
            raise ValueError(f"angles must be a list of finite numbers, got {angles!r}.")
        basis = pair_basis(self.problem.manifold.dimension, self.max_degree, places)
        error = self._error_of(basis.T) / (1.0 - 1.0 / self.tokens)
        return self.correlations @ basis, error

    @checked
    def closure(self, name: str = "linear") -> FloatArray:
        """Correlations psi^_l predicted by a closure at the same times, (n_times, max_degree + 1).

        name: "linear", "third cumulant" or "Kirkwood", see docs/finite-n.md. ValueError if it is
        not known, the initial law is not uniform, or the flow or a time is outside its range.
        """
        if name not in CLOSURES:
            raise ValueError(f"closure {name!r} is not known. {list_names(name, CLOSURES)}")
        if initial_density(self.problem).max_degree > 0:
            raise ValueError(
                "closures start from uniform tokens, and the initial law is "
                f"{self.problem.initial.name!r}: take mf.uniform()."
            )
        return CLOSURES[name](self.problem, self.tokens, self.times, self.max_degree)

    plot = plot_method(
        "PairCorrelation.plot",
        "Figure of psi with its error band and of E|c_l|^2, beside the closures that are known.",
        on_axes=False,
    )

    def _error_of(self, weights: FloatArray) -> FloatArray:
        """Standard errors of weighted sums of second moments, weights (K + 1,) or (n, K + 1)."""
        variance = np.einsum("...k,tkl,...l->t...", weights, self.covariances, weights)
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))

    def __repr__(self) -> str:
        return (
            f"PairCorrelation({self.problem!r}, {self.tokens} tokens, {self.runs} runs, "
            f"{len(self.times)} times up to {self.times[-1]:g}, degrees up to {self.max_degree})"
        )


@dataclass(frozen=True, eq=False)
class _Plan:
    """Checked arguments of `pair_correlation`."""

    of: TokenRuns
    degree: int
    waves: bool

    @property
    def problem(self) -> Problem:
        return self.of.problem


@checked
def pair_correlation(
    problem: Problem,
    tokens: int = 100,
    *,
    times: Sequence[float],
    runs: int = 1000,
    max_degree: int | None = None,
    seed: int = 0,
    tolerance: float = TOLERANCE,
    step: float | None = None,
    start: Literal["tokens", "random phase"] = "tokens",
    executor: Executor | None = None,
    progress: bool | None = None,
) -> PairCorrelation:
    """Pair correlation of N tokens drawn from the initial law, measured in many runs.

    Parameters
    ----------
    problem : Problem
        On the circle or the sphere, with attention alone and a density as its initial law.
    tokens : int
        N, at least 2.
    times : sequence of float
        Scaled times, not negative and increasing.
    runs : int
        Independent runs, at least 2. More runs of the same seed repeat the first ones.
    max_degree : int, optional
        Largest degree of psi; the default, and the minimum, is that of the moments in run files.
    seed : int
        Seed of all runs.
    tolerance : float
        Largest error of a token in a step; not used with noise.
    step : float, optional
        Longest step, required with noise (weak order two). Without noise steps are adaptive.
    start : str
        "tokens", or "random phase": Gaussian moments of the linear phase, which the nonlinear
        flow moves on to clusters. It needs uniform tokens, so many that fluctuations start small
        (from some thousand on). Its cost does not depend on N.
    executor, progress
        As in `meanfield.ensemble`.

    Raises
    ------
    TypeError
        If the initial law gives points.
    ValueError
        If a value is out of range, or the problem is not supported.
    SimulationError
        If a run cannot continue.

    See Also
    --------
    meanfield.papers.pair_correlation : closures that predict it for uniform tokens.

    References
    ----------
    Geshkovski, Letrouit, Polyanskiy, Rigollet, arXiv:2312.10794, section 8.

    Examples
    --------
    Independent tokens have psi = 1. Later psi is above 1 at small angles:

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA)
    >>> found = mf.pair_correlation(problem, 32, times=[0.0, 4.0], runs=200)
    >>> psi, error = found.psi([0.0, 1.5])
    >>> bool(psi[1, 0] - psi[0, 0] > 5.0 * error[1, 0] and psi[1, 1] < 1.0)
    True
    """
    plan = _planned(problem, tokens, times, runs, max_degree, seed, tolerance, step, start)
    parts: dict[int, tuple[FloatArray, FloatArray]] = {}
    done = finished(partial(_sums, plan), plan.of.blocks(runs), executor)
    if wants_bar(progress):
        done = followed(done, runs, "runs", weight=lambda part: len(part[0]))
    for block, part in done:
        parts[block.start] = part
    # In one order, whichever block finished first: sums do not depend on the executor.
    first, second = (sum(parts[at][i] for at in sorted(parts)) for i in (0, 1))
    mean = np.asarray(first) / runs
    covariances = (np.asarray(second) / runs - mean[:, :, None] * mean[:, None, :]) / (runs - 1)
    return PairCorrelation(problem, tokens, runs, plan.of.times, mean, covariances)


def _planned(
    problem: Problem,
    tokens: int,
    times: Sequence[float],
    runs: int,
    max_degree: int | None,
    seed: int,
    tolerance: float,
    step: float | None,
    start: str,
) -> _Plan:
    """Check the arguments of `pair_correlation`."""
    of = token_runs(
        problem, tokens, times, runs, seed=seed, tolerance=tolerance, step=step,
        what="pair correlations",
    )  # fmt: skip
    if problem.terms or problem.normalization == "sinkhorn":
        raise ValueError(
            "pair correlations are those of attention alone, softmax or none: use mf.simulate for "
            "fixed fields and doubly stochastic attention."
        )
    degree = problem.moment_degree
    if max_degree is not None:
        at_least(1, max_degree=max_degree)
        degree = max(degree, max_degree)
    waves = start == "random phase"
    if waves and (step is not None or of.density.max_degree > 0):
        raise ValueError(
            "random phases are those of uniform tokens without noise, got initial law "
            f"{problem.initial.name!r} and diffusivity = {problem.flow.diffusivity:g}: use start = "
            '"tokens".'
        )
    if waves and not quiet_time(problem, tokens) > 0.0:
        raise ValueError(
            f"fluctuations of {tokens} tokens are not small at time 0: random phases need more "
            'tokens, and so few are cheap to follow with start = "tokens".'
        )
    return _Plan(of, degree, waves)


def _sums(plan: _Plan, runs: range) -> tuple[FloatArray, FloatArray]:
    """Sums over some runs of q_l, (n_times, K + 1), and of q_k q_l, (n_times, K + 1, K + 1)."""
    sums = np.empty((len(runs), len(plan.of.times), plan.degree + 1))
    if plan.waves:
        for row, run in zip(sums, runs, strict=True):
            _fill_waves(plan, rng_of(plan.of.seed, plan.of.tokens, run), row)
    else:
        for number, index, points in plan.of.points(runs):
            moments = plan.problem.manifold.moments(points, None, plan.degree)
            sums[number, index] = _sizes(plan, moments)
    by_time = sums.swapaxes(0, 1)
    return sums.sum(axis=0), np.matmul(by_time.swapaxes(1, 2), by_time)


def _sizes(plan: _Plan, moments: ModalArray) -> FloatArray:
    """q_l of some moments, (..., K + 1)."""
    space = plan.problem.manifold
    return np.asarray((space.sizes_by_degree(moments) / space.largest_sizes(plan.degree)) ** 2)


def _fill_waves(plan: _Plan, rng: np.random.Generator, sizes: FloatArray) -> None:
    """Fill q_l, (n_times, K + 1), of one draw of random phases, moved by the flow."""
    times = plan.of.times
    start, sizes[:] = _random_phases(plan, rng)
    quiet = quiet_time(plan.problem, plan.of.tokens)
    first = int(np.searchsorted(times, quiet, side="right"))
    if first < len(times):
        stream = moved_by_moments(plan.problem, start, times[first:] - quiet, plan.of.tolerance)
        for index, measure in enumerate(stream, first):
            sizes[index] = _sizes(plan, measure.moments(plan.degree))


def _random_phases(plan: _Plan, rng: np.random.Generator) -> tuple[Measure, FloatArray]:
    """Nodes at the quiet time, and q_l at all times under the linear flow."""
    from meanfield.spaces.maxima import gaussian_fields

    problem, start = plan.problem, quiet_time(plan.problem, plan.of.tokens)
    variances = linear_growth(problem, [start], plan.degree)[0] / plan.of.tokens
    variances[0] = 0.0
    moments = gaussian_fields(problem.manifold, variances, 1, rng)[0]
    back = np.minimum(plan.of.times - start, 0.0)[:, None]
    linear = _sizes(plan, moments) * np.exp(2.0 * growth_rates(problem, plan.degree) * back)
    linear[:, 0] = 1.0
    # Every degree fluctuates, also beyond the kernel.
    grid_degree = max(quiet_degree(problem), plan.degree)
    return quiet_start(problem.manifold, moments, grid_degree), linear
