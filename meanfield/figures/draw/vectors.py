"""Kinds of figures for tokens on spheres of any dimension and in R^d; their overview."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Colormap, LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from matplotlib.ticker import NullLocator

from meanfield.arrays import FloatArray
from meanfield.figures.data.saved_times import Frame
from meanfield.figures.data.vectors import (
    AxesPicture,
    CosinesPicture,
    HistogramPicture,
    MatrixPicture,
    SizesPicture,
    VectorsOverview,
)
from meanfield.figures.draw.axes import (
    DENSITY_COLOURS,
    FAINT,
    INK,
    MUTED,
    ORDER,
    TIME_COLOURS,
    add_growth_times,
    mark_hand_overs,
    set_time_axis,
    set_title,
    time_axis_label,
    time_label,
)
from meanfield.figures.draw.over_time import energy_and_order

_CURVE = "#17a2b8"
# Lowest share of pairs, and lowest weight of attention, with its own colour.
_LEAST_SHARE, _LEAST_WEIGHT = 1e-4, 1e-3
_GAP = 0.04
_DOT = 9.0


def draw_similarity(picture: MatrixPicture, axes: Axes) -> None:
    """Draw matrices of cosines beside each other."""
    set_title(axes, picture.frame)
    _matrices(axes, picture, *_cosine_colours())


def draw_attention(picture: MatrixPicture, axes: Axes) -> None:
    """Draw attention matrices, one row for each head."""
    set_title(axes, picture.frame)
    _matrices(axes, picture, *_attention_colours())


def _cosine_colours() -> tuple[Normalize, str, str]:
    return Normalize(-1.0, 1.0), "RdBu_r", r"cosine $\langle x, y \rangle$"


def _attention_colours() -> tuple[Normalize, str, str]:
    return LogNorm(_LEAST_WEIGHT, 1.0), DENSITY_COLOURS, "attention $A_{ij}$"


def _matrices(
    axes: Axes, picture: MatrixPicture, norm: Normalize, colours: str | Colormap, label: str
) -> None:
    """Draw panels inside hidden axes, with times above, heads on the left, one colour bar."""
    axes.set_axis_off()
    rows, columns = picture.matrices.shape[:2]
    wide, high = (0.93 - _GAP * columns) / columns, (1.0 - 0.03 * (rows - 1)) / rows
    for r in range(rows):
        for c in range(columns):
            bottom = 1.0 - (r + 1) * high - 0.03 * r
            panel = axes.inset_axes((c * (wide + _GAP), bottom, wide, high))
            _one_matrix(panel, picture.matrices[r, c], norm, colours)
            if r == 0:
                time = time_label(float(picture.times[c]), picture.frame).split(",")[0]
                panel.set_title(time, color=MUTED, fontsize=8.5, pad=4)
            if c == 0:
                panel.set_ylabel(f"head {r + 1}" if rows > 1 else "token $i$")
            if r == rows - 1:
                panel.set_xlabel("token $j$")
    # The bar of a single row is as high as the last panel.
    place = panel.inset_axes((1.06, 0.0, 0.07, 1.0)) if rows == 1 else None
    bar = axes.figure.colorbar(
        ScalarMappable(norm, colours), cax=place or axes.inset_axes((0.94, 0.08, 0.014, 0.84)),
        extend="min" if isinstance(norm, LogNorm) else "neither",
    )  # fmt: skip
    _dress_bar(bar, label)


def _one_matrix(
    axes: Axes, matrix: FloatArray, norm: Normalize, colours: str | Colormap
) -> ScalarMappable:
    values = np.maximum(matrix, _LEAST_WEIGHT) if isinstance(norm, LogNorm) else matrix
    image = axes.imshow(values, norm=norm, cmap=colours, interpolation="nearest", aspect="equal")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(NullLocator())
    return image


def _dress_bar(bar: Any, label: str) -> None:
    bar.set_label(label)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=2, color=MUTED)


def draw_histogram(picture: HistogramPicture, axes: Axes) -> None:
    """Draw histograms beside each other inside hidden axes, with times above, on one scale."""
    set_title(axes, picture.frame)
    axes.set_axis_off()
    count, top = len(picture.times), 1.05 * float(picture.shares.max())
    wide = (1.0 - _GAP * (count - 1)) / count
    for c in range(count):
        panel = axes.inset_axes((c * (wide + _GAP), 0.12, wide, 0.8))
        panel.stairs(picture.shares[c], picture.bins, fill=True, color=ORDER)
        panel.set_xlim(-1.0, 1.0)
        panel.set_xticks([-1.0, -0.5, 0.0, 0.5, 1.0], ["-1", "-0.5", "0", "0.5", "1"])
        panel.set_ylim(0.0, top)
        time = time_label(float(picture.times[c]), picture.frame).split(",")[0]
        panel.set_title(time, color=MUTED, fontsize=8.5, pad=4)
        panel.set_xlabel(r"cosine $\langle x, y \rangle$")
        panel.spines[["top", "right"]].set_visible(False)
        if c:
            panel.tick_params(labelleft=False)
        else:
            panel.set_ylabel("share of pairs")


def draw_cosines(picture: CosinesPicture, axes: Axes) -> None:
    """Draw the histogram of cosines over time as colours, and the curve of equal angles."""
    frame = picture.frame
    set_title(axes, frame)
    cosines_on_axes(picture, axes)
    set_time_axis(axes, frame)
    mark_hand_overs(axes, frame, colour=FAINT)
    add_growth_times(axes, frame)


def cosines_on_axes(picture: CosinesPicture, axes: Axes) -> None:
    """Draw heat map, curve and colour bar on given axes."""
    norm = LogNorm(_LEAST_SHARE, 1.0)
    shares = np.nan_to_num(np.maximum(picture.shares, _LEAST_SHARE), nan=_LEAST_SHARE)
    mesh = axes.pcolormesh(
        picture.edges, picture.bins, shares, norm=norm, cmap=DENSITY_COLOURS, rasterized=True
    )
    if np.isfinite(picture.curve).any():
        axes.plot(
            picture.times, picture.curve, color=_CURVE, linewidth=1.6, dashes=(5, 2),
            label="equal angles",
        )  # fmt: skip
        axes.legend(loc="lower right", labelcolor="white")
    axes.set_ylim(-1.0, 1.0)
    axes.set_ylabel("cosine of pairs")
    bar = axes.figure.colorbar(mesh, cax=axes.inset_axes((1.015, 0.0, 0.016, 1.0)), extend="min")
    _dress_bar(bar, "share of pairs")


def draw_axes(picture: AxesPicture, axes: Axes) -> None:
    """Draw paths of tokens on two axes, with time as colour."""
    set_title(axes, picture.frame)
    paths_on_axes(picture, axes)


def paths_on_axes(picture: AxesPicture, axes: Axes) -> None:
    """Draw paths, the last place of each token, and the edge of the sphere on given axes."""
    prepare_axes(picture, axes)
    add_paths(axes, picture.points, picture.times, picture.frame)
    x, y = picture.points[-1].T
    axes.scatter(x, y, s=_DOT, color=INK, linewidths=0, zorder=4)


def prepare_axes(picture: AxesPicture, axes: Axes) -> None:
    """Set limits and labels, and draw the unit circle around a projected sphere."""
    axes.set_aspect("equal")
    if picture.on_sphere:
        axes.add_patch(Circle((0.0, 0.0), 1.0, fill=False, color=FAINT, linewidth=0.8))
        axes.set_xlim(-1.06, 1.06)
        axes.set_ylim(-1.06, 1.06)
    else:
        reach = 1.06 * float(np.abs(picture.points).max()) or 1.0
        axes.set_xlim(-reach, reach)
        axes.set_ylim(-reach, reach)
    axes.set_xlabel(picture.labels[0])
    axes.set_ylabel(picture.labels[1])
    if picture.share < 0.995:
        axes.annotate(
            f"{100 * picture.share:.0f} % of the mean square", (1.0, 1.0),
            xycoords="axes fraction", xytext=(0, -1), textcoords="offset points",
            ha="right", va="top", color=MUTED, fontsize=7.5,
        )  # fmt: skip


def add_paths(axes: Axes, points: FloatArray, times: FloatArray, frame: Frame) -> None:
    """Draw paths (k, n, 2), each piece in the colour of its end time, and a colour bar."""
    if len(times) < 2:
        return
    later = times[times > 0]
    scale = LogNorm if frame.logarithmic and len(later) else Normalize
    first = float(later[0]) if frame.logarithmic and len(later) else float(times[0])
    norm = scale(first, max(float(times[-1]), first * (1.0 + 1e-12) + 1e-300))
    pieces = np.stack([points[:-1], points[1:]], axis=2)  # (k - 1, n, 2 ends, 2)
    ends = np.repeat(times[1:], points.shape[1])
    lines = LineCollection(
        list(pieces.reshape(-1, 2, 2)), cmap=TIME_COLOURS, norm=norm, linewidths=0.9, alpha=0.7,
        capstyle="round", zorder=2,
    )  # fmt: skip
    lines.set_array(ends)
    axes.add_collection(lines, autolim=False)
    bar = axes.figure.colorbar(
        ScalarMappable(norm, TIME_COLOURS), cax=axes.inset_axes((1.02, 0.0, 0.022, 1.0))
    )
    _dress_bar(bar, time_axis_label(frame))


def sizes_on_axes(picture: SizesPicture, axes: Axes) -> None:
    """Draw lengths of tokens on given axes."""
    times, (low, middle, high) = picture.frame.times, picture.lengths.T
    axes.fill_between(times, low, high, color=FAINT, linewidth=0, label="smallest to largest")
    axes.plot(times, middle, color=ORDER, label="median")
    if np.all(picture.lengths > 0):
        axes.set_yscale("log")
    axes.legend(loc="best", labelcolor=MUTED)
    axes.set_ylabel("length $|x|$")


def draw_vectors_overview(picture: VectorsOverview, figure: Figure) -> None:
    """Draw four panels: tokens, cosines, energy and order or lengths, one matrix."""
    (axes, cosines), (matrix, curves) = panels = figure.subplots(2, 2)
    set_title(axes, picture.frame)
    for panel in panels.flat:
        panel.set_box_aspect(1.0)
    paths_on_axes(picture.axes, axes)
    cosines_on_axes(picture.cosines, cosines)
    on_sphere = not isinstance(picture.curves, SizesPicture)
    if isinstance(picture.curves, SizesPicture):
        sizes_on_axes(picture.curves, curves)
    else:
        energy_and_order(picture.curves, curves, 3.0)
    for panel in (cosines, curves):
        set_time_axis(panel, picture.frame)
    mark_hand_overs(cosines, picture.frame, colour=FAINT)
    norm, colours, label = _cosine_colours() if on_sphere else _attention_colours()
    image = _one_matrix(matrix, picture.matrix.matrices[0, -1], norm, colours)
    time = time_label(float(picture.matrix.times[-1]), picture.frame).split(",")[0]
    matrix.set_title(time, loc="left", color=MUTED, fontsize=8.5)
    matrix.set_xlabel("token $j$")
    matrix.set_ylabel("token $i$")
    bar = matrix.figure.colorbar(image, cax=matrix.inset_axes((1.03, 0.0, 0.03, 1.0)))
    _dress_bar(bar, label)
