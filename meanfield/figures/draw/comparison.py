"""Figures of convergence studies and ensembles: distances or counts against the number of tokens.

The left panel has the mean distance of each size with a band of one standard error, the growth
e^{lambda_max t}, the onset time, and the certified bound where one is proved. The right panel has
distances against n, fitted power laws, the slope -1/2; on the sphere the distance of two samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from meanfield.arrays import FloatArray
from meanfield.described import Facts
from meanfield.figures.draw.axes import (
    INK,
    MUTED,
    facts_title,
    label_ends,
    power_of_ten,
    set_plain_ticks,
    shades,
    title_above,
)
from meanfield.figures.draw.figures import study_figure
from meanfield.studies.convergence import LABELS
from meanfield.studies.convergence_results import ConvergenceStudy
from meanfield.studies.ensemble_results import Ensemble
from meanfield.transport.sphere.wasserstein import sample_floor

_SIZE = (10.0, 4.4)
_AXES_HEIGHT = 3.3  # inches: the distance of labels depends on it
# Parts of the colour maps that are neither too dark nor too light for lines on white.
_SIZES = ("viridis", 0.08, 0.78)
_TIMES = ("inferno", 0.15, 0.75)
_GUIDE: dict[str, Any] = {"linewidth": 0.9, "linestyle": (0, (5, 3))}
_PROVED: dict[str, Any] = {"linewidth": 0.9, "linestyle": ":"}
_DOT: dict[str, Any] = {"marker": "o", "markersize": 6, "markerfacecolor": "white", "linewidth": 0}


def comparison_figure(study: ConvergenceStudy, **options: Any) -> Figure:
    """Figure of a study; on axes of the user the distances against the number of tokens."""
    picture = comparison_picture(study)
    return study_figure(picture, draw_comparison, _against_tokens, _SIZE, **options)


def draw_comparison(picture: ComparisonPicture, figure: Figure) -> None:
    """Draw distances against time, and against the number of tokens."""
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1.0))
    title_above(left, picture.title, facts_title(picture.facts) if picture.facts.manifold else "")
    _against_time(picture, left)
    _against_tokens(picture, right)


def _against_time(picture: ComparisonPicture, axes: Axes) -> None:
    """Draw the distance of every size, the growth of linear theory, and the onset times."""
    times, curves, ends = picture.times, picture.sizes, []
    colours = shades(*_SIZES, len(curves))
    for curve, colour in zip(curves, colours, strict=True):
        axes.fill_between(times, curve.low, curve.high, color=colour, alpha=0.25, linewidth=0)
        axes.plot(times, curve.mean, color=colour, zorder=3)
        ends.append((float(curve.mean[-1]), f"$n = {power_of_ten(curve.tokens)}$", colour))
    axes.set_yscale("log")
    axes.set_ylim(*axes.get_ylim())
    set_plain_ticks(axes.yaxis, *axes.get_ylim())
    for curve, colour in zip(curves, colours, strict=True):
        if picture.grows:
            axes.plot(*curve.growth, color=colour, alpha=0.6, **_GUIDE)
        axes.plot(*curve.certified, color=colour, **_PROVED)
        if curve.onset is not None:
            axes.plot(*curve.onset, color=colour, zorder=4, **_DOT)
    axes.set_xlim(times[0], times[-1])
    axes.set_xlabel("scaled time $t$")
    axes.set_ylabel(_ylabel(picture))
    label_ends(axes, ends, height=_AXES_HEIGHT)
    handles: list[Artist] = [Patch(color=MUTED, alpha=0.3, linewidth=0)]
    names = ["one standard error"]
    if picture.grows:
        handles.append(Line2D([], [], color=MUTED, **_GUIDE))
        names.append(r"$e^{\lambda_{\max} t}$")
    if any(curve.onset is not None for curve in curves):
        handles.append(Line2D([], [], color=MUTED, **_DOT))
        names.append(r"onset time $\ln n / 2\lambda_{\max}$")
    if any(curve.certified.shape[1] > 1 for curve in curves):
        handles.append(Line2D([], [], color=MUTED, **_PROVED))
        names.append("certified")
    # The legend is below, so that it covers no curve.
    axes.figure.legend(handles, names, loc="outside lower left", ncols=len(names), labelcolor=MUTED)


def _against_tokens(picture: ComparisonPicture, axes: Axes) -> None:
    """Draw distances against the number of tokens at a few times, with the fitted laws."""
    n, guide, floor, ends = picture.tokens, picture.guide, picture.floor, []
    for curve, colour in zip(picture.chosen, shades(*_TIMES, len(picture.chosen)), strict=True):
        axes.errorbar(
            n, curve.mean, curve.error,
            fmt="o", markersize=4, color=colour, capsize=2, linewidth=1,
        )  # fmt: skip
        text = f"$t = {curve.time:.3g}$"
        if curve.law is not None:
            axes.plot(n, curve.law, color=colour, linewidth=1.2)
            text += f":  ${curve.exponent:.2f} \\pm {curve.half_width:.2f}$"
        ends.append((float(curve.mean[-1]), text, colour))
    axes.plot(n, guide, color=MUTED, **_GUIDE)
    axes.set_xscale("log")
    axes.set_yscale("log")
    set_plain_ticks(axes.xaxis, *axes.get_xlim())
    set_plain_ticks(axes.yaxis, *axes.get_ylim())
    middle = float(np.sqrt(n[0] * n[-1])), float(np.sqrt(guide[0] * guide[-1]))
    axes.annotate(
        "$n^{-1/2}$", middle, xytext=(-4, -4), textcoords="offset points",
        color=MUTED, ha="right", va="top",
    )  # fmt: skip
    if floor is not None:
        axes.plot(n, floor, color=MUTED, linewidth=1.2, linestyle=":")
        axes.annotate(
            "two samples of $n$ tokens", (float(n[0]), float(floor[0])), xytext=(4, 4),
            textcoords="offset points", color=MUTED, va="bottom",
        )  # fmt: skip
    axes.set_xlabel("tokens $n$")
    axes.set_ylabel(_ylabel(picture))
    label_ends(axes, ends, height=_AXES_HEIGHT)
    axes.set_title("fitted exponent, 95 % confidence", loc="right", color=MUTED, pad=8)


def _ylabel(picture: ComparisonPicture) -> str:
    return f"mean ${picture.distance}(\\mu^n_t, f_t)$"


_BELOW = 0.72  # height of the guide of slope -1/2, relative to the first distances


@dataclass(frozen=True, eq=False)
class SizeCurve:
    """Distance of one size against time: mean, and one standard error below and above it."""

    tokens: int
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    growth: FloatArray  # (2, 2): times and distances at both ends of the growth of linear theory
    onset: tuple[float, float] | None  # onset time and distance, if it is within the times
    certified: FloatArray  # (2, n): times, and certified distances below pi; n = 0 without a proof


@dataclass(frozen=True, eq=False)
class TimeCurve:
    """Distance at one time against the number of tokens: mean, standard error, power law."""

    time: float  # scaled time
    mean: FloatArray
    error: FloatArray
    law: FloatArray | None  # (n_sizes,): the fitted power law, if there is one
    exponent: float
    half_width: float  # of the confidence interval of the exponent


@dataclass(frozen=True, eq=False)
class ComparisonPicture:
    """Distances of particle systems to the density."""

    title: str
    facts: Facts  # manifold, kernel and flow, if known
    distance: str  # symbol of the distance, for mathtext
    grows: bool  # whether perturbations of uniform grow
    times: FloatArray
    tokens: FloatArray
    sizes: list[SizeCurve]  # of the finished sizes
    chosen: list[TimeCurve]  # at a few times
    guide: FloatArray  # (n_sizes,): slope -1/2
    floor: FloatArray | None  # (n_sizes,): distance of two samples, if known


def comparison_picture(study: ConvergenceStudy) -> ComparisonPicture:
    """Picture of a study."""
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
        # A logarithmic axis needs positive values.
        np.maximum(mean - error, 0.5 * mean),
        mean + error,
        np.array([span, mean[0] * np.exp(rate * span)]),
        (onset, float(np.interp(onset, times, mean))) if onset <= times[-1] else None,
        _certified(times, study.certified_distance[i]),
    )


def _certified(times: FloatArray, distance: FloatArray) -> FloatArray:
    """Certified distance up to pi; its logarithm is linear between saved times."""
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
    """Indices: time 0, the headline, before the smallest size's onset, half-way, the end."""
    last = len(study.times) - 1
    onset = float(study.onset_times[0])
    at = int(np.flatnonzero(study.times < onset)[-1]) if np.isfinite(onset) else last
    return sorted({0, study.headline, at, (at + last) // 2, last})


@dataclass(frozen=True, eq=False)
class EnsemblePicture:
    """Clusters of many runs: mean count (n_sizes, n_times), and its standard error."""

    title: str
    facts: Facts  # manifold, kernel and flow, if known
    times: FloatArray  # (n_times,): in onset times
    tokens: NDArray[np.int64]  # (n_sizes,)
    mean: FloatArray
    error: FloatArray
    predicted: FloatArray | None  # (n_sizes,): closed form of the linear law, if it applies
    shares: list[dict[int, float]]  # by size: share of the runs with each count at the last time
    runs: int


def ensemble_picture(ensemble: Ensemble) -> EnsemblePicture:
    """Picture of an ensemble."""
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


_ABOVE_BARS, _COLUMNS = 1.15, 3
_LIGHT_SIZES = ("viridis", 0.15, 0.75)


def ensemble_figure(ensemble: Ensemble, **options: Any) -> Figure:
    """Figure of an ensemble; on axes of the user only the distributions."""
    picture = ensemble_picture(ensemble)
    return study_figure(picture, draw_ensemble, _distributions, _SIZE, **options)


def draw_ensemble(picture: EnsemblePicture, figure: Figure) -> None:
    """Draw mean counts with one standard error and the linear law, and the last distributions."""
    alone = len(picture.tokens) == 1
    # A single mean needs no panel of its own.
    *left, right = figure.subplots(1, 1 if alone and len(picture.times) == 1 else 2, squeeze=False)[
        0
    ]
    subtitle = facts_title(picture.facts) if picture.facts.manifold else ""
    title_above(left[0] if left else right, picture.title, subtitle)
    for axes in left:
        (_means_in_time if alone else _means)(picture, axes)
    _distributions(picture, right)


def _means_in_time(picture: EnsemblePicture, axes: Axes) -> None:
    axes.errorbar(
        picture.times, picture.mean[0], picture.error[0], fmt="o-", markersize=4, capsize=2,
        linewidth=1, color=INK, label=f"$N = {picture.tokens[0]}$", clip_on=False,
    )  # fmt: skip
    if picture.predicted is not None:
        axes.axhline(
            picture.predicted[0], color=MUTED, linewidth=1.2, linestyle="--",
            label="linear law at 1 onset time",
        )  # fmt: skip
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel("onset times")
    axes.set_ylabel("mean number of clusters")
    axes.legend(loc="lower right", title=f"{picture.runs} runs, one standard error")


def _means(picture: EnsemblePicture, axes: Axes) -> None:
    for j, colour in enumerate(shades(*_TIMES, len(picture.times))):
        axes.errorbar(
            picture.tokens, picture.mean[:, j], picture.error[:, j], fmt="o-", markersize=4,
            capsize=2, linewidth=1, color=colour, label=_at(picture.times[j]),
        )  # fmt: skip
    if picture.predicted is not None:
        axes.plot(
            picture.tokens, picture.predicted, color=MUTED, marker="_", markersize=14,
            linewidth=1.2, linestyle="--", label="linear law",
        )  # fmt: skip
    axes.set_xscale("log")
    set_plain_ticks(axes.xaxis, *axes.get_xlim())
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel("tokens $N$")
    axes.set_ylabel("mean number of clusters")
    axes.legend(loc="lower right", title=f"{picture.runs} runs, one standard error")


def _distributions(picture: EnsemblePicture, axes: Axes) -> None:
    """Draw the share of runs with each count, sizes side by side."""
    sizes = len(picture.tokens)
    width = 0.85 / sizes
    for i, colour in enumerate(shades(*_LIGHT_SIZES, sizes)):
        shares = picture.shares[i]
        places = np.array(list(shares)) + (i - 0.5 * (sizes - 1)) * width
        label = f"$N = {picture.tokens[i]}$"
        axes.bar(places, list(shares.values()), width=0.95 * width, color=colour, label=label)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(f"clusters {_at(picture.times[-1])}")
    axes.set_ylabel("share of runs")
    # The legend is one row above all bars.
    axes.set_ylim(top=_ABOVE_BARS * axes.get_ylim()[1])
    axes.legend(loc="upper right", ncols=min(sizes, _COLUMNS))


def _at(time: float) -> str:
    count = f"{time:g}"
    return f"at {count} onset time{'' if count == '1' else 's'}"
