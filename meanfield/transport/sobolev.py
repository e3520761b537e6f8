"""Negative Sobolev distance: cheap, spectral, and not a transport distance."""

from __future__ import annotations

import math

import numpy as np

from meanfield.arguments import at_least, checked
from meanfield.measures import Density, Measure, shared_manifold
from meanfield.spaces.manifold import laplacian_eigenvalues

DEFAULT_DEGREE = 12


@checked
def sobolev_distance(
    first: Measure | Density, second: Measure | Density, max_degree: int = DEFAULT_DEGREE
) -> float:
    """Negative Sobolev distance of two measures, low degrees only.

        ||mu - nu||^2 = sum_{1 <= l <= L} |m_l - n_l|^2 / (l (l + d - 2))

    What W_2 becomes for two measures near uniform, seen up to degree L. On the circle it is W_2
    itself to the uniform measure as L grows; on the sphere the sum over all degrees is infinite
    for points. It is no bound of W_2, above or below, away from uniform.

    Parameters
    ----------
    first, second : Measure or Density
        On the same manifold.
    max_degree : int
        L, at least 1.

    Raises
    ------
    TypeError
        If one is neither a Measure nor a Density.
    ValueError
        If the manifolds differ, or max_degree is below 1 or above 1,048,576.

    References
    ----------
    Peyre, Comparison between W2 distance and H^-1 norm, and localization of Wasserstein
    distance, ESAIM: COCV 24 (2018), 1489-1501.

    Examples
    --------
    >>> import meanfield as mf
    >>> law = mf.Density(mf.Circle(), [1.0, 0.01])
    >>> uniform = mf.Density(mf.Circle(), [1.0])
    >>> bool(abs(sobolev_distance(law, uniform) / mf.wasserstein(law, uniform, 2) - 1) < 1e-12)
    True
    """
    space = shared_manifold(first, second)
    at_least(1, max_degree=max_degree)
    difference = first.moments(max_degree) - second.moments(max_degree)
    weights = np.zeros(max_degree + 1)
    weights[1:] = 1.0 / laplacian_eigenvalues(space.dimension, max_degree)[1:]
    return math.sqrt(max(space.inner(space.convolve(weights, difference), difference), 0.0))
