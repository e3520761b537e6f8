"""Interaction energy, normalised so that one cluster has energy 1."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from meanfield.arrays import FloatArray, ModalArray
from meanfield.kernels import Kernel
from meanfield.problem import Problem


def interaction_energy(problem: Problem, moments: ModalArray) -> float:
    """Interaction energy E[mu] / E[Dirac], E[mu] = 1/2 int int W(<x, y>) dmu dmu.

    By Funk-Hecke E[mu] = 1/2 sum_l w_l |m_l|^2. One for a single cluster; the sum of squared
    masses for clusters far apart at large beta. For beta < 0 the reference is the uniform
    measure instead, E[mu] / E[uniform].

    Parameters
    ----------
    problem : Problem
        Manifold and kernel are used.
    moments : ndarray
        Moments up to at least the kernel's degree.

    Returns
    -------
    float

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0))
    >>> uniform = interaction_energy(problem, mf.Density(mf.Circle(), [1.0]).moments(25))
    >>> import math
    >>> round(uniform * math.exp(5.0) / 10.0, 10)  # I_0(5) / 10
    2.7239871824
    """
    multipliers = _normalised_multipliers(problem.kernel, problem.manifold.dimension)
    space = problem.space
    return space.inner(space.convolve(multipliers, moments), moments)


@lru_cache(maxsize=64)
def _normalised_multipliers(kernel: Kernel, dimension: int) -> FloatArray:
    """Multipliers of the potential over twice the reference energy."""
    degree = kernel.degree(dimension)
    if kernel.log_slope:
        # W = a / beta: the factor 1 / beta cancels in the ratio, also where it would overflow.
        multipliers, function = kernel.attention_multipliers(dimension, degree), kernel.attention
    else:
        multipliers, function = kernel.potential_multipliers(dimension, degree), kernel.potential
    reference = multipliers[0] if kernel.beta < 0 else function(np.ones(1))[0]
    return np.asarray(multipliers / reference)
