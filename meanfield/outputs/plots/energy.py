"""Kind "energy": the staircase of the interaction energy, and the number of clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from meanfield.arrays import FloatArray
from meanfield.outputs.plots.hand_overs import mark_hand_overs
from meanfield.outputs.plots.style import COUNT, ENERGY, FAINT, MUTED, set_title
from meanfield.outputs.plots.time_axis import add_growth_times, set_time_axis
from meanfield.pictures.saved_times import shown
from meanfield.pictures.series import equal_clusters
from meanfield.run import Run

_LEVEL_SPACING = 0.12
# Names of lines above this share of the height stand below them.
_TOP = 0.9
# Rows of text at the top that names of lines may take.
BELOW_LEVELS = 2


def draw(run: Run, figure: Figure) -> None:
    """Draw the whole figure."""
    axes = figure.subplots()
    set_title(axes, run)
    count_on_twin(run, axes)
    on_axes(run, axes)
    level_lines(run, axes)
    set_time_axis(axes, run)
    mark_hand_overs(axes, run, first_row=BELOW_LEVELS)
    add_growth_times(axes, run)
    axes.set_ylabel(energy_label(run), color=ENERGY)


def energy_label(run: Run) -> str:
    """Name of the normalised energy; the reference is that of the definition."""
    reference = "uniform" if float(run.attributes.get("beta", 0.0)) < 0 else "Dirac"
    return rf"energy $E\,/\,E$[{reference}]"


def on_axes(run: Run, axes: Axes) -> None:
    """Energy on given axes."""
    kept = shown(run)
    axes.plot(run.time[kept], run.observables["energy"][kept], color=ENERGY, **points_if_few(run))


def level_lines(run: Run, axes: Axes) -> None:
    """Energies of n equal clusters, as lines as far as they are told apart; sets the limits."""
    curves = [np.asarray(line.get_ydata(), dtype=np.float64) for line in axes.lines]
    top = max(float(np.nanmax(curve)) for curve in curves)
    levels = equal_clusters(run)
    above = [level for level in levels.values() if top <= level <= 1.35 * top]
    top = 1.06 * max([top, *above])
    axes.set_ylim(0.0, top)
    last = np.inf
    for n, level in levels.items():
        if level > top or last - level < _LEVEL_SPACING * top:
            continue
        last = level
        # The name stands at the end where the curves are farther away.
        right = _distance(curves, -1, level) > _distance(curves, 0, level)
        axes.axhline(level, color=FAINT, linewidth=0.8, zorder=0)
        below = level > _TOP * top
        axes.annotate(
            f"{n} equal clusters" if n > 1 else "one cluster", (float(right), level),
            xycoords=("axes fraction", "data"), xytext=(-6 if right else 6, -2 if below else 2),
            textcoords="offset points", ha="right" if right else "left", fontsize=7.5, color=MUTED,
            va="top" if below else "bottom",
        )  # fmt: skip


def _distance(curves: list[FloatArray], end: int, level: float) -> float:
    return min(abs(float(curve[end]) - level) for curve in curves)


def count_on_twin(run: Run, axes: Axes) -> None:
    """Number of clusters, as steps on a second axis behind."""
    kept = shown(run)
    count = run.observables["clusters/count"][kept]
    twin = axes.twinx()
    twin.step(run.time[kept], count, where="mid", color=COUNT, linewidth=1.2)
    twin.fill_between(run.time[kept], count, step="mid", color=COUNT, alpha=0.15, linewidth=0)
    twin.set_ylim(0, max(float(np.nanmax(count)), 1.0) * 1.15)
    twin.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    twin.set_ylabel("clusters", color=COUNT)
    twin.spines["right"].set_visible(True)
    axes.set_zorder(twin.get_zorder() + 1)
    axes.patch.set_visible(False)


def points_if_few(run: Run) -> dict[str, Any]:
    """Mark the saved times where there are too few to make a curve."""
    return {"marker": "o", "markersize": 4} if len(shown(run)) < 12 else {}
