"""Gauss-Legendre grid on the sphere.

A density of degree L times the gradient of a potential of degree H times a gradient of degree L
is a polynomial of degree 2 L + H. Rings exact to that degree give the coefficients of
div(f grad Phi) exactly up to degree L.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from meanfield.arrays import ComplexArray, FloatArray
from meanfield.engines.harmonics.rings import Rings, rings


@dataclass(frozen=True)
class SphereGrid:
    """Gauss-Legendre nodes on which products of two fields up to max_degree are exact.

    Values are flat, ring after ring from the north pole; `reshape(grid.shape)` gives the map.
    Vectors have the components (theta, phi) along the first axis.
    """

    max_degree: int  # L of (L + 1)(L + 2) / 2 coefficients

    @cached_property
    def _rings(self) -> Rings:
        return rings(3 * self.max_degree)

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Number of rings, and of points per ring."""
        return self._rings.count, self._rings.length

    @cached_property
    def points(self) -> FloatArray:
        count, length = self.shape
        theta = self._rings.colatitudes[:, None]
        phi = 2.0 * np.pi * np.arange(length) / length
        nodes = np.empty((count, length, 3))
        nodes[..., 0] = np.sin(theta) * np.cos(phi)
        nodes[..., 1] = np.sin(theta) * np.sin(phi)
        nodes[..., 2] = np.cos(theta)
        return nodes.reshape(-1, 3)

    @cached_property
    def weights(self) -> FloatArray:
        return self._rings.weights

    def to_nodal(self, coefficients: ComplexArray) -> FloatArray:
        return self._rings.values(coefficients)

    def to_modal(self, values: FloatArray) -> ComplexArray:
        """Coefficients up to max_degree; exact for fields up to 2 max_degree."""
        return self._rings.analysis(values, self.max_degree)

    def gradient(self, coefficients: ComplexArray) -> FloatArray:
        return self._rings.gradients(coefficients)

    @property
    def rings(self) -> Rings:
        return self._rings

    def project(self, components: FloatArray) -> FloatArray:
        return self._rings.project(components)

    def divergence(self, flux: FloatArray, max_degree: int | None = None) -> ComplexArray:
        return self._rings.divergence(flux, self.max_degree if max_degree is None else max_degree)

    def squared_norm(self, vectors: FloatArray) -> FloatArray:
        return np.asarray(vectors[..., 0, :] ** 2 + vectors[..., 1, :] ** 2)
