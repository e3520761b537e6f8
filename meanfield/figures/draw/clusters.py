"""Kind "clusters": where the clusters are; the area of a mark is the mass."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize
from matplotlib.lines import Line2D

from meanfield.arrays import FloatArray
from meanfield.figures.data.clusters import ClustersPicture
from meanfield.figures.data.projections import Mollweide
from meanfield.figures.data.sphere import graticule
from meanfield.figures.draw.axes import (
    add_growth_times,
    mark_hand_overs,
    set_time_axis,
    time_axis_label,
)
from meanfield.figures.draw.density import set_angle_axis
from meanfield.figures.draw.sphere import draw_outline
from meanfield.figures.draw.style import ENERGY, FAINT, MUTED, TIME_COLOURS, set_title, write_below

_AREA, _MAP_AREA = 150.0, 400.0
_MARK: dict[str, Any] = {"alpha": 0.75, "linewidth": 0}
_LEGEND_MASSES = (0.1, 0.25, 0.5)


def draw_clusters(picture: ClustersPicture, axes: Axes) -> None:
    """Draw it on axes that are empty."""
    frame = picture.frame
    set_title(axes, frame)
    on_axes(picture, axes)
    if frame.has_angles:
        set_time_axis(axes, frame)
        mark_hand_overs(axes, frame)
        add_growth_times(axes, frame)


def on_axes(picture: ClustersPicture, axes: Axes) -> None:
    """Cluster centres against time on the circle; on the sphere on a map, coloured by time."""
    if not picture.frame.has_angles:
        _on_map(picture, axes)
        return
    areas = _AREA * picture.masses
    # Marks at the first and the last time are whole.
    axes.scatter(
        picture.times, picture.centres, s=areas, color=ENERGY, clip_on=False, zorder=3, **_MARK
    )
    set_angle_axis(axes, -np.pi if picture.frame.on_circle else 0.0)
    _add_legend(axes, ENERGY, _AREA)


def _on_map(picture: ClustersPicture, axes: Axes) -> None:
    """Centres on one map inside hidden axes, late ones on top."""
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
    # A mappable of its own: the marks are translucent.
    colours = ScalarMappable(norm, TIME_COLOURS)
    bar = axes.figure.colorbar(colours, cax=axes.inset_axes((1.015, 0.05, 0.016, 0.9)))
    bar.set_label(time_axis_label(picture.frame))
    bar.outline.set_visible(False)


def _turned(points: FloatArray, degrees: int) -> FloatArray:
    """Unit vectors turned about the poles until a longitude is 0."""
    angle = np.deg2rad(degrees)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return np.concatenate([points[:, :2] @ turn.T, points[:, 2:]], axis=1)


def _add_legend(axes: Axes, colour: str, area: float) -> None:
    """Areas of marks by mass, right of the axes."""
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
