"""Engines of the sphere, see `engines.Engines`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from meanfield.arrays import ComplexArray, FloatArray
from meanfield.engines.harmonics import density as by_rings
from meanfield.engines.harmonics import tokens
from meanfield.engines.harmonics.scratch import Scratch
from meanfield.engines.pairs import sphere as pairs
from meanfield.fields.sphere import heads
from meanfield.terms.attention import HeadMatrices

if TYPE_CHECKING:
    from meanfield.fields.heads import HeadsInteraction
    from meanfield.fields.mean_field import Interaction, Transport

exponential_velocity = pairs.exponential_velocity_sphere
pairwise_velocity = pairs.pairwise_velocity
head_table, heads_velocity = heads.head_table, heads.velocity


def transport(interaction: Interaction, max_degree: int) -> Transport:
    """Transforms by rings, with arrays that are used again."""
    scratch = Scratch()

    def transport(density: ComplexArray, perturbation: bool) -> ComplexArray:
        field = interaction.field(density)
        if field.partition is None and perturbation:
            density = density.copy()
            density[0] = 0.0
        divergence = by_rings.advection(
            density, field.potential, field.partition, max_degree, scratch
        )
        return np.negative(divergence, out=divergence)

    return transport


def heads_transport(interaction: HeadsInteraction, max_degree: int) -> Transport:
    """Parity blocks for the series of all heads, and rings."""
    if interaction.normalization == "sinkhorn":
        return _balanced_transport(interaction, max_degree)
    of_density = heads.transport(cast(Sequence[heads.SphereHead], interaction.tables), max_degree)
    return lambda density, perturbation: of_density(density)


def _balanced_transport(interaction: HeadsInteraction, max_degree: int) -> Transport:
    """Doubly stochastic heads: each has moments of its own."""
    grid = interaction.manifold.grid(max_degree)

    def transport(density: ComplexArray, perturbation: bool) -> ComplexArray:
        with np.errstate(all="ignore"):
            flux = interaction.of_density(density).on_nodes(grid)[0] * grid.to_nodal(density)
            return np.negative(grid.divergence(flux))

    return transport


def far_velocity(
    heads: Sequence[HeadMatrices],
    masses: Sequence[FloatArray],
    points: FloatArray,
    log_sink: float,
) -> None:
    """None: cells would be too many."""
    return None


def own_velocity(
    interaction: Interaction, points: FloatArray, weights: FloatArray | None
) -> FloatArray | None:
    """Velocity of tokens by solid harmonics."""
    return tokens.own_velocity(
        points,
        weights,
        interaction.potential_multipliers,
        interaction.attention_multipliers,
        interaction.partition_slope,
    )


def direct_sum_limit(degree: int) -> int:
    """Near the crossovers of tests/benchmarks/sphere_methods.py; above 64 by transforms."""
    return 120 + 2 * degree**2 // 7 if degree <= 64 else 200 + 19 * degree
