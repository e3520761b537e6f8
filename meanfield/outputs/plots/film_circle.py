"""Film of a run on the circle: the density as a curve around it, and the picture of all times.

radius of the curve    r = 1 + h log(1 + f) / log(1 + f_max)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm

from meanfield.arrays import FloatArray
from meanfield.outputs.plots import density
from meanfield.outputs.plots.colours import colour_range
from meanfield.outputs.plots.film import Film, film_frames, new_film_figure, time_cursor
from meanfield.outputs.plots.map import time_label
from meanfield.outputs.plots.style import DENSITY_COLOURS, ENERGY, FAINT, INK
from meanfield.outputs.plots.time_axis import set_time_axis
from meanfield.pictures.circle import cell_edges, column, marks
from meanfield.pictures.saved_times import is_smooth
from meanfield.pictures.tokens import token_paths
from meanfield.run import Run

_CELLS, _FEW_CELLS = 720, 180
_TOKENS = 60
_HEIGHT = 0.62
_RING = 7.0  # points
# Of atoms: one that holds all the mass, and the lightest.
_AREA, _SMALLEST = 250.0, 4.0


def film(run: Run) -> Film:
    """Film with the space-time picture beside it."""
    frames = film_frames(run)
    figure, picture, above, below = new_film_figure(run)
    values = ring_values(run, frames)
    top = float(np.log1p(values.max()))
    edges = cell_edges(values.shape[1])
    norm = LogNorm(*colour_range(values))

    disc = picture.inset_axes((0.0, 0.0, 1.0, 1.0))
    disc.set_axis_off()
    disc.set_aspect("equal")
    disc.set_xlim(-1.0 - _HEIGHT, 1.0 + _HEIGHT)
    disc.set_ylim(-1.0 - _HEIGHT, 1.0 + _HEIGHT)
    uniform = 1.0 + _HEIGHT * np.log(2.0) / top
    disc.plot(*_at(uniform, edges), color=FAINT, linewidth=0.8, zorder=1)
    # Pieces overlap: no white shines through between them.
    ends = edges[1:] + 0.5 * (edges[1] - edges[0])
    ring = LineCollection(
        list(np.stack([_at(1.0, edges[:-1]).T, _at(1.0, ends).T], axis=1)),
        cmap=DENSITY_COLOURS, norm=norm, linewidths=_RING, capstyle="butt", zorder=3,
    )  # fmt: skip
    disc.add_collection(ring)
    (curve,) = disc.plot([], [], color=INK, linewidth=1.1, zorder=2)
    filled = disc.fill([], [], color=FAINT, alpha=0.6, linewidth=0, zorder=1)[0]
    dots = disc.scatter([], [], s=9.0, color=INK, linewidths=0, zorder=4)
    atoms = disc.scatter([], [], s=9.0, color=ENERGY, linewidths=0, zorder=5)
    label = disc.annotate("", (0.0, 0.0), ha="center", va="center", color=INK, linespacing=1.6)

    density.on_axes(run, above)
    set_time_axis(above, run, label=False)
    above.tick_params(labelbottom=False)
    cursors = [time_cursor(axes, float(run.time[frames[0]])) for axes in (above, below)]
    tokens = token_angles(run, frames)
    centres = np.append(edges[:-1], edges[0]) + 0.5 * (edges[1] - edges[0])

    def show(k: int) -> None:
        heights = 1.0 + _HEIGHT * np.log1p(np.append(values[k], values[k, 0])) / top
        outer = _at(heights, centres)
        curve.set_data(*outer)
        filled.set_xy(np.concatenate([outer, _at(1.0, centres[::-1])], axis=1).T)
        ring.set_array(np.clip(values[k], norm.vmin, norm.vmax))
        dots.set_offsets(_at(0.93, tokens[k]).T)
        places, masses = marks(run, int(frames[k]))
        atoms.set_offsets(_at(1.0, places).T)
        atoms.set_sizes(np.maximum(_AREA * masses, _SMALLEST))
        label.set_text(time_label(run, int(frames[k])).replace(",  ", "\n"))
        time = float(run.time[frames[k]])
        for cursor in cursors:
            cursor.set_xdata([time, time])

    return Film(figure, frames, show, (filled, curve, ring, dots, atoms, label, *cursors))


def ring_values(run: Run, frames: Any) -> FloatArray:
    """Mean density in the cells of the ring, shape (frames, cells); wider cells for tokens."""
    count = _CELLS if all(is_smooth(run, i) for i in frames) else _FEW_CELLS
    return np.array([np.maximum(column(run, i, count), 0.0) for i in frames])


def token_angles(run: Run, frames: Any) -> FloatArray:
    """Angles of a few tokens, shape (frames, tokens); NaN where their paths have ended."""
    angles = token_paths(run, _TOKENS)[1]
    ended = np.full((len(run.time) - len(angles), angles.shape[1]), np.nan)
    return np.asarray(np.concatenate([angles, ended])[frames])


def _at(radius: FloatArray | float, angles: FloatArray) -> FloatArray:
    """Places (2, n) in the plane."""
    return np.array([radius * np.cos(angles), radius * np.sin(angles)])
