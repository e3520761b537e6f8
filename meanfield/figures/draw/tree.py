"""Kind "tree": who merged with whom, and when.

A branch is a cluster, as thick as it is heavy. Heights mean only that branches do not cross.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from meanfield.arrays import FloatArray, IntArray
from meanfield.figures.data.series import FILLED, TreePicture
from meanfield.figures.draw.axes import (
    POINTS_PER_INCH,
    add_growth_times,
    mark_hand_overs,
    set_time_axis,
)
from meanfield.figures.draw.style import INK, MUTED, ORDER, set_title
from meanfield.observables.cluster_tree import ClusterTree

# Size of the axes, about, in inches.
_WIDTH, _HEIGHT = 7.6, 3.9
_THINNEST = 0.4
_SIZE = 7.5
# Lighter leaves have no number.
_LEAST_LABELLED = 0.01


def draw_tree(picture: TreePicture, axes: Axes) -> None:
    """Draw it on axes that are empty."""
    frame = picture.frame
    set_title(axes, frame)
    set_time_axis(axes, frame)
    _on_axes(picture.tree, picture.heights, axes)
    mark_hand_overs(axes, frame)
    add_growth_times(axes, frame)


def _on_axes(tree: ClusterTree, heights: FloatArray, axes: Axes) -> None:
    """Branches, joints and masses on axes that have their limits of time."""
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
    """Masses of leaves on the left, of roots on the right, of others above, where there is room."""
    count = len(tree.numbers)
    low, high = axes.get_xlim()
    line = 1.15 * _SIZE / POINTS_PER_INCH / _HEIGHT

    def fitting(nodes: IntArray) -> list[int]:
        """Heaviest first, no two within a line of text."""
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
