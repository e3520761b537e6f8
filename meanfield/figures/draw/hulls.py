"""Kind "hulls": rescaled tokens in R^d with convex hulls or hyperplanes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from meanfield.arrays import FloatArray
from meanfield.figures.data.saved_times import Frame, frame, is_logarithmic
from meanfield.figures.data.vectors import ends_and_between, principal_axes, tokens_at
from meanfield.figures.draw.axes import (
    ENERGY,
    FAINT,
    INK,
    MUTED,
    TIME_COLOURS,
    set_time_axis,
    set_title,
)
from meanfield.figures.draw.figures import panel_figure
from meanfield.figures.draw.vectors import add_paths
from meanfield.papers.limit_shapes import LimitShape, hull_vertices, limit_shape, rescaled
from meanfield.runs import Run

_HULLS = 5


@dataclass(frozen=True, eq=False)
class HullsPicture:
    """Rescaled tokens z on two axes."""

    frame: Frame | None  # None for a single time
    shape: LimitShape  # at the last time
    times: FloatArray  # (k,)
    paths: FloatArray  # (k, n, 2): z at every time
    hulls: tuple[tuple[float, FloatArray], ...]  # times, and closed convex hulls (m + 1, 2)
    # Levels phi*(z) = const, and two points (2, 2) of each line; only for hyperplanes.
    lines: tuple[tuple[float, FloatArray], ...]
    labels: tuple[str, str]  # of the axes


def hulls_picture(run: Run) -> HullsPicture:
    """Picture of a run in R^d."""
    indices = range(len(run.time))
    tokens = [tokens_at(run, i) for i in indices]
    last = limit_shape(run.problem, tokens[-1], float(run.scaled_time[-1]))
    if last.theorem == "origin":
        z = np.array([each.points for each in tokens])
    else:
        z = np.array(
            [
                rescaled(run.problem, each.points, float(time))
                for each, time in zip(tokens, run.scaled_time, strict=True)
            ]
        )
    return _picture(last, run.time, z, frame(run))


def shape_picture(shape: LimitShape) -> HullsPicture:
    """Picture of a limit shape at its time."""
    return _picture(shape, np.array([shape.time]), shape.points[None], None)


def _picture(
    shape: LimitShape, times: FloatArray, z: FloatArray, around: Frame | None
) -> HullsPicture:
    axes, labels = _plane(shape)
    paths = z @ axes.T
    logarithmic = is_logarithmic(times)
    first = int(np.argmax(times > 0)) if logarithmic else 0
    hulls = []
    chosen = first + ends_and_between(times[first:], _HULLS, logarithmic)
    for k in chosen:
        corners = paths[k][hull_vertices(paths[k])]
        middle = corners.mean(axis=0)
        turn = np.argsort(np.arctan2(*(corners - middle).T[::-1]))
        hulls.append((float(times[k]), np.concatenate([corners[turn], corners[turn[:1]]])))
    return HullsPicture(around, shape, times, paths, tuple(hulls), _lines(shape, paths), labels)


def _plane(shape: LimitShape) -> tuple[FloatArray, tuple[str, str]]:
    """Axes (2, d) of the picture, with their labels."""
    z = shape.points
    d = z.shape[1]
    name = "x" if shape.theorem == "origin" else "z"
    if d == 1:
        return np.array([[1.0], [0.0]]), (f"${name}$", "")
    if d == 2:
        return np.eye(2), (f"${name}_1$", f"${name}_2$")
    functional = shape.limits.functional
    if shape.theorem == "hyperplanes":
        along = functional[0]
        rest = z - np.outer(z @ along, shape.limits.basis[:, 0])
        other, _ = principal_axes(rest)
        return np.array([along, other[0]]), (r"$\varphi^*(z)$", "principal axis of the rest")
    if shape.theorem == "product" and len(functional) == 2:
        return functional, ("$z$ in $F$, first axis", "second axis")
    base = shape.coordinates @ _back(shape)
    plane, share = principal_axes(base)
    return plane, (f"first principal axis of ${name}$", f"second ({100 * share:.0f} % in both)")


def _back(shape: LimitShape) -> FloatArray:
    """Matrix from coordinates of a limit shape to vectors in R^d."""
    return shape.limits.basis.T if shape.theorem != "none" else np.eye(shape.points.shape[1])


def _lines(shape: LimitShape, paths: FloatArray) -> tuple[tuple[float, FloatArray], ...]:
    """Lines phi*(z) = level, long enough for the picture."""
    if shape.theorem != "hyperplanes" or shape.points.shape[1] == 1:
        return ()
    # The row vector of phi* in the plane of the picture; not zero.
    flat = shape.points.shape[1] == 2
    normal = shape.limits.functional[0] if flat else np.array([1.0, 0.0])
    along = np.array([-normal[1], normal[0]]) / np.linalg.norm(normal)
    reach = 2.0 * float(np.abs(paths).max())
    lines = []
    for level in shape.levels.tolist():
        foot = level * normal / (normal @ normal)
        lines.append((level, np.array([foot - reach * along, foot + reach * along])))
    return tuple(lines)


_SIZE = (6.4, 5.2)
_FIRST, _LAST = 0.05, 0.95


def limit_shape_figure(shape: LimitShape, **options: Any) -> Figure:
    """Figure of a limit shape, or the drawing on axes of the user."""
    facts = f"{shape.theorem}, $t = {shape.time:g}$"
    draw = partial(_in_plane, shape_picture(shape))
    return panel_figure(draw, _SIZE, "Limit shape", facts, **options)


def draw_hulls(picture: HullsPicture, axes: Axes) -> None:
    """Draw paths, hulls and lines; tokens on a line against time."""
    assert picture.frame is not None
    set_title(axes, picture.frame)
    if picture.shape.points.shape[1] == 1:
        _over_time(picture, axes)
    else:
        _in_plane(picture, axes)


def _over_time(picture: HullsPicture, axes: Axes) -> None:
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
