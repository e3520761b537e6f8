"""Figure of pair correlations: psi over the angle and E|c_l|^2 over degrees, time by time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from meanfield.arrays import FloatArray, IntArray
from meanfield.described import Facts
from meanfield.figures.draw.axes import (
    ENERGY,
    FAINT,
    INK,
    MUTED,
    ORDER,
    facts_title,
    style,
    title_above,
)
from meanfield.figures.draw.figures import new_figure
from meanfield.papers.pair_correlation import CLOSURES, pair_basis, second_moments_of
from meanfield.papers.pair_correlation_study import PairCorrelation
from meanfield.problem_facts import facts_of

_ANGLES = 361
# Most times beside each other, and largest degree that is drawn.
_MOST_TIMES, _MOST_DEGREES = 4, 24


@dataclass(frozen=True, eq=False)
class Closed:
    """Predictions of a closure at the times of the figure."""

    name: str  # as in `CLOSURES`
    psi: FloatArray  # (n_times, n_angles)
    second_moments: FloatArray  # (n_times, n_degrees)


@dataclass(frozen=True, eq=False)
class PairPicture:
    """Pair correlations psi (n_times, n_angles) and moments (n_times, n_degrees) at a few times."""

    facts: Facts  # manifold, kernel and flow
    tokens: int
    runs: int
    times: FloatArray  # (n_times,): at most four
    angles: FloatArray  # (n_angles,): radians, 0 to pi
    psi: FloatArray
    psi_error: FloatArray
    degrees: IntArray  # (n_degrees,): from 1 on
    second_moments: FloatArray
    standard_errors: FloatArray
    closures: tuple[Closed, ...]  # closures that apply to the problem


def pair_picture(correlations: PairCorrelation) -> PairPicture:
    """Picture of the pair correlations of an ensemble at the first, the last and middle times."""
    count = min(len(correlations.times), _MOST_TIMES)
    saves = np.unique(np.linspace(0, len(correlations.times) - 1, count).round().astype(int))
    angles = np.linspace(0.0, np.pi, _ANGLES)
    degrees = np.arange(1, min(correlations.max_degree, _MOST_DEGREES) + 1)
    basis = pair_basis(correlations.problem.manifold.dimension, correlations.max_degree, angles)
    psi, error = correlations.psi(angles)
    closures = []
    for name in CLOSURES:
        try:
            psi_hat = correlations.closure(name)[saves]
        except ValueError:
            # The closure does not apply to this flow, initial law or time.
            continue
        moments = second_moments_of(psi_hat, correlations.tokens)[:, degrees]
        closures.append(Closed(name, psi_hat @ basis, moments))
    return PairPicture(
        facts_of(correlations.problem),
        correlations.tokens,
        correlations.runs,
        correlations.times[saves],
        angles,
        psi[saves],
        error[saves],
        degrees,
        correlations.second_moments[saves][:, degrees],
        correlations.standard_errors[saves][:, degrees],
        tuple(closures),
    )


# Width of a column, least width (for the title), and height, in inches.
_WIDTH, _LEAST_WIDTH, _HEIGHT = 3.4, 6.8, 6.2
# Half width of the band in standard errors, and room around the measured values relative to them.
_BAND, _ROOM = 2.0, 0.25
_LINES: dict[str, dict[str, Any]] = {
    "linear": {"color": ORDER, "linestyle": "--", "linewidth": 1.3},
    "third cumulant": {"color": ENERGY, "linestyle": "-", "linewidth": 1.1},
    "Kirkwood": {"color": "#2a9134", "linestyle": "-.", "linewidth": 1.3},
}


def pair_correlation_figure(
    correlations: PairCorrelation, *, title: str | None = None, **options: Any
) -> Figure:
    """Figure of pair correlations."""
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
    """Draw psi with its error band at one time, and the closures."""
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
    """Draw second moments over degrees at one time, and the closures."""
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
