"""Runs of labelled densities: the order of each label over time, and densities over labels.

Labels are placed by their weight, the first at 0 and the last at 1: positions as they are,
frequencies by their rank, which gives each its share however far the tails reach.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.figures.data.colours import Limits, colour_range
from meanfield.figures.data.saved_times import Frame, edges_between, frame, is_logarithmic, shown
from meanfield.figures.data.sphere import chosen_times
from meanfield.measures import LabelledDensity
from meanfield.runs import KEEP_STATES, Run

_CELLS = 240
_PANELS = 3
_TICKS = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
_RANKS = np.array([0.02, 0.25, 0.5, 0.75, 0.98])


@dataclass(frozen=True, eq=False)
class LabelAxis:
    """Where labels stand."""

    name: str  # "position" or "frequency"
    order: np.ndarray  # (M,): labels from the lowest to the highest
    edges: FloatArray  # (M + 1,): of the rows of a picture, from 0 to 1
    ticks: FloatArray  # places that are named
    values: FloatArray  # labels there


@dataclass(frozen=True, eq=False)
class LabelOrderPicture:
    """Order of each label over time."""

    frame: Frame
    axis: LabelAxis
    edges: FloatArray  # (saved times + 1,): of the columns, in the unit of time
    values: FloatArray  # (M, saved times)


@dataclass(frozen=True, eq=False)
class LabelsPicture:
    """Density over angle and label at a few times."""

    frame: Frame
    axis: LabelAxis
    # Time, and mean densities in cells of the circle, shape (M, cells).
    panels: tuple[tuple[float, FloatArray], ...]
    colours: tuple[float, float]  # densities at the ends of the colours


def label_order_picture(run: Run) -> LabelOrderPicture:
    """Picture of the order of each label over time."""
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
    """A labelled density of the run."""
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
