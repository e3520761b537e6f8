"""Kind "order_parameter": length of the mean vector against time."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from meanfield.outputs.plots.energy import points_if_few
from meanfield.outputs.plots.hand_overs import mark_hand_overs
from meanfield.outputs.plots.style import ORDER, set_title
from meanfield.outputs.plots.time_axis import add_growth_times, set_time_axis
from meanfield.pictures.saved_times import shown
from meanfield.pictures.series import order_parameter
from meanfield.run import Run

LABEL = "order parameter $R$"


def draw(run: Run, figure: Figure) -> None:
    """Draw the whole figure."""
    axes = figure.subplots()
    set_title(axes, run)
    on_axes(run, axes)
    set_time_axis(axes, run)
    mark_hand_overs(axes, run)
    add_growth_times(axes, run)
    axes.set_ylabel(LABEL)


def on_axes(run: Run, axes: Axes) -> None:
    """Order parameter on given axes."""
    kept = shown(run)
    axes.plot(run.time[kept], order_parameter(run)[kept], color=ORDER, **points_if_few(run))
