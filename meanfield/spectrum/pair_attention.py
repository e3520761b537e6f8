"""Attention between points at a geodesic angle phi, with relative accuracy for any size.

For the exponential kernel (and the linear one, beta = 0) it is not computed from s = cos phi,
because beta magnifies the rounding of s:

    ln a = -2 |beta| sin^2(phi / 2)   if beta >= 0,      -2 |beta| cos^2(phi / 2)   if beta < 0.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.polynomial import chebyshev

from meanfield.arrays import FloatArray
from meanfield.problem import Problem
from meanfield.terms.kernels import Kernel


def attention_and_slope(
    problem: Problem, masses: FloatArray, angles: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Attention m_j a(s_ij) and slope m_j a'(s_ij) of places i and clusters j.

    angles (places, n): geodesic. Returns attention and slope (places, n), divided by Z_i =
    sum_j m_j a(s_ij) under a normalised flow, never 0/0; and the partition function (places,): Z_i
    (0 if it underflows), or 1.
    """
    kernel, normalized = problem.zonal.kernel, problem.zonal.normalized
    shift = np.zeros((len(angles), 1))
    if kernel.log_slope is not None:
        logarithms = log_attention(kernel.log_slope, angles)
        if normalized:
            # Only ratios of weights matter: divide by the largest.
            shift = np.where(masses > 0, logarithms, -np.inf).max(axis=1, keepdims=True)
        with np.errstate(over="ignore"):  # for clusters of mass 0
            attention: FloatArray = np.where(masses > 0, np.exp(logarithms - shift), 0.0)
        slope: FloatArray = kernel.log_slope * attention
    else:
        similarities = np.cos(angles)
        attention = np.asarray(kernel.attention(similarities), dtype=np.float64)
        slope = np.asarray(chebyshev.chebval(similarities, _slope_series(kernel)))
    attention, slope = masses * attention, masses * slope
    if not normalized:
        return attention, slope, np.ones(len(angles))
    partition = attention.sum(axis=1, keepdims=True)
    return attention / partition, slope / partition, (partition * np.exp(shift))[:, 0]


def log_attention(beta: float, angles: FloatArray) -> FloatArray:
    """Logarithm of exp(beta cos phi - |beta|), exact to rounding."""
    half = np.sin(0.5 * angles) if beta >= 0 else np.cos(0.5 * angles)
    return np.asarray(-2.0 * abs(beta) * half**2)


@lru_cache(maxsize=16)
def _slope_series(kernel: Kernel) -> FloatArray:
    """Chebyshev series of a'(s) from a = a_0 + 2 sum_k a_k T_k, a_k multipliers on the circle."""
    multipliers = kernel.attention_multipliers(1, kernel.degree(1) + 1)
    return np.asarray(chebyshev.chebder(np.concatenate([multipliers[:1], 2.0 * multipliers[1:]])))
