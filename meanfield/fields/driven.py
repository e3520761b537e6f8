"""Fixed fields u of `terms`, added to the field of a measure: v = v[mu] + P_x u.

`DrivenInteraction` has the methods of an interaction, so carriers need not know of terms. Engines
compute -div(f v[mu]) of a density; -div(f P_x u) is a product at the nodes of a grid. A constant u
has its nodal values computed once. An activation with a corner (relu) has no last degree: the tail,
which includes v, shows whether a density resolves it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from meanfield.arrays import FloatArray, ModalArray, read_only
from meanfield.bases.grid import Grid
from meanfield.fields.heads import HeadsField, HeadsInteraction
from meanfield.fields.mean_field import Interaction, MeanField, Transport
from meanfield.spaces.manifold import Manifold
from meanfield.terms.fixed import Term, total_divergence, total_field
from meanfield.terms.own import BoundTerm, OwnTerm, Seen, bound, sees


@dataclass(frozen=True)
class FixedField:
    """Sum of fixed fields, projected to the tangent space."""

    manifold: Manifold
    terms: tuple[Term, ...]

    def seeing(
        self, points: FloatArray, masses: FloatArray | None, labels: FloatArray | None = None
    ) -> FixedField:
        """Same field, whose own terms of the user get the measure of weighted, labelled points."""
        if not sees(self.terms):
            return self
        if masses is None:
            masses = np.full(len(points), 1.0 / len(points))
        return replace(
            self, terms=bound(self.terms, Seen(self.manifold.vectors(points), masses, labels))
        )

    def seeing_density(self, density: ModalArray, grid: Grid) -> FixedField:
        """As `seeing`, for a density at the nodes of a grid."""
        if not sees(self.terms):
            return self
        return self.seeing(grid.points, grid.weights * grid.to_nodal(density))

    def velocity(self, points: FloatArray) -> FloatArray:
        """P_x u at points."""
        space = self.manifold
        return space.project(points, total_field(self.terms, space.vectors(points)))

    def velocity_and_divergence(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P_x u at points, and its divergence there, shape (n,)."""
        space = self.manifold
        dimension = space.dimension if space.is_sphere else None
        x = space.vectors(points)
        velocity = space.project(points, total_field(self.terms, x))
        return velocity, total_divergence(self.terms, x, dimension)

    def on_nodes(self, grid: Grid) -> FloatArray:
        """P_x u at the nodes; cached and read-only unless it depends on the measure."""
        if any(isinstance(term, BoundTerm) for term in self.terms):
            return _nodal(self, grid)
        return _on_nodes(self, grid.max_degree)


# Room for two problems, each with a second grid of twice the degree.
@lru_cache(maxsize=4)
def _on_nodes(fixed: FixedField, max_degree: int) -> FloatArray:
    return read_only(_nodal(fixed, fixed.manifold.grid(max_degree)))


def _nodal(fixed: FixedField, grid: Grid) -> FloatArray:
    return grid.project(total_field(fixed.terms, fixed.manifold.vectors(grid.points)).T)


@dataclass(frozen=True, eq=False)
class DrivenField:
    """Field of a measure and fixed fields together."""

    own: MeanField | HeadsField
    fixed: FixedField

    @property
    def manifold(self) -> Manifold:
        return self.own.manifold

    @property
    def partitions(self) -> tuple[ModalArray, ...]:
        return self.own.partitions

    def velocity(self, points: FloatArray) -> FloatArray:
        return self.own.velocity(points) + self.fixed.velocity(points)

    def on_nodes(self, grid: Grid) -> tuple[FloatArray, None]:
        """Velocity at the nodes of a grid; no Z, for it is no gradient over Z."""
        return self.own.on_nodes(grid)[0] + self.fixed.on_nodes(grid), None

    def velocity_and_divergence(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        velocity, divergence = self.own.velocity_and_divergence(points)
        fixed, fixed_divergence = self.fixed.velocity_and_divergence(points)
        return velocity + fixed, divergence + fixed_divergence


@dataclass(frozen=True, eq=False)
class DrivenInteraction:
    """Map from measures to their field plus fixed fields."""

    own: Interaction | HeadsInteraction
    fixed: FixedField

    @property
    def manifold(self) -> Manifold:
        return self.own.manifold

    @property
    def attention(self) -> Interaction | HeadsInteraction:
        return self.own

    @property
    def degree(self) -> int:
        return self.own.degree

    @property
    def rounding(self) -> float:
        """Speed that rounding may leave where nothing moves."""
        d = self.manifold.ambient
        constant = tuple(term for term in self.fixed.terms if not isinstance(term, OwnTerm))
        largest = float(np.abs(total_field(constant, np.eye(d))).max())
        for term in self.fixed.terms:
            largest += term.size(d) if isinstance(term, OwnTerm) else 0.0
        return self.own.rounding + 1e-15 * largest

    def field(self, moments: ModalArray) -> DrivenField:
        return DrivenField(self.own.field(moments), self._in_density(moments))

    def of_density(self, density: ModalArray) -> DrivenField:
        return DrivenField(self.own.of_density(density), self._in_density(density))

    def of_points(self, points: FloatArray, weights: FloatArray | None) -> DrivenField:
        return DrivenField(self.own.of_points(points, weights), self.fixed.seeing(points, weights))

    def _in_density(self, density: ModalArray) -> FixedField:
        if not sees(self.fixed.terms):
            return self.fixed
        space = self.manifold
        return self.fixed.seeing_density(density, space.grid(space.degree_of(density)))

    def transport(self, max_degree: int) -> Transport:
        """Transport of densities of a degree: -div(f v[f]) - div(f P_x u).

        The second term moves all of f, even where the first leaves out its mean.
        """
        own = self.own.transport(max_degree)
        grid = self.manifold.grid(max_degree)
        # None if the field depends on the density.
        constant = None if sees(self.fixed.terms) else self.fixed.on_nodes(grid)

        def transport(density: ModalArray, perturbation: bool) -> ModalArray:
            # Values that are not finite stay so, and the stepper rejects the step.
            with np.errstate(all="ignore"):
                fixed = constant
                if fixed is None:
                    fixed = self.fixed.seeing_density(density, grid).on_nodes(grid)
                return own(density, perturbation) - grid.divergence(grid.to_nodal(density) * fixed)

        return transport
