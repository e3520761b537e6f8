"""Runs of labelled densities: the order of each label over time, and densities over labels.

Labels are placed by their weight, the first at 0 and the last at 1: positions as they are,
frequencies by their rank, which gives each its share however far the tails reach.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.measures import LabelledDensity
from meanfield.pictures.colours import Limits, colour_range
from meanfield.pictures.saved_times import Frame, edges_between, frame, is_logarithmic, shown
from meanfield.pictures.sphere import chosen_times
from meanfield.runs import KEEP_STATES, Run

_CELLS = 240
_PANELS = 3
_TICKS = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
_RANKS = np.array([0.02, 0.25, 0.5, 0.75, 0.98])


@dataclass(frozen=True, eq=False)
class LabelAxis:
    """Where labels stand.

    Attributes
    ----------
    name : str
        Given. "position" or "frequency".
    order : ndarray of int, shape (M,)
        Given. Labels from the lowest to the highest.
    edges : ndarray, shape (M + 1,)
        Given. Of the rows of a picture, from 0 to 1.
    ticks : ndarray
        Given. Places that are named.
    values : ndarray
        Given. Labels there.
    """

    name: str
    order: np.ndarray
    edges: FloatArray
    ticks: FloatArray
    values: FloatArray


@dataclass(frozen=True, eq=False)
class LabelOrderPicture:
    """Order of each label over time.

    Attributes
    ----------
    frame : Frame
        Given.
    axis : LabelAxis
        Given.
    edges : ndarray, shape (saved times + 1,)
        Given. Of the columns, in the unit of time.
    values : ndarray, shape (M, saved times)
        Given.
    """

    frame: Frame
    axis: LabelAxis
    edges: FloatArray
    values: FloatArray


@dataclass(frozen=True, eq=False)
class LabelsPicture:
    """Density over angle and label at a few times.

    Attributes
    ----------
    frame : Frame
        Given.
    axis : LabelAxis
        Given.
    panels : tuple of (float, ndarray)
        Given. Time, and mean densities in cells of the circle, shape (M, cells).
    colours : (float, float)
        Given. Densities at the ends of the colours.
    """

    frame: Frame
    axis: LabelAxis
    panels: tuple[tuple[float, FloatArray], ...]
    colours: tuple[float, float]


def label_order_picture(run: Run) -> LabelOrderPicture:
    """Picture of the order of each label over time.

    Raises
    ------
    ValueError
        If the run has no labels, no state of it was kept, or it has one saved time.
    """
    kept = shown(run)
    axis = _axis(_labelled(run))
    if len(kept) < 2:
        raise ValueError(f"this figure needs at least 2 saved times, the run has {len(run.time)}.")
    edges = edges_between(run.time[kept], is_logarithmic(run.time))
    values = run.observables["label_order"][kept].T[axis.order]
    return LabelOrderPicture(frame(run), axis, edges, values)


def labels_picture(run: Run, limits: Limits = None) -> LabelsPicture:
    """Picture of the densities of all labels at up to three saved times.

    Raises
    ------
    ValueError
        If the run has no labels, or no state of it was kept.

    Examples
    --------
    >>> import meanfield as mf
    >>> spread = mf.Gaussian(0.3)
    >>> problem = mf.Problem(mf.Circle(), mf.linear(), frequencies=spread)
    >>> picture = labels_picture(mf.simulate(problem, until=1.0, save=2, labels=5))
    >>> picture.axis.values.round(2), picture.panels[0][1].shape
    (array([-0.8 , -0.27,  0.  ,  0.27,  0.8 ]), (5, 240))
    """
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
        if run.attributes.get("mask") or run.attributes.get("frequencies"):
            raise ValueError(
                "the run is one of tokens: this figure is of densities with labels, representation "
                '"labelled".'
            )
        raise ValueError(
            "the run has no labels: they are of attention with a mask, or frequencies."
        )
    known = (m for m in run.measures if isinstance(m, LabelledDensity))
    found = next(known, None)
    if found is None:
        raise ValueError(f"the states of the run were not kept or not loaded: {KEEP_STATES}.")
    return found


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
