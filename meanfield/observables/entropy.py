"""Entropy relative to the uniform measure."""

from __future__ import annotations

import numpy as np

from meanfield.measures import Density, Measure

# Nodes a degree: f log f is no polynomial, its spectrum ends later than that of f.
_OVERSAMPLING = 4


def entropy(measure: Density | Measure) -> float:
    """Entropy -int f log f dsigma <= 0 of a density; NaN for points, which have none.

    Nodal values below zero (rounding) count as zero.

    Examples
    --------
    >>> import meanfield as mf
    >>> entropy(mf.Density(mf.Circle(), [1.0])) == 0.0
    True
    """
    from scipy.special import xlogy

    if isinstance(measure, Measure):
        return float("nan")
    grid = measure.manifold.grid(_OVERSAMPLING * max(measure.max_degree, 16))
    values = np.maximum(grid.to_nodal(measure.coefficients), 0.0)
    return -float(grid.weights @ xlogy(values, values))
