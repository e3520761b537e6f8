"""Gauss-Legendre rings on the sphere, and ducc0's transforms on them.

n rings at the nodes of Gauss's rule integrate polynomials of degree 2n - 1 exactly; rings of more
than p equispaced points integrate degree p. Synthesis gives values and gradients; its adjoint with
quadrature weights is analysis.

One call of ducc0 transforms a batch. Threads divide the rings, so results are equal to the bit for
any number of threads. Transforms at scattered points lack this property.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import ducc0
import numpy as np
import numpy.typing as npt

from meanfield.arrays import ComplexArray, FloatArray
from meanfield.engines.harmonics.coefficients import degree_of
from meanfield.engines.harmonics.margin import SCALE, arguments, with_margin, without_margin
from meanfield.engines.threads import threads

# On fewer points a transform takes less time than the start of another thread.
_LEAST_THREADED_SIZE = 16_000


@dataclass(frozen=True)
class Rings:
    """Rings whose quadrature is exact up to degree `exact_degree`."""

    exact_degree: int

    @cached_property
    def count(self) -> int:
        return self.exact_degree // 2 + 1

    @cached_property
    def length(self) -> int:
        """Points per ring: above exact_degree, even, and fast to transform."""
        half = (self.exact_degree + 2) // 2
        return 2 * int(ducc0.fft.good_size(half, True))

    @cached_property
    def size(self) -> int:
        return self.count * self.length

    @property
    def _threads(self) -> int:
        return threads() if self.size >= _LEAST_THREADED_SIZE else 1

    @cached_property
    def colatitudes(self) -> FloatArray:
        """Angles theta of the rings from the north pole."""
        return np.asarray(ducc0.misc.GL_thetas(self.count))

    @cached_property
    def ring_weights(self) -> FloatArray:
        weights = ducc0.misc.GL_weights(self.count, self.length)
        return np.asarray(weights) / (4.0 * np.pi)

    @cached_property
    def weights(self) -> FloatArray:
        return np.repeat(self.ring_weights, self.length)

    @cached_property
    def _longitudes(self) -> tuple[FloatArray, FloatArray]:
        phi = 2.0 * np.pi * np.arange(self.length) / self.length
        return np.cos(phi), np.sin(phi)

    @cached_property
    def _layout(self) -> dict[str, npt.NDArray[Any]]:
        return {
            "theta": self.colatitudes,
            "nphi": np.full(self.count, self.length, dtype=np.uint64),
            "phi0": np.zeros(self.count),
            "ringstart": self.length * np.arange(self.count, dtype=np.uint64),
        }

    @cached_property
    def _synthesis_factor(self) -> FloatArray:
        return np.full(self.count, SCALE)

    @cached_property
    def _analysis_factor(self) -> FloatArray:
        return np.asarray(self.ring_weights * SCALE)

    @cached_property
    def _divergence_factor(self) -> FloatArray:
        # int conj(Y) div F dsigma = -int F . grad conj(Y) dsigma
        return -self._analysis_factor

    def values(self, coefficients: ComplexArray, out: FloatArray | None = None) -> FloatArray:
        """Values of fields: (..., count of coefficients) to (..., n), into `out` if given."""
        degree = degree_of(coefficients)
        nodal: FloatArray = ducc0.sht.synthesis(
            alm=with_margin(coefficients, degree),
            map=None if out is None else out[..., None, :],
            **arguments(degree),
            ringfactor=self._synthesis_factor,
            nthreads=self._threads,
            **self._layout,
        )
        return nodal[..., 0, :]

    def gradients(self, coefficients: ComplexArray, out: FloatArray | None = None) -> FloatArray:
        """Components (d/dtheta, d/dphi / sin theta): (..., count) to (..., 2, n)."""
        degree = degree_of(coefficients)
        if degree == 0:
            return np.zeros((*coefficients.shape[:-1], 2, self.size))
        slopes: FloatArray = ducc0.sht.synthesis_deriv1(
            alm=np.ascontiguousarray(coefficients, dtype=np.complex128)[..., None, :],
            map=out,
            lmax=degree,
            ringfactor=self._synthesis_factor,
            nthreads=self._threads,
            **self._layout,
        )
        return slopes

    def analysis(self, values: FloatArray, max_degree: int) -> ComplexArray:
        """Coefficients up to max_degree of values: (..., n) to (..., count)."""
        coefficients: ComplexArray = ducc0.sht.adjoint_synthesis(
            map=values[..., None, :],
            **arguments(max_degree),
            ringfactor=self._analysis_factor,
            nthreads=self._threads,
            **self._layout,
        )
        return without_margin(coefficients, max_degree)

    def project(self, vectors: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Components (theta, phi), shape (2, n), of vectors (3, n) at the nodes."""
        x, y, z = vectors.reshape(3, self.count, self.length)
        (cosine, sine), theta = self._longitudes, self.colatitudes[:, None]
        projected = np.empty((2, self.size)) if out is None else out
        southward, eastward = projected.reshape(2, self.count, self.length)
        np.multiply(y, cosine, out=eastward)
        eastward -= x * sine
        np.multiply(x, cosine, out=southward)
        southward += y * sine
        southward *= np.cos(theta)
        southward -= z * np.sin(theta)
        return projected

    def divergence(self, vectors: FloatArray, max_degree: int) -> ComplexArray:
        """Coefficients up to max_degree of the divergence: (..., 2, n) to (..., count)."""
        if max_degree == 0:
            return np.zeros((*vectors.shape[:-2], 1), dtype=np.complex128)
        coefficients: ComplexArray = ducc0.sht.adjoint_synthesis(
            map=vectors,
            lmax=max_degree,
            spin=1,
            mode="DERIV1",
            ringfactor=self._divergence_factor,
            nthreads=self._threads,
            **self._layout,
        )
        coefficients[..., 0, 0] = 0.0
        return coefficients[..., 0, :]


@lru_cache(maxsize=32)
def rings(exact_degree: int) -> Rings:
    """Rings of an exactness, cached, because their nodes take longer than a small transform."""
    return Rings(exact_degree)
