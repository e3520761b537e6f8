"""Label space of the circle: panels of Gauss-Legendre nodes, in the order of their angles.

A panel [a, b] has the labels a + (b - a)(1 + x_i) / 2 with the weights (b - a) w_i / 2 pi.
Their images under the flow are unwrapped angles, which increase along the circle.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from meanfield.arrays import EPS, FloatArray, IntArray
from meanfield.bases.legendre import Carry, gauss_legendre, halving, interpolation, to_coefficients

ORDER = 16
_FULL_TURN = 2.0 * np.pi
# Narrowest panel whose halves still have distinct edges.
_NARROWEST = 16 * _FULL_TURN * EPS
# Largest ratio of lengths of joined panels: the shorter one then still gets five of 16 nodes.
_UNEQUAL = 4.0
# Labels that have met change places by rounding and by errors of time steps.
_MET = 1e-9


@dataclass(frozen=True, eq=False)
class Panels:
    """Panels of the circle, each with 16 nodes."""

    # (panels, 2): lower and upper edge in radians, increasing from 0 to 2 pi without gaps.
    bounds: FloatArray
    end: ClassVar[float] = _FULL_TURN
    points: FloatArray = field(init=False, repr=False)  # (16 panels,): labels of the nodes
    # (16 panels,): quadrature weights for sigma, summing to 1.
    weights: FloatArray = field(init=False, repr=False)
    order: int = field(default=ORDER, init=False, repr=False)
    per_cell: int = field(default=ORDER, init=False, repr=False)

    def __post_init__(self) -> None:
        bounds = np.asarray(self.bounds, dtype=np.float64)
        _check(bounds, self.end)
        object.__setattr__(self, "bounds", bounds)
        nodes, weights = gauss_legendre(ORDER)
        lengths = np.diff(bounds, axis=1)
        object.__setattr__(self, "points", np.ravel(bounds[:, :1] + lengths * (1 + nodes) / 2))
        object.__setattr__(self, "weights", self._of_sigma(np.ravel(lengths * weights)))

    def tails(self, values: FloatArray) -> FloatArray:
        last = to_coefficients(ORDER)[-2:] @ self._by_panel(values)
        return np.asarray(np.abs(last).max(axis=(1, 2))[:, None])

    def lengths(self, points: FloatArray) -> FloatArray:
        ends = interpolation(ORDER, np.array([-1.0, 1.0])) @ self._by_panel(points)
        return np.abs(ends[:, 1] - ends[:, 0])

    def split(self, which: npt.NDArray[np.bool_]) -> tuple[Self, Carry]:
        halved = which[:, 0] & (np.diff(self.bounds)[:, 0] > _NARROWEST)
        source = np.repeat(np.arange(len(halved)), 1 + halved)
        lower = np.zeros(len(source), dtype=bool)
        upper = lower.copy()
        lower[:-1] = source[:-1] == source[1:]
        upper[1:] = lower[:-1]
        bounds = self.bounds[source]
        middle = 0.5 * (bounds[:, 0] + bounds[:, 1])
        bounds[lower, 1] = middle[lower]
        bounds[upper, 0] = middle[upper]
        halves = halving(ORDER)

        def carry(values: FloatArray) -> FloatArray:
            values_of_parent = self._by_panel(values)[source]
            values_of_parent[lower] = halves[:ORDER] @ values_of_parent[lower]
            values_of_parent[upper] = halves[ORDER:] @ values_of_parent[upper]
            return values_of_parent.reshape(-1, values_of_parent.shape[-1])

        return replace(self, bounds=bounds), carry

    def join(self, which: npt.NDArray[np.bool_]) -> tuple[Self, Carry] | None:
        lengths = np.diff(self.bounds)[:, 0]
        longer, shorter = (f(lengths[:-1], lengths[1:]) for f in (np.maximum, np.minimum))
        first = _pairs(which[:-1] & which[1:] & (longer <= _UNEQUAL * shorter))
        if len(first) == 0:
            return None
        single = np.ones(len(which), dtype=bool)
        single[first + 1] = False
        bounds = self.bounds.copy()
        bounds[first, 1] = bounds[first + 1, 1]
        joined = replace(self, bounds=bounds[single])
        new = np.cumsum(single)[first] - 1
        # The old panel under each new node, and where in it: (pairs, order).
        nodes = joined.points.reshape(-1, ORDER)[new]
        old = first[:, None] + (nodes > self.bounds[first, 1:])
        start, end = self.bounds[old, 0], self.bounds[old, 1]
        places = 2.0 * (nodes - start) / (end - start) - 1.0
        polynomials = np.polynomial.legendre.legvander(places, ORDER - 1)

        def carry(values: FloatArray) -> FloatArray:
            by_panel = self._by_panel(values)
            remaining = by_panel[single]
            coefficients = to_coefficients(ORDER) @ by_panel
            remaining[new] = np.einsum("mij,mijk->mik", polynomials, coefficients[old])
            return remaining.reshape(-1, remaining.shape[-1])

        return joined, carry

    def fold(self, points: FloatArray, slack: FloatArray | None = None) -> int | None:
        """Index of the panel where unwrapped angles decrease most, None if they never do.

        Labels that have met may change places. `slack`, (panels,), is the error of the angles.
        """
        # The step from the last node of a panel to the next panel belongs to the former.
        steps = np.diff(points, append=self._next(points[0])).reshape(-1, ORDER) + _MET
        if slack is not None:
            steps += slack[:, None]
            steps[:, -1] += np.roll(slack, -1)
        # NaN does not count as a fold.
        worst = int(np.argmin(np.nan_to_num(steps).min(axis=1)))
        return worst if steps[worst].min() < 0 else None

    def _of_sigma(self, lengths: FloatArray) -> FloatArray:
        """Weights for sigma of nodes, from lengths in radians."""
        return lengths / _FULL_TURN

    def _next(self, first: float) -> float:
        """Label after the last one: the first plus a full turn."""
        return first + _FULL_TURN

    def _by_panel(self, values: FloatArray) -> FloatArray:
        return values.reshape(len(self.bounds), ORDER, -1)


def panels(length: float) -> Panels:
    """Equal panels of at most `length` radians."""
    return Panels(equal_bounds(_FULL_TURN, length))


def equal_bounds(end: float, length: float) -> FloatArray:
    """Bounds of equal panels of [0, end], each of at most `length`."""
    edges = np.linspace(0.0, end, max(int(np.ceil(end / length)), 1) + 1)
    return np.stack([edges[:-1], edges[1:]], axis=1)


def _pairs(may: npt.NDArray[np.bool_]) -> IntArray:
    """Indices i of links (i, i + 1) allowed by `may`, (panels - 1,); no two share a panel."""
    place = np.arange(len(may))
    # Every other link of each run of allowed ones.
    row_start = np.maximum.accumulate(np.where(may, -1, place)) + 1
    return np.flatnonzero(may & ((place - row_start) % 2 == 0))


def _check(bounds: FloatArray, end: float) -> None:
    if bounds.ndim != 2 or bounds.shape[1] != 2 or len(bounds) == 0:
        raise ValueError(f"bounds have shape {bounds.shape}, expected (panels, 2).")
    covered = bounds[0, 0] == 0 and bounds[-1, 1] == end
    connected = np.array_equal(bounds[:-1, 1], bounds[1:, 0])
    if not (covered and connected and np.all(bounds[:, 0] < bounds[:, 1])):
        raise ValueError(
            f"bounds must increase from 0 to {end / np.pi:g} pi, each panel starting where one "
            "ends."
        )
