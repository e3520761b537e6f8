"""Figure of a convergence study: distances against time, and against the number of tokens.

Left, the mean distance of each size with a band of one standard error, the growth
e^{lambda_max t}, the onset time, and the certified bound where one is proved. Right, the distances
against n, with fitted power laws and the slope -1/2; on the sphere the distance of two samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from meanfield.figures.data.studies import ComparisonPicture, comparison_picture
from meanfield.figures.draw.axes import label_ends, set_plain_ticks
from meanfield.figures.draw.figures import study_figure
from meanfield.figures.draw.style import (
    MUTED,
    facts_title,
    power_of_ten,
    shades,
    title_above,
)
from meanfield.studies.convergence_results import ConvergenceStudy

_SIZE = (10.0, 4.4)
_AXES_HEIGHT = 3.3  # of the figure's height, inches: what labels need to keep apart
# Parts of the colour maps that are neither too dark nor too light for lines on white.
_SIZES = ("viridis", 0.08, 0.78)
_TIMES = ("inferno", 0.15, 0.75)
_GUIDE: dict[str, Any] = {"linewidth": 0.9, "linestyle": (0, (5, 3))}
_PROVED: dict[str, Any] = {"linewidth": 0.9, "linestyle": ":"}
_DOT: dict[str, Any] = {"marker": "o", "markersize": 6, "markerfacecolor": "white", "linewidth": 0}


def comparison_figure(study: ConvergenceStudy, **options: Any) -> Figure:
    """Figure of a study; on axes of a user's the distances against the number of tokens."""
    picture = comparison_picture(study)
    return study_figure(picture, draw_comparison, _against_tokens, _SIZE, **options)


def draw_comparison(picture: ComparisonPicture, figure: Figure) -> None:
    """Distances against time, and against the number of tokens."""
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1.0))
    title_above(left, picture.title, facts_title(picture.facts) if picture.facts.manifold else "")
    _against_time(picture, left)
    _against_tokens(picture, right)


def _against_time(picture: ComparisonPicture, axes: Axes) -> None:
    """Distance of every size, the growth of linear theory, and the onset times."""
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
    # Below, where it covers no curve.
    axes.figure.legend(handles, names, loc="outside lower left", ncols=len(names), labelcolor=MUTED)


def _against_tokens(picture: ComparisonPicture, axes: Axes) -> None:
    """Distance against the number of tokens at a few times, with the fitted laws."""
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
