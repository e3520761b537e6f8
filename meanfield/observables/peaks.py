"""Peaks: the maxima of the attention potential."""

from __future__ import annotations

import math

from meanfield.arrays import MOMENT_NOISE, ModalArray
from meanfield.problem import Problem
from meanfield.terms.kernels import kernel_of


def peaks(problem: Problem, moments: ModalArray) -> float:
    """Number of local maxima of the attention potential of a measure.

        Phi = strength W * mu,    Phi_l = strength w_l m_l

    The velocity is grad Phi / Z: tokens climb to these maxima, for USA and for SA. Rice's formula
    has their mean number (`mean_clusters`). The count needs only moments, so it treats densities,
    nodes and tokens alike; it includes every maximum above rounding. Moments below `MOMENT_NOISE`
    are rounding and count as 0. Heads with matrices have no potential; the exponential kernel of
    the largest beta replaces them.

    Returns 0 for a constant potential, as of the uniform measure; NaN where no series is known.

    A nearly uniform density has no cluster yet, and four peaks:

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=9.0), mf.USA)
    >>> density = mf.perturbed_uniform([[4, 0.01, 0.0]]).build(mf.Circle())
    >>> peaks(problem, density.moments(problem.moment_degree))
    4
    """
    # Loads compiled code.
    from meanfield.spaces.maxima import count_maxima

    space = problem.manifold
    if not space.has_series:
        return math.nan
    # Heads have no potential.
    kernel = kernel_of(problem.beta) if problem.attention else problem.own_kernel
    strength = 1.0 if problem.attention else problem.flow.strength
    multipliers = kernel.potential_multipliers(space.dimension, kernel.degree(space.dimension))
    significant = space.sizes_by_degree(moments)[: len(multipliers)] > MOMENT_NOISE
    potential = space.convolve(strength * multipliers[: len(significant)] * significant, moments)
    return int(count_maxima(space, potential[None])[0])
