"""Film of a run on the sphere: a globe that turns, and the map of all of it."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import LogNorm

from meanfield.arrays import FloatArray
from meanfield.outputs.plots.colours import add_colour_bar, colour_range
from meanfield.outputs.plots.film import Film, film_frames, new_film_figure, time_cursor
from meanfield.outputs.plots.map import time_label
from meanfield.outputs.plots.sphere_picture import (
    TOKENS,
    clipped,
    colours_label,
    draw_density,
    draw_graticule,
)
from meanfield.outputs.plots.sphere_tokens import dot_style
from meanfield.outputs.plots.style import INK
from meanfield.pictures.projections import Mollweide, Orthographic, directions
from meanfield.pictures.sphere import densest_place, graticule, values_on
from meanfield.pictures.tokens import tokens_of
from meanfield.run import Run

_GLOBE, _MAP = 400, 420  # pixels across
_MAP_DOTS = 0.4  # area of a dot on the map, relative to the globe
_TURN = np.deg2rad(1.2)  # a frame
_ELEVATION = np.deg2rad(20.0)
_SAMPLES = 12  # frames that the range of colours is taken from


def film(run: Run) -> Film:
    """Film that ends with the heaviest cluster in front."""
    frames = film_frames(run)
    figure, picture, above, below = new_film_figure(run)
    last = densest_place(run, int(frames[-1]))
    end = np.arctan2(last[1], last[0])
    turns = end - _TURN * np.arange(len(frames))[::-1]
    flat, globes = Mollweide(), [Orthographic(directions(turn, _ELEVATION)) for turn in turns]
    some = np.unique(np.linspace(0, len(frames) - 1, _SAMPLES).astype(np.int64))
    values = np.array([_values(run, int(frames[k]), flat) for k in some])
    norm = LogNorm(*colour_range(values))

    globe = picture.inset_axes((0.0, 0.0, 1.0, 1.0))
    globe_image = draw_density(globe, _values(run, int(frames[0]), globes[0]), globes[0], norm)
    map_image = draw_density(above, _values(run, int(frames[0]), flat), flat, norm)
    kind = colours_label(run.measures[frames[0]])
    add_colour_bar(above, map_image, values, place=(1.02, 0.0, 0.02, 1.0), label=kind)
    lines = draw_graticule(globe, globes[0])
    map_lines = draw_graticule(above, flat)
    tokens = tokens_of(run)
    dots = [axes.scatter([], [], **TOKENS) for axes in (globe, above)]
    label = picture.annotate(
        "", (0.5, 0.0), xycoords="axes fraction", xytext=(0, -6), textcoords="offset points",
        ha="center", va="top", color=INK,
    )  # fmt: skip
    cursor = time_cursor(below, float(run.time[frames[0]]))

    def show(k: int) -> None:
        index, time = int(frames[k]), float(run.time[frames[k]])
        globe_image.set_data(clipped(_values(run, index, globes[k]), norm))
        map_image.set_data(clipped(_values(run, index, flat), norm))
        lines.set_data(*graticule(globes[k]).T)
        dots[0].set_offsets(globes[k].to_plane(tokens[index]))
        dots[1].set_offsets(flat.to_plane(tokens[index]))
        style = dot_style(run, index, tokens[index])
        for marks, share in zip(dots, (1.0, _MAP_DOTS), strict=True):
            marks.set_sizes(share * style["s"])
            marks.set_alpha(style["alpha"])
        label.set_text(time_label(run, index))
        cursor.set_xdata([time, time])

    edges = (globe.patches[0], above.patches[0])
    moving = (globe_image, map_image, *edges, lines, map_lines, *dots, label, cursor)
    return Film(figure, frames, show, moving)


def _values(run: Run, index: int, projection: Mollweide | Orthographic) -> FloatArray:
    measure = run.measures[index]
    if measure is None:  # `film_frames` leaves these out
        raise ValueError(f"the state at t = {run.time[index]:g} was not kept.")
    return values_on(measure, projection, _MAP if isinstance(projection, Mollweide) else _GLOBE)
