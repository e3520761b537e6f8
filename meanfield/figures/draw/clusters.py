"""Kinds "clusters" (centres of clusters over time) and "tree" (which clusters merged, and when).

The area of a mark is proportional to its mass, and so is the width of a branch of the tree. Heights
of branches have no meaning; they are chosen so that branches do not cross.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm, Normalize
from matplotlib.lines import Line2D

from meanfield.arrays import FloatArray, IntArray
from meanfield.figures.data.projections import Mollweide
from meanfield.figures.data.saved_times import Frame, frame, is_logarithmic, shown, spread_evenly
from meanfield.figures.data.series import FILLED, TreePicture
from meanfield.figures.data.sphere import graticule, marked_clusters
from meanfield.figures.draw.axes import (
    ENERGY,
    FAINT,
    INK,
    MUTED,
    ORDER,
    POINTS_PER_INCH,
    TIME_COLOURS,
    add_growth_times,
    mark_hand_overs,
    set_time_axis,
    set_title,
    time_axis_label,
    write_below,
)
from meanfield.figures.draw.density import set_angle_axis
from meanfield.figures.draw.sphere import draw_outline
from meanfield.observables.cluster_tree import ClusterTree
from meanfield.runs import Run

_TIMES = 60
# Marks of centres within this distance of the edge of a map could lie on both sides.
_CLEAR = 0.2


@dataclass(frozen=True, eq=False)
class ClustersPicture:
    """Times, masses (k,) and centres of clusters, at up to 60 times even along the axis."""

    frame: Frame
    times: FloatArray
    masses: FloatArray
    centres: FloatArray  # (k,) or (k, 3): angles, or unit vectors
    span: tuple[float, float]  # first time with clusters, and the last time
    middle: int = 0  # longitude in the middle of a map, in degrees; keeps clusters off its edge


def clusters_picture(run: Run) -> ClustersPicture:
    """Picture of separated clusters; on the sphere, of clusters with high density."""
    saves = shown(run)
    saves = saves[spread_evenly(run.time[saves], _TIMES, is_logarithmic(run.time))]
    if not run.manifold.point_shape:
        centre = run.observables["clusters/centre"][saves]
        mass = run.observables["clusters/mass"][saves]
        present = np.isfinite(centre) & np.isfinite(run.cluster_counts()[saves])[:, None]
        times = np.broadcast_to(run.time[saves][:, None], centre.shape)
        times, masses, centres = times[present], mass[present], centre[present]
    else:
        marked = [marked_clusters(run, int(i)) for i in saves]
        centres = np.concatenate([centre for centre, _ in marked])
        masses = np.concatenate([mass for _, mass in marked])
        times = np.repeat(run.time[saves], [len(mass) for _, mass in marked])
    first = times.min() if len(times) else run.time[saves[0]]
    middle = _middle(centres) if run.manifold.point_shape else 0
    span = float(first), float(run.time[saves[-1]])
    return ClustersPicture(frame(run), times, masses, centres, span, middle)


def _middle(centres: FloatArray) -> int:
    """Longitude in degrees whose opposite is far from all centres (k, 3); 0 if possible."""
    candidates = np.arange(-180, 180, 30)  # meridians of the map
    seams = np.deg2rad(candidates) + np.pi
    # Distance from the plane of each meridian, for centres on its side.
    seam = np.stack([np.cos(seams), np.sin(seams)], axis=-1)
    along, across = centres[:, :2] @ seam.T, centres[:, :2] @ (seam[:, ::-1] * [1, -1]).T
    away = np.where(along > 0, np.abs(across), 1.0).min(axis=0, initial=1.0)
    return 0 if away[candidates == 0] > _CLEAR else int(candidates[away.argmax()])


_AREA, _MAP_AREA = 150.0, 400.0
_MARK: dict[str, Any] = {"alpha": 0.75, "linewidth": 0}
_LEGEND_MASSES = (0.1, 0.25, 0.5)


def draw_clusters(picture: ClustersPicture, axes: Axes) -> None:
    """Draw cluster centres, with title and time axis, on empty axes."""
    frame = picture.frame
    set_title(axes, frame)
    on_axes(picture, axes)
    if frame.has_angles:
        set_time_axis(axes, frame)
        mark_hand_overs(axes, frame)
        add_growth_times(axes, frame)


def on_axes(picture: ClustersPicture, axes: Axes) -> None:
    """Draw cluster centres: against time on the circle, on a map coloured by time on the sphere."""
    if not picture.frame.has_angles:
        _on_map(picture, axes)
        return
    areas = _AREA * picture.masses
    # Without clipping, marks at the first and the last time are whole.
    axes.scatter(
        picture.times, picture.centres, s=areas, color=ENERGY, clip_on=False, zorder=3, **_MARK
    )
    set_angle_axis(axes, -np.pi if picture.frame.on_circle else 0.0)
    _add_legend(axes, ENERGY, _AREA)


def _on_map(picture: ClustersPicture, axes: Axes) -> None:
    """Draw centres on one map inside hidden axes, late ones on top."""
    axes.set_axis_off()
    panel = axes.inset_axes((0.0, 0.0, 0.88, 1.0))
    projection = Mollweide()
    draw_outline(panel, projection)
    panel.plot(*graticule(projection).T, color=FAINT, linewidth=0.6, zorder=0)
    first, last = picture.span
    scale = LogNorm if picture.frame.logarithmic else Normalize
    norm = scale(first, max(last, first + 1e-300))
    x, y = projection.to_plane(_turned(picture.centres, picture.middle)).T
    panel.scatter(
        x, y, s=_MAP_AREA * picture.masses, c=picture.times, norm=norm,
        cmap=TIME_COLOURS, **_MARK,
    )  # fmt: skip
    if len(picture.times) == 0:
        panel.annotate("no clusters yet", (0.0, 0.0), ha="center", va="center", color=MUTED)
    if picture.middle:
        east = f"{abs(picture.middle)}° {'E' if picture.middle > 0 else 'W'}"
        east = "180°" if abs(picture.middle) == 180 else east
        write_below(panel, f"longitude {east} in the middle")
    _add_legend(panel, MUTED, _MAP_AREA)
    # Its own mappable, because the marks are translucent.
    colours = ScalarMappable(norm, TIME_COLOURS)
    bar = axes.figure.colorbar(colours, cax=axes.inset_axes((1.015, 0.05, 0.016, 0.9)))
    bar.set_label(time_axis_label(picture.frame))
    bar.outline.set_visible(False)


def _turned(points: FloatArray, degrees: int) -> FloatArray:
    """Unit vectors after a rotation about the poles that takes a longitude to 0."""
    angle = np.deg2rad(degrees)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return np.concatenate([points[:, :2] @ turn.T, points[:, 2:]], axis=1)


def _add_legend(axes: Axes, colour: str, area: float) -> None:
    """Legend of masses by area, to the right of the axes."""
    marks = [
        Line2D(
            [],
            [],
            linestyle="",
            marker="o",
            markersize=np.sqrt(area * m),
            color=colour,
            alpha=0.75,
            markeredgewidth=0,
            label=f"{m:g}",
        )  # fmt: skip
        for m in _LEGEND_MASSES
    ]
    axes.legend(
        handles=marks, title="mass", loc="center left", bbox_to_anchor=(1.0, 0.5), labelspacing=0.9
    )


# Approximate size of the axes in inches.
_WIDTH, _HEIGHT = 7.6, 3.9
_THINNEST = 0.4
_SIZE = 7.5
# Lighter leaves have no number.
_LEAST_LABELLED = 0.01


def draw_tree(picture: TreePicture, axes: Axes) -> None:
    """Draw a tree, with title and time axis, on empty axes."""
    frame = picture.frame
    set_title(axes, frame)
    set_time_axis(axes, frame)
    _on_axes(picture.tree, picture.heights, axes)
    mark_hand_overs(axes, frame)
    add_growth_times(axes, frame)


def _on_axes(tree: ClusterTree, heights: FloatArray, axes: Axes) -> None:
    """Draw branches, joints and masses on axes whose time limits are set."""
    low, high = axes.get_xlim()
    begin, end = np.clip(tree.begin, low, high), np.clip(tree.end, low, high)
    axes.set_ylim(0.0, 1.0)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_ylabel("clusters, as thick as they are heavy", labelpad=30)
    widths = np.maximum(FILLED * _HEIGHT * POINTS_PER_INCH * tree.mass, _THINNEST)
    branches = np.stack([np.stack([begin, heights], -1), np.stack([end, heights], -1)], axis=1)
    joints = np.stack(
        [np.stack([end[tree.children[:, k]], heights[tree.children[:, k]]], -1) for k in (0, 1)],
        axis=1,
    )
    axes.add_collection(
        LineCollection(list(joints), colors=MUTED, linewidths=0.9, zorder=2), autolim=False
    )
    axes.add_collection(
        LineCollection(list(branches), colors=ORDER, linewidths=widths, capstyle="butt", zorder=3),
        autolim=False,
    )
    _write_masses(axes, tree, begin, end, heights, widths)


def _write_masses(
    axes: Axes, tree: ClusterTree, begin: FloatArray, end: FloatArray, heights: FloatArray,
    widths: FloatArray,
) -> None:  # fmt: skip
    """Write masses of leaves on the left, of roots on the right, of others above, if they fit."""
    count = len(tree.numbers)
    low, high = axes.get_xlim()
    line = 1.15 * _SIZE / POINTS_PER_INCH / _HEIGHT

    def fitting(nodes: IntArray) -> list[int]:
        """Nodes whose labels do not overlap; heavier nodes come first."""
        taken: list[int] = []
        nodes = nodes[tree.mass[nodes] >= _LEAST_LABELLED]
        for node in nodes[np.argsort(-tree.mass[nodes], kind="stable")]:
            if all(abs(heights[node] - heights[other]) > line for other in taken):
                taken.append(int(node))
        return taken

    sides = [(np.arange(count), 0.0, -5, "right")]
    roots = tree.roots
    sides += [(roots[tree.begin[roots] < high], 1.0, 5, "left")]
    for nodes, edge, gap, align in sides:
        for node in fitting(nodes):
            axes.annotate(
                f"{tree.mass[node]:.2g}", (edge, heights[node]), xycoords=("axes fraction", "data"),
                xytext=(gap, 0), textcoords="offset points", ha=align, va="center",
                fontsize=_SIZE, color=INK,
            )  # fmt: skip
    inches = _WIDTH / np.log(high / low)
    placed: list[tuple[float, float, float]] = []
    inner = np.arange(count, len(tree.mass))
    for node in inner[np.argsort(-tree.mass[inner], kind="stable")]:
        words = f"{tree.mass[node]:.2g}"
        if not np.isfinite(tree.end[node]) or tree.begin[node] < low:
            continue
        wide = (len(words) + 1) * 0.62 * _SIZE / POINTS_PER_INCH
        left = float(np.log(begin[node] / low) * inches)
        top = heights[node] + 0.5 * widths[node] / POINTS_PER_INCH / _HEIGHT
        free = all(abs(top - y) > line or left > x + w or x > left + wide for x, y, w in placed)
        if free and left + wide < float(np.log(end[node] / low) * inches):
            placed.append((left, float(top), wide))
            axes.annotate(
                words, (begin[node], top), xytext=(3, 1), textcoords="offset points",
                ha="left", va="bottom", fontsize=_SIZE, color=INK, zorder=5,
            )  # fmt: skip
