"""Positivity of a density given by a series, and bounds above it."""

from __future__ import annotations

import numpy as np

from meanfield.measures import Density

# A density may be negative by the rounding of its series, which a high peak leaves everywhere.
_NEGATIVE_TOLERANCE = 1e-10
_ROUNDING_OF_PEAK = 1e-13


def checked_positive(density: Density, remedy: str = "Reduce the amplitudes") -> Density:
    """Return the density itself, or say where and how much it is negative, and the remedy."""
    positive_bound(density, remedy)
    return density


def positive_bound(density: Density, remedy: str) -> float:
    """Bound above all values of a density, after the lowest was looked at."""
    from meanfield.spaces.extremes import extremes

    lowest, where, bound = extremes(density.manifold, density.coefficients)
    if lowest < -max(_NEGATIVE_TOLERANCE, _ROUNDING_OF_PEAK * bound):
        raise ValueError(f"density is negative: {lowest:.4g} at {np.round(where, 4)}. {remedy}.")
    return bound
