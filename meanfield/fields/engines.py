"""Fast ways to what `mean_field` defines, one row a manifold: a matter of speed only.

    transport       density -> -div(f grad Phi / Z), the field being its own
    velocity        tokens -> grad Phi / Z at themselves, without moments in between
    pair_velocity   the same summed over pairs: the oracle, and the way for few tokens

Tests compare each with the definition; `docs/numerics.md` says where one is faster than another.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Protocol

from meanfield.arrays import FloatArray, ModalArray
from meanfield.fields.heads import HeadsInteraction
from meanfield.fields.mean_field import Interaction, Transport
from meanfield.spaces.manifold import Manifold, of_space
from meanfield.terms.kernels import Kernel


def transport(interaction: Interaction | HeadsInteraction, max_degree: int) -> Transport:
    """Transport of densities of a degree by the field that they create.

        -div(f grad Phi / Z),    Phi_l = w_l f_l,    Z_l = a_l f_l

    Without a_l, Z = 1, and then f without its mean is what moves if the second argument of the
    function, `perturbation`, is true.
    """
    if isinstance(interaction, HeadsInteraction):
        return _engines(interaction.manifold).heads_transport(interaction, max_degree)
    return _engines(interaction.manifold).transport(interaction, max_degree)


def advection(
    space: Manifold,
    max_degree: int,
    density: ModalArray,
    potential: ModalArray,
    partition: ModalArray | None = None,
) -> ModalArray:
    """Coefficients up to max_degree of div(f grad Phi / Z) in a given field; Z = 1 if None.

    Examples
    --------
    >>> import numpy as np
    >>> import meanfield as mf
    >>> cosine = np.array([0.0, 0.5])
    >>> advection(mf.Circle(), 2, np.array([1.0]), cosine).real.round(12) + 0.0
    array([ 0. , -0.5,  0. ])
    """
    return _engines(space).advection(max_degree, density, potential, partition)


def velocity(
    interaction: Interaction, points: FloatArray, weights: FloatArray | None
) -> FloatArray:
    """Velocity grad Phi / Z of weighted points in their own field; weights None means equal.

    Without moments in between where that is faster: on the circle the same to the bit, on the
    sphere within rounding.
    """
    space = interaction.manifold
    direct = _engines(space).own_velocity(interaction, points, weights)
    if direct is not None:
        return direct
    return interaction.field(space.moments(points, weights, interaction.degree)).velocity(points)


def direct_sum_limit(space: Manifold, degree: int) -> int:
    """How many points sums over pairs move faster than moments up to a degree do.

    Examples
    --------
    >>> import meanfield as mf
    >>> direct_sum_limit(mf.Circle(), 27), direct_sum_limit(mf.Sphere(), 27)
    (100, 262)
    """
    return _engines(space).direct_sum_limit(degree)


def pair_velocity(
    space: Manifold,
    kernel: Kernel,
    points: FloatArray,
    weights: FloatArray | None,
    normalized: bool,
    targets: FloatArray | None = None,
) -> FloatArray:
    """Velocity in the field of points, at themselves or at targets, summed over pairs.

    Strength is 1. Compiled for kernels with a' = c a, the built-in ones.
    """
    row = _engines(space)
    if kernel.log_slope is None:
        return row.pairwise_velocity(kernel.attention, points, weights, normalized, targets)
    return row.exponential_velocity(points, weights, kernel.log_slope, normalized, targets)


class Engines(Protocol):
    """Row of a manifold: a module of functions with these names, or an object."""

    def transport(self, interaction: Interaction, max_degree: int) -> Transport:
        """See `transport`."""

    def heads_transport(self, interaction: HeadsInteraction, max_degree: int) -> Transport:
        """See `transport`: of heads, which create several fields."""

    def advection(
        self,
        max_degree: int,
        density: ModalArray,
        potential: ModalArray,
        partition: ModalArray | None,
    ) -> ModalArray:
        """See `advection`."""

    def own_velocity(
        self, interaction: Interaction, points: FloatArray, weights: FloatArray | None
    ) -> FloatArray | None:
        """Velocity of points in their own field; None where moments are as fast."""

    def direct_sum_limit(self, degree: int) -> int:
        """See `direct_sum_limit`."""

    def exponential_velocity(
        self,
        points: FloatArray,
        weights: FloatArray | None,
        beta: float,
        normalized: bool,
        targets: FloatArray | None,
    ) -> FloatArray:
        """Sum over pairs for a' = beta a, compiled."""

    def pairwise_velocity(
        self,
        attention: Callable[[FloatArray], FloatArray],
        points: FloatArray,
        weights: FloatArray | None,
        normalized: bool,
        targets: FloatArray | None,
    ) -> FloatArray:
        """Sum over pairs for any kernel."""


def _axial(space: Manifold) -> Engines:
    from meanfield.fields.axial import AxialEngines

    return AxialEngines(space.ambient)


def _circle(space: Manifold) -> Engines:
    from meanfield.fields import circle

    return circle


def _sphere(space: Manifold) -> Engines:
    from meanfield.fields import sphere

    return sphere


ENGINES: dict[str, Callable[[Manifold], Engines]] = {
    "axial": _axial,
    "circle": _circle,
    "sphere": _sphere,
}
"""Rows of the table by the family of the manifold, loaded when they are needed."""


@lru_cache
def _engines(space: Manifold) -> Engines:
    return of_space(ENGINES, space, "engine")(space)
