"""Figure of a convergence study: distances against time, and against the number of tokens.

Left, the mean distance of each size with a band of one standard error. A dashed line of the
same colour grows like e^{lambda_max t} from where the curve starts; a dot marks the onset time, at
which that line has grown by sqrt(n). Right, the same distances against n at a few times, with
the fitted power laws and the slope -1/2; on the sphere, dotted, the distance of two samples.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from meanfield.arrays import FloatArray
from meanfield.outputs.plots.axes import label_ends
from meanfield.outputs.plots.figures import check_suffix, new_figure, write_figure
from meanfield.outputs.plots.style import (
    MUTED,
    facts_title,
    power_of_ten,
    shades,
    style,
    title_above,
)
from meanfield.studies.convergence import LABELS
from meanfield.studies.convergence_results import ConvergenceStudy
from meanfield.transport.sphere.wasserstein import sample_floor

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = (10.0, 4.4)
_AXES_HEIGHT = 3.3  # of the figure's height, inches: what labels need to keep apart
# Parts of the colour maps that are neither too dark nor too light for lines on white.
_SIZES = ("viridis", 0.08, 0.78)
_TIMES = ("inferno", 0.15, 0.75)
_GUIDE: dict[str, Any] = {"linewidth": 0.9, "linestyle": (0, (5, 3))}
_DOT: dict[str, Any] = {"marker": "o", "markersize": 6, "markerfacecolor": "white", "linewidth": 0}
_BELOW = 0.72  # where the guide of slope -1/2 runs, as a share of the first distances


def comparison_figure(study: ConvergenceStudy) -> Figure:
    """Figure of a study.

    Parameters
    ----------
    study : ConvergenceStudy
        From memory or from a file.

    Returns
    -------
    matplotlib.figure.Figure
        Its own canvas, not known to pyplot.
    """
    with style():
        figure = new_figure(_SIZE)
        left, right = figure.subplots(1, 2, width_ratios=(1.25, 1.0))
        facts = study.attributes
        title_above(left, str(facts.get("title", "")), facts_title(facts) if facts else "")
        _against_time(study, left)
        _against_tokens(study, right)
    return figure


def save_comparison_plot(study: ConvergenceStudy, path: str | os.PathLike[str]) -> None:
    """Draw a study into a file; the suffix chooses the format.

    Raises
    ------
    ValueError
        If the suffix is not known or the file cannot be written.
    """
    check_suffix(path)
    write_figure(comparison_figure(study), path)


def _against_time(study: ConvergenceStudy, axes: Axes) -> None:
    """Distance of every size, the growth of linear theory, and the onset times."""
    times, rate, ends = study.times, study.growth_rate_max, []
    sizes = [i for i in range(len(study.tokens)) if np.isfinite(study.mean_distance[i]).all()]
    colours = dict(zip(sizes, shades(*_SIZES, len(sizes)), strict=True))
    for i, colour in colours.items():
        mean, error = study.mean_distance[i], np.nan_to_num(study.standard_error[i])
        # A logarithmic axis has no place below zero.
        low = np.maximum(mean - error, 0.5 * mean)
        axes.fill_between(times, low, mean + error, color=colour, alpha=0.25, linewidth=0)
        axes.plot(times, mean, color=colour, zorder=3)
        ends.append((float(mean[-1]), f"$n = {power_of_ten(int(study.tokens[i]))}$", colour))
    axes.set_yscale("log")
    axes.set_ylim(*axes.get_ylim())
    for i, colour in colours.items():
        mean, onset = study.mean_distance[i], float(study.onset_times[i])
        if rate > 0:
            span = np.array([0.0, min(onset, times[-1])])
            axes.plot(span, mean[0] * np.exp(rate * span), color=colour, alpha=0.6, **_GUIDE)
        if onset <= times[-1]:
            height = np.interp(onset, times, mean)
            axes.plot(onset, height, color=colour, zorder=4, **_DOT)
    axes.set_xlim(times[0], times[-1])
    axes.set_xlabel("scaled time $t$")
    axes.set_ylabel(_ylabel(study))
    label_ends(axes, ends, height=_AXES_HEIGHT)
    handles: list[Artist] = [Patch(color=MUTED, alpha=0.3, linewidth=0)]
    names = ["one standard error"]
    if rate > 0:
        handles += [Line2D([], [], color=MUTED, **_GUIDE), Line2D([], [], color=MUTED, **_DOT)]
        names += [r"$e^{\lambda_{\max} t}$", r"onset time $\ln n / 2\lambda_{\max}$"]
    axes.legend(handles, names, loc="lower right", labelcolor=MUTED)


def _against_tokens(study: ConvergenceStudy, axes: Axes) -> None:
    """Distance against the number of tokens at a few times, with the fitted laws."""
    n, ends = study.tokens.astype(np.float64), []
    chosen = _chosen_times(study)
    for i, colour in zip(chosen, shades(*_TIMES, len(chosen)), strict=True):
        mean, error = study.mean_distance[:, i], study.standard_error[:, i]
        axes.errorbar(n, mean, error, fmt="o", markersize=4, color=colour, capsize=2, linewidth=1)
        text = f"$t = {study.times[i]:.3g}$"
        if np.isfinite(study.exponents[i]):
            law = study.prefactors[i] * n ** study.exponents[i]
            axes.plot(n, law, color=colour, linewidth=1.2)
            half = 0.5 * float(np.ptp(study.exponent_intervals[i]))
            text += f":  ${study.exponents[i]:.2f} \\pm {half:.2f}$"
        ends.append((float(mean[-1]), text, colour))
    guide = _BELOW * study.mean_distance[0, chosen[0]] * np.sqrt(n[0] / n)
    axes.plot(n, guide, color=MUTED, **_GUIDE)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.annotate(
        "$n^{-1/2}$",
        (float(np.sqrt(n[0] * n[-1])), float(np.sqrt(guide[0] * guide[-1]))),
        xytext=(-4, -4),
        textcoords="offset points",
        color=MUTED,
        ha="right",
        va="top",
    )
    if study.attributes.get("manifold") == "sphere" and study.metric == "W1":
        _draw_floor(axes, n)
    axes.set_xlabel("tokens $n$")
    axes.set_ylabel(_ylabel(study))
    label_ends(axes, ends, height=_AXES_HEIGHT)
    axes.set_title("fitted exponent, 95 % confidence", loc="right", color=MUTED, pad=8)


def _draw_floor(axes: Axes, n: FloatArray) -> None:
    """Mean W_1 between two samples of n uniform tokens, for comparison."""
    floor = np.array([sample_floor(int(size)) for size in n])
    axes.plot(n, floor, color=MUTED, linewidth=1.2, linestyle=":")
    axes.annotate(
        "two samples of $n$ tokens",
        (float(n[0]), float(floor[0])),
        xytext=(4, 4),
        textcoords="offset points",
        color=MUTED,
        va="bottom",
    )


def _chosen_times(study: ConvergenceStudy) -> list[int]:
    """Indices of time 0, the headline, the onset of the smallest size, half-way on, the end."""
    last = len(study.times) - 1
    onset = float(study.onset_times[0])
    at = int(np.flatnonzero(study.times < onset)[-1]) if np.isfinite(onset) else last
    return sorted({0, study.headline, at, (at + last) // 2, last})


def _ylabel(study: ConvergenceStudy) -> str:
    return f"mean ${LABELS[study.metric]}(\\mu^n_t, f_t)$"
