"""Moments -> mean field -> velocity of a kernel.

    Phi_l = strength * w_l m_l,     Z_l = a_l m_l,     v = grad Phi / Z

(Z = 1 when the flow is not normalised). Only moments up to the kernel's degree matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar, Protocol

from meanfield.arrays import FloatArray, ModalArray
from meanfield.bases.grid import Grid
from meanfield.engines.partition import floored
from meanfield.fields import engines
from meanfield.fields.blocks import attention_output, of_cosines
from meanfield.problem import Problem
from meanfield.spaces.manifold import Manifold, laplacian_eigenvalues

Transport = Callable[[ModalArray, bool], ModalArray]
"""Function of (density, perturbation): if perturbation and Z = 1, f moves without its mean."""


class Symmetric(Protocol):
    """Group of maps that fix a measure."""

    def project(self, coefficients: ModalArray) -> ModalArray:
        """Mean of moments over the group."""
        ...

    def orbits(self, points: FloatArray, masses: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Images of points under all maps, which share the masses."""
        ...


@dataclass(frozen=True, eq=False)
class MeanField:
    """Field that a measure creates."""

    manifold: Manifold
    potential: ModalArray  # modal coefficients of scale * Phi, strength included
    # Modal coefficients of scale * Z, Z = a * mu; None when the flow is not normalised.
    partition: ModalArray | None
    # The number c in grad Z = c grad Phi, None where there is none.
    partition_slope: float | None = None

    @property
    def partitions(self) -> tuple[ModalArray, ...]:
        """Coefficients of the partition functions."""
        return () if self.partition is None else (self.partition,)

    def velocity(self, points: FloatArray) -> FloatArray:
        """Velocity grad Phi / Z at scattered points."""
        return self.manifold.gradient(self.potential, points, self.partition, self.partition_slope)

    def on_nodes(self, grid: Grid) -> tuple[FloatArray, FloatArray | None]:
        """Velocity grad Phi / Z at the nodes of a grid, and Z there, floored; None where Z = 1.

        Coefficients may have one row for each of several fields.
        """
        velocity = grid.gradient(self.potential)
        if self.partition is None:
            return velocity, None
        below = floored(grid.to_nodal(self.partition))
        # Vectors of several fields on the sphere have shape (..., 2, n).
        velocity /= below if velocity.ndim == below.ndim else below[..., None, :]
        return velocity, below

    def velocity_and_divergence(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Velocity at scattered points, and its divergence there, shape (n,).

            div v = (Laplacian Phi - <v, grad Z>) / Z,    v = grad Phi / Z,

        without the terms in Z when the flow is not normalised. For the built-in kernels
        <v, grad Z> = partition_slope Z |v|^2, so that no third transform is needed.
        """
        space, potential, partition = self.manifold, self.potential, self.partition
        multipliers = _laplacian_multipliers(space.dimension, space.degree_of(potential))
        laplacian = space.evaluate(space.convolve(multipliers, potential), points)
        velocity = space.gradient(potential, points)
        if partition is None:
            return velocity, laplacian
        below = floored(space.evaluate(partition, points))
        velocity /= space.per_point(below)
        if self.partition_slope is None:
            along = velocity * space.gradient(partition, points)
            laplacian -= along if along.ndim == 1 else along.sum(axis=-1)
        laplacian /= below
        if self.partition_slope:
            along = space.squared_norm(velocity)
            along *= self.partition_slope
            laplacian -= along
        return velocity, laplacian


@dataclass(frozen=True, eq=False)
class Interaction:
    """The linear map from moments to the mean field, computed once for a problem.

    potential_multipliers, attention_multipliers (degree + 1,): scale * strength * w_l, and scale *
    a_l if the flow is normalised (else None).
    """

    problem: Problem  # of the kernel
    degree: int  # degree of the relevant moments
    potential_multipliers: FloatArray
    attention_multipliers: FloatArray | None
    # The number c in a_l = c strength w_l, l > 0: beta / strength for the exponential kernel, 0 for
    # the linear one. None for other kernels, or if the flow is not normalised.
    partition_slope: float | None = None
    # Power of two that brings the kernel's largest value (of axial measures its mean) to about 1,
    # so that the rounding of Z is known; it cancels in a normalised flow. For other flows 1.
    scale: float = 1.0

    fixed: ClassVar[None] = None

    @cached_property
    def manifold(self) -> Manifold:
        return self.problem.manifold

    @property
    def attention(self) -> Interaction:
        return self

    @property
    def rounding(self) -> float:
        """Speed that rounding may leave about uniform: none, its gradient has no terms."""
        return 0.0

    def field(self, moments: ModalArray) -> MeanField:
        """Mean field of a measure with these moments."""
        potential = self.manifold.convolve(self.potential_multipliers, moments)
        if self.attention_multipliers is None:
            return MeanField(self.manifold, potential, None)
        partition = self.manifold.convolve(self.attention_multipliers, moments)
        return MeanField(self.manifold, potential, partition, self.partition_slope)

    def of_density(self, density: ModalArray) -> MeanField:
        return self.field(density)

    def of_points(
        self, points: FloatArray, weights: FloatArray | None, symmetric: Symmetric | None = None
    ) -> MeanField:
        """Mean field of weighted points, or of their mean over a group; None means equal."""
        moments = self.manifold.moments(points, weights, self.degree)
        return self.field(moments if symmetric is None else symmetric.project(moments))

    def nodal_velocities(self, densities: ModalArray, grid: Grid) -> FloatArray:
        """Velocities of densities, one a row, at the nodes of a grid."""
        return self.field(densities).on_nodes(grid)[0]

    def nodal_by_head(
        self, density: ModalArray, grid: Grid
    ) -> list[tuple[FloatArray, FloatArray | None]]:
        """Velocity and Z of a density at the nodes of a grid, as of the only head."""
        return [self.field(density).on_nodes(grid)]

    def relevant(self, densities: ModalArray) -> ModalArray:
        """The degrees of densities that the mean field depends on."""
        degree = min(self.degree, self.manifold.degree_of(densities))
        return self.manifold.resize(densities, degree)

    def transport(self, max_degree: int) -> Transport:
        """Transport -div(f v[f]) of densities of a degree."""
        return engines.row(self.manifold).transport(self, max_degree)

    def pair_velocity(
        self, points: FloatArray, weights: FloatArray | None, targets: FloatArray | None = None
    ) -> FloatArray:
        """Velocity at weighted points, or at targets, in their field, summed over pairs."""
        if not self.manifold.has_series and targets is None:
            x = self.manifold.vectors(points)
            return self.manifold.project(points, kernel_output(self.problem, x, weights))
        flow, kernel = self.problem.flow, self.problem.own_kernel
        return flow.strength * engines.pair_velocity(
            self.manifold, kernel, points, weights, flow.normalized, targets
        )


def kernel_output(problem: Problem, x: FloatArray, masses: FloatArray | None) -> FloatArray:
    """Attention output of any kernel at unit vectors (n, d) or (R, n, d), not projected.

    A_i = strength sum_j m_j a(<x_i, x_j>) x_j / Z_i,    Z_i = sum_j m_j a(<x_i, x_j>) or 1
    """
    weighing, how = of_cosines(problem.own_kernel.attention), problem.normalization
    return problem.flow.strength * attention_output(x, weighing, masses, normalization=how)


def interaction(problem: Problem, degree: int | None = None) -> Interaction:
    """Interaction of a problem, with multipliers up to a degree: by default the kernel's.

    >>> import meanfield as mf
    >>> interaction(mf.Problem(mf.Circle(), mf.linear(), mf.USA)).potential_multipliers
    array([0. , 0.5])
    """
    manifold, kernel, flow = problem.manifold, problem.own_kernel, problem.flow
    degree = problem.kernel_degree if degree is None else degree
    dimension = problem.manifold.dimension
    potential = flow.strength * kernel.potential_multipliers(dimension, degree)
    # The constant of the potential, 1/beta, moves nothing and would only add rounding.
    potential[0] = 0.0
    attention, scale = None, 1.0
    if flow.normalized:
        largest = kernel.largest_attention
        if manifold.has_rings:
            # Uniform has Z = a_0, which may be far below that in many dimensions.
            largest = float(kernel.attention_multipliers(dimension, 0)[0])
        # At most 2^1000: with a kernel that nearly underflows the scale would overflow.
        scale = 2.0 ** min(-round(math.log2(largest)), 1000) if largest > 0 else 1.0
        potential *= scale
        attention = scale * kernel.attention_multipliers(dimension, degree)
    # W' = a and a' = log_slope a: a_l = log_slope w_l for l > 0.
    log_slope = None if attention is None else kernel.log_slope
    slope = None if log_slope is None else log_slope / flow.strength
    return Interaction(problem, degree, potential, attention, slope, scale)


@lru_cache(maxsize=64)
def _laplacian_multipliers(dimension: int, degree: int) -> FloatArray:
    return -laplacian_eigenvalues(dimension, degree)
