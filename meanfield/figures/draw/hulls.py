"""Kind "hulls": rescaled tokens of R^d, hulls that shrink to a polytope, or hyperplanes."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from meanfield.figures.data.hulls import HullsPicture, shape_picture
from meanfield.figures.draw.axes import set_time_axis
from meanfield.figures.draw.figures import draw_on, new_figure
from meanfield.figures.draw.style import (
    ENERGY,
    FAINT,
    INK,
    MUTED,
    TIME_COLOURS,
    set_title,
    style,
    title_above,
)
from meanfield.figures.draw.vectors import add_paths
from meanfield.papers.limit_shapes import LimitShape

_SIZE = (6.4, 5.2)
_FIRST, _LAST = 0.05, 0.95


def limit_shape_figure(
    shape: LimitShape, *, ax: Axes | None = None, title: str | None = None, **options: Any
) -> Figure:
    """Figure of a limit shape at its time, or axes of a user's with it."""
    picture = shape_picture(shape)
    if ax is not None:
        return draw_on(ax, partial(_in_plane, picture), title)
    with style():
        axes = new_figure(_SIZE, **options).subplots()
        said = f"{shape.theorem}, $t = {shape.time:g}$"
        title_above(axes, "Limit shape" if title is None else title, said)
        _in_plane(picture, axes)
    return cast(Figure, axes.figure)


def draw_hulls(picture: HullsPicture, axes: Axes) -> None:
    """Paths, hulls and lines."""
    assert picture.frame is not None
    set_title(axes, picture.frame)
    if picture.shape.points.shape[1] == 1:
        _over_time(picture, axes)
    else:
        _in_plane(picture, axes)


def _over_time(picture: HullsPicture, axes: Axes) -> None:
    """Tokens of a line against time."""
    assert picture.frame is not None
    axes.plot(picture.times, picture.paths[:, :, 0], color=INK, linewidth=0.9)
    for token in picture.shape.vertices:
        axes.axhline(picture.paths[-1, token, 0], color=ENERGY, linewidth=0.8, dashes=(4, 3))
    set_time_axis(axes, picture.frame)
    axes.set_ylabel(picture.labels[0])


def _in_plane(picture: HullsPicture, axes: Axes) -> None:
    shape = picture.shape
    axes.set_aspect("equal")
    axes.set_xlabel(picture.labels[0])
    axes.set_ylabel(picture.labels[1])
    shades = colormaps[TIME_COLOURS](np.linspace(_FIRST, _LAST, max(len(picture.hulls), 2)))
    if shape.theorem != "hyperplanes":
        for (_, corners), colour in zip(picture.hulls, shades[-len(picture.hulls) :], strict=True):
            axes.plot(*corners.T, color=colour, linewidth=1.2, zorder=1)
    for level, line in picture.lines:
        axes.plot(*line.T, color=ENERGY, linewidth=0.9, dashes=(5, 3), zorder=1, scalex=False,
                  scaley=False)  # fmt: skip
        _name_level(axes, level, line)
    last = picture.paths[-1]
    if picture.frame is not None:
        add_paths(axes, picture.paths, picture.times, picture.frame)
    else:
        leading = np.stack([last, last[shape.leaders]], axis=1)
        axes.add_collection(LineCollection(list(leading), colors=[FAINT], linewidths=0.8, zorder=1))
    axes.scatter(last[:, 0], last[:, 1], s=12.0, color=INK, linewidths=0, zorder=4, label="tokens")
    if shape.theorem in ("polytope", "hull", "product"):
        x, y = last[shape.vertices].T
        axes.scatter(
            x, y, s=46.0, facecolors="none", edgecolors=ENERGY, linewidths=1.2,
            zorder=5, label="vertices",
        )  # fmt: skip
        axes.legend(loc="best", labelcolor=MUTED)
    low, high = picture.paths.min(axis=(0, 1)), picture.paths.max(axis=(0, 1))
    room = 0.08 * max(float((high - low).max()), 1e-300)
    axes.set_xlim(low[0] - room, high[0] + room)
    axes.set_ylim(low[1] - room, high[1] + room)


def _name_level(axes: Axes, level: float, line: Any) -> None:
    upright = abs(line[0, 0] - line[1, 0]) <= 0.5 * abs(line[0, 1] - line[1, 1])
    if not upright:
        return
    axes.annotate(
        rf"$\varphi^*(z) = {level:.4g}$", (float(line[:, 0].mean()), 1.0),
        xycoords=("data", "axes fraction"), xytext=(3, -3), textcoords="offset points",
        color=ENERGY, fontsize=7.5, va="top", rotation=90,
    )  # fmt: skip
