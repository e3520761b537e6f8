"""How the circle shows a measure: means in equal cells, and atoms as marks.

    mean of e^{ik theta} over a cell of width h = sinc(k h / 2) e^{ik centre}

Means, not samples: a peak narrower than a cell is seen with the mass it has. A density and the
quadrature nodes of characteristics are smooth, tokens fill cells, heavy atoms are marks of their
own. A run may hold one after the other.
"""

from __future__ import annotations

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from meanfield.arrays import FloatArray, IntArray
from meanfield.measures import Density, Measure
from meanfield.pictures.saved_times import (
    ATOMS,
    atoms_at,
    is_smooth,
)
from meanfield.run import Run

_CELLS = 720
# Cells of a histogram hold about this many tokens of a uniform measure.
_TOKENS_PER_CELL = 10
_FEWEST_CELLS = 240
# Atoms lighter than this fill cells, where there are more of them than marks.
_LEAST_MASS = 0.005
_MOST_MARKS = 200


def cell_edges(count: int) -> FloatArray:
    """Edges of `count` equal cells of [-pi, pi], shape (count + 1,)."""
    return np.linspace(-np.pi, np.pi, count + 1)


def cell_means(measure: Density | Measure, count: int) -> FloatArray:
    """Mean density relative to uniform in the cells between `cell_edges`.

    Parameters
    ----------
    measure : Density or Measure
        On the circle.
    count : int
        Number of cells, even.

    Returns
    -------
    ndarray, shape (count,)
        Their mean is the mass, 1.

    Examples
    --------
    >>> import meanfield as mf
    >>> cell_means(mf.Measure(mf.Circle(), [-3.0, 0.1, 0.2]), 4).round(3)
    array([1.333, 0.   , 2.667, 0.   ])
    >>> cell_means(mf.Density(mf.Circle(), [1.0, 0.25]), 2).round(6)  # 1 + cos(theta) / 2
    array([1., 1.])
    """
    if isinstance(measure, Measure):
        cell = np.floor((measure.points / (2 * np.pi) + 0.5) * count).astype(np.int64) % count
        return np.asarray(np.bincount(cell, measure.mass, minlength=count) * count)
    k = np.arange(measure.max_degree + 1)
    first_centre = -np.pi + np.pi / count
    means = measure.coefficients * np.sinc(k / count) * np.exp(1j * k * first_centre)
    # A transform long enough for the degree; every so manieth of its nodes is a centre.
    refinement = 2 * (measure.max_degree + 1) // count + 1
    nodal = scipy.fft.irfft(means, refinement * count, norm="forward")
    return np.asarray(nodal[::refinement])


def nodal_means(measure: Measure, count: int) -> FloatArray:
    """Mean density in the cells between `cell_edges` of a density whose quadrature nodes are given.

    Between neighbouring nodes lies half the weight of each, evenly; shape (count,), mean 1.

    Examples
    --------
    >>> import meanfield as mf
    >>> nodes = mf.Measure(mf.Circle(), 2 * np.pi * np.arange(5) / 5)
    >>> nodal_means(nodes, 8).round(6)
    array([1., 1., 1., 1., 1., 1., 1., 1.])
    """
    angles = _wrapped(measure.points)
    order = np.argsort(angles, kind="stable")
    angles, weights = angles[order], measure.mass[order]
    below = np.cumsum(weights) - 0.5 * weights
    turn = 2 * np.pi
    angles = np.concatenate([angles[-1:] - turn, angles, angles[:1] + turn])
    below = np.concatenate([below[-1:] - 1.0, below, below[:1] + 1.0])
    return np.asarray(np.diff(np.interp(cell_edges(count), angles, below)) * count)


def quantiles(measure: Density | Measure, count: int) -> FloatArray:
    """Angles in [-pi, pi] that cut a measure, from -pi on, into parts of equal mass.

    Points of mass (i + 1/2) / count, shape (count,): of a density to the width of a cell
    squared, of points a choice among them.

    Examples
    --------
    >>> import meanfield as mf
    >>> quantiles(mf.Density(mf.Circle(), [1.0]), 2).round(6)
    array([-1.570796,  1.570796])
    """
    levels = (np.arange(count) + 0.5) / count
    if isinstance(measure, Measure):
        wrapped = _wrapped(measure.points)
        order = np.argsort(wrapped, kind="stable")
        mass = np.cumsum(measure.mass[order])
        return wrapped[order][np.minimum(np.searchsorted(mass, levels), len(order) - 1)]
    cells = max(4096, 8 * measure.max_degree)
    mass = np.concatenate([[0.0], np.cumsum(cell_means(measure, cells))]) / cells
    return np.asarray(np.interp(levels, mass, cell_edges(cells)))


def _wrapped(angles: FloatArray) -> FloatArray:
    return np.asarray((angles + np.pi) % (2 * np.pi) - np.pi)


def column(run: Run, index: int, count: int, *, marked: bool = True) -> FloatArray:
    """Mean density in `count` cells at a saved time whose state was kept.

    With `marked` false the atoms that are marks are left out.
    """
    measure = run.measures[index]
    assert measure is not None
    if isinstance(measure, Measure):
        if is_smooth(run, index):
            return nodal_means(measure, count)
        if not marked and run.representation[index] == ATOMS:
            return _light(measure, count)
    return cell_means(measure, count)


def _light(measure: Measure, count: int) -> FloatArray:
    light = ~_marked(measure)
    if not light.any():
        return np.zeros(count)
    mass = measure.mass[light]
    rest = Measure(measure.manifold, measure.points[light], mass / mass.sum())
    return np.asarray(mass.sum() * cell_means(rest, count))


def marks(run: Run, index: int) -> tuple[FloatArray, FloatArray]:
    """Angles and masses of the atoms that are marks of their own at a saved time."""
    measure = atoms_at(run, index)
    if measure is None:
        return np.zeros(0), np.zeros(0)
    heavy = _marked(measure)
    return measure.points[heavy], measure.mass[heavy]


def cell_count(run: Run, indices: IntArray) -> int:
    """Fine for what is smooth; for tokens so that cells hold some."""
    tokens = [
        1.0 / float(np.sum(measure.mass**2))
        for i in indices
        if isinstance(measure := run.measures[i], Measure)
        and not is_smooth(run, i)
        and run.representation[i] != ATOMS
    ]
    if not tokens:
        return _CELLS
    return 2 * int(np.clip(min(tokens) / _TOKENS_PER_CELL, _FEWEST_CELLS, _CELLS) // 2)


def _marked(measure: Measure) -> NDArray[np.bool_]:
    if len(measure.points) <= _MOST_MARKS:
        return np.ones(len(measure.points), dtype=bool)
    return measure.mass >= _LEAST_MASS
