"""Figure of a single measure: a curve over the angle, or a map."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from meanfield.figures.data.circle import cell_edges, lowest_angle
from meanfield.figures.data.measure import MeasurePicture, measure_picture
from meanfield.figures.data.projections import Mollweide
from meanfield.figures.draw.axes import add_colour_bar
from meanfield.figures.draw.figures import new_figure
from meanfield.figures.draw.sphere import TOKENS, draw_density, draw_graticule, token_style
from meanfield.figures.draw.style import ENERGY, INK, MUTED, ORDER, style
from meanfield.measures import Density, Measure

_SIZE, _MAP_SIZE, _AXES_SIZE = (7.0, 3.2), (7.0, 3.6), (5.0, 4.6)


def measure_figure(
    measure: Density | Measure,
    *,
    width: float | None = None,
    ax: Axes | None = None,
    title: str | None = None,
    **options: Any,
) -> Figure:
    """Figure of a measure, on its own canvas that pyplot does not know, or on given axes."""
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
    """Masses of a few points, else the density; of axial measures that of the polar angle."""
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
    """Tokens of other dimensions on two axes."""
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
