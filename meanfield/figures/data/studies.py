"""Pictures of studies of many runs: distances to the limit, counts of clusters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from meanfield.arrays import FloatArray
from meanfield.described import Facts
from meanfield.studies.convergence import LABELS
from meanfield.studies.convergence_results import ConvergenceStudy
from meanfield.studies.ensemble_results import Ensemble
from meanfield.transport.sphere.wasserstein import sample_floor

_BELOW = 0.72  # where the guide of slope -1/2 runs, as a share of the first distances


@dataclass(frozen=True, eq=False)
class SizeCurve:
    """Distance of one size against time: mean, and one standard error below and above it."""

    tokens: int
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    growth: FloatArray  # (2, 2): times and distances at both ends of the growth of linear theory
    onset: tuple[float, float] | None  # onset time, if it is shown, and the distance then
    # (2, n): times and certified distances as far as these are below pi; none where nothing is
    # proved.
    certified: FloatArray


@dataclass(frozen=True, eq=False)
class TimeCurve:
    """Distance at one time against the number of tokens: mean, standard error, law and exponent."""

    time: float  # scaled time
    mean: FloatArray
    error: FloatArray
    law: FloatArray | None  # (n_sizes,): the fitted power law, if there is one
    exponent: float
    half_width: float


@dataclass(frozen=True, eq=False)
class ComparisonPicture:
    """Distances of particle systems to the density."""

    title: str
    facts: Facts  # manifold, kernel and flow, where they are known
    distance: str  # symbol of the distance, for mathtext
    grows: bool  # whether perturbations of uniform grow
    times: FloatArray
    tokens: FloatArray
    sizes: list[SizeCurve]  # those that are finished
    chosen: list[TimeCurve]  # A few times
    guide: FloatArray  # (n_sizes,): slope -1/2
    floor: FloatArray | None  # (n_sizes,): distance of two samples, where it is known


def comparison_picture(study: ConvergenceStudy) -> ComparisonPicture:
    """Picture of a study, from memory or from a file."""
    n = study.tokens.astype(np.float64)
    chosen = [_time_curve(study, i, n) for i in _chosen_times(study)]
    sizes = [i for i in range(len(n)) if np.isfinite(study.mean_distance[i]).all()]
    floor = None
    if study.facts.manifold == "sphere" and study.metric == "W1":
        floor = np.array([sample_floor(int(size)) for size in n])
    return ComparisonPicture(
        study.facts.title or "Distance of tokens from their limit",
        study.facts, LABELS[study.metric],
        study.growth_rate_max > 0, study.times, n,
        [_size_curve(study, i) for i in sizes], chosen,
        _BELOW * chosen[0].mean[0] * np.sqrt(n[0] / n), floor,
    )  # fmt: skip


def _size_curve(study: ConvergenceStudy, i: int) -> SizeCurve:
    times, rate, onset = study.times, study.growth_rate_max, float(study.onset_times[i])
    mean, error = study.mean_distance[i], np.nan_to_num(study.standard_error[i])
    span = np.array([0.0, min(onset, times[-1])])
    return SizeCurve(
        int(study.tokens[i]),
        mean,
        # A logarithmic axis has no place below zero.
        np.maximum(mean - error, 0.5 * mean),
        mean + error,
        np.array([span, mean[0] * np.exp(rate * span)]),
        (onset, float(np.interp(onset, times, mean))) if onset <= times[-1] else None,
        _certified(times, study.certified_distance[i]),
    )


def _certified(times: FloatArray, distance: FloatArray) -> FloatArray:
    """Certified distance up to where it passes pi, between two saved times by its exponent."""
    beyond = np.flatnonzero(~(distance < np.pi))
    end = int(beyond[0]) if len(beyond) else len(times)
    if end == 0:
        return np.zeros((2, 0))
    radius = np.array([times[:end], distance[:end]])
    if end < len(times) and np.isfinite(distance[end]):
        logs = np.log(distance[end - 1 : end + 1])
        passes = float(np.interp(np.log(np.pi), logs, times[end - 1 : end + 1]))
        radius = np.column_stack([radius, [passes, np.pi]])
    return radius


def _time_curve(study: ConvergenceStudy, i: int, n: FloatArray) -> TimeCurve:
    exponent = float(study.exponents[i])
    return TimeCurve(
        float(study.times[i]),
        study.mean_distance[:, i],
        study.standard_error[:, i],
        study.prefactors[i] * n**exponent if np.isfinite(exponent) else None,
        exponent,
        0.5 * float(np.ptp(study.exponent_intervals[i])),
    )


def _chosen_times(study: ConvergenceStudy) -> list[int]:
    """Indices of time 0, the headline, the onset of the smallest size, half-way on, the end."""
    last = len(study.times) - 1
    onset = float(study.onset_times[0])
    at = int(np.flatnonzero(study.times < onset)[-1]) if np.isfinite(onset) else last
    return sorted({0, study.headline, at, (at + last) // 2, last})


@dataclass(frozen=True, eq=False)
class EnsemblePicture:
    """Clusters of many runs: mean count (n_sizes, n_times), and its standard error."""

    title: str
    facts: Facts  # manifold, kernel and flow, where they are known
    times: FloatArray  # (n_times,): in onset times
    tokens: NDArray[np.int64]  # (n_sizes,)
    mean: FloatArray
    error: FloatArray
    predicted: FloatArray | None  # (n_sizes,): the linear law in closed form, where it holds
    # For each size the share of the runs with each count at the last time.
    shares: list[dict[int, float]]
    runs: int


def ensemble_picture(ensemble: Ensemble) -> EnsemblePicture:
    """Picture of an ensemble, from memory or from a file."""
    return EnsemblePicture(
        ensemble.facts.title or "Clusters of random tokens",
        ensemble.facts, ensemble.times, ensemble.tokens, ensemble.mean_count,
        np.nan_to_num(ensemble.standard_error),
        ensemble.comparable if np.isfinite(ensemble.comparable).any() else None,
        [
            ensemble.distribution(size, len(ensemble.times) - 1)
            for size in range(len(ensemble.tokens))
        ],
        ensemble.counts.shape[1],
    )  # fmt: skip
