"""Runs from sampled tokens whose clusters are counted: the work of an ensemble.

N tokens are drawn from the initial law and carried to multiples of the onset time
T = ln N / (2 lambda_max), as they are or through their moments alone:

    particles   the tokens move
    density     the density f = sum_l m_l Y_l with the tokens' moments up to the degree that is
                felt moves, on weighted nodes x_j of mass f(x_j) w_j, w_j the quadrature weights

Felt are the degrees at which l w_l, the part of the velocity, is above the tolerance of the steps,
of its largest. Both start in the same field; what the tokens' other moments add to it later is of
the order N^{-1/2} of it. The second costs the same whatever N is. Softmax divides by a Z that is
cut there too: it is right where there is mass, which is all that tokens feel.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from meanfield.arrays import FloatArray
from meanfield.fields.lost_digits import sees_far
from meanfield.measures import Density, Measure
from meanfield.observables.clusters import Clusters, clusters
from meanfield.problem import Problem
from meanfield.representations.particles import ParticleRepresentation
from meanfield.sampling import sample_tokens
from meanfield.studies.study import initial_density, rng_of
from meanfield.trajectory import trajectory

# Degree of the grid whose nodes carry a density, by dimension: per degree of the kernel, and at
# least. A grid has three nodes a degree on a great circle.
_GRID_DEGREES = {1: 16.0 / 3.0, 2: 1.0}
_LEAST_GRID_DEGREE = {1: 171, 2: 24}


def run_tokens(problem: Problem, tokens: int, run: int, seed: int) -> FloatArray:
    """Tokens that a run draws from the initial law.

    Parameters
    ----------
    problem : Problem
        Its initial law is a density.
    tokens, run, seed : int
        Size, number of the run and seed of the ensemble: they alone decide.

    Raises
    ------
    TypeError
        If the initial law gives points.

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0))
    >>> run_tokens(problem, 100, 0, 7).shape
    (100,)
    """
    return sample_tokens(initial_density(problem), tokens, rng_of(seed, tokens, run))


def clusters_of_run(
    problem: Problem, start: Measure, times: FloatArray, tokens: int, tolerance: float
) -> list[Clusters]:
    """Clusters at every time of one run, moved by the degrees that are felt.

    Parameters
    ----------
    problem : Problem
        Its initial measure is not used.
    start : Measure
        Tokens, or weighted nodes that stand for them.
    times : ndarray
        Scaled times, increasing.
    tokens : int
        Number of tokens that nodes stand for: the cluster rule asks for three.
    tolerance : float
        Of the time steps, and of what is felt.
    """
    # Where Z may be small, next to nothing is felt.
    felt = None if sees_far(problem) else problem.kernel.degree(problem.space.dimension, tolerance)
    carried = ParticleRepresentation(
        problem, start.points.ravel(), start.weights, felt, tolerance=tolerance
    )
    stream = trajectory(problem, carried, times, tolerance=tolerance)
    beta = problem.kernel.beta
    return [clusters(snapshot.measure, beta, tokens=tokens) for snapshot in stream]


def _tokens(problem: Problem, points: FloatArray, tolerance: float) -> Measure:
    """Tokens as they are."""
    return Measure(problem.space, points)


def _nodes(problem: Problem, points: FloatArray, tolerance: float) -> Measure:
    """Weighted nodes of the density that has the moments of tokens up to the degree felt.

    Raises
    ------
    ValueError
        If that density is negative at a node.
    """
    space, degree = problem.space, problem.kernel.degree(problem.manifold.dimension, tolerance)
    density = Density(space, space.moments(points, None, degree))
    fineness = math.ceil(_GRID_DEGREES[space.dimension] * problem.kernel_degree)
    grid = space.grid(max(fineness, _LEAST_GRID_DEGREE[space.dimension]))
    values = grid.to_nodal(density.moments(grid.max_degree))
    if values.min() < 0:
        raise ValueError(
            f"the density with the moments up to degree {degree} of {len(points)} tokens is "
            f'negative: {values.min():.3g}. Take more tokens, or carrier = "particles".'
        )
    mass = values * grid.weights
    return Measure(space, grid.points, mass / mass.sum())


CARRIERS: dict[str, Callable[[Problem, FloatArray, float], Measure]] = {
    "particles": _tokens,
    "density": _nodes,
}
"""What carries a run: (problem, tokens drawn, tolerance) -> the points that move."""
