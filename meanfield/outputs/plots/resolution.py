"""Kind "resolution": the watched spectral tail of a density, and its degree."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from meanfield.outputs.plots.energy import points_if_few
from meanfield.outputs.plots.hand_overs import mark_hand_overs
from meanfield.outputs.plots.style import (
    COUNT,
    ENERGY,
    MUTED,
    set_title,
)
from meanfield.outputs.plots.time_axis import add_growth_times, set_time_axis
from meanfield.pictures.saved_times import shown
from meanfield.pictures.series import stored_tolerance
from meanfield.run import Run

_FLOOR = 1e-18


def draw(run: Run, figure: Figure) -> None:
    """Draw the whole figure."""
    tail = run.diagnostics.get("tail")
    if tail is None or not np.any(np.isfinite(tail[shown(run)])):
        carried = " and ".join(dict.fromkeys(run.representation)) or "nothing"
        raise ValueError(
            f"resolution figures are of densities, this run was carried by {carried}: "
            "points have no spectral tail. Use another kind."
        )
    axes = figure.subplots()
    set_title(axes, run)
    degree_on_twin(run, axes)
    on_axes(run, axes)
    set_time_axis(axes, run)
    mark_hand_overs(axes, run)
    add_growth_times(axes, run)


def on_axes(run: Run, axes: Axes) -> None:
    """Spectral tail and the tolerance it has to stay below."""
    kept = shown(run)
    tail = run.diagnostics["tail"][kept]
    tail = np.where(tail > _FLOOR, tail, np.nan)
    axes.semilogy(run.time[kept], tail, color=ENERGY, **points_if_few(run))
    axes.set_ylabel("spectral tail", color=ENERGY)
    tolerance = stored_tolerance(run)
    if tolerance is not None:
        axes.axhline(tolerance, color=MUTED, linewidth=1.0, dashes=(4, 2.5))
        axes.annotate(
            f"tolerance {tolerance:g}", (0.0, tolerance), xycoords=("axes fraction", "data"),
            xytext=(6, 4), textcoords="offset points", color=MUTED, fontsize=8.5,
        )  # fmt: skip
        axes.set_ylim(_FLOOR, 10 * float(np.nanmax([tolerance, *tail])))


def degree_on_twin(run: Run, axes: Axes) -> None:
    """Degree of the density, as steps on a second axis behind."""
    kept = shown(run)
    twin = axes.twinx()
    twin.step(run.time[kept], run.diagnostics["degree"][kept], where="post", color=COUNT,
              linewidth=1.2)  # fmt: skip
    twin.set_yscale("log", base=2)
    twin.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    twin.set_ylabel("degree of the density", color=COUNT)
    twin.spines["right"].set_visible(True)
    axes.set_zorder(twin.get_zorder() + 1)
    axes.patch.set_visible(False)
