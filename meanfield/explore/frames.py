"""Messages of a live run to the view: the header with its first frame, then each frame.

Colours have one range from the beginning, symmetric about uniform.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanfield.arrays import FloatArray
from meanfield.figures.data.circle import cell_means, wrapped
from meanfield.figures.data.projections import PlateCarree
from meanfield.figures.data.saved_times import ATOMS, Frame
from meanfield.figures.data.sphere import values_on
from meanfield.figures.data.tokens import some_tokens
from meanfield.figures.data.view import GLOBE, RING, ViewPicture
from meanfield.figures.view import look
from meanfield.figures.view.pack import coded_points, header_of, plain, quantised
from meanfield.measures import Density
from meanfield.observables.clusters import visible_counts
from meanfield.problem_facts import facts_of
from meanfield.simulation import Evolution
from meanfield.snapshot import Snapshot

# Densities that have a colour of their own.
COLOURS = (0.1, 10.0)
_ROWS, _CELLS, _FEWEST_CELLS, _TOKENS_A_CELL = 64, 720, 120, 10
# A view's name of a curve, and the observable that it is.
_CURVES = {"energy": "energy", "order parameter": "order_parameter", "clusters": "clusters/count"}


@dataclass(frozen=True, eq=False)
class LiveView:
    """Common data of the frames of a run."""

    evolution: Evolution  # what is seen
    cells: int  # of a ring; of a globe its rows of latitude

    @property
    def shape(self) -> str:
        """How the view shows it."""
        return RING if self.evolution.problem.manifold.dimension == 1 else GLOBE

    @property
    def header(self) -> dict[str, Any]:
        """Header of the view, before the first frame."""
        facts = facts_of(self.evolution.problem)
        none, no_times = np.zeros((0, 0)), np.zeros(0)
        picture = ViewPicture(
            Frame("", facts, no_times, False, 0.0, ()),
            self.shape,
            no_times,
            none,
            COLOURS,
            (),
            (),
            none,
            {},
            (),
        )
        size = [self.cells, 2 * self.cells] if self.shape == GLOBE else [1, self.cells]
        notes = [f"live; colours end at densities {COLOURS[0]:g} and {COLOURS[1]:g}"]
        state = {"values": {"colours": list(COLOURS), "size": size}, "notes": notes}
        return header_of(picture, {}) | look(facts) | state

    def frame(self, snapshot: Snapshot) -> dict[str, Any]:
        """One frame more: time, values, points, masses of atoms, curves."""
        points, masses = _points(snapshot)
        values = quantised(self._values(snapshot), COLOURS)
        return {
            "time": snapshot.time,
            "values": _text(values),
            "points": _text(coded_points(points, self.shape, 1.0)),
            "masses": None if masses is None else _text(masses.astype("<f4")),
            "curves": self._curves(snapshot),
        }

    def _values(self, snapshot: Snapshot) -> FloatArray:
        """Densities, row by row."""
        if self.shape == GLOBE:
            return values_on(snapshot.measure, PlateCarree(), 2 * self.cells)
        return np.maximum(cell_means(snapshot.measure, self.cells), 0.0)

    def _curves(self, snapshot: Snapshot) -> dict[str, float | None]:
        """Energy, order parameter and number of clusters."""
        observables = self.evolution.observe(snapshot)
        curves = {
            name: observables[key].ravel() for name, key in _CURVES.items() if key in observables
        }
        if "clusters" in curves:
            curves["clusters"] = visible_counts(curves["clusters"], curves["order parameter"])
        return {name: plain(values)[0] for name, values in curves.items()}


def live_view(evolution: Evolution, first: Snapshot) -> LiveView:
    """View of a run, whose cells hold some tokens each."""
    if evolution.problem.manifold.dimension == 2:
        return LiveView(evolution, _ROWS)
    if isinstance(first.measure, Density):
        return LiveView(evolution, _CELLS)
    count = len(first.measure.points) / _TOKENS_A_CELL
    return LiveView(evolution, 2 * int(np.clip(count, _FEWEST_CELLS, _CELLS) // 2))


def _points(snapshot: Snapshot) -> tuple[FloatArray, FloatArray | None]:
    """Tokens or atoms that are drawn, and masses of these."""
    measure = snapshot.measure
    on_sphere = measure.manifold.dimension == 2
    if isinstance(measure, Density) or measure.cell_order:
        return np.zeros((0, 3 if on_sphere else 1)), None
    if snapshot.representation == ATOMS:
        points, masses = measure.points, measure.mass
    else:
        points, masses = some_tokens(measure), None
    return points if on_sphere else wrapped(points)[:, None], masses


def _text(array: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
