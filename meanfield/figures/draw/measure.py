"""Figure of a single measure: a curve over the angle, or a map."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from meanfield.arrays import FloatArray
from meanfield.figures.data.circle import cell_edges, cell_means, lowest_angle
from meanfield.figures.data.projections import Mollweide
from meanfield.figures.data.saved_times import colour_range
from meanfield.figures.data.sphere import values_on
from meanfield.figures.data.tokens import some_tokens
from meanfield.figures.data.vectors import principal_axes
from meanfield.figures.draw.axes import ENERGY, INK, MUTED, ORDER, add_colour_bar, style
from meanfield.figures.draw.figures import new_figure
from meanfield.figures.draw.sphere import TOKENS, draw_density, draw_graticule, token_style
from meanfield.measures import Density, Measure

# Up to _FEW points are drawn with their masses; more, in cells of about _TOKENS_PER_CELL tokens.
_FEW, _CELLS, _TOKENS_PER_CELL = 60, 720, 10
_PIXELS = 900


@dataclass(frozen=True, eq=False)
class MeasurePicture:
    """Density, or points and masses, of a measure."""

    name: str
    # (cells,): mean density in equal cells of the angle from -pi, or from 0 for axial measures; or
    # (height, width): density in the pixels of a map.
    values: FloatArray
    colours: tuple[float, float]  # densities at the ends of the colours of a map
    points: FloatArray
    masses: FloatArray
    smoothed: bool  # whether the density belongs to smoothed points


def measure_picture(measure: Density | Measure, width: float | None = None) -> MeasurePicture:
    """Picture of a measure, smoothed over the angle `width` if given."""
    smoothed = measure if width is None else measure.smoothed(width)
    if isinstance(measure, Measure) and not measure.manifold.has_series:
        vectors = some_tokens(measure)
        places = vectors
        if vectors.shape[1] != 2:
            places = vectors @ principal_axes(vectors)[0].T
        return MeasurePicture(repr(measure), np.zeros(0), (0.0, 1.0), places, np.zeros(0), False)
    bare = isinstance(measure, Measure) and not measure.cell_order
    points, masses = np.zeros((0, 2)), np.zeros(0)
    if measure.manifold.point_shape:
        values = values_on(smoothed, Mollweide(), _PIXELS)
        if bare and isinstance(measure, Measure):
            points = Mollweide().to_plane(some_tokens(measure))
        return MeasurePicture(repr(measure), values, colour_range(values), points, masses, bare)
    count = _CELLS
    if isinstance(smoothed, Measure) and bare:
        few = len(smoothed.points) <= _FEW
        points, masses = (smoothed.points, smoothed.mass) if few else (points, masses)
        count = 2 * int(np.clip(len(smoothed.points) / _TOKENS_PER_CELL, 12, _CELLS) // 2)
    values = cell_means(smoothed, count)
    return MeasurePicture(repr(measure), values, (0.0, 1.0), points, masses, bare)


_SIZE, _MAP_SIZE, _AXES_SIZE = (7.0, 3.2), (7.0, 3.6), (5.0, 4.6)


def measure_figure(
    measure: Density | Measure,
    *,
    width: float | None = None,
    ax: Axes | None = None,
    title: str | None = None,
    **options: Any,
) -> Figure:
    """Figure of a measure, or the drawing on axes of the user."""
    picture, space = measure_picture(measure, width), measure.manifold
    size, draw = (_MAP_SIZE, _on_map) if space.has_series else (_AXES_SIZE, _on_axes)
    if not space.point_shape:
        size, draw = _SIZE, partial(_on_angles, lowest=lowest_angle(space))
    with style():
        if ax is None:
            ax = new_figure(size, **options).subplots()
        ax.set_title(picture.name if title is None else title, loc="left", color=MUTED, pad=8)
        draw(picture, ax)
    return cast(Figure, ax.figure)


def _on_angles(picture: MeasurePicture, axes: Axes, lowest: float) -> None:
    """Draw the masses of a few points, else the density of the angle."""
    axes.set_xlim(lowest, np.pi)
    names = [r"$-\pi$", r"$-\pi/2$", "0", r"$\pi/2$", r"$\pi$"]
    visible = slice(2 if lowest == 0.0 else 0, None)
    axes.set_xticks((np.arange(-2, 3) * np.pi / 2)[visible], names[visible])
    axes.set_xlabel(r"angle $\theta$ (rad)" if lowest else r"polar angle $\theta$ (rad)")
    if len(picture.masses):
        angles = (picture.points - lowest) % (2 * np.pi) + lowest
        axes.vlines(angles, 0.0, picture.masses, color=ENERGY, linewidth=2.0)
        axes.set_ylabel("mass")
    else:
        edges = cell_edges(len(picture.values), lowest)
        axes.stairs(picture.values, edges, color=ORDER, linewidth=1.2)
        axes.axhline(1.0, color=MUTED, linewidth=0.8, dashes=(4, 3))
        axes.set_ylabel(
            "density $f$ (uniform = 1)" if lowest else "density of the angle (even = 1)"
        )
    axes.set_ylim(bottom=0.0)


def _on_axes(picture: MeasurePicture, axes: Axes) -> None:
    axes.scatter(picture.points[:, 0], picture.points[:, 1], s=12.0, color=INK, linewidths=0)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("first principal axis")
    axes.set_ylabel("second principal axis")


def _on_map(picture: MeasurePicture, axes: Axes) -> None:
    image = draw_density(axes, picture.values, Mollweide(), LogNorm(*picture.colours))
    draw_graticule(axes, Mollweide())
    axes.scatter(*picture.points.T, **TOKENS | token_style(len(picture.points)))
    label = f"{'smoothed ' if picture.smoothed else ''}density $f$ (uniform = 1)"
    add_colour_bar(axes, image, picture.values, picture.colours, label=label)
