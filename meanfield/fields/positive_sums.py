"""Weighted means by sums of positive terms, where the series of Z has lost its digits.

A normalised velocity is a mean of P_x y with the weights a(<x, y>) mu(dy) / Z(x): with
a = e^{beta s - |beta|}

    v = <P_x y>,    div v = beta (<1 - s^2> - |v|^2) - m <s>,    <g> = int g a dmu / int a dmu

on the sphere of dimension m, each mean a quotient of sums without cancellation.
"""

from __future__ import annotations

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.compute.threads import map_chunks
from meanfield.fields import PAIRS_AT_ONCE
from meanfield.fields.felt import Field
from meanfield.fields.heads import heads_interaction
from meanfield.fields.lost_digits import ROUNDING_SHARE, sees_far
from meanfield.manifolds.label_cells import LabelCells
from meanfield.measures import Density
from meanfield.problem import Problem

MOST_PAIRED_NODES = 5_000
"""Nodes up to which their n^2 pairs are summed: 0.2 s a velocity."""


def sums_pairs(problem: Problem, count: int) -> bool:
    """Whether the velocity of this many nodes is summed over pairs: Z may be lost, they are few."""
    known = problem.attention is not None or problem.zonal.kernel.log_slope is not None
    return sees_far(problem) and known and count <= MOST_PAIRED_NODES


def noise_share(
    problem: Problem,
    points: FloatArray,
    masses: FloatArray,
    initial: Density,
    error: float,
    cells: LabelCells,
) -> float:
    """Mean relative error of sums over pairs by that of the density that gave nodes their mass.

    0 if that is a known mixture; its series has an absolute one, rounding and what else it leaves.
    """
    if initial.components:
        return 0.0
    sizes = problem.space.sizes_by_degree(initial.coefficients)
    noise = (ROUNDING_SHARE * sizes.sum() + error) * cells.weights
    if problem.attention is not None:
        errors = heads_interaction(problem).pair_errors(points, masses, noise)
        return float(masses @ np.minimum(errors, 1.0))
    sums = _sums(problem, problem.space.vectors(points), np.column_stack([masses, noise]))
    return float(masses @ np.minimum(sums[:, 1] / sums[:, 0], 1.0))


def velocity(problem: Problem, field: Field, points: FloatArray, masses: FloatArray) -> FloatArray:
    """Velocity of weighted nodes in their own field, summed over pairs where that is needed."""
    if sums_pairs(problem, len(points)):
        if problem.attention is not None:
            return heads_interaction(problem).pair_velocity(points, masses)
        return mean_velocity(problem, points, masses)[0]
    return field.velocity(points)


def mean_velocity(
    problem: Problem, points: FloatArray, masses: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Velocity of a normalised flow at weighted nodes, and its divergence there, shape (n,).

    Relative accuracy of the weights whatever Z is: n^2 exponentials.

    Examples
    --------
    Two tokens, of which the lighter attends to the heavier one and is drawn to it:

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(-40.0), mf.SA)
    >>> mean_velocity(problem, np.array([0.0, 1.0]), np.array([1e-9, 1.0]))[0].round(6)
    array([ 0.841471, -0.074249])
    """
    x = problem.space.vectors(points)
    count, dimension = x.shape
    squares = (x[:, :, None] * x[:, None, :]).reshape(count, -1)
    terms = masses[:, None] * np.column_stack([np.ones(count), x, squares])
    sums = _sums(problem, x, terms)
    means = sums[:, 1:] / sums[:, :1]
    mean, square = means[:, :dimension], means[:, dimension:].reshape(-1, dimension, dimension)
    along = (x * mean).sum(axis=1)
    along_squared = np.einsum("ni,nij,nj->n", x, square, x)
    velocity = problem.space.project(points, mean)
    squared = problem.space.squared_norm(velocity)
    spread = problem.zonal.kernel.beta * (1.0 - along_squared - squared)
    strength = problem.flow.strength
    return strength * velocity, strength * (spread - (dimension - 1) * along)


def _sums(problem: Problem, x: FloatArray, terms: FloatArray) -> FloatArray:
    """Sums over y of e^{beta <x, y>} times each column of terms, each row in its own units."""
    beta, count = problem.zonal.kernel.beta, len(x)
    heavy = terms[:, 0] > 0.0
    sources, terms = beta * x[heavy].T, terms[heavy]
    rows = max(1, PAIRS_AT_ONCE // count)

    def chunk(i: int) -> FloatArray:
        weights = x[i * rows : (i + 1) * rows] @ sources
        weights -= weights.max(axis=1, keepdims=True)
        return np.asarray(np.exp(weights, out=weights) @ terms)

    return np.concatenate(map_chunks(chunk, -(-count // rows)))
