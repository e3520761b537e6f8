"""The equation linearised about any density on the circle or the sphere, and its growth rates.

    L g = F'(f) g,    F(f) = diffusivity Laplacian f - div(f v),    v = grad Phi / Z,

as `fields.linearised` has it, cut to a degree. Mass is conserved, so g has no degree 0. What is
left are real `coordinates`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray, ModalArray
from meanfield.bases.coordinates import Coordinates, coordinates
from meanfield.fields.linearised import LinearisedFlow
from meanfield.fields.mean_field import interaction
from meanfield.measures import Density
from meanfield.problem import Problem
from meanfield.spaces.manifold import Manifold


@dataclass(frozen=True, eq=False)
class LinearisedEquation:
    """The operator L about a density, for perturbations up to one degree.

    The density itself keeps its own degree: products with it are free of aliasing when the flow is
    not normalised, so that L is the exact operator between the degrees 1 to max_degree.
    """

    problem: Problem  # with its diffusivity; its initial measure is not used
    density: Density  # stationary or not
    max_degree: int  # largest degree of the perturbations, at least 1

    def __post_init__(self) -> None:
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
    def _flow(self) -> LinearisedFlow:
        # Exact to three times its degree: to density x perturbation's velocity x test field.
        grid = self._space.grid(max(self.max_degree, self.density.max_degree))
        diffusivity = self.problem.zonal.diffusivity
        return LinearisedFlow(
            interaction(self.problem), grid, self.density.coefficients, diffusivity
        )

    def derivative(self, perturbation: ModalArray) -> ModalArray:
        """Coefficients of L g, from the coefficients of g up to max_degree."""
        resize = self._space.resize
        whole = resize(perturbation, self._flow.grid.max_degree)
        return resize(self._flow.derivative(whole), self.max_degree)

    def apply(self, vector: npt.ArrayLike) -> FloatArray:
        """L in real coordinates, shape (size,) to (size,)."""
        perturbation = self.coordinates.to_coefficients(vector)
        return self.coordinates.to_vector(self.derivative(perturbation))

    def matrix(self) -> FloatArray:
        """L as a matrix, column by column, shape (size, size)."""
        columns = np.empty((self.size, self.size), order="F")
        unit = np.zeros(self.size)
        for j in range(self.size):
            unit[j] = 1.0
            columns[:, j] = self.apply(unit)
            unit[j] = 0.0
        return columns
