"""The dispersion relation: growth rates of the uniform state against degree.

`spectrum.stability` has

    lambda_l = l (l + d - 2) (strength * w_l / z - diffusivity)
"""

from __future__ import annotations

import os

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from meanfield.figures.draw.figures import check_suffix, new_figure, write_figure
from meanfield.figures.draw.prediction import RatesPicture, dispersion_picture
from meanfield.figures.draw.style import (
    ENERGY,
    INK,
    MUTED,
    ORDER,
    facts_title,
    style,
    title_above,
)
from meanfield.problem import Problem

_SIZE = (9.0, 4.6)
# Above this many degrees stems merge; a line is left.
_STEMS = 120


def save_dispersion(
    problem: Problem, path: str | os.PathLike[str], max_degree: int | None = None
) -> None:
    """Draw the dispersion relation; max_degree is max(12, 2 x dominant + 4) by default."""
    check_suffix(path)
    picture = dispersion_picture(problem, max_degree)
    with style():
        figure = new_figure(_SIZE)
        axes = figure.subplots()
        on_axes(picture, axes)
        title_above(axes, "Growth of the uniform state", facts_title(picture.facts))
    write_figure(figure, path)


def on_axes(picture: RatesPicture, axes: Axes) -> None:
    """Growth rates on given axes: growing and decaying degrees apart, the fastest marked."""
    rates = picture.rates
    degrees = np.arange(len(rates))
    axes.axhline(0.0, color=MUTED, linewidth=0.8, zorder=1)
    if len(rates) > _STEMS:
        axes.plot(degrees, rates, color=MUTED, linewidth=1.2)
    else:
        axes.plot(degrees, rates, color=MUTED, linewidth=0.8, alpha=0.6, zorder=1)
        axes.vlines(degrees, 0.0, rates, color=_colours(rates), linewidth=1.4, zorder=2)
    for kind, colour, chosen in [
        ("grows", ENERGY, rates > 0),
        ("decays", ORDER, rates < 0),
    ]:
        if np.any(chosen):
            size = 28 if len(rates) <= _STEMS else 4
            axes.scatter(degrees[chosen], rates[chosen], s=size, color=colour, label=kind, zorder=3)
    fastest = picture.dominant
    if fastest is not None and fastest < len(rates):
        _mark(axes, fastest, float(rates[fastest]))
    axes.annotate(
        "\n".join(picture.lines), (1.0, 1.0), xycoords="axes fraction", xytext=(-4, 0),
        textcoords="offset points", ha="right", va="top", linespacing=1.6, fontsize=8.5,
    )  # fmt: skip
    axes.set_xlabel(r"degree $\ell$")
    axes.set_ylabel(r"growth rate $\lambda_\ell$ (per scaled time)")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=14))
    axes.margins(x=0.03, y=0.14)
    axes.legend(loc="lower right" if rates.min() >= -0.02 * rates.max() else "best")


def _colours(rates: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[str]:
    return [ENERGY if rate > 0 else ORDER for rate in rates]


def _mark(axes: Axes, degree: int, rate: float) -> None:
    axes.scatter([degree], [rate], s=110, facecolor="none", edgecolor=ENERGY, linewidth=1.4)
    axes.annotate(
        rf"$\lambda_{{{degree}}} = {rate:.4g}$", (degree, rate), xytext=(0, 9),
        textcoords="offset points", ha="center", color=INK, fontsize=9.5, fontweight="bold",
    )  # fmt: skip
