"""The equation linearised about any density on the circle or the sphere, and its growth rates.

    L g = diffusivity Laplacian g - div(g v + f v'[g]),    v = grad Phi / Z,
    v'[g] = (grad Phi_g - v Z_g) / Z,

where Phi, Z are the fields of the density f and Phi_g, Z_g those of the perturbation g (Z = 1 and
Z_g = 0 when the flow is not normalised). Mass is conserved, so g has no degree 0. What is left are
real `coordinates`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray, ModalArray
from meanfield.fields.mean_field import Interaction, interaction
from meanfield.manifolds.coordinates import Coordinates, coordinates
from meanfield.manifolds.grid import Grid
from meanfield.manifolds.manifold import Manifold, laplacian_eigenvalues
from meanfield.measures import Density
from meanfield.problem import Problem


@dataclass(frozen=True, eq=False)
class LinearisedEquation:
    """The operator L about a density, for perturbations up to one degree.

    The density itself keeps its own degree: products with it are free of aliasing when the flow is
    not normalised, so that L is the exact operator between the degrees 1 to max_degree.

    Attributes
    ----------
    problem : Problem
        Given, with its diffusivity; its initial measure is not used.
    density : Density
        Given. Stationary or not.
    max_degree : int
        Given. Largest degree of the perturbations, at least 1.

    Raises
    ------
    TypeError
        If density is no Density.
    ValueError
        If it lives on another manifold than the problem, or max_degree is below 1.

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA)
    >>> equation = LinearisedEquation(problem, mf.uniform().build(mf.Circle()), 2)
    >>> np.diag(equation.matrix()).round(4)
    array([0.0328, 0.0944, 0.0328, 0.0944])
    >>> mf.growth_rates(problem, 2).round(4)
    array([0.    , 0.0328, 0.0944])
    """

    problem: Problem
    density: Density
    max_degree: int

    def __post_init__(self) -> None:
        """Check what was given."""
        if not isinstance(self.density, Density):
            raise TypeError(
                f"density is a {type(self.density).__name__}, expected a Density: clusters have "
                "`cluster_rates`."
            )
        if self.density.manifold.name != self.problem.manifold.name:
            raise ValueError(
                f"the density lives on the {self.density.manifold.name}, the problem on the "
                f"{self.problem.manifold.name}: rates need one manifold."
            )
        if self.max_degree < 1:
            raise ValueError(f"max_degree must be at least 1, got {self.max_degree}.")

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return self.coordinates.size

    @cached_property
    def coordinates(self) -> Coordinates:
        """Real coordinates of the perturbations."""
        return coordinates(self._space.dimension, self.max_degree)

    @property
    def _space(self) -> Manifold:
        return self.problem.space

    @cached_property
    def _interaction(self) -> Interaction:
        return interaction(self.problem)

    @cached_property
    def _grid(self) -> Grid:
        # Exact to three times its degree: to density x perturbation's velocity x test field.
        return self._space.grid(max(self.max_degree, self.density.max_degree))

    @cached_property
    def _nodal(self) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        """Density, velocity and partition function at the nodes."""
        grid, coefficients = self._grid, self.density.coefficients
        velocity, below = self._interaction.field(coefficients).on_nodes(grid)
        return grid.to_nodal(coefficients), velocity, below

    @cached_property
    def _damping(self) -> FloatArray:
        eigenvalues = laplacian_eigenvalues(self._space.dimension, self.max_degree)
        return self.problem.zonal.diffusivity * eigenvalues[self.coordinates.degrees]

    def derivative(self, perturbation: ModalArray) -> ModalArray:
        """Coefficients of L g, from those of g up to max_degree."""
        values, velocity, below = self._nodal
        grid, felt = self._grid, self._interaction.field(perturbation)
        change = grid.gradient(felt.potential)
        if below is not None and felt.partition is not None:
            change = (change - velocity * grid.to_nodal(felt.partition)) / below
        flux = grid.to_nodal(perturbation) * velocity + values * change
        divergence = self._space.resize(grid.divergence(flux), self.max_degree)
        return np.asarray(-divergence - self._damping * perturbation)

    def apply(self, vector: npt.ArrayLike) -> FloatArray:
        """L in real coordinates, shape (size,) to (size,)."""
        perturbation = self.coordinates.to_coefficients(vector)
        return self.coordinates.to_vector(self.derivative(perturbation))

    def matrix(self) -> FloatArray:
        """L as a matrix, column by column, shape (size, size)."""
        found = np.empty((self.size, self.size), order="F")
        unit = np.zeros(self.size)
        for j in range(self.size):
            unit[j] = 1.0
            found[:, j] = self.apply(unit)
            unit[j] = 0.0
        return found
