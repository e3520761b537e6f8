"""Random fields, and maxima of fields, counted with proof, on all spaces with a series.

Loads compiled code: import it where it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from meanfield.arrays import FloatArray, IntArray, ModalArray
from meanfield.spaces.manifold import Manifold, of_space

_HOMES = {"circle": "circle", "sphere": "sphere"}


def _home(space: Manifold, what: str, *, rings: bool = True) -> Any:
    """Module for the space, imported alone: the others' compiled code is not loaded."""
    home = "axial" if rings and space.has_rings else of_space(_HOMES, space, what)
    return import_module(f"meanfield.spaces.{home}.maxima")


def _dimension(space: Manifold) -> tuple[int, ...]:
    """First arguments of functions for axial measures, the dimension; else empty."""
    return (space.ambient,) if space.has_rings else ()


def _finite(fields: ModalArray) -> ModalArray:
    """Fields, unchanged; ValueError if one is not finite."""
    if not np.isfinite(fields).all():
        raise ValueError("a field holds NaN or infinity, expected numbers: it has no maxima.")
    return fields


def gaussian_fields(
    space: Manifold, variances: FloatArray, count: int, rng: np.random.Generator
) -> ModalArray:
    """Independent real isotropic Gaussian fields (count, ...), E|f_lm|^2 = variances[l], l > 0."""
    home = _home(space, "random field", rings=False)
    return np.asarray(home.gaussian_fields(variances, count, rng))


def count_maxima(space: Manifold, fields: ModalArray) -> IntArray:
    """Exact number of local maxima of each field, (count, ...) to (count,)."""
    home = _home(space, "count of maxima")
    return np.asarray(home.count_maxima(*_dimension(space), _finite(fields)))


def maxima(space: Manifold, field: ModalArray) -> FloatArray:
    """All local maxima of a field, highest first."""
    home = _home(space, "search for maxima")
    return np.asarray(home.maxima(*_dimension(space), _finite(field)))


def basins(space: Manifold, field: ModalArray, points: FloatArray) -> IntArray:
    """Index into `maxima(space, field)` of the end of the gradient ascent from each point."""
    home = _home(space, "search for maxima")
    return np.asarray(home.basins(*_dimension(space), _finite(field), points))
