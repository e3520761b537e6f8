"""Figure of pair correlations: psi over the angle and E|c_l|^2 over degrees, time by time."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from meanfield.figures.data.pair_correlation import PairPicture, pair_picture
from meanfield.figures.draw.figures import new_figure
from meanfield.figures.draw.style import (
    ENERGY,
    FAINT,
    INK,
    MUTED,
    ORDER,
    facts_title,
    style,
    title_above,
)
from meanfield.papers.pair_correlation_study import PairCorrelation

# Inches of a time, and of both rows; a single time has room for its title.
_WIDTH, _LEAST_WIDTH, _HEIGHT = 3.4, 6.8, 6.2
# Standard errors of the band, and room around what was measured as a share of it.
_BAND, _ROOM = 2.0, 0.25
_LINES: dict[str, dict[str, Any]] = {
    "linear": {"color": ORDER, "linestyle": "--", "linewidth": 1.3},
    "third cumulant": {"color": ENERGY, "linestyle": "-", "linewidth": 1.1},
    "Kirkwood": {"color": "#2a9134", "linestyle": "-.", "linewidth": 1.3},
}


def pair_correlation_figure(
    correlations: PairCorrelation, *, title: str | None = None, **options: Any
) -> Figure:
    """Figure of pair correlations, on its own canvas that pyplot does not know."""
    picture = pair_picture(correlations)
    count = len(picture.times)
    with style():
        figure = new_figure((max(_LEAST_WIDTH, _WIDTH * count), _HEIGHT), **options)
        axes = figure.subplots(2, count, squeeze=False)
        for number in range(count):
            _psi(picture, number, axes[0, number])
            _moments(picture, number, axes[1, number])
        title = f"Pair correlation of {picture.tokens} tokens" if title is None else title
        title_above(axes[0, 0], title, f"{facts_title(picture.facts)},  {picture.runs} runs")
        axes[0, 0].set_ylabel(r"$\psi(t, \varphi)$")
        axes[1, 0].set_ylabel(r"$\mathrm{E}\,|c_\ell|^2$")
        axes[1, 0].legend(loc="best")
    return figure


def _psi(picture: PairPicture, number: int, axes: Axes) -> None:
    """Psi with its error band at one time, and what closures say."""
    angles = np.degrees(picture.angles)
    psi, error = picture.psi[number], _BAND * picture.psi_error[number]
    axes.axhline(1.0, color=FAINT, linewidth=0.8, zorder=0)
    axes.fill_between(angles, psi - error, psi + error, color=MUTED, alpha=0.35, linewidth=0)
    axes.plot(angles, psi, color=INK, linewidth=0.9)
    low, high = float((psi - error).min()), float((psi + error).max())
    for closed in picture.closures:
        axes.plot(angles, closed.psi[number], **_LINES[closed.name])
    room = _ROOM * max(high - low, 1e-3)
    axes.set_ylim(low - room, high + room)
    axes.set_xlim(0.0, 180.0)
    axes.set_xticks([0.0, 60.0, 120.0, 180.0])
    axes.set_xlabel(r"angle $\varphi$ of two tokens, degrees")
    axes.annotate(
        f"$t = {picture.times[number]:.4g}$", (1.0, 1.0), xycoords="axes fraction",
        xytext=(-4, -4), textcoords="offset points", ha="right", va="top",
        bbox={"facecolor": "white", "linewidth": 0.0, "alpha": 0.85, "pad": 2.0},
    )  # fmt: skip


def _moments(picture: PairPicture, number: int, axes: Axes) -> None:
    """Second moments over degrees, and what closures say."""
    degrees, moments = picture.degrees, picture.second_moments[number]
    error = _BAND * picture.standard_errors[number]
    axes.axhline(1.0 / picture.tokens, color=FAINT, linewidth=0.8, zorder=0)
    axes.errorbar(
        degrees, moments, error, fmt="o", color=INK, markersize=3.0, elinewidth=0.8, linewidth=0,
        label=rf"runs, $\pm {_BAND:g}$ s.e.",
    )  # fmt: skip
    for closed in picture.closures:
        positive = np.where(
            closed.second_moments[number] > 0, closed.second_moments[number], np.nan
        )
        axes.plot(degrees, positive, label=closed.name, **_LINES[closed.name])
    axes.set_yscale("log")
    axes.set_ylim(0.5 * moments.min(), 2.0 * moments.max())
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(r"degree $\ell$")
