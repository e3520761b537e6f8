"""Bounds of the distance of two runs of one problem, from their distance at the start.

Without normalisation `papers.contraction` has the rates. Under softmax let z(t) be the smallest Z
over the support of one of the two runs. Then

    W_1(t) <= exp(c int_0^t [stretch + source / z] dt) W_1(0).

The bound is a posteriori: the run gives z, and `certificates.partition` bounds it between saves.
Proof: follow an optimal coupling of mu and nu. v[mu] separates its ends at most at the rate
c stretch. At the end of nu, v[nu] - v[mu] =
(c / Z_nu) int a(<x, y>) (P_x y - v_mu(x) / c) d(nu - mu)(y).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meanfield.arguments import at_least, checked
from meanfield.arrays import FloatArray
from meanfield.certificates.partition import (
    LARGEST_LOG,
    TOLERANCE,
    SmallestPartition,
    certified_state,
    distance_ends,
    integral_of_inverse,
    smallest_partition,
)
from meanfield.measures import Density, Measure
from meanfield.papers.contraction import (
    check_order,
    contraction_rates,
    softmax_source,
    softmax_stretch,
)
from meanfield.problem import Problem
from meanfield.runs import Run, nearest_time

State = Density | Measure


@dataclass(frozen=True, eq=False)
class CertifiedRadius:
    """Measured distance W_p of two runs, and its certified bounds.

    - times (k,): scaled times that both runs saved.
    - distance (k, 2): lower and upper bound of the measured W_p; in dimensions above 2 tokens are
      paired in order.
    - lower, upper (k,): certified from the first distance; lower is 0 where nothing is proved.
    - tolerance: largest error of a mean position, radians.
    """

    p: int
    times: FloatArray
    distance: FloatArray
    lower: FloatArray
    upper: FloatArray
    tolerance: float = TOLERANCE

    @property
    def kept(self) -> npt.NDArray[np.bool_]:
        """True at times at which the distance lies between the bounds, shape (k,)."""
        # An error at the start grows like the upper bound.
        with np.errstate(divide="ignore", invalid="ignore"):
            growth = np.where(self.upper[0] > 0.0, self.upper / self.upper[0], 1.0)
        slack = self.tolerance * np.maximum(growth, 1.0)
        below, above = self.distance.T
        return np.asarray((below <= self.upper + slack) & (above >= self.lower - slack))

    @property
    def holds(self) -> bool:
        return bool(self.kept.all())

    @property
    def informative(self) -> npt.NDArray[np.bool_]:
        """True at times at which the upper bound is below pi, the largest distance, shape (k,)."""
        return np.asarray(self.upper < math.pi)

    def __repr__(self) -> str:
        says = self.times[self.informative]
        until = f"says something until t = {says[-1]:.4g}" if len(says) else "says nothing"
        verdict = "holds" if self.holds else f"broken at {int((~self.kept).sum())} times"
        return f"CertifiedRadius(W{self.p} at {len(self.times)} times, {verdict}, {until})"


@checked
def certified_radius(
    first: Run, second: Run, p: int | None = None, *, tolerance: float = TOLERANCE
) -> CertifiedRadius:
    """Bounds of the distance of two runs of one problem, from their distance at the start.

        e^{-lower t} W_p(0) <= W_p(t) <= e^{upper t} W_p(0)

    with the rates of `contraction_rates` without normalisation. Under softmax there is an upper
    bound of W_1, from the smallest Z along the runs. Each run has densities or tokens. Tokens and a
    density give the certified error of the tokens.

    Parameters
    ----------
    first, second : Run
        Runs with states of one problem, except for its initial law; both start at the same time.
    p : int, optional
        1 or 2; by default 2 without normalisation, 1 under softmax, which has no bound of W_2.
    tolerance : float
        Largest error of a mean position at the start, radians.

    Returns
    -------
    CertifiedRadius
        At the times that both saved. Its `holds` is false for runs of different equations, or with
        wrong steps.

    Raises
    ------
    ValueError
        If the problems differ, no bound is proved, the runs have no saved time in common, states
        were not kept, or the space has no distance.

    Examples
    --------
    >>> import meanfield as mf
    >>> law = mf.perturbed_uniform([[2, 0.3, 0.0]])
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=3.0), mf.USA, law)
    >>> density = mf.simulate(problem, until=2.0, save=5)
    >>> tokens = mf.simulate(problem, until=2.0, save=5, representation="particles", tokens=100)
    >>> radius = certified_radius(density, tokens)
    >>> radius
    CertifiedRadius(W2 at 5 times, holds, says something until t = 2)
    >>> bool(np.all(radius.upper < 2.5 * radius.upper[0]))
    True
    """
    at_least(0.0, tolerance=tolerance)
    problem = first.problem
    second.problem.check_own_clock("bounds of distances")
    if problem.manifold != second.problem.manifold or problem.zonal != second.problem.zonal:
        raise ValueError(
            f"a bound is of two runs of one problem, got {problem!r} and {second.problem!r}."
        )
    p = (1 if problem.normalization == "softmax" else 2) if p is None else p
    pairs = _shared(first, second)
    times = np.array([first.scaled_time[i] for i, _ in pairs])
    one = [certified_state(first, i) for i, _ in pairs]
    other = [certified_state(second, j) for _, j in pairs]
    upper, lower = growth(problem, times, one, other, p=p)
    measured = np.array([distance_ends(a, b, p) for a, b in zip(one, other, strict=True)])
    # e^700 in place of larger numbers, which may overflow.
    grown = np.exp(np.minimum(upper, LARGEST_LOG))
    bounds = measured[0, 0] * np.exp(-lower), measured[0, 1] * grown
    return CertifiedRadius(p, times, measured, *bounds, tolerance)


def growth(
    problem: Problem, times: FloatArray, *runs: Sequence[State], p: int
) -> tuple[FloatArray, FloatArray]:
    """Exponents of the upper and lower bound at times; under softmax from the better run."""
    check_order(p)
    problem.check_own_clock("bounds of distances")
    zonal = problem.zonal
    if zonal.kernel.log_slope is None:
        raise ValueError("bounds of distances are proved for mf.exponential and mf.linear.")
    if zonal.diffusivity and any(isinstance(m, Measure) for run in runs for m in run):
        raise ValueError(
            "noisy tokens are not near the density that they are drawn from by any bound of "
            "contraction: mf.convergence_study measures their distance."
        )
    elapsed = times - times[0]
    beta = zonal.kernel.log_slope
    if not zonal.normalized or beta == 0.0:
        rates = contraction_rates(problem, p)
        # An infinite rate times 0 would be NaN.
        return rates.upper * elapsed, (
            rates.lower * elapsed if math.isfinite(rates.lower) else _none(elapsed)
        )
    if p != 1:
        raise ValueError("under softmax a bound of W_1 is proved, and none of W_2: give p = 1.")
    strength = abs(zonal.strength)
    stretch = softmax_stretch(math.copysign(beta, beta * zonal.strength))
    source = softmax_source(beta, zonal.dimension)
    constant = strength * stretch - zonal.diffusivity * (zonal.dimension - 1)
    inverse = np.min([_inverse_integrals(problem, times, run) for run in runs], axis=0)
    exponent = constant * np.diff(times) + strength * source * inverse
    return np.concatenate([[0.0], np.cumsum(exponent)]), _none(elapsed)


def _none(elapsed: FloatArray) -> FloatArray:
    return np.where(elapsed > 0.0, math.inf, 0.0)


def _inverse_integrals(problem: Problem, times: FloatArray, run: Sequence[State]) -> FloatArray:
    """Upper bounds of the integral of 1 / z between times, shape (k - 1,)."""
    partitions: list[SmallestPartition] = [smallest_partition(problem, measure) for measure in run]
    return np.array(
        [
            integral_of_inverse(first, second, float(length))
            for first, second, length in zip(
                partitions, partitions[1:], np.diff(times), strict=False
            )
        ]
    )


def _shared(first: Run, second: Run) -> list[tuple[int, int]]:
    """Indices of the times that both saved."""
    near = [nearest_time(second.scaled_time, time) for time in first.scaled_time]
    pairs = [(i, j) for i, j in enumerate(near) if j is not None]
    if not pairs:
        raise ValueError("the runs have no saved time in common: save the same.")
    return pairs
