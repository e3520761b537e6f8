"""The density's right-hand side on the circle in one compiled call.

The same as divergence(to_nodal(f) * gradient(Phi) / to_nodal(Z)) of `CircleGrid`, which the
tests compare with it. Two real fields f and g = Phi' travel through one complex transform
as f + i g: the transforms are what this costs, and Python between them would double it.
"""

from __future__ import annotations

import numpy as np
import rocket_fft  # noqa: F401  (lets compiled code call numpy.fft)

from meanfield.arrays import ComplexArray
from meanfield.compiled import njit
from meanfield.manifolds.manifold import PARTITION_FLOOR

def advection(
    density: ComplexArray,
    potential: ComplexArray,
    partition: ComplexArray | None,
    max_degree: int,
    size: int,
) -> ComplexArray:
    """Coefficients 0 ... max_degree of d/dtheta (f Phi' / Z) on `size` nodes."""
    if partition is None:
        return np.asarray(_polynomial(density, potential, max_degree, size))
    return np.asarray(_quotient(density, potential, partition, max_degree, size))


@njit
def _density_and_gradient(density, potential, size):  # type: ignore[no-untyped-def]
    """Nodal values of f + i Phi'."""
    packed = np.zeros(size, np.complex128)
    for k in range(density.size):
        packed[k] = density[k]
    for k in range(1, density.size):
        packed[size - k] = density[k].conjugate()
    for k in range(1, potential.size):
        # i times the coefficient ik Phi_k of the gradient, and its conjugate's.
        packed[k] -= k * potential[k]
        packed[size - k] += k * potential[k].conjugate()
    # fft of the conjugate order: ifft without its factor 1 / size.
    return np.fft.ifft(packed)


@njit
def _derivative(flux, max_degree, factor):  # type: ignore[no-untyped-def]
    modal = np.fft.rfft(flux)
    out = np.empty(max_degree + 1, np.complex128)
    for k in range(max_degree + 1):
        out[k] = modal[k] * (1j * k * factor)
    return out


@njit
def _polynomial(density, potential, max_degree, size):  # type: ignore[no-untyped-def]
    packed = _density_and_gradient(density, potential, size)
    flux = np.empty(size)
    for j in range(size):
        flux[j] = packed[j].real * packed[j].imag
    return _derivative(flux, max_degree, float(size))


@njit
def _quotient(density, potential, partition, max_degree, size):  # type: ignore[no-untyped-def]
    packed = _density_and_gradient(density, potential, size)
    modal = np.zeros(size // 2 + 1, np.complex128)
    modal[: partition.size] = partition
    z = np.fft.irfft(modal, size)
    floor = PARTITION_FLOOR / size
    flux = np.empty(size)
    for j in range(size):
        flux[j] = packed[j].real * packed[j].imag / max(z[j], floor)
    return _derivative(flux, max_degree, 1.0)
