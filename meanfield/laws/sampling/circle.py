"""Tokens of a density on the circle by inversion of its cumulative distribution, F(theta) = q.

F is a table of local polynomials, exact to rounding (`engines/fourier/cdf.py`).
"""

from __future__ import annotations

import numpy as np

from meanfield.arrays import ComplexArray, FloatArray, IntArray
from meanfield.engines.compiled import njit
from meanfield.engines.fourier.cdf import cell_edges, local_polynomials, quantile


def circle_tokens(coefficients: ComplexArray, count: int, rng: np.random.Generator) -> FloatArray:
    """Angles in [0, 2 pi), shape (count,)."""
    rows = local_polynomials(coefficients)
    edges = cell_edges(rows)
    levels = edges[0] + (edges[-1] - edges[0]) * rng.random(count)
    cells = np.searchsorted(edges, levels, side="right") - 1
    return np.asarray(_inverted(rows, np.minimum(cells, len(rows) - 1), levels))


@njit
def _inverted(rows: FloatArray, cells: IntArray, levels: FloatArray) -> FloatArray:
    angles = np.empty(len(levels))
    for i in range(len(levels)):
        t, _ = quantile(rows, cells[i], levels[i], -1.0, 0.0)
        angles[i] = 2.0 * np.pi * (cells[i] + 0.5 + 0.5 * t) / len(rows)
    return angles
