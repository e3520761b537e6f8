"""Fast engines for the definitions of `mean_field`, one row for each manifold.

    transport       density -> -div(f v) in its own field
    velocity        tokens -> grad Phi / Z at themselves, without moments in between
    pair_velocity   the same summed over pairs: the oracle, and faster for few tokens

Tests compare each with the definition; `docs/numerics.md` says where one is faster than another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from meanfield.arrays import FloatArray
from meanfield.spaces.manifold import Manifold, of_space
from meanfield.terms.attention import HeadMatrices
from meanfield.terms.kernels import Kernel

if TYPE_CHECKING:
    from meanfield.fields.head_series import HeadField, HeadTable
    from meanfield.fields.heads import HeadsInteraction
    from meanfield.fields.mean_field import Interaction, Transport


def velocity(
    interaction: Interaction, points: FloatArray, weights: FloatArray | None
) -> FloatArray:
    """Velocity grad Phi / Z of weighted points in their own field; weights None means equal.

    Without moments in between where that is faster: equal to the bit on the circle, and to
    rounding on the sphere.
    """
    space = interaction.manifold
    direct = row(space).own_velocity(interaction, points, weights)
    if direct is not None:
        return direct
    return interaction.field(space.moments(points, weights, interaction.degree)).velocity(points)


def direct_sum_limit(space: Manifold, degree: int) -> int:
    """Number of points below which sums over pairs are faster than moments up to a degree.

    >>> import meanfield as mf
    >>> direct_sum_limit(mf.Circle(), 27), direct_sum_limit(mf.Sphere(), 27)
    (100, 328)
    """
    return row(space).direct_sum_limit(degree)


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
    of = row(space)
    if kernel.log_slope is None:
        return of.pairwise_velocity(kernel.attention, points, weights, normalized, targets)
    return of.exponential_velocity(points, weights, kernel.log_slope, normalized, targets)


class Engines(Protocol):
    """Row of a manifold: a module or an object with these functions."""

    def transport(self, interaction: Interaction, max_degree: int) -> Transport:
        """Transport -div(f grad Phi / Z), Phi_l = w_l f_l, Z_l = a_l f_l, of a kernel.

        Where Z = 1, only f without its mean moves if `perturbation` is true.
        """

    def heads_transport(self, interaction: HeadsInteraction, max_degree: int) -> Transport:
        """Transport -div(f v) of heads, which create several fields."""

    def head_table(
        self, head: HeadMatrices, normalized: bool, log_scale: float, sink: float
    ) -> HeadTable:
        """Table of a head; c(x) is `row_scale` if normalised without sink, else log_scale."""

    def heads_velocity(self, fields: Sequence[HeadField], points: FloatArray) -> FloatArray:
        """Sum over heads of their quotients, tangential, at scattered points."""

    def far_velocity(
        self,
        heads: Sequence[HeadMatrices],
        masses: Sequence[FloatArray],
        points: FloatArray,
        log_sink: float,
    ) -> FloatArray | None:
        """Velocity of many weighted points for any Z, masses one array a head; or None."""

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
def row(space: Manifold) -> Engines:
    """Engines of a space."""
    return of_space(ENGINES, space, "engine")(space)
