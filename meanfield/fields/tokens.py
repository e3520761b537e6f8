"""Velocity of tokens in their own field, by the engine that suits them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from meanfield.arrays import FloatArray, ModalArray
from meanfield.fields import engines
from meanfield.fields.heads import HeadsInteraction
from meanfield.fields.interactions import AttentionInteraction, Field, fixed_field
from meanfield.fields.lost_digits import partition_cancels, partition_error_at, relative_errors
from meanfield.fields.mean_field import Interaction
from meanfield.fields.ordered import ordered_velocity
from meanfield.problem import Problem
from meanfield.terms.masks import EVERYONE

LARGEST_DIRECT_SUM = 10_000
"""Most tokens summed over pairs where a series of Z loses its digits: 1e8 pairs, 1 s a velocity."""

# The rounding of Z is 1e-15; equal weights keep Z above 1/n.
_SMALLEST_PARTITION = 1e-9
# Cells are faster for more pairs.
_CELLS_PAY = 1_000_000
# Pairs are summed if the rounding of Z exceeds this share of the tolerance.
_LOST_EARLY = 1e-3


@dataclass(frozen=True, eq=False)
class TokenField:
    """Velocity of weighted tokens in the field of all of them.

    Few tokens are summed pair by pair, others through their moments, at a cost linear in their
    number.
    """

    problem: Problem
    interaction: AttentionInteraction  # of attention
    weights: FloatArray | None  # (n,): None means equal
    tolerance: float  # largest relative error of velocities by rounding of Z
    frequencies: FloatArray | None = None  # (n,): natural frequencies, for terms that use them

    @cached_property
    def far(self) -> bool:
        """True if rounding may cancel Z at the tokens."""
        return partition_cancels(self.problem)

    @cached_property
    def _few(self) -> float:
        if not self.problem.manifold.has_series:
            return math.inf
        return engines.direct_sum_limit(self.problem.manifold, self.interaction.degree)

    def _is_safe(self, interaction: Interaction) -> bool:
        """True if Z, of a kernel, is positive far beyond rounding at all tokens."""
        return not self.far and (self.weights is None or interaction.attention_multipliers is None)

    def field(self, points: FloatArray) -> Field:
        """Mean field by moments."""
        return self.interaction.of_points(points, self.weights)

    def velocity(self, points: FloatArray) -> FloatArray:
        """Velocity of every token: attention plus fixed fields."""
        velocity = self._attention_velocity(points)
        if not self.problem.terms:
            return velocity
        labels = self.frequencies
        if labels is None and self.problem.mask != "none":
            labels = np.arange(1.0, len(points) + 1.0) / len(points)
        fixed = fixed_field(self.problem).seeing(points, self.weights, labels)
        return velocity + fixed.velocity(points)

    def _attention_velocity(self, points: FloatArray) -> FloatArray:
        space, interaction = self.problem.manifold, self.interaction
        if isinstance(interaction, HeadsInteraction) and interaction.mask != EVERYONE:
            return ordered_velocity(interaction, points, self.weights, far=self.far)
        if len(points) < self._few:
            return interaction.pair_velocity(points, self.weights)
        if isinstance(interaction, HeadsInteraction):
            return self._velocity_by_heads(interaction, points)
        if self._is_safe(interaction):
            return engines.velocity(interaction, points, self.weights)
        field = self.field(points)
        if self.far and len(points) <= LARGEST_DIRECT_SUM:
            partition_error = partition_error_at(field, points, self.weights)
            if partition_error > _LOST_EARLY * self.tolerance:
                return interaction.pair_velocity(points, self.weights)
        velocity = field.velocity(points)
        partition = next(iter(field.partitions), None)
        if partition is None or self.weights is None:
            return velocity
        # For light tokens far from all other mass the quotient is one of two rounding errors. Sums
        # over pairs keep relative accuracy.
        lost = space.evaluate(partition, points) < _SMALLEST_PARTITION
        if lost.any():
            velocity[lost] = interaction.pair_velocity(points, self.weights, points[lost])
        return velocity

    def _velocity_by_heads(self, interaction: HeadsInteraction, points: FloatArray) -> FloatArray:
        """Velocity by moments; by cells or pairs for tokens whose Z is lost in rounding.

        Without cells and with equal masses only few tokens are summed over pairs. For more,
        `partition_error` reports the error, a mean over the mass: it ignores tokens of tiny mass.
        """
        field = self.field(points)
        velocity = field.velocity(points)
        if not interaction.normalized or not (self.far or self.weights is not None):
            return velocity
        errors = relative_errors(field, lambda z: self.problem.manifold.evaluate(z, points))
        lost = np.flatnonzero(errors > _LOST_EARLY * self.tolerance)
        if not len(lost):
            return velocity
        pairs = len(lost) * len(points)
        by_cells = interaction.far_velocity(points, self.weights) if pairs > _CELLS_PAY else None
        if by_cells is not None:
            return by_cells
        if pairs <= LARGEST_DIRECT_SUM**2 or self.weights is not None:
            velocity[lost] = interaction.pair_velocity(points, self.weights, points[lost])
        return velocity

    def partition_error(self, points: FloatArray) -> float:
        """Mean relative error of velocities by the rounding of Z; 0 where pairs are summed."""
        if not self.far or len(points) <= LARGEST_DIRECT_SUM:
            return 0.0
        if isinstance(self.interaction, HeadsInteraction) and self.problem.manifold.dimension == 1:
            return 0.0
        return partition_error_at(self.field(points), points, self.weights)

    def dissipation(self, points: FloatArray, moments: ModalArray | None = None) -> float:
        """Rate int Z |v|^2 dmu / strength at which the energy changes along the flow.

        NaN for heads, whose energies have other rates, and on spaces without series. `moments` are
        moments of the points, if known.
        """
        space, interaction = self.problem.manifold, self.interaction
        if isinstance(interaction, HeadsInteraction) or not space.has_series:
            return math.nan
        if moments is None or space.degree_of(moments) < interaction.degree:
            moments = space.moments(points, self.weights, interaction.degree)
        field = interaction.field(moments)
        by_moments = self._is_safe(interaction) and len(points) >= self._few
        velocity = field.velocity(points) if by_moments else self.velocity(points)
        return dissipation(
            self.problem, interaction, field.partition, points, self.weights, velocity
        )


def dissipation(
    problem: Problem,
    interaction: Interaction,
    partition: ModalArray | None,
    points: FloatArray,
    weights: FloatArray | None,
    velocity: FloatArray,
) -> float:
    """Rate of energy int Z |v|^2 dmu / strength of weighted points; `partition` has Z's modes."""
    space = problem.manifold
    squared = space.squared_norm(velocity)
    if partition is not None:
        squared = squared * space.evaluate(partition, points)
    mean = squared.mean() if weights is None else weights @ squared
    return float(mean) / (problem.flow.strength * interaction.scale)
