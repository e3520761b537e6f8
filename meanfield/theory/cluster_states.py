"""Stability of k equal clusters at equal spacing on the circle.

The Jacobian J of `cluster_rates` is then circulant: displacing cluster j by e^{i q 2 pi j / k} is
its eigenvector, with the rate

    Lambda_q = sum_j J_0j (e^{i q 2 pi j / k} - 1) = -2 sum_j J_0j sin^2(pi q j / k),

q = 1 ... k - 1, since a rotation, q = 0, has the rate 0. By Poisson summation that is also a sum
over growth rates of the uniform state (`docs/theory.md`, eq. 13), but there tiny rates are
differences of large ones.
Every polygon of k >= 2 clusters is unstable for beta > 0, but slowly: it is metastable.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.measures import Measure
from meanfield.problem import Problem
from meanfield.theory.cluster_rates import check_no_diffusion, linearisation


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
        Errors are a few eps times the largest term of each sum, which for k = 2 and 3 is the rate
        itself. Work and memory are as k^2.

    Raises
    ------
    ValueError
        If there are fewer than two clusters, the manifold is not the circle, or there is
        diffusion, under which clusters are no states.

    See Also
    --------
    cluster_rates : any masses, any places, and the sphere.

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
    check_no_diffusion(problem)
    each = np.arange(k)
    polygon = Measure(problem.space, 2.0 * np.pi * each / k)
    found = linearisation(problem, polygon, np.ones((k, 1, 1)))
    # sin^2 has period k in q j, and integers stay exact.
    shares = np.sin(np.pi * (np.outer(each[1:], each) % k) / k) ** 2
    return PolygonRates(
        escape=-2.0 * shares @ found.among_clusters[0, 0, :, 0],
        contraction=-float(found.of_field[0, 0, 0]),
    )
