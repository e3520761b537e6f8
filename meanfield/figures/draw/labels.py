"""Kinds "label_order" and "labels": what becomes of each layer, or of each frequency."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm

from meanfield.figures.data.circle import cell_edges
from meanfield.figures.data.labels import LabelAxis, LabelOrderPicture, LabelsPicture
from meanfield.figures.draw.axes import add_colour_bar, number_label, set_time_axis, time_label
from meanfield.figures.draw.style import DENSITY_COLOURS, MUTED, set_title

_ORDER_COLOURS = "viridis"
_GAP = 0.05
# Order whose colour is the lightest where nothing has more.
_LEAST = 1e-6
_ROUNDING = 1e-12
_NAMES = {"position": "position $s$", "frequency": r"frequency $\omega$, by rank"}


def draw_label_order(picture: LabelOrderPicture, axes: Axes) -> None:
    """Heat map of the order parameter of each label over time."""
    set_title(axes, picture.frame)
    mesh = axes.pcolormesh(
        picture.edges, picture.axis.edges, picture.values, shading="flat",
        vmin=0.0, vmax=max(float(picture.values.max()), _LEAST), cmap=_ORDER_COLOURS,
        rasterized=True,
    )  # fmt: skip
    bar = axes.figure.colorbar(mesh, ax=axes, pad=0.015, aspect=24)
    bar.set_label("order parameter of a label")
    _set_label_axis(axes, picture.axis)
    set_time_axis(axes, picture.frame)


def draw_labels(picture: LabelsPicture, axes: Axes) -> None:
    """Densities over angle and label, one panel a time."""
    set_title(axes, picture.frame)
    axes.set_axis_off()
    count = len(picture.panels)
    wide = (1.0 - _GAP * (count - 1)) / count
    for i, (time, values) in enumerate(picture.panels):
        place = axes.inset_axes((i * (wide + _GAP), 0.0, wide, 0.93))
        mesh = place.pcolormesh(
            cell_edges(values.shape[1]), picture.axis.edges, np.clip(values, *picture.colours),
            shading="flat", norm=LogNorm(*picture.colours), cmap=DENSITY_COLOURS, rasterized=True,
        )  # fmt: skip
        place.set_xlim(-np.pi, np.pi)
        place.set_xticks(np.pi * np.array([-1, 0, 1]), [r"$-\pi$", "$0$", r"$\pi$"])
        place.set_xlabel(r"angle $\theta$ (rad)")
        place.set_title(time_label(time, picture.frame), fontsize=9, color=MUTED, loc="left")
        _set_label_axis(place, picture.axis)
        if i:
            place.set_ylabel("")
            place.set_yticklabels([])
    table = np.array([values for _, values in picture.panels])
    add_colour_bar(axes, mesh, table, picture.colours)


def _set_label_axis(axes: Axes, labels: LabelAxis) -> None:
    axes.set_ylim(0.0, 1.0)
    axes.set_yticks(labels.ticks, [_named(value, labels) for value in labels.values])
    axes.set_ylabel(_NAMES[labels.name])


def _named(value: float, labels: LabelAxis) -> str:
    """Label for a tick: a middle one that differs from 0 by rounding is 0."""
    rounding = _ROUNDING * float(np.abs(labels.values).max())
    return f"${number_label(0.0 if abs(value) < rounding else value, 2)}$"
