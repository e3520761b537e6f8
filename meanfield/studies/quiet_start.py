"""Nodes that carry a small perturbation of uniform without sampling noise of their own.

    x_j = y_j + u(y_j), back on the manifold,    u = grad psi,    -Laplacian psi = f - 1,
    psi_l = f_l / (l (l + d - 2)),

y_j the nodes of a grid with its quadrature weights. The flow of u carries uniform to the density f
to first order (Zel'dovich's approximation); weights stay positive whatever f is.
"""

from __future__ import annotations

import numpy as np

from meanfield.arrays import ModalArray
from meanfield.manifolds.manifold import Manifold, laplacian_eigenvalues
from meanfield.measures import Measure


def quiet_start(space: Manifold, perturbation: ModalArray, grid_degree: int) -> Measure:
    """Weighted nodes displaced from a grid, with these moments to first order.

    Parameters
    ----------
    space : Manifold
        Circle or sphere.
    perturbation : ndarray
        Moments m_l, l >= 1, of the measure; degree 0 is not used.
    grid_degree : int
        Degree of the grid, at least that of the perturbation.

    Returns
    -------
    Measure

    References
    ----------
    Zel'dovich, Gravitational instability: an approximate theory for large density perturbations,
    Astron. Astrophys. 5 (1970), 84-89.

    Examples
    --------
    >>> import meanfield as mf
    >>> start = quiet_start(mf.Circle(), np.array([0.0, 0.001, 0.0]), 16)
    >>> mf.Circle().moments(start.points, start.weights, 2).real.round(5)
    array([1.   , 0.001, 0.   ])
    """
    eigenvalues = laplacian_eigenvalues(space.dimension, space.degree_of(perturbation))
    inverse = np.divide(1.0, eigenvalues, out=np.zeros_like(eigenvalues), where=eigenvalues > 0)
    displacement = space.convolve(inverse, perturbation)
    grid = space.grid(grid_degree)
    moved = grid.points + space.gradient(displacement, grid.points)
    return Measure(space, space.retract(moved)[0], grid.weights)
