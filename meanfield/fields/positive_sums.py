"""Weighted means by sums of positive terms, where the series of Z has lost its digits.

A normalised velocity is a mean of P_x V y with the weights of a head, and so is its divergence
(`head_pairs`): each mean is a quotient of sums without cancellation, whatever Z is. A kernel
e^{beta s} is a head of numbers.
"""

from __future__ import annotations

from meanfield.arrays import FloatArray
from meanfield.fields.felt import Felt, Field, fixed_field
from meanfield.fields.heads import heads_interaction
from meanfield.fields.lost_digits import ROUNDING_SHARE, sees_far
from meanfield.manifolds.label_cells import LabelCells
from meanfield.measures import Density
from meanfield.problem import Problem

MOST_PAIRED_NODES = 5_000
"""Nodes up to which their n^2 pairs are summed: 0.2 s a velocity."""


def sums_pairs(problem: Problem, count: int) -> bool:
    """Whether the velocity of this many nodes is summed over pairs: Z may be lost, they are few."""
    return sees_far(problem) and problem.heads is not None and count <= MOST_PAIRED_NODES


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
    return float(masses @ heads_interaction(problem).pair_errors(points, masses, noise))


def velocity(problem: Problem, field: Field, points: FloatArray, masses: FloatArray) -> FloatArray:
    """Velocity of weighted nodes in their own field, summed over pairs where that is needed."""
    if sums_pairs(problem, len(points)):
        own = heads_interaction(problem).pair_velocity(points, masses)
        return own + fixed_field(problem).velocity(points) if problem.terms else own
    return field.velocity(points)


def velocity_and_divergence(
    problem: Problem, felt: Felt, points: FloatArray, masses: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """As `velocity`, and its divergence there, shape (n,).

    Examples
    --------
    Two tokens, of which the lighter attends to the heavier one and is drawn to it:

    >>> import numpy as np
    >>> import meanfield as mf
    >>> from meanfield.fields.felt import felt_by
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(-40.0), mf.SA)
    >>> points, masses = np.array([0.0, 1.0]), np.array([1e-9, 1.0])
    >>> velocity_and_divergence(problem, felt_by(problem), points, masses)[0].round(6)
    array([ 0.841471, -0.074249])
    """
    if sums_pairs(problem, len(points)):
        velocity, divergence = heads_interaction(problem).pair_velocity_and_divergence(
            points, masses
        )
        if problem.terms:
            fixed, spread = fixed_field(problem).velocity_and_divergence(points)
            velocity, divergence = velocity + fixed, divergence + spread
        return velocity, divergence
    return felt.of_points(points, masses).velocity_and_divergence(points)
