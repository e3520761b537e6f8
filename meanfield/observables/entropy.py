"""Entropy relative to the uniform measure."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from meanfield.measures import Density, Measure

# f log f is no polynomial, and where f touches zero its spectrum ends slowly: the degree of the
# grid doubles until two values agree this well, or on enough nodes.
_AGREEMENT = 1e-13
_FIRST_DEGREE = 32
_MOST_NODES = 2**19


def entropy(measure: Density | Measure) -> float:
    """Entropy -int f log f dsigma <= 0 of a density; NaN for points, which have none.

    Nodal values below zero (rounding) count as zero. Absolute error about 1e-13; about 1e-12 where
    f touches zero.

    Examples
    --------
    >>> import meanfield as mf
    >>> entropy(mf.Density(mf.Circle(), [1.0])) == 0.0
    True
    """
    return float("nan") if isinstance(measure, Measure) else _of_density(measure)


@lru_cache(maxsize=1)
def _of_density(density: Density) -> float:
    # Kept for the free energy, which asks for that of the same density.
    degree = max(density.max_degree, _FIRST_DEGREE)
    coarse, _ = _quadrature(density, degree)
    while True:
        degree *= 2
        fine, nodes = _quadrature(density, degree)
        if abs(fine - coarse) <= _AGREEMENT * (1.0 + abs(fine)) or nodes >= _MOST_NODES:
            return fine
        coarse = fine


def _quadrature(density: Density, degree: int) -> tuple[float, int]:
    """Entropy on the grid of a degree, and its number of nodes."""
    from scipy.special import xlogy

    grid = density.manifold.grid(degree)
    values = np.maximum(grid.to_nodal(density.coefficients), 0.0)
    return -float(grid.weights @ xlogy(values, values)), len(values)
