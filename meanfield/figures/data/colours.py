"""Which densities have a colour of their own: one logarithmic scale around uniform."""

from __future__ import annotations

from meanfield.arrays import FloatArray

Limits = tuple[float, float] | None
"""Lowest and highest of what is drawn, as it was asked for."""

# Colours span at most this range, and at least a little around uniform.
_LOWEST, _HIGHEST = 0.05, 30.0
_NEAR_UNIFORM = 1.25


def colour_range(values: FloatArray) -> tuple[float, float]:
    """Lowest and highest density that have a colour of their own."""
    positive = values[values > 0]
    lowest = min(max(float(positive.min()), _LOWEST), 1.0 / _NEAR_UNIFORM)
    return lowest, max(min(float(positive.max()), _HIGHEST), _NEAR_UNIFORM)
