"""Equispaced grid on the circle and its Fourier transforms.

A product of a density of degree K and a velocity of degree H has degree K + H. On n nodes
degree n - k is aliased to degree k, so degrees up to K are exact when

    n > 2 K + H.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from meanfield.arrays import ComplexArray, FloatArray


def alias_free_size(max_degree: int, field_degree: int) -> int:
    """Count of nodes for alias-free products with a field: even, and fast to transform."""
    import scipy.fft

    least = 2 * max_degree + field_degree + 1
    return 2 * int(scipy.fft.next_fast_len((least + 1) // 2, real=True))


@dataclass(frozen=True)
class CircleGrid:
    """Equispaced nodes on which products of two fields up to max_degree are exact."""

    max_degree: int  # of coefficients (max_degree + 1,)

    @cached_property
    def size(self) -> int:
        return alias_free_size(self.max_degree, self.max_degree)

    @cached_property
    def points(self) -> FloatArray:
        return 2.0 * np.pi * np.arange(self.size) / self.size

    @cached_property
    def weights(self) -> FloatArray:
        return np.full(self.size, 1.0 / self.size)

    def squared_norm(self, vectors: FloatArray) -> FloatArray:
        return vectors**2

    def to_nodal(self, coefficients: ComplexArray) -> FloatArray:
        return np.asarray(np.fft.irfft(coefficients, self.size, norm="forward"))

    def to_modal(self, values: FloatArray) -> ComplexArray:
        modal = np.fft.rfft(values, norm="forward")
        return np.asarray(modal[..., : self.max_degree + 1])

    def gradient(self, coefficients: ComplexArray) -> FloatArray:
        return self.to_nodal(1j * np.arange(coefficients.shape[-1]) * coefficients)

    def project(self, components: FloatArray) -> FloatArray:
        if len(components) == 1:
            return np.asarray(components[0])
        t = self.points
        return np.asarray(np.cos(t) * components[1] - np.sin(t) * components[0])

    def divergence(self, flux: FloatArray, max_degree: int | None = None) -> ComplexArray:
        degree = self.max_degree if max_degree is None else max_degree
        modal = np.fft.rfft(flux, norm="forward")[..., : degree + 1]
        return np.asarray(1j * np.arange(modal.shape[-1]) * modal)
