"""Kind "overview": what happened, at a glance; made of the other kinds' axes."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from meanfield.outputs.plots import clusters, density, energy, order_parameter, spectrum
from meanfield.outputs.plots import map as sphere_map
from meanfield.outputs.plots.curves import label_ends
from meanfield.outputs.plots.hand_overs import mark_hand_overs
from meanfield.outputs.plots.style import ENERGY, FAINT, MUTED, ORDER, set_title
from meanfield.outputs.plots.time_axis import add_growth_times, set_time_axis
from meanfield.pictures import series
from meanfield.pictures.saved_times import shown
from meanfield.run import Run

_HEIGHTS = (3.3, 1.3, 2.0)


def draw(run: Run, figure: Figure) -> None:
    """Draw the whole figure: clusters stand in for a density that was not kept."""
    panels = figure.subplots(3, 1, height_ratios=_HEIGHTS)
    picture, *below = panels
    set_title(picture, run)
    if run.manifold.dimension > 1:
        first = sphere_map if sphere_map.missing(run) is None else clusters
        over_time = below
    else:
        first = density if density.missing(run) is None else clusters
        over_time = [picture, *below]
    first.on_axes(run, picture)
    energy_and_order(run, below[0])
    spectrum.on_axes(run, below[1], height=_HEIGHTS[2])
    for panel in over_time:
        set_time_axis(panel, run, label=panel is below[-1])
        panel.tick_params(labelbottom=panel is below[-1])
        colour = FAINT if panel is picture and first is density else MUTED
        row = energy.BELOW_LEVELS if panel is below[0] else 0
        mark_hand_overs(panel, run, names=panel is over_time[0], colour=colour, first_row=row)
    add_growth_times(over_time[0], run)


def energy_and_order(run: Run, axes: Axes) -> None:
    """Energy and order parameter on one pair of axes: both are 1 for a single cluster."""
    energy.on_axes(run, axes)
    order_parameter.on_axes(run, axes)
    energy.level_lines(run, axes)
    last = shown(run)[-1]
    ends = [
        (float(run.observables["energy"][last]), "energy $E$", ENERGY),
        (float(series.order_parameter(run)[last]), "order $R$", ORDER),
    ]
    negative = float(run.attributes.get("beta", 0.0)) < 0
    axes.set_ylabel("energy, order" if negative else "relative to\none cluster")
    label_ends(axes, ends, height=_HEIGHTS[1])
