"""Kind "clusters": where the clusters are; the area of a mark is the mass."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from meanfield.outputs.plots.density import set_angle_axis
from meanfield.outputs.plots.style import ENERGY, set_title
from meanfield.outputs.plots.time_axis import (
    add_growth_times,
    is_logarithmic,
    set_time_axis,
    shown,
    spread_evenly,
)
from meanfield.run import Run

_AREA = 150.0
_COLUMNS = 60
_LEGEND_MASSES = (0.1, 0.25, 0.5)


def draw(run: Run, figure: Figure) -> None:
    """Draw the whole figure."""
    manifold = run.attributes.get("manifold", "circle")
    if manifold != "circle":
        raise ValueError(f"cluster figures are for the circle, this run is on the {manifold}.")
    axes = figure.subplots()
    set_title(axes, run)
    on_axes(run, axes)
    set_time_axis(axes, run)
    add_growth_times(axes, run)


def on_axes(run: Run, axes: Axes) -> None:
    """Cluster centres on given axes, at up to 60 times spread evenly over the axis."""
    kept = shown(run)
    kept = kept[spread_evenly(run.time[kept], _COLUMNS, is_logarithmic(run.time))]
    centre, mass = run.observables["clusters/centre"][kept], run.observables["clusters/mass"][kept]
    times = np.broadcast_to(run.time[kept][:, None], centre.shape)
    found = np.isfinite(centre)
    axes.scatter(
        times[found], centre[found], s=_AREA * mass[found], color=ENERGY, alpha=0.75, linewidth=0
    )
    set_angle_axis(axes)
    marks = [
        Line2D(
            [],
            [],
            linestyle="",
            marker="o",
            markersize=np.sqrt(_AREA * m),
            color=ENERGY,
            alpha=0.75,
            markeredgewidth=0,
            label=f"{m:g}",
        )  # fmt: skip
        for m in _LEGEND_MASSES
    ]
    axes.legend(
        handles=marks, title="mass", loc="center left", bbox_to_anchor=(1.0, 0.5), labelspacing=0.9
    )
