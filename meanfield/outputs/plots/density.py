"""Kind "density": the density over time and angle, with the paths of tokens on it."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from numpy.typing import NDArray

from meanfield.arrays import FloatArray, IntArray
from meanfield.outputs.plots import map as sphere_map
from meanfield.outputs.plots.colours import add_colour_bar, colour_range
from meanfield.outputs.plots.hand_overs import mark_hand_overs
from meanfield.outputs.plots.style import DENSITY_COLOURS, FAINT, set_title
from meanfield.outputs.plots.time_axis import add_growth_times, set_time_axis
from meanfield.pictures.circle import cell_count, cell_edges, column, marks
from meanfield.pictures.saved_times import (
    edges_between,
    is_logarithmic,
    is_smooth,
    places_on_axis,
    shown,
    spread_evenly,
)
from meanfield.pictures.tokens import token_paths
from meanfield.run import Run

_COLUMNS = 900
_MOST_COLUMNS = 1500
_PATHS = 40
_PATH_POINTS = 4
# Of atoms, in points: one that holds all the mass, and the lightest.
_ATOM_WIDTH, _THINNEST = 8.0, 0.7
_PLACES, _DIGITS = 2, 9  # of an angle and a mass that stay


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
    mark_hand_overs(axes, run, colour=FAINT)
    add_growth_times(axes, run)


def missing(run: Run) -> str | None:
    """What a run lacks for this figure and what to do about it; None if nothing."""
    if len(shown(run)) < 2:
        return f"a density figure needs at least 2 saved times, the run has {len(run.time)}."
    if any(run.measures[i] is None for i in shown(run)):
        return 'the states of the run were not kept: set [output] state = "all" and run again.'
    return None


def on_axes(run: Run, axes: Axes) -> None:
    """Density, token paths, atoms and colour bar on given axes."""
    kept = shown(run)
    logarithmic = is_logarithmic(run.time)
    kept = kept[spread_evenly(run.time[kept], _MOST_COLUMNS, logarithmic)]
    count = cell_count(run, kept)
    edges = edges_between(run.time[kept], logarithmic)
    table = np.array([column(run, i, count, marked=False) for i in kept]).T
    axes.set_facecolor(mpl.colormaps[DENSITY_COLOURS](0.0))
    if table.any():  # not atoms alone
        _draw_columns(run, axes, kept, edges, table)
    set_angle_axis(axes)
    _draw_paths(run, axes)
    _draw_atoms(run, axes, kept, edges)


def _draw_columns(
    run: Run, axes: Axes, kept: IntArray, edges: FloatArray, table: FloatArray
) -> None:
    """Colours, and their bar."""
    low, high = colour_range(table)
    values = np.clip(table, low, high)
    smooth = np.array([is_smooth(run, i) for i in kept])
    if smooth.any():
        times = run.time[kept]
        edges, values = _interpolated(times, values, smooth, is_logarithmic(run.time))
    mesh = axes.pcolormesh(
        edges, cell_edges(len(table)), values, norm=LogNorm(low, high), cmap=DENSITY_COLOURS,
        shading="flat", rasterized=True,
    )  # fmt: skip
    add_colour_bar(axes, mesh, table)


def set_angle_axis(axes: Axes) -> None:
    """Angles from -pi to pi, upwards."""
    axes.set_ylim(-np.pi, np.pi)
    axes.set_yticks(np.pi * np.array([-1, -0.5, 0, 0.5, 1]))
    axes.set_yticklabels([r"$-\pi$", r"$-\pi/2$", "$0$", r"$\pi/2$", r"$\pi$"])
    axes.set_ylabel(r"angle $\theta$ (rad)")


def _interpolated(
    times: FloatArray, table: FloatArray, smooth: NDArray[np.bool_], logarithmic: bool
) -> tuple[FloatArray, FloatArray]:
    """Edges and values of columns that are narrow on the time axis.

    Between two densities log f is interpolated, elsewhere the nearer column is taken.
    """
    places = places_on_axis(times, logarithmic)
    edges = np.linspace(places[0], places[-1], _COLUMNS + 1)
    centres = 0.5 * (edges[1:] + edges[:-1])
    right = np.clip(np.searchsorted(places, centres), 1, len(places) - 1)
    share = (centres - places[right - 1]) / (places[right] - places[right - 1])
    share = np.where(smooth[right] & smooth[right - 1], share, np.round(share))
    columns = np.log(table)
    values = np.exp((1 - share) * columns[:, right - 1] + share * columns[:, right])
    return np.exp(edges) if logarithmic else edges, values


def _draw_paths(run: Run, axes: Axes) -> None:
    times, angles = token_paths(run, _PATHS, _PATH_POINTS)
    if float(run.attributes.get("diffusivity", 0.0)):
        # Where noisy tokens went between two saves nobody knows.
        seen = (angles + np.pi) % (2 * np.pi) - np.pi
        axes.plot(times, seen, ".", color="white", markersize=2.0, alpha=0.55, scaley=False)
        return
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


def _draw_atoms(run: Run, axes: Axes, kept: IntArray, edges: FloatArray) -> None:
    """Atoms as dashes from one edge to the next, as thick as they are heavy: none crosses the seam.

    An atom that rests is one dash; else which is which at the next saved time is not asked.
    """
    dashes: list[list[tuple[float, float]]] = []
    masses: list[float] = []
    going: dict[tuple[float, float], int] = {}  # dashes that end at an edge, by angle and mass
    for i, begin, end in zip(kept, edges[:-1], edges[1:], strict=True):
        angles, weights = marks(run, i)
        before, going = going, {}
        for angle, mass in zip((angles + np.pi) % (2 * np.pi) - np.pi, weights, strict=True):
            key = (round(angle, _PLACES), round(mass, _DIGITS))
            if key not in before:
                dashes.append([(begin, angle)])
                masses.append(mass)
            going[key] = before.get(key, len(dashes) - 1)
            dashes[going[key]][1:] = [(end, dashes[going[key]][0][1])]
    if dashes:
        widths = np.maximum(_ATOM_WIDTH * np.array(masses), _THINNEST)
        bright = mpl.colormaps[DENSITY_COLOURS](1.0)
        axes.add_collection(
            LineCollection(dashes, colors=[bright], linewidths=widths, capstyle="butt", zorder=2.5),
            autolim=False,
        )
