"""How the picture of a run on the circle shows each saved time: a column of cells, and atoms.

A density and the quadrature nodes of characteristics are smooth, tokens fill cells, heavy atoms
are marks of their own. A run may hold one after the other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from meanfield.arrays import FloatArray, IntArray
from meanfield.measures import Measure
from meanfield.outputs.plots.carriers import ATOMS, atoms_at, is_smooth
from meanfield.outputs.plots.cell_means import cell_means, nodal_means
from meanfield.run import Run

_CELLS = 720
# Cells of a histogram hold about this many tokens of a uniform measure.
_TOKENS_PER_CELL = 10
_FEWEST_CELLS = 240
# Atoms lighter than this fill cells, where there are more of them than marks.
_LEAST_MASS = 0.005
_MOST_MARKS = 200


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
