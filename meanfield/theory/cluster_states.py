"""Stability of k equal clusters at equal spacing on the circle.

Perturbing cluster j by e^{i q 2 pi j / k}, the regular polygon has the rates

    Lambda_q = sum_{p in Z} (lambda_{kp+q} - lambda_{kp}),      q = 1 ... k - 1,

and a test particle beside a cluster falls into it at the rate sum_p lambda_{kp}, where
lambda_l = strength l^2 w_l are the rates of the uniform state; a normalised flow divides both
by Z = sum_p a_{kp}. Every polygon of k >= 2 clusters is unstable for beta > 0, but slowly:
it is metastable.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.manifolds.manifold import laplacian_eigenvalues
from meanfield.problem import Problem


@dataclass(frozen=True, eq=False)
class PolygonRates:
    """Rates of a regular polygon of clusters, in scaled time.

    Attributes
    ----------
    escape : ndarray, shape (k - 1,)
        Derived. Lambda_q for q = 1 ... k - 1; positive ones lead away from the polygon.
    contraction : float
        Derived. Rate at which a test particle falls into its cluster.
    """

    escape: FloatArray
    contraction: float


def polygon_rates(problem: Problem, clusters: int) -> PolygonRates:
    """Escape and contraction rates of `clusters` equal clusters at equal spacing.

    Parameters
    ----------
    problem : Problem
        On the circle, without diffusion; its initial measure is not used.
    clusters : int
        k >= 2.

    Returns
    -------
    PolygonRates
        Absolute error a few eps times the largest lambda_l: escape rates far below that are
        rounding.

    Raises
    ------
    ValueError
        If there are fewer than two clusters, the manifold is not the circle, or there is
        diffusion, under which clusters are no states.

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=7.0))
    >>> float((polygon_rates(problem, 4).escape.max() * np.exp(7.0)).round(9))  # beta itself
    7.0
    """
    k = clusters
    if k < 2:
        raise ValueError(f"clusters must be at least 2, got {k}.")
    if problem.manifold.dimension != 1:
        raise ValueError(f"polygons live on the circle, not on {problem.manifold.name}.")
    if problem.flow.diffusivity:
        raise ValueError("clusters are no stationary states with diffusivity > 0.")
    degree = problem.kernel_degree + k
    weights = problem.kernel.potential_multipliers(1, degree)
    rates = problem.flow.strength * laplacian_eigenvalues(1, degree) * weights
    scale = 1.0
    if problem.flow.normalized:
        a = problem.kernel.attention_multipliers(1, degree)
        scale = float(_periodic_sum(a, k)[0])
    folded = _periodic_sum(rates, k) / scale
    return PolygonRates(escape=folded[1:] - folded[0], contraction=float(folded[0]))


def _periodic_sum(values: FloatArray, period: int) -> FloatArray:
    """Sums over p in Z of values[|period p + q|], q = 0 ... period - 1."""
    reach = len(values) - 1
    degrees = np.arange(-reach, reach + 1)
    folded = np.bincount(degrees % period, values[np.abs(degrees)], minlength=period)
    return np.asarray(folded, dtype=np.float64)
