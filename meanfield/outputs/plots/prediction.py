"""How many clusters form: growth rates, and the laws of the number of clusters beside them.

Of given tokens also the potential at the onset time, with its maxima.
"""

from __future__ import annotations

import os

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from meanfield.outputs.plots import potential
from meanfield.outputs.plots.figures import check_suffix, new_figure, write_figure
from meanfield.outputs.plots.style import (
    ENERGY,
    FAINT,
    MUTED,
    ORDER,
    facts_title,
    style,
    title_above,
)
from meanfield.run import problem_attributes
from meanfield.studies.prediction import ClusterPrediction
from meanfield.theory.stability import growth_rates

_WIDTH, _HEIGHT, _BELOW = 9.0, 4.2, {1: 3.2, 2: 4.6}
# Above this many degrees or numbers of clusters, lines instead of stems and bars.
_MANY = 60
# Rarer numbers of clusters have no place.
_LEAST_SHARE = 1e-3


def save_prediction_plot(prediction: ClusterPrediction, path: str | os.PathLike[str]) -> None:
    """Draw a prediction into a file; the suffix chooses the format.

    Raises
    ------
    ValueError
        If the suffix is not known or the file cannot be written.
    """
    check_suffix(path)
    write_figure(prediction_figure(prediction), path)


def prediction_figure(prediction: ClusterPrediction) -> Figure:
    """Growth rates and laws side by side; the potential of given tokens below."""
    where, dimension = prediction.positions, prediction.problem.manifold.dimension
    below = 0.0 if where is None else _BELOW[dimension]
    with style():
        figure = new_figure((_WIDTH, _HEIGHT + below))
        rows = figure.subplot_mosaic(
            [["rates", "laws"]] if where is None else [["rates", "laws"], ["where", "where"]],
            height_ratios=[_HEIGHT] if where is None else [_HEIGHT, below],
        )
        facts = facts_title(problem_attributes(prediction.problem))
        title = f"Clusters of {prediction.tokens} tokens"
        title_above(rows["rates"], title, facts)
        _rates(prediction, rows["rates"])
        _laws(prediction, rows["laws"])
        if where is not None:
            potential.on_axes(prediction.problem.space, where, rows["where"])
    return figure


def _rates(prediction: ClusterPrediction, axes: Axes) -> None:
    """Growth rates as shares of the largest, the dominant and the second degree marked."""
    rates = growth_rates(prediction.problem)
    first, second = prediction.dominant_degree, prediction.second_degree
    degrees = np.arange(len(rates))
    axes.axhline(0.0, color=MUTED, linewidth=0.8, zorder=1)
    if len(rates) <= _MANY:
        axes.vlines(degrees[1:], 0.0, rates[1:], color=MUTED, linewidth=1.2, zorder=2)
        axes.scatter(degrees[1:], rates[1:], s=18, color=MUTED, zorder=3)
    else:
        axes.plot(degrees[1:], rates[1:], color=MUTED, linewidth=1.2)
    marks = [(first, ENERGY, "dominant degree"), (second, ORDER, "second degree")]
    for degree, colour, name in marks:
        if degree is not None:
            label = f"{name} {degree}"
            if degree == second:
                label += f": {prediction.rate_ratio:.3f} of its rate"
            axes.vlines(degree, 0.0, rates[degree], color=colour, linewidth=2.0, zorder=4)
            axes.scatter(degree, rates[degree], s=44, color=colour, zorder=5, label=label)
    axes.set_xlabel(r"degree $\ell$")
    axes.set_ylabel(r"growth rate $\lambda_\ell$ (per scaled time)")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.margins(x=0.03, y=0.05)
    if first is not None:
        # Room for the legend above the stems.
        axes.set_ylim(top=1.3 * float(rates.max()))
        axes.legend(loc="upper right")


def _laws(prediction: ClusterPrediction, axes: Axes) -> None:
    """Both distributions, their means, and the dominant degree."""
    axes.set_xlabel("number of clusters")
    axes.set_ylabel("probability")
    if prediction.message:
        axes.set_axis_off()
        axes.annotate(
            prediction.message, (0.5, 0.5), xycoords="axes fraction", ha="center", fontsize=11
        )
        return
    laws = [("linear law", prediction.linear, ORDER)]
    if prediction.corrected is not None:
        laws.append(("corrected law", prediction.corrected, ENERGY))
    numbers = [k for _, law, _ in laws for k, p in law.distribution.items() if p >= _LEAST_SHARE]
    shown = np.arange(min(numbers), max(numbers) + 1)
    width = 0.8 / len(laws)
    for i, (name, law, colour) in enumerate(laws):
        shares = np.array([law.distribution.get(int(k), 0.0) for k in shown])
        label = f"{name}, mean {_mean(law.mean, law.standard_error)}"
        if len(shown) <= _MANY:
            places = shown + width * (i - 0.5 * (len(laws) - 1))
            axes.bar(places, shares, width=0.92 * width, color=colour, alpha=0.85, label=label)
        else:
            axes.plot(shown, shares, color=colour, label=label)
    highest = float(axes.dataLim.ymax)
    for _, law, colour in laws:
        axes.vlines(law.mean, 0.0, 1.06 * highest, color=colour, linewidth=1.4, linestyle="--")
    _mark_dominant(prediction, axes, 1.06 * highest)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=12))
    # Room for the legend above the bars.
    axes.set_ylim(0.0, 1.45 * highest)
    axes.margins(x=0.05)
    axes.legend(loc="upper right")
    axes.set_title(
        f"linear mean in closed form {prediction.mean_clusters:.4g}",
        loc="right",
        color=MUTED,
        pad=8,
    )


def _mark_dominant(prediction: ClusterPrediction, axes: Axes, height: float) -> None:
    """On the circle, the number of clusters that the dominant degree alone would give."""
    degree = prediction.dominant_degree
    if degree is not None and prediction.problem.manifold.dimension == 1:
        axes.bar(
            degree, height, width=0.96, color=FAINT, alpha=0.55, zorder=0,
            label=f"dominant degree {degree}",
        )  # fmt: skip


def _mean(mean: float, error: float) -> str:
    r"""Mean with as many digits as the error leaves.

    Examples
    --------
    >>> _mean(3.0312, 0.0042), _mean(1.0, 0.0)
    ('$3.031 \\pm 0.004$', '$1$')
    """
    if not error > 0:
        return f"${mean:.4g}$"
    digits = max(0, -int(np.floor(np.log10(error))))
    return rf"${mean:.{digits}f} \pm {error:.{digits}f}$"
