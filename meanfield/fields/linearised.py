"""The flow linearised about a density: derivative, adjoint and second derivative.

Head h has the velocity v_h = N_h / Z_h. N_h and Z_h are linear in the measure, and Z = 1 without
normalisation. A perturbation g of a density f changes v_h by

    v_h'[g] = (N_h[g] - v_h Z_h[g]) / Z_h,    v_h''[g, g] / 2 = -Z_h[g] v_h'[g] / Z_h,

and with the velocity v of f, fixed fields included,

    F(f)             = -div(f v) + diffusivity Laplacian f
    F'(f) g          = -div(g v + f v'[g]) + diffusivity Laplacian g
    F'(f)* psi       = <v, grad psi> + v'*[f grad psi] + diffusivity Laplacian psi
    F''(f)[g, g] / 2 = -div(g v'[g] + f v''[g, g] / 2)

Products are taken at the nodes of a grid. The adjoint is the transpose of the derivative there, so
both agree to rounding, in spite of truncation. Perturbations have no degree 0; each is a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np

from meanfield.arrays import FloatArray, ModalArray
from meanfield.bases.coordinates import Coordinates, coordinates
from meanfield.bases.grid import Grid
from meanfield.fields.head_series import HeadTable
from meanfield.fields.heads import HeadsInteraction
from meanfield.fields.interactions import AnyInteraction
from meanfield.fields.mean_field import Interaction
from meanfield.spaces.manifold import Manifold, laplacian_eigenvalues

# Most bytes of the tables of all heads at the nodes.
_MEMORY = 2e9


class Response(Protocol):
    """N and Z of one head at the nodes of a grid, linear in perturbations."""

    def numerator(self, perturbations: ModalArray) -> FloatArray:
        """Nodal vectors N[g], one row for each."""

    def partition(self, perturbations: ModalArray) -> FloatArray | None:
        """Nodal values Z[g]; None without normalisation."""

    def adjoint(self, vectors: FloatArray, values: FloatArray | None) -> ModalArray:
        """Coefficients of the field r with int r g = int <vectors, N[g]> + int values Z[g]."""


@dataclass(frozen=True, eq=False)
class KernelResponse:
    """A kernel: N = grad Phi and Z = a * g, degree by degree."""

    interaction: Interaction
    grid: Grid

    def numerator(self, perturbations: ModalArray) -> FloatArray:
        potential = self.interaction.manifold.convolve(
            self.interaction.potential_multipliers, perturbations
        )
        return self.grid.gradient(potential)

    def partition(self, perturbations: ModalArray) -> FloatArray | None:
        multipliers = self.interaction.attention_multipliers
        if multipliers is None:
            return None
        return self.grid.to_nodal(self.interaction.manifold.convolve(multipliers, perturbations))

    def adjoint(self, vectors: FloatArray, values: FloatArray | None) -> ModalArray:
        space, multipliers = self.interaction.manifold, self.interaction.attention_multipliers
        degree = min(self.interaction.degree, self.grid.max_degree)
        coefficients = -space.convolve(
            self.interaction.potential_multipliers, self.grid.divergence(vectors, degree)
        )
        if values is not None and multipliers is not None:
            coefficients += space.convolve(multipliers, self.grid.to_modal(values))
        return np.asarray(coefficients)


@dataclass(frozen=True, eq=False)
class HeadResponse:
    """A head with matrices: nodal values of its series for every real coordinate of g."""

    manifold: Manifold
    grid: Grid
    interaction: Coordinates  # of g, up to the degree of the head
    vectors: (
        FloatArray  # (interaction.size, dimension, n): components of N; on the circle there is one
    )
    values: FloatArray | None  # (interaction.size, n): Z

    def numerator(self, perturbations: ModalArray) -> FloatArray:
        fields = np.tensordot(self._interaction_at(perturbations), self.vectors, axes=(-1, 0))
        return fields[..., 0, :] if self.vectors.shape[1] == 1 else fields

    def partition(self, perturbations: ModalArray) -> FloatArray | None:
        if self.values is None:
            return None
        return np.asarray(self._interaction_at(perturbations) @ self.values)

    def adjoint(self, vectors: FloatArray, values: FloatArray | None) -> ModalArray:
        rows = self.vectors.reshape(len(self.vectors), -1)
        weighted = self.grid.weights * vectors
        coefficients = (
            weighted.reshape(*weighted.shape[: -2 if self._on_surface else -1], -1) @ rows.T
        )
        if values is not None and self.values is not None:
            coefficients += (self.grid.weights * values) @ self.values.T
        return self.interaction.to_coefficients(coefficients)

    @property
    def _on_surface(self) -> bool:
        return len(self.vectors[0]) == 2

    def _interaction_at(self, perturbations: ModalArray) -> FloatArray:
        degree = int(self.interaction.degrees.max())
        return self.interaction.to_vector(self.manifold.resize(perturbations, degree))


def responses(interaction: AnyInteraction, grid: Grid) -> tuple[Response, ...]:
    """Responses of all heads at the nodes of a grid."""
    own = interaction.attention
    if isinstance(own, Interaction):
        return (KernelResponse(own, grid),)
    if own.normalization == "sinkhorn":
        raise ValueError(
            "the linearised flow of doubly stochastic attention is known about one density alone, "
            "as mf.linear_operator: take softmax or none."
        )
    return _head_responses(own, grid.max_degree)


@lru_cache(maxsize=4)
def _head_responses(own: HeadsInteraction, max_degree: int) -> tuple[HeadResponse, ...]:
    space = own.manifold
    grid = space.grid(max_degree)
    sizes = [coordinates(space.dimension, table.degree).size for table in own.tables]
    memory = 8.0 * sum(sizes) * (1 + space.dimension) * len(grid.weights)
    if memory > _MEMORY:
        raise ValueError(
            f"{len(sizes)} heads linearised at {len(grid.weights)} nodes take {memory / 1e9:.1f} "
            f"GB, at most {_MEMORY / 1e9:g}: lower beta, the heads or max_degree."
        )
    return tuple(_head_response(space, table, grid) for table in own.tables)


def _head_response(space: Manifold, table: HeadTable, grid: Grid) -> HeadResponse:
    of = coordinates(space.dimension, table.degree)
    vectors = np.empty((of.size, space.dimension, len(grid.weights)))
    values = np.empty((of.size, len(grid.weights)))
    divided = True
    for j, unit in enumerate(of.units()):
        numerators, partition = table.fields(unit)
        vectors[j] = grid.project(np.array([grid.to_nodal(each) for each in numerators]))
        divided = partition is not None
        if partition is not None:
            values[j] = grid.to_nodal(partition)
    return HeadResponse(space, grid, of, vectors, values if divided else None)


@dataclass(frozen=True, eq=False)
class LinearisedFlow:
    """F, F', its adjoint and F'' at one density; see the module.

    About the uniform density, modes grow at their growth rates:

    >>> import meanfield as mf
    >>> from meanfield.fields.interactions import interaction_of
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.SA)
    >>> flow = LinearisedFlow(interaction_of(problem), problem.manifold.grid(8), np.array([1.0]))
    >>> modes = np.eye(9, dtype=complex)[1:4]
    >>> np.diag(flow.derivative(modes)[:, 1:4]).real.round(6)
    array([0.178677, 0.514117, 0.682678])
    >>> mf.growth_rates(problem, 3).round(6)
    array([0.      , 0.178677, 0.514117, 0.682678])
    """

    interaction: AnyInteraction
    grid: Grid  # of the degree of perturbations
    density: ModalArray  # coefficients of f, of any degree up to the grid's
    diffusivity: float = 0.0

    @cached_property
    def _responses(self) -> tuple[Response, ...]:
        return responses(self.interaction, self.grid)

    @cached_property
    def values(self) -> FloatArray:
        """The density at the nodes."""
        return self.grid.to_nodal(self.density)

    @cached_property
    def by_head(self) -> list[tuple[FloatArray, FloatArray | None]]:
        """Velocity and Z of each head at the nodes."""
        return self.interaction.attention.nodal_by_head(self.density, self.grid)

    @cached_property
    def velocity(self) -> FloatArray:
        """Velocity at the nodes, fixed fields included."""
        total = sum((v for v, _ in self.by_head[1:]), start=self.by_head[0][0])
        fixed = self.interaction.fixed
        if fixed is not None:
            total = total + fixed.on_nodes(self.grid)
        return np.asarray(total)

    @cached_property
    def _shares(self) -> list[FloatArray]:
        """Quotient f / Z of each head at the nodes."""
        return [self.values if below is None else self.values / below for _, below in self.by_head]

    @cached_property
    def transport(self) -> ModalArray:
        """F(f)."""
        return self._minus_divergence(self.times(self.values, self.velocity)) - self._damped(
            self._space.resize(self.density, self.grid.max_degree)
        )

    def derivative(self, perturbations: ModalArray) -> ModalArray:
        """F'(f) g for perturbations of the grid's degree, (..., coefficients)."""
        flux = self.times(self.grid.to_nodal(perturbations), self.velocity)
        # f v'[g] = (f / Z) (N[g] - v Z[g]), in place: new arrays cost as much as transforms.
        for response, share, (velocity, _) in zip(
            self._responses, self._shares, self.by_head, strict=True
        ):
            change = response.numerator(perturbations)
            change *= self._along(share)
            flux += change
            partition = response.partition(perturbations)
            if partition is not None:
                partition *= share
                flux -= self.times(partition, velocity)
        return self._minus_divergence(flux) - self._damped(perturbations)

    def adjoint(self, fields: ModalArray) -> ModalArray:
        """F'(f)* psi, without degree 0: int (F'* psi) g = int psi (F' g) for all g."""
        slopes = self.grid.gradient(fields)
        result = self.grid.to_modal(self.dot(self.velocity, slopes))
        for response, (pull, back) in zip(self._responses, self.pulls(slopes), strict=True):
            back_reaction = response.adjoint(pull, back)
            result += self._space.resize(back_reaction, self.grid.max_degree)
        result[..., 0] = 0.0
        return np.asarray(result - self._damped(fields))

    def matrix(self, degree: int) -> FloatArray:
        """F'(f) between degrees 1 and `degree` in real coordinates, shape (size, size)."""
        of, space = coordinates(self._space.dimension, degree), self._space
        matrix = np.empty((of.size, of.size), order="F")
        for j, unit in enumerate(of.units()):
            image = self.derivative(space.resize(unit, self.grid.max_degree))
            matrix[:, j] = of.to_vector(space.resize(image, degree))
        return matrix

    def pulls(self, slopes: FloatArray) -> list[tuple[FloatArray, FloatArray | None]]:
        """Vectors p and values r of each head: int psi F changes by int <p, N'> + int r Z'.

        p = f grad psi / Z,    r = -<v, p>,    None without normalisation
        """
        pairs: list[tuple[FloatArray, FloatArray | None]] = []
        for share, (velocity, below) in zip(self._shares, self.by_head, strict=True):
            pull = self.times(share, slopes)
            pairs.append((pull, None if below is None else -self.dot(velocity, pull)))
        return pairs

    def second(self, first: ModalArray, second: ModalArray) -> ModalArray:
        """sum_j F''(f)[g_j, h_j] / 2 over rows g_j and h_j.

        One term is not symmetric in g and h. The sum is if sum_j g_j(x) h_j(y) is a covariance.
        """
        values = self.grid.to_nodal(first)
        flux: FloatArray | float = 0.0
        changes = zip(self._changes(first), self._changes(second), strict=True)
        for of_first, of_second in changes:
            moved = values
            if of_first.of_partition is not None:
                moved = values - self.values * of_first.of_partition
            flux = flux + self.times(moved, of_second.of_velocity).sum(axis=0)
        return self._minus_divergence(np.asarray(flux))

    def spread(self, fields: ModalArray) -> ModalArray:
        """-div(f grad psi), self-adjoint with the form int f <grad phi, grad psi>."""
        return self._minus_divergence(self.times(self.values, self.grid.gradient(fields)))

    def _changes(self, perturbations: ModalArray) -> list[_Change]:
        changes = []
        for response, (velocity, below) in zip(self._responses, self.by_head, strict=True):
            change = response.numerator(perturbations)
            partition = response.partition(perturbations)
            if partition is not None and below is not None:
                partition = partition / below
                change = self.times(1.0 / below, change) - self.times(partition, velocity)
            changes.append(_Change(change, partition))
        return changes

    @property
    def _space(self) -> Manifold:
        return self.interaction.manifold

    def times(self, values: FloatArray, vectors: FloatArray) -> FloatArray:
        """Nodal vectors times nodal values."""
        return np.asarray(self._along(values) * vectors)

    def dot(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Products of nodal vectors."""
        if self._space.dimension == 1:
            return np.asarray(first * second)
        product = first[..., 0, :] * second[..., 0, :]
        product += first[..., 1, :] * second[..., 1, :]
        return np.asarray(product)

    def _along(self, values: FloatArray) -> FloatArray:
        # On the sphere nodal vectors are (..., 2, n).
        return values[..., None, :] if self._space.dimension == 2 else values

    def _minus_divergence(self, flux: FloatArray) -> ModalArray:
        return np.negative(self.grid.divergence(flux))

    def _damped(self, fields: ModalArray) -> ModalArray:
        eigenvalues = laplacian_eigenvalues(self._space.dimension, self.grid.max_degree)
        return self.diffusivity * self._space.convolve(eigenvalues, fields)


@dataclass(frozen=True, eq=False)
class _Change:
    """Derivatives of one head along perturbations: v_h'[g], and Z_h[g] / Z_h under softmax."""

    of_velocity: FloatArray
    of_partition: FloatArray | None
