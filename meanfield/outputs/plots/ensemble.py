"""Figure of an ensemble: mean counts against the number of tokens, and how they are distributed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_hex
from matplotlib.ticker import MaxNLocator

from meanfield.outputs.plots.figures import check_suffix, new_figure, write_figure
from meanfield.outputs.plots.style import MUTED, facts_title, style, title_above
from meanfield.studies.ensemble_results import Ensemble

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = (10.0, 4.4)


def ensemble_figure(made: Ensemble) -> Figure:
    """Figure of an ensemble.

    Left, the mean count of each size at every time, with one standard error, and the linear law in
    closed form; right, the share of the runs with each count at the last time.

    Returns
    -------
    matplotlib.figure.Figure
        Its own canvas, not known to pyplot.
    """
    with style():
        figure = new_figure(_SIZE)
        left, right = figure.subplots(1, 2)
        facts = made.attributes
        title_above(left, str(facts.get("title", "")), facts_title(facts) if facts else "")
        _means(made, left)
        _distributions(made, right)
    return figure


def save_ensemble_plot(made: Ensemble, path: str | os.PathLike[str]) -> None:
    """Draw an ensemble into a file; the suffix chooses the format.

    Raises
    ------
    ValueError
        If the suffix is not known or the file cannot be written.
    """
    check_suffix(path)
    write_figure(ensemble_figure(made), path)


def _means(made: Ensemble, axes: Axes) -> None:
    """Mean counts against the number of tokens."""
    for j, colour in enumerate(_colours("inferno", len(made.times))):
        axes.errorbar(
            made.tokens,
            made.mean_count[:, j],
            np.nan_to_num(made.standard_error[:, j]),
            fmt="o-",
            markersize=4,
            capsize=2,
            linewidth=1,
            color=colour,
            label=f"at {made.times[j]:g} onset times",
        )
    if np.isfinite(made.predicted).any():
        axes.plot(
            made.tokens,
            made.predicted,
            color=MUTED,
            marker="_",
            markersize=14,
            linewidth=1.2,
            linestyle="--",
            label="linear law",
        )
    axes.set_xscale("log")
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel("tokens $N$")
    axes.set_ylabel("mean number of clusters")
    axes.legend(loc="lower right")


def _distributions(made: Ensemble, axes: Axes) -> None:
    """Share of the runs with each count, sizes side by side."""
    last, sizes = len(made.times) - 1, len(made.tokens)
    width = 0.85 / sizes
    for i, colour in enumerate(_colours("viridis", sizes)):
        shares = made.distribution(i, last)
        places = np.array(list(shares)) + (i - 0.5 * (sizes - 1)) * width
        label = f"$N = {made.tokens[i]}$"
        axes.bar(places, list(shares.values()), width=0.95 * width, color=colour, label=label)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(f"clusters at {made.times[last]:g} onset times")
    axes.set_ylabel("share of runs")
    axes.legend(loc="upper right")


def _colours(name: str, count: int) -> list[str]:
    """Colours that are neither too dark nor too light on white."""
    return [to_hex(colour) for colour in colormaps[name](np.linspace(0.15, 0.75, count))]
