"""Kind "globe": the sphere from in front and from behind, at the last saved time."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from meanfield.arrays import FloatArray
from meanfield.outputs.plots.colours import add_colour_bar, colour_range
from meanfield.outputs.plots.map import missing, time_label
from meanfield.outputs.plots.sphere_picture import (
    HALO,
    TOKENS,
    colours_label,
    draw_clusters,
    draw_density,
    draw_graticule,
)
from meanfield.outputs.plots.sphere_tokens import dot_style
from meanfield.outputs.plots.style import MUTED, set_title
from meanfield.pictures.projections import Orthographic
from meanfield.pictures.sphere import chosen_times, densest_place, marked_clusters, values_on
from meanfield.pictures.tokens import tokens_of
from meanfield.run import Run

_PIXELS = 600
_LEAST_LABELLED = 0.02


def draw(run: Run, figure: Figure) -> None:
    """Draw the whole figure."""
    reason = missing(run)
    if reason is not None:
        raise ValueError(reason)
    axes = figure.subplots()
    set_title(axes, run)
    on_axes(run, axes)


def on_axes(run: Run, axes: Axes) -> None:
    """Both sides inside given axes, which are hidden; the heaviest cluster is in front."""
    axes.set_axis_off()
    index = int(chosen_times(run, 1)[-1])
    measure = run.measures[index]
    if measure is None:
        raise ValueError(missing(run))
    front = densest_place(run, index)
    sides = [("front", Orthographic(front)), ("back", Orthographic(-front))]
    values = np.array([values_on(measure, projection, _PIXELS) for _, projection in sides])
    norm = LogNorm(*colour_range(values))
    tokens, clusters = tokens_of(run)[index], marked_clusters(run, index)
    dots = dot_style(run, index, tokens)
    for k, (name, projection) in enumerate(sides):
        panel = axes.inset_axes((0.51 * k, 0.07, 0.49, 0.93))
        image = draw_density(panel, values[k], projection, norm)
        draw_graticule(panel, projection)
        panel.scatter(*projection.to_plane(tokens).T, **TOKENS | dots)
        draw_clusters(panel, projection.to_plane(clusters[0]), 120.0)
        _label_masses(panel, projection.to_plane(clusters[0]), clusters[1])
        panel.annotate(
            f"{name}: around {place_label(projection.towards)}", (0.5, 0.0),
            xycoords="axes fraction", xytext=(0, -3), textcoords="offset points",
            ha="center", va="top", fontsize=8.5, color=MUTED,
        )  # fmt: skip
    axes.set_title(time_label(run, index), loc="right", color=MUTED, pad=8)
    place = (1.02, 0.09, 0.016, 0.89)
    add_colour_bar(axes, image, values, place=place, label=colours_label(measure))


def place_label(point: FloatArray) -> str:
    """Longitude and latitude of a unit vector, whole degrees.

    Examples
    --------
    >>> place_label(np.array([0.0, -1.0, 0.0])), place_label(np.array([0.6, 0.0, 0.8]))
    ('90° W, 0°', '0°, 53° N')
    """
    longitude = round(float(np.rad2deg(np.arctan2(point[1], point[0]))))
    latitude = round(float(np.rad2deg(np.arcsin(np.clip(point[2], -1.0, 1.0)))))
    east = "" if longitude % 180 == 0 else " E" if longitude > 0 else " W"
    north = "" if latitude == 0 else " N" if latitude > 0 else " S"
    return f"{abs(longitude)}°{east}, {abs(latitude)}°{north}"


def _label_masses(axes: Axes, places: FloatArray, mass: FloatArray) -> None:
    for place, share in zip(places, mass, strict=True):
        if share >= _LEAST_LABELLED and np.isfinite(place).all():
            # Towards the middle: right of the globe white is white.
            left = place[0] > 0.0
            axes.annotate(
                f"{100 * share:.0f} %", tuple(place), xytext=(-8 if left else 8, 0),
                textcoords="offset points", ha="right" if left else "left", va="center",
                color="white", fontsize=8, zorder=5, path_effects=HALO,
            )  # fmt: skip
