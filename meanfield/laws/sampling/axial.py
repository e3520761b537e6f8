"""Tokens of axial densities: polar angles by inversion, directions uniform about the axis."""

from __future__ import annotations

import numpy as np

from meanfield.arrays import FloatArray, ModalArray
from meanfield.spaces.axial.quantiles import polar_angles


def axial_tokens(
    d: int, coefficients: ModalArray, count: int, rng: np.random.Generator
) -> FloatArray:
    """Polar angles of independent tokens, shape (count,)."""
    return polar_angles(d, coefficients, rng.random(count))


def around_axis(d: int, angles: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Unit vectors (n, d) of given polar angles, uniform about the last axis."""
    beside = rng.standard_normal((len(angles), d - 1))
    beside *= (np.sin(angles) / np.sqrt((beside * beside).sum(axis=1)))[:, None]
    return np.concatenate([beside, np.cos(angles)[:, None]], axis=1)
