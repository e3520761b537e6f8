"""Kinds "label_order" and "labels": order and density of each position or frequency.

The axis of labels runs from 0 to 1, and each label has a share of it equal to its weight. So the
axis shows frequencies by rank, which leaves room for all of them even with heavy tails.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm

from meanfield.arrays import FloatArray
from meanfield.figures.data.circle import cell_edges
from meanfield.figures.data.saved_times import (
    Frame,
    Limits,
    colour_range,
    edges_between,
    frame,
    is_logarithmic,
    shown,
)
from meanfield.figures.data.sphere import chosen_times
from meanfield.figures.draw.axes import (
    DENSITY_COLOURS,
    MUTED,
    add_colour_bar,
    number_label,
    set_time_axis,
    set_title,
    time_label,
)
from meanfield.measures import LabelledDensity
from meanfield.runs import KEEP_STATES, Run

_CELLS = 240
_PANELS = 3
_TICKS = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
_RANKS = np.array([0.02, 0.25, 0.5, 0.75, 0.98])


@dataclass(frozen=True, eq=False)
class LabelAxis:
    """Axis of labels."""

    name: str  # "position" or "frequency"
    order: np.ndarray  # (M,): indices of labels from the lowest to the highest
    edges: FloatArray  # (M + 1,): of the rows of a picture, from 0 to 1
    ticks: FloatArray  # places of ticks
    values: FloatArray  # labels at the ticks


@dataclass(frozen=True, eq=False)
class LabelOrderPicture:
    """Order parameter of each label over time."""

    frame: Frame
    axis: LabelAxis
    edges: FloatArray  # (saved times + 1,): of the columns, in the unit of the run
    values: FloatArray  # (M, saved times)


@dataclass(frozen=True, eq=False)
class LabelsPicture:
    """Density over angle and label at a few times."""

    frame: Frame
    axis: LabelAxis
    panels: tuple[tuple[float, FloatArray], ...]  # time, and mean densities (M, cells)
    colours: tuple[float, float]  # densities at the ends of the colours


def label_order_picture(run: Run) -> LabelOrderPicture:
    """Picture of the order parameter of each label over time."""
    saves = shown(run)
    axis = _axis(_labelled(run))
    if len(saves) < 2:
        raise ValueError(f"this figure needs at least 2 saved times, the run has {len(run.time)}.")
    edges = edges_between(run.time[saves], is_logarithmic(run.time))
    values = run.observables["label_order"][saves].T[axis.order]
    return LabelOrderPicture(frame(run), axis, edges, values)


def labels_picture(run: Run, limits: Limits = None) -> LabelsPicture:
    """Picture of the densities of all labels at up to three saved times."""
    axis = _axis(_labelled(run))
    panels = []
    for i in chosen_times(run, _PANELS):
        measure = run.measures[i]
        if isinstance(measure, LabelledDensity):
            panels.append((float(run.time[i]), _cell_means(measure)[axis.order]))
    table = np.array([values for _, values in panels])
    colours = limits or colour_range(table)
    return LabelsPicture(frame(run), axis, tuple(panels), colours)


def _labelled(run: Run) -> LabelledDensity:
    """First labelled density of the run; ValueError if it has none."""
    if "label_order" not in run.observables:
        if run.facts.mask or run.facts.frequencies:
            raise ValueError(
                "the run is one of tokens: this figure is of densities with labels, representation "
                '"labelled".'
            )
        raise ValueError(
            "the run has no labels: they are of attention with a mask, or frequencies."
        )
    densities = (m for m in run.measures if isinstance(m, LabelledDensity))
    first = next(densities, None)
    if first is None:
        raise ValueError(f"the states of the run were not kept or not loaded: {KEEP_STATES}.")
    return first


def _axis(measure: LabelledDensity) -> LabelAxis:
    order = np.argsort(measure.labels, kind="stable")
    values, weights = measure.labels[order], measure.label_weights[order]
    edges = np.concatenate([[0.0], np.cumsum(weights)])
    edges /= edges[-1]
    if measure.label_name == "position":
        return LabelAxis("position", order, edges, _TICKS, _TICKS)
    middles = 0.5 * (edges[1:] + edges[:-1])
    ticks = np.clip(_RANKS, middles[0], middles[-1])
    return LabelAxis("frequency", order, edges, ticks, np.interp(ticks, middles, values))


def _cell_means(measure: LabelledDensity) -> FloatArray:
    """Mean density of each label in equal cells from -pi to pi, shape (M, cells)."""
    k = np.arange(measure.max_degree + 1)
    middles = 2.0 * np.pi * (np.arange(_CELLS) + 0.5) / _CELLS - np.pi
    # The mean over a cell multiplies degree k by sin(k h / 2) / (k h / 2).
    smoothed = measure.parts * np.sinc(k / _CELLS)
    waves = np.exp(1j * np.outer(k, middles))
    return np.asarray(2.0 * (smoothed @ waves).real - smoothed[:, :1].real)


_ORDER_COLOURS = "viridis"
_GAP = 0.05
_LEAST = 1e-6  # least upper end of the colours, in the order parameter
_ROUNDING = 1e-12
_NAMES = {"position": "position $s$", "frequency": r"frequency $\omega$, by rank"}


def draw_label_order(picture: LabelOrderPicture, axes: Axes) -> None:
    """Draw the order parameter of each label over time as a heat map."""
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
    """Draw densities over angle and label, one panel for each time."""
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
    """Text of a tick; a value that differs from 0 by rounding is 0."""
    rounding = _ROUNDING * float(np.abs(labels.values).max())
    return f"${number_label(0.0 if abs(value) < rounding else value, 2)}$"
