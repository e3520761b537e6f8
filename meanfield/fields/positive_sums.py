"""Weighted means by sums of positive terms, for a series of Z that has lost its digits.

A normalised velocity is a mean of P_x V y with the weights of a head, and so is its divergence
(`head_pairs`): each mean is a quotient of sums without cancellation, for any Z. A kernel
e^{beta s} is a head with scalar matrices. For axial measures pairs are rings (`axial/pairs`).
"""

from __future__ import annotations

from dataclasses import dataclass

from meanfield.arrays import FloatArray
from meanfield.fields.heads import HeadsInteraction, heads_interaction
from meanfield.fields.interactions import AnyInteraction, Field, fixed_field
from meanfield.fields.lost_digits import ROUNDING_SHARE, partition_cancels
from meanfield.fields.mean_field import Symmetric
from meanfield.measures import Density
from meanfield.problem import Problem
from meanfield.spaces.label_cells import LabelCells

MOST_PAIRED_NODES = 5_000
"""Most nodes whose n^2 pairs are summed: 0.2 s a velocity."""


def sums_pairs(problem: Problem, count: int) -> bool:
    """True if this many nodes are summed over pairs: rounding may cancel Z, and they are few."""
    few = count <= MOST_PAIRED_NODES
    return few and problem.kernel.is_exponential and partition_cancels(problem)


@dataclass(frozen=True)
class Rings:
    """Sums over pairs of rings, for softmax with a built-in kernel."""

    problem: Problem  # on an axial manifold

    @property
    def _beta(self) -> float:
        return float(self.problem.own_kernel.log_slope or 0.0)

    def pair_velocity(self, points: FloatArray, masses: FloatArray) -> FloatArray:
        """Velocity of weighted rings in their own field."""
        from meanfield.fields.axial import pairs

        strength, d = self.problem.flow.strength, self.problem.manifold.ambient
        return strength * pairs.velocity(d, points, masses, self._beta, True)

    def pair_velocity_and_divergence(
        self, points: FloatArray, masses: FloatArray, targets: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Velocity and its divergence on the sphere, at the rings or at targets."""
        from meanfield.fields.axial import pairs

        strength, d = self.problem.flow.strength, self.problem.manifold.ambient
        moving, divergence = pairs.velocity_and_divergence(d, points, masses, self._beta, targets)
        return strength * moving, strength * divergence

    def pair_errors(self, points: FloatArray, weights: FloatArray, noise: FloatArray) -> FloatArray:
        """Relative error of each ring's Z where masses err by `noise`."""
        from meanfield.fields.axial import pairs

        return pairs.relative_errors(
            self.problem.manifold.ambient, points, weights, noise, self._beta
        )


def _over_pairs(problem: Problem) -> HeadsInteraction | Rings:
    return Rings(problem) if problem.manifold.has_rings else heads_interaction(problem)


def noise_share(
    problem: Problem,
    points: FloatArray,
    masses: FloatArray,
    initial: Density,
    error: float,
    cells: LabelCells,
) -> float:
    """Mean relative error of sums over pairs, by errors of the density that gave nodes their mass.

    A known mixture has none. A series has an absolute one: its rounding, and `error`.
    """
    if initial.components:
        return 0.0
    sizes = problem.manifold.sizes_by_degree(initial.coefficients)
    noise = (ROUNDING_SHARE * sizes.sum() + error) * cells.weights
    return float(masses @ _over_pairs(problem).pair_errors(points, masses, noise))


def velocity(problem: Problem, field: Field, points: FloatArray, masses: FloatArray) -> FloatArray:
    """Velocity of weighted nodes in their own field, summed over pairs if `sums_pairs`."""
    if sums_pairs(problem, len(points)):
        own = _over_pairs(problem).pair_velocity(points, masses)
        if not problem.terms:
            return own
        return own + fixed_field(problem).seeing(points, masses).velocity(points)
    return field.velocity(points)


def velocity_and_divergence(
    problem: Problem,
    interaction: AnyInteraction,
    points: FloatArray,
    masses: FloatArray,
    symmetric: Symmetric | None = None,
) -> tuple[FloatArray, FloatArray]:
    """As `velocity`, and its divergence there, shape (n,).

    The field is that of the mean of the measure over a group, if given. So rounding that breaks the
    symmetry of the nodes does not grow.

    The lighter of two tokens is drawn to the heavier one:

    >>> import numpy as np
    >>> import meanfield as mf
    >>> from meanfield.fields.interactions import interaction_of
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(-40.0), mf.SA)
    >>> points, masses = np.array([0.0, 1.0]), np.array([1e-9, 1.0])
    >>> velocity_and_divergence(problem, interaction_of(problem), points, masses)[0].round(6)
    array([ 0.841471, -0.074249])
    """
    if sums_pairs(problem, len(points)):
        sources = (points, masses) if symmetric is None else symmetric.orbits(points, masses)
        velocity, divergence = _over_pairs(problem).pair_velocity_and_divergence(*sources, points)
    else:
        field = interaction.attention.of_points(points, masses, symmetric)
        velocity, divergence = field.velocity_and_divergence(points)
    if problem.terms:
        external = fixed_field(problem).seeing(points, masses)
        fixed, fixed_divergence = external.velocity_and_divergence(points)
        velocity, divergence = velocity + fixed, divergence + fixed_divergence
    return velocity, divergence
