"""Moments of N tokens beside their limit: the limit, and the band in which those of N tokens lie.

To first order in 1/N moments of N tokens are normal, with the mean limit + shift / N and the
covariance over N. Sizes of a degree, |c_k| on the circle, are not: near 0 they cannot be. So their
mean and quantiles are those of points of that normal law, always the same ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.finite.results import Fluctuations
from meanfield.manifolds.coordinates import coordinates
from meanfield.measures import Measure
from meanfield.pictures.saved_times import Frame, frame, is_logarithmic, part
from meanfield.runs import Run, problem_attributes

USUAL_TOKENS = 1000
"""N where nobody says how many."""

# 95 % of tokens' moments lie between these.
_LEVELS = (0.025, 0.975)
_POINTS = 4096
# Rounding of times.
_SAME = 1e-9


@dataclass(frozen=True, eq=False)
class FluctuationsPicture:
    """Sizes of moments by degree of N tokens over time.

    Attributes
    ----------
    frame : Frame
        Given. Of the times that are resolved.
    tokens : int
        Given. N.
    limit : ndarray, shape (n_times, K)
        Given. Sizes of degrees 1 to K in the limit.
    mean, low, high : ndarray, shape (n_times, K)
        Given. Of N tokens: the mean, and what 95 % of them lie between.
    samples : tuple of (ndarray, ndarray)
        Given. Of each run of particles its times, and sizes (n, K).
    note : str
        Given. Up to when they are resolved, if that is not the end; N of runs of another number.
    """

    frame: Frame
    tokens: int
    limit: FloatArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    samples: tuple[tuple[FloatArray, FloatArray], ...]
    note: str


def fluctuations_picture(
    run: Run, particles: Sequence[Run] = (), tokens: int | None = None
) -> FluctuationsPicture:
    """Picture of a run with fluctuations, and of runs of particles beside it.

    Raises
    ------
    ValueError
        If the run has none, or fewer than two saved times are resolved.
    """
    found = run.fluctuations
    if found is None:
        raise ValueError(
            "the run has no fluctuations: with [fluctuations] in its run file meanfield run "
            "--resume finds them; or mf.fluctuations(...).plot()."
        )
    length = run.unit_length
    _check(found)
    kept = np.flatnonzero(run.scaled_time <= found.resolved_until * (1 + _SAME))
    if not len(kept):
        raise ValueError(f"no time that is shown is resolved: {found.note}")
    own = [run] if run.representation[0] == "particles" else []
    around = frame(part(run, kept))
    return _picture(found, around, length, [*own, *particles], tokens)


def linearised_picture(
    found: Fluctuations, particles: Sequence[Run] = (), tokens: int | None = None
) -> FluctuationsPicture:
    """Picture of fluctuations without a run; raises as `fluctuations_picture`."""
    _check(found)
    facts = problem_attributes(found.problem)
    times = found.times[found.resolved]
    rate = float(facts["growth_rate_max"])
    around = Frame("", facts, times, is_logarithmic(times), rate, ())
    return _picture(found, around, 1.0, particles, tokens)


def _check(found: Fluctuations) -> None:
    if found.resolved.sum() < 2:
        raise ValueError(f"this figure needs at least 2 resolved times: {found.note}")


def _picture(
    found: Fluctuations,
    around: Frame,
    length: float,
    particles: Sequence[Run],
    tokens: int | None,
) -> FluctuationsPicture:
    samples = [_sample(found, run, length) for run in particles]
    held = [run.measures[-1] for run in particles]
    counts = [len(each.points) for each in held if isinstance(each, Measure)]
    known = [each for each in (tokens, found.tokens, *counts) if each is not None]
    number = known[0] if known else USUAL_TOKENS
    low, high = around.times[0] * length, around.times[-1] * length
    inside = (found.times >= low * (1 - _SAME)) & (found.times <= high * (1 + _SAME))
    shown = np.flatnonzero(found.resolved & inside)
    around = replace(around, times=found.times[shown] / length)
    rows = np.array([_sizes(found, int(n), number) for n in shown])
    limit, mean, low, high = rows.transpose(1, 0, 2)
    ended = "" if not found.note else f"resolved up to t = {found.resolved_until / length:.4g}"
    # A band of N tokens does not hold runs of another number.
    others = ", ".join(f"{each}" for each in sorted({*counts} - {number}))
    notes = [ended, f"particles have N = {others}" if others else ""]
    return FluctuationsPicture(
        around,
        number,
        limit=limit,
        mean=mean,
        low=low,
        high=high,
        samples=tuple(samples),
        note="; ".join(filter(None, notes)),
    )


def _sample(found: Fluctuations, run: Run, length: float) -> tuple[FloatArray, FloatArray]:
    """Times and sizes of a run of particles, as far as fluctuations are resolved.

    Raises
    ------
    ValueError
        If it was elsewhere.
    """
    if run.manifold.name != found.space.name:
        raise ValueError(f"particles on {run.manifold} beside fluctuations on {found.space}.")
    inside = run.scaled_time <= found.resolved_until * (1 + _SAME)
    return run.scaled_time[inside] / length, run.sizes_by_degree()[inside, 1 : found.degree + 1]


def _sizes(found: Fluctuations, n: int, tokens: int) -> FloatArray:
    """Limit, mean and ends of the band of the sizes of all degrees, (4, K)."""
    of = coordinates(found.space.dimension, found.degree)
    sizes, directions = np.linalg.eigh(found.real_covariance[n])
    # A symmetric root, whose signs do not depend on those of directions.
    root = (directions * np.sqrt(np.maximum(sizes, 0.0) / tokens)) @ directions.T
    half = np.random.default_rng(0).standard_normal((_POINTS // 2, of.size))
    around = of.to_vector(found.limit[n]) + found.real_shift[n] / tokens
    drawn = around + np.concatenate([half, -half]) @ root
    seen = np.sqrt(drawn**2 @ found.size_factors[:, 1:])
    limit = found.space.sizes_by_degree(found.limit[n])[1:]
    return np.array([limit, seen.mean(axis=0), *np.quantile(seen, _LEVELS, axis=0)])
