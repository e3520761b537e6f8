"""Kind "density": the density over time and angle, with the paths of tokens on it."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from meanfield.arrays import FloatArray
from meanfield.measures import Density, Measure
from meanfield.outputs.plots import map as sphere_map
from meanfield.outputs.plots.cell_means import cell_edges, cell_means
from meanfield.outputs.plots.colours import add_colour_bar, colour_range
from meanfield.outputs.plots.style import DENSITY_COLOURS, set_title
from meanfield.outputs.plots.time_axis import (
    add_growth_times,
    is_logarithmic,
    set_time_axis,
    shown,
    spread_evenly,
)
from meanfield.outputs.plots.token_paths import token_paths
from meanfield.run import Run

_CELLS = 720
_COLUMNS = 900
_MOST_COLUMNS = 1500
_PATHS = 40
_PATH_POINTS = 4
# Cells of a histogram hold about this many tokens of a uniform measure.
_TOKENS_PER_CELL = 10
_FEWEST_CELLS = 240


def draw(run: Run, figure: Figure) -> None:
    """Draw the whole figure; on the sphere, where time has no axis left, that is the map."""
    if run.manifold.dimension > 1:
        sphere_map.draw(run, figure)
        return
    reason = missing(run)
    if reason is not None:
        raise ValueError(reason)
    axes = figure.subplots()
    set_title(axes, run)
    on_axes(run, axes)
    set_time_axis(axes, run)
    add_growth_times(axes, run)


def missing(run: Run) -> str | None:
    """What a run lacks for this figure and what to do about it; None if nothing."""
    if len(shown(run)) < 2:
        return f"a density figure needs at least 2 saved times, the run has {len(run.time)}."
    if any(run.measures[i] is None for i in shown(run)):
        return 'the states of the run were not kept: set [output] state = "all" and run again.'
    return None


def on_axes(run: Run, axes: Axes) -> None:
    """Density, token paths and colour bar on given axes."""
    kept = shown(run)
    logarithmic = is_logarithmic(run.time)
    kept = kept[spread_evenly(run.time[kept], _MOST_COLUMNS, logarithmic)]
    measures = [measure for i in kept if (measure := run.measures[i]) is not None]
    count = _cell_count(measures)
    table = np.array([cell_means(measure, count) for measure in measures]).T
    low, high = colour_range(table)
    edges, values = _between(run.time[kept]), np.clip(table, low, high)
    if all(isinstance(measure, Density) for measure in measures):
        edges, values = _interpolated(run.time[kept], values, logarithmic)
    mesh = axes.pcolormesh(
        edges,
        cell_edges(count),
        values,
        norm=LogNorm(low, high),
        cmap=DENSITY_COLOURS,
        shading="flat",
        rasterized=True,
    )
    _draw_paths(run, axes)
    set_angle_axis(axes)
    add_colour_bar(axes, mesh, table)


def set_angle_axis(axes: Axes) -> None:
    """Angles from -pi to pi, upwards."""
    axes.set_ylim(-np.pi, np.pi)
    axes.set_yticks(np.pi * np.array([-1, -0.5, 0, 0.5, 1]))
    axes.set_yticklabels([r"$-\pi$", r"$-\pi/2$", "$0$", r"$\pi/2$", r"$\pi$"])
    axes.set_ylabel(r"angle $\theta$ (rad)")


def _cell_count(measures: list[Density | Measure]) -> int:
    """Fine for densities; for tokens so that cells hold some."""
    effective = [1.0 / float(np.sum(m.mass**2)) for m in measures if isinstance(m, Measure)]
    if not effective:
        return _CELLS
    return 2 * int(np.clip(min(effective) / _TOKENS_PER_CELL, _FEWEST_CELLS, _CELLS) // 2)


def _interpolated(
    times: FloatArray, table: FloatArray, logarithmic: bool
) -> tuple[FloatArray, FloatArray]:
    """Edges and values of columns that are narrow on the time axis, by interpolation of log f."""
    places = np.log(times) if logarithmic else times
    edges = np.linspace(places[0], places[-1], _COLUMNS + 1)
    centres = 0.5 * (edges[1:] + edges[:-1])
    right = np.clip(np.searchsorted(places, centres), 1, len(places) - 1)
    share = (centres - places[right - 1]) / (places[right] - places[right - 1])
    columns = np.log(table)
    values = np.exp((1 - share) * columns[:, right - 1] + share * columns[:, right])
    return np.exp(edges) if logarithmic else edges, values


def _between(times: FloatArray) -> FloatArray:
    """Edges of columns: half way between saved times."""
    return np.concatenate([times[:1], 0.5 * (times[1:] + times[:-1]), times[-1:]])


def _draw_paths(run: Run, axes: Axes) -> None:
    times, angles = token_paths(run, _PATHS, _PATH_POINTS)
    lines = []
    for path in angles.T:
        # A path that winds is drawn once a turn; the axes cut each copy at the seam.
        first = int(np.floor((path.min() + np.pi) / (2 * np.pi)))
        last = int(np.floor((path.max() + np.pi) / (2 * np.pi)))
        lines += [
            np.column_stack([times, path - 2 * np.pi * turn]) for turn in range(first, last + 1)
        ]
    axes.add_collection(
        LineCollection(lines, colors="white", linewidths=0.6, alpha=0.55), autolim=False
    )
