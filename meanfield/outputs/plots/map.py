"""Kind "map": the sphere as equal-area maps at a few saved times."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from meanfield.outputs.plots.colours import add_colour_bar, colour_range
from meanfield.outputs.plots.sphere_picture import (
    TOKENS,
    colours_label,
    draw_clusters,
    draw_density,
    draw_graticule,
)
from meanfield.outputs.plots.sphere_tokens import dot_style
from meanfield.outputs.plots.style import MUTED, set_title
from meanfield.outputs.plots.time_axis import number_label
from meanfield.pictures.projections import Mollweide
from meanfield.pictures.sphere import chosen_times, marked_clusters, values_on
from meanfield.pictures.tokens import tokens_of
from meanfield.run import Run

_PANELS = 6
_PIXELS = 1200
_LABEL = 0.16  # height below each map, for its time, as a share of a row
_GAP = 0.02


def draw(run: Run, figure: Figure) -> None:
    """Draw the whole figure."""
    reason = missing(run)
    if reason is not None:
        raise ValueError(reason)
    axes = figure.subplots()
    set_title(axes, run)
    on_axes(run, axes)


def missing(run: Run) -> str | None:
    """What a run lacks for this figure and what to do about it; None if nothing."""
    if all(measure is None for measure in run.measures):
        return 'the states of the run were not kept: set [output] state = "all" and run again.'
    return None


def on_axes(run: Run, axes: Axes, panels: int = _PANELS) -> None:
    """Maps inside given axes, which are hidden, with one colour bar beside them."""
    axes.set_axis_off()
    chosen = chosen_times(run, panels)
    projection = Mollweide()
    columns = len(chosen) if len(chosen) < 4 else (len(chosen) + 1) // 2
    pictures = [
        values_on(measure, projection, _PIXELS // columns)
        for i in chosen
        if (measure := run.measures[i]) is not None
    ]
    values = np.array(pictures)
    tokens = tokens_of(run)
    norm = LogNorm(*colour_range(values))
    for i, picture, place in zip(chosen, pictures, _places(len(chosen), columns), strict=True):
        panel = axes.inset_axes(place)
        image = draw_density(panel, picture, projection, norm)
        draw_graticule(panel, projection)
        style = dot_style(run, int(i), tokens[i], columns)
        panel.scatter(*projection.to_plane(tokens[i]).T, **TOKENS | style)
        draw_clusters(panel, projection.to_plane(marked_clusters(run, int(i))[0]))
        panel.annotate(
            time_label(run, int(i)), (0.5, 0.0), xycoords="axes fraction", xytext=(0, -3),
            textcoords="offset points", ha="center", va="top", fontsize=8.5, color=MUTED,
        )  # fmt: skip
    label = colours_label(run.measures[chosen[-1]])
    add_colour_bar(axes, image, values, place=(1.015, 0.05, 0.016, 0.95), label=label)


def time_label(run: Run, index: int) -> str:
    """Time of a panel, also in growth times if a degree grows."""
    time, rate = float(run.time[index]), float(run.attributes.get("growth_rate_max", 0.0))
    label = f"$t = {number_label(time)}$"
    grown = f",  ${number_label(time * rate, 3)}$ growth times"
    return label + (grown if rate > 0 and time > 0 else "")


def _places(count: int, columns: int) -> list[tuple[float, float, float, float]]:
    """Left, bottom, width, height of the panels, row by row from the top."""
    rows = -(-count // columns)
    return [
        (
            (i % columns + 0.5 * _GAP) / columns,
            1.0 - (i // columns + 1 - _LABEL) / rows,
            (1.0 - _GAP) / columns,
            (1.0 - _LABEL) / rows,
        )
        for i in range(count)
    ]
