"""Engines of the circle, see `engines.Engines`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np

from meanfield.arrays import ComplexArray, FloatArray
from meanfield.engines.fourier import density as kernels
from meanfield.engines.fourier import tokens
from meanfield.engines.fourier.transform import SPARE, roots_of_unity, transform_size
from meanfield.engines.pairs import circle as pairs
from meanfield.fields.circle import far_sums, heads

if TYPE_CHECKING:
    from meanfield.fields.heads import HeadsInteraction
    from meanfield.fields.mean_field import Interaction, Transport

# Crossover at any degree, as tests/benchmarks/circle_velocity.py measures it.
_FEW_POINTS = 100

exponential_velocity = pairs.exponential_velocity_circle
pairwise_velocity = pairs.pairwise_velocity
head_table, heads_velocity, far_velocity = heads.head_table, heads.velocity, far_sums.far_velocity


def transport(interaction: Interaction, max_degree: int) -> Transport:
    """One compiled call: below a thousand degrees calls of NumPy take as long as the rest."""
    potential, attention = interaction.potential_multipliers, interaction.attention_multipliers
    # A quotient has all degrees.
    degree = max_degree if attention is not None else min(len(potential) - 1, max_degree)
    return partial(
        kernels.transport,
        potential,
        np.empty(0) if attention is None else attention,
        max_degree,
        product_roots(max_degree, degree),
    )


def heads_transport(interaction: HeadsInteraction, max_degree: int) -> Transport:
    """One matrix for the series of all heads, and one compiled call."""
    if interaction.normalization == "sinkhorn":
        return _balanced_transport(interaction, max_degree)
    largest = np.array(interaction.largest)
    degree, matrix = heads.stacked(cast(Sequence[heads.CircleHead], interaction.tables))
    shape, rows = matrix.shape[:2], matrix.reshape(-1, matrix.shape[-1])
    roots = _head_roots(max_degree, matrix.shape[2] // 2 - 1, interaction.normalized)

    def transport(density: ComplexArray, perturbation: bool) -> ComplexArray:
        density = np.asarray(density, complex)
        moments = heads.resized(density, degree).view(np.float64)
        above, *below = (rows @ moments).view(np.complex128).reshape(*shape, -1)
        partitions = below[0] if below else above[:0]
        return np.asarray(
            kernels.heads_transport(
                above, partitions, largest, max_degree, roots, density, density[0].real
            )
        )

    return transport


def _balanced_transport(interaction: HeadsInteraction, max_degree: int) -> Transport:
    """Doubly stochastic heads: each has moments of its own."""
    tables = cast(Sequence[heads.CircleHead], interaction.tables)
    roots = _head_roots(max_degree, max(table.out_degree for table in tables), True)
    largest = np.array(interaction.largest)

    def transport(density: ComplexArray, perturbation: bool) -> ComplexArray:
        density = np.asarray(density, complex)
        field = interaction.of_density(density)
        numerators = [head.numerators[0] for head in field.heads]
        size = max(map(len, numerators))
        above = np.array([heads.resized(each, size - 1) for each in numerators])
        below = np.array([heads.resized(each, size - 1) for each in field.partitions])
        return np.asarray(
            kernels.heads_transport(
                above, below, largest, max_degree, roots, density, density[0].real
            )
        )

    return transport


def own_velocity(
    interaction: Interaction, points: FloatArray, weights: FloatArray | None
) -> FloatArray | None:
    """Velocity of few tokens in one compiled call."""
    return tokens.own_velocity(
        points, weights, interaction.potential_multipliers, interaction.attention_multipliers
    )


def direct_sum_limit(degree: int) -> int:
    """The same at any degree."""
    return _FEW_POINTS


def product_roots(max_degree: int, velocity_degree: int) -> FloatArray:
    """Roots of unity for products without aliasing, 2N > 2K + H (`transform`)."""
    least = max(max_degree + velocity_degree // 2 + 1, max(max_degree, velocity_degree) + SPARE)
    return roots_of_unity(transform_size(least))


def _head_roots(max_degree: int, reach: int, normalized: bool) -> FloatArray:
    """Roots for heads whose series have degree `reach`; a quotient has all degrees."""
    if not normalized:
        return product_roots(max_degree, reach)
    degree = max(max_degree, reach)
    return product_roots(degree, degree)
