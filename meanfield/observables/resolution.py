"""How well a density is resolved."""

from __future__ import annotations

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.measures import Density, Measure


def spectral_tail(sizes: FloatArray) -> float:
    """Largest of the top tenth (at least one) of the sizes by degree.

    Examples
    --------
    >>> spectral_tail(np.array([1.0, 0.5, 0.25]))
    0.25
    """
    return float(np.max(sizes[-max(len(sizes) // 10, 1) :]))


def resolution(measure: Density | Measure) -> float:
    """Spectral tail of a density: largest size among the top tenth of its degrees.

    The size of a degree is the modulus of its coefficient on the circle, and on the sphere the root
    of its power, sqrt(sum_m |c_lm|^2).

    NaN for points, which are exact.
    """
    if isinstance(measure, Measure):
        return float("nan")
    return spectral_tail(measure.manifold.sizes_by_degree(measure.coefficients))
