"""Quantiles of axial densities: polar angles that hold given masses.

The mass within theta is known in closed form (`measure`). It is inverted by Newton's method between
bounds that close in, from a table.
"""

from __future__ import annotations

import numpy as np

from meanfield.arrays import FloatArray, ModalArray
from meanfield.spaces.axial.measure import check_distribution, cumulative, height

# Angles of the table, at least, and a degree; halvings that narrow any of its cells to rounding.
_TABLE, _A_DEGREE = 2048, 16
_STEPS = 60
_CLOSE = 1e-15
_AT_ONCE = 2**16


def polar_angles(d: int, coefficients: ModalArray, levels: FloatArray) -> FloatArray:
    """Polar angles within which a density has given masses, levels in [0, 1]."""
    check_distribution(d, coefficients)
    count = max(_TABLE, _A_DEGREE * len(coefficients), int(_A_DEGREE * np.sqrt(d)))
    edges = np.linspace(0.0, np.pi, count + 1)
    # Rounding where next to no mass is makes no order.
    table = np.maximum.accumulate(np.clip(cumulative(d, coefficients, edges), 0.0, 1.0))
    angles = np.empty(len(levels))
    for start in range(0, len(levels), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        angles[part] = _inverted(d, coefficients, levels[part], edges, table)
    return angles


def _inverted(
    d: int,
    coefficients: ModalArray,
    levels: FloatArray,
    edges: FloatArray,
    table: FloatArray,
) -> FloatArray:
    from meanfield.bases.gegenbauer import series

    cell = np.clip(np.searchsorted(table, levels, side="right") - 1, 0, len(edges) - 2)
    low, high = edges[cell].copy(), edges[cell + 1].copy()
    rise = table[cell + 1] - table[cell]
    share = np.divide(levels - table[cell], rise, out=np.full(len(levels), 0.5), where=rise > 0.0)
    theta = low + np.clip(share, 0.0, 1.0) * (high - low)
    left = np.arange(len(levels))
    for _ in range(_STEPS):
        at = theta[left]
        miss = cumulative(d, coefficients, at) - levels[left]
        below = miss < 0.0
        low[left] = np.where(below, at, low[left])
        high[left] = np.where(below, high[left], at)
        slope = height(d, at) * series.values(d, np.real(coefficients), at)
        step = np.divide(miss, slope, out=np.full(len(left), np.inf), where=slope > 0.0)
        to = at - step
        inside = (to >= low[left]) & (to <= high[left])
        to = np.where(inside, to, 0.5 * (low[left] + high[left]))
        theta[left] = to
        left = left[np.abs(to - at) > _CLOSE * np.pi]
        if not len(left):
            break
    return np.asarray(theta)
