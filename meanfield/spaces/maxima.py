"""Random fields, and maxima of fields counted with proof; one door.

Loads compiled code: import it where it is used.
"""

from __future__ import annotations

import numpy as np

from meanfield.arrays import FloatArray, IntArray, ModalArray
from meanfield.spaces.axial import maxima as axial
from meanfield.spaces.circle import maxima as circle
from meanfield.spaces.manifold import Manifold, of_space
from meanfield.spaces.sphere import maxima as sphere

# "axial" stands beside the tables: its harmonics need the dimension.
_FIELDS = {"circle": circle.gaussian_fields, "sphere": sphere.gaussian_fields}
_COUNTS = {"circle": circle.count_maxima, "sphere": sphere.count_maxima}
_MAXIMA = {"circle": circle.maxima, "sphere": sphere.maxima}
_BASINS = {"circle": circle.basins, "sphere": sphere.basins}


def gaussian_fields(
    space: Manifold, variances: FloatArray, count: int, rng: np.random.Generator
) -> ModalArray:
    """Independent real isotropic Gaussian fields (count, ...), variances[l] of degree l > 0.

    Degree 0 is 0.
    """
    return of_space(_FIELDS, space, "random field")(variances, count, rng)


def count_maxima(space: Manifold, fields: ModalArray) -> IntArray:
    """Exact number of local maxima of each field, (count, ...) to (count,)."""
    if space.has_rings:
        return axial.count_maxima(space.ambient, fields)
    return of_space(_COUNTS, space, "count of maxima")(fields)


def maxima(space: Manifold, field: ModalArray) -> FloatArray:
    """All local maxima of a field, highest first."""
    if space.has_rings:
        return axial.maxima(space.ambient, field)
    return of_space(_MAXIMA, space, "search for maxima")(field)


def basins(space: Manifold, field: ModalArray, points: FloatArray) -> IntArray:
    """Index into `maxima(space, field)` of the end of the gradient ascent from each point."""
    if space.has_rings:
        return axial.basins(space.ambient, field, points)
    return of_space(_BASINS, space, "search for maxima")(field, points)
