"""Engines of the circle, as `engines` wants them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from meanfield.arrays import ComplexArray, FloatArray
from meanfield.bases.fourier import alias_free_size
from meanfield.engines.fourier import density as kernels
from meanfield.engines.fourier import tokens
from meanfield.engines.pairs import circle as pairs
from meanfield.fields.circle import far_sums, heads

if TYPE_CHECKING:
    from meanfield.fields.heads import HeadsInteraction
    from meanfield.fields.mean_field import Interaction, Transport

_LEAST_VELOCITY_DEGREE = 64
# Crossover at any degree, as tests/benchmarks/circle_velocity.py measures it.
_FEW_POINTS = 100

exponential_velocity = pairs.exponential_velocity_circle
pairwise_velocity = pairs.pairwise_velocity
head_table, heads_velocity, far_velocity = heads.head_table, heads.velocity, far_sums.far_velocity


def transport(interaction: Interaction, max_degree: int) -> Transport:
    """One compiled call: up to a thousand degrees NumPy's would take as long as the rest."""
    return partial(
        kernels.transport,
        interaction.potential_multipliers,
        interaction.attention_multipliers,
        max_degree,
        product_sizes(max_degree),
    )


def heads_transport(interaction: HeadsInteraction, max_degree: int) -> Transport:
    """One matrix for the series of all heads, and one compiled call."""
    if interaction.normalization == "sinkhorn":
        return _balanced_transport(interaction, max_degree)
    largest = np.array(interaction.largest)
    degree, matrix = heads.stacked(cast(Sequence[heads.CircleHead], interaction.tables))
    shape, rows = matrix.shape[:2], matrix.reshape(-1, matrix.shape[-1])
    sizes, normalized = product_sizes(max_degree, matrix.shape[2] // 2 - 1), interaction.normalized

    def transport(density: ComplexArray, perturbation: bool) -> ComplexArray:
        density = np.asarray(density, complex)
        moments = heads.resized(density, degree).view(np.float64)
        series = (rows @ moments).view(np.complex128).reshape(*shape, -1)
        return np.asarray(
            kernels.heads_transport(
                series[0], series[-1], largest, normalized, max_degree, sizes, density
            )
        )

    return transport


def _balanced_transport(interaction: HeadsInteraction, max_degree: int) -> Transport:
    """Doubly stochastic heads: each has moments of its own."""
    tables = cast(Sequence[heads.CircleHead], interaction.tables)
    sizes = product_sizes(max_degree, max(table.out_degree for table in tables))
    largest = np.array(interaction.largest)

    def transport(density: ComplexArray, perturbation: bool) -> ComplexArray:
        density = np.asarray(density, complex)
        field = interaction.of_density(density)
        numerators = [head.numerators[0] for head in field.heads]
        size = max(map(len, numerators))
        above = np.array([heads.resized(each, size - 1) for each in numerators])
        below = np.array([heads.resized(each, size - 1) for each in field.partitions])
        return np.asarray(
            kernels.heads_transport(above, below, largest, True, max_degree, sizes, density)
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


@lru_cache(maxsize=64)
def product_sizes(max_degree: int, reach: int = 0) -> npt.NDArray[np.int64]:
    """Sizes free of aliasing for velocities of degree 64, 128, ..., at least max_degree.

    The last also resolves series up to degree `reach`, for heads may have longer ones.
    """
    degrees = [_LEAST_VELOCITY_DEGREE]
    while degrees[-1] < max_degree:
        degrees.append(2 * degrees[-1])
    sizes = [alias_free_size(max_degree, degree) for degree in degrees]
    if reach > degrees[-1]:
        sizes.append(alias_free_size(reach, reach))
    return np.array(sizes)
