"""Kind "overview": what happened, at a glance; made of the other kinds' axes."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from meanfield.outputs.plots import clusters, density, energy, order_parameter, spectrum
from meanfield.outputs.plots.curves import label_ends
from meanfield.outputs.plots.style import ENERGY, ORDER, set_title
from meanfield.outputs.plots.time_axis import add_growth_times, set_time_axis, shown
from meanfield.run import Run

_HEIGHTS = (3.3, 1.3, 2.0)


def draw(run: Run, figure: Figure) -> None:
    """Draw the whole figure: clusters stand in for a density that was not kept."""
    panels = figure.subplots(3, 1, sharex=True, height_ratios=_HEIGHTS)
    set_title(panels[0], run)
    first = density if density.missing(run) is None else clusters
    first.on_axes(run, panels[0])
    add_growth_times(panels[0], run)
    energy_and_order(run, panels[1])
    spectrum.on_axes(run, panels[2], height=_HEIGHTS[2])
    for panel in panels:
        set_time_axis(panel, run, label=panel is panels[-1])


def energy_and_order(run: Run, axes: Axes) -> None:
    """Energy and order parameter on one pair of axes: both are 1 for a single cluster."""
    energy.on_axes(run, axes)
    order_parameter.on_axes(run, axes)
    energy.level_lines(run, axes)
    last = shown(run)[-1]
    ends = [
        (float(run.observables["energy"][last]), "energy $E$", ENERGY),
        (float(order_parameter.order_parameter(run)[last]), "order $R$", ORDER),
    ]
    negative = float(run.attributes.get("beta", 0.0)) < 0
    axes.set_ylabel("energy, order" if negative else "relative to\none cluster")
    label_ends(axes, ends, height=_HEIGHTS[1])
