"""Figure of an ensemble: mean counts against the number of tokens, and how they are distributed."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from meanfield.figures.data.studies import EnsemblePicture, ensemble_picture
from meanfield.figures.draw.axes import set_plain_ticks
from meanfield.figures.draw.figures import study_figure
from meanfield.figures.draw.style import INK, MUTED, facts_title, shades, title_above
from meanfield.studies.ensemble_results import Ensemble

_SIZE = (10.0, 4.4)
_ABOVE_BARS, _COLUMNS = 1.15, 3
# Parts of the colour maps that are neither too dark nor too light on white.
_TIMES = ("inferno", 0.15, 0.75)
_SIZES = ("viridis", 0.15, 0.75)


def ensemble_figure(ensemble: Ensemble, **options: Any) -> Figure:
    """Figure of an ensemble; on axes of a user's the distributions alone."""
    picture = ensemble_picture(ensemble)
    return study_figure(picture, draw_ensemble, _distributions, _SIZE, **options)


def draw_ensemble(picture: EnsemblePicture, figure: Figure) -> None:
    """Mean counts with one standard error and the linear law; the distributions at the end."""
    alone = len(picture.tokens) == 1
    # A single mean is no curve: the distribution says it.
    *left, right = figure.subplots(1, 1 if alone and len(picture.times) == 1 else 2, squeeze=False)[
        0
    ]
    subtitle = facts_title(picture.facts) if picture.facts.manifold else ""
    title_above(left[0] if left else right, picture.title, subtitle)
    for axes in left:
        (_means_in_time if alone else _means)(picture, axes)
    _distributions(picture, right)


def _means_in_time(picture: EnsemblePicture, axes: Axes) -> None:
    """Mean counts of one size against time."""
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
    """Mean counts against the number of tokens."""
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
    """Share of the runs with each count, sizes side by side."""
    sizes = len(picture.tokens)
    width = 0.85 / sizes
    for i, colour in enumerate(shades(*_SIZES, sizes)):
        shares = picture.shares[i]
        places = np.array(list(shares)) + (i - 0.5 * (sizes - 1)) * width
        label = f"$N = {picture.tokens[i]}$"
        axes.bar(places, list(shares.values()), width=0.95 * width, color=colour, label=label)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(f"clusters {_at(picture.times[-1])}")
    axes.set_ylabel("share of runs")
    # In a row above all bars.
    axes.set_ylim(top=_ABOVE_BARS * axes.get_ylim()[1])
    axes.legend(loc="upper right", ncols=min(sizes, _COLUMNS))


def _at(time: float) -> str:
    """When, in onset times."""
    count = f"{time:g}"
    return f"at {count} onset time{'' if count == '1' else 's'}"
