"""Tokens of a density on the circle: its cumulative distribution inverted, F(theta) = q.

F is a table of local polynomials, right to its rounding (`transport/circle/cdf.py`).
"""

from __future__ import annotations

import numpy as np

from meanfield.arrays import ComplexArray, FloatArray, IntArray
from meanfield.compute.compiled import njit
from meanfield.transport.circle.cdf import cell_edges, local_polynomials, polynomial_and_slope

# A step shorter than this share of a cell squares to rounding.
_CLOSE = 1e-9
_MAX_STEPS = 100


def circle_tokens(coefficients: ComplexArray, count: int, rng: np.random.Generator) -> FloatArray:
    """Angles in [0, 2 pi), shape (count,)."""
    rows = local_polynomials(coefficients)
    edges = cell_edges(rows)
    levels = edges[0] + (edges[-1] - edges[0]) * rng.random(count)
    cells = np.searchsorted(edges, levels, side="right") - 1
    return np.asarray(_inverted(rows, np.minimum(cells, len(rows) - 1), levels))


@njit
def _inverted(rows: FloatArray, cells: IntArray, levels: FloatArray) -> FloatArray:
    """Angles where F reaches the levels, in the cells where it does."""
    count = len(rows)
    angles = np.empty(len(levels))
    for i in range(len(levels)):
        cell = cells[i]
        target = levels[i] - (cell + 0.5) / count
        low, high, t = -1.0, 1.0, 0.0
        for _ in range(_MAX_STEPS):
            value, slope = polynomial_and_slope(rows, cell, t)
            if value > target:
                high = t
            else:
                low = t
            proposed = t - (value - target) / slope if slope > 0.0 else 2.0
            if not low <= proposed <= high:
                proposed = 0.5 * (low + high)
            step = abs(proposed - t)
            t = proposed
            if step <= _CLOSE:
                break
        angles[i] = 2.0 * np.pi * (cell + 0.5 + 0.5 * t) / count
    return angles
