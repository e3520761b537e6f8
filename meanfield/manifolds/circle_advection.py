"""The density's right-hand side on the circle in one compiled call: d/dtheta (f v).

First the coefficients of the velocity: i m Phi_m, or, of a normalised flow, those of the
quotient Phi' / Z on a grid of its own that resolves it. Then the product with the density,
free of aliasing: by convolution when the velocity has few degrees, else by transforms. Two real
fields travel through one complex transform as f + i v: the transforms are what this costs. They
share its rounding, so the smaller one is first multiplied by a power of two.

The tests compare it with divergence(to_nodal(f) * gradient(Phi) / to_nodal(Z)) of `CircleGrid`.
"""

from __future__ import annotations

import numpy as np
import rocket_fft  # noqa: F401  (lets compiled code call numpy.fft)

from meanfield.arrays import ComplexArray
from meanfield.compiled import njit
from meanfield.manifolds.circle_convolution import convolve_flux
from meanfield.manifolds.manifold import PARTITION_FLOOR

# Velocities up to this degree are multiplied by convolution: measured crossover with the
# transforms at 256 to 4,096 degrees (tests/benchmarks/density_rhs.py).
_CONVOLUTION_DEGREE = 40
# A coefficient of the velocity below this share of the largest is rounding of its transform.
_VELOCITY_TAIL = 4 * float(np.finfo(np.float64).eps)
# First grid for a quotient of fields of degree H: this many nodes a degree.
_NODES_A_DEGREE = 4


def advection(
    density: ComplexArray,
    potential: ComplexArray,
    partition: ComplexArray | None,
    max_degree: int,
    sizes: np.ndarray,
) -> ComplexArray:
    """Coefficients 0 ... max_degree of d/dtheta (f Phi' / Z); Z = 1 if `partition` is None.

    `sizes` are increasing numbers of nodes, fast to transform, from which the product takes
    the first that is free of aliasing.
    """
    if partition is None:
        return np.asarray(_advection(density, _slope(potential), max_degree, sizes))
    velocity = _quotient(potential, partition, sizes[-1])
    return np.asarray(_advection(density, velocity, max_degree, sizes))


@njit
def _slope(potential):  # type: ignore[no-untyped-def]
    """Coefficients i m Phi_m of the derivative."""
    velocity = np.empty(potential.size, np.complex128)
    for m in range(potential.size):
        velocity[m] = complex(-m * potential[m].imag, m * potential[m].real)
    return velocity


@njit
def _balance(small, large):  # type: ignore[no-untyped-def]
    """Power of two that makes `small` as large as `large`; 0 if it vanishes."""
    sizes = np.zeros(2)
    for which, field in enumerate((small, large)):
        for k in range(field.size):
            sizes[which] += abs(field[k].real) + abs(field[k].imag)
    if sizes[0] == 0.0:
        return 0.0
    return 2.0 ** round(np.log2(sizes[1]) - np.log2(sizes[0]))


@njit
def _quotient(potential, partition, largest):  # type: ignore[no-untyped-def]
    """Coefficients of Phi' / Z, on the first grid of 2^j nodes (at most `largest`) to hold them."""
    size = 64
    while size < _NODES_A_DEGREE * potential.size:
        size *= 2
    slope = _slope(potential)
    scale = _balance(slope, partition)
    if scale == 0.0:
        return slope
    while True:
        # scale Phi' + i Z in one transform.
        packed = np.zeros(size, np.complex128)
        packed[0] = 1j * partition[0].real
        for m in range(1, potential.size):
            packed[m] = scale * slope[m] + 1j * partition[m]
            packed[size - m] = scale * slope[m].conjugate() + 1j * partition[m].conjugate()
        packed = np.fft.ifft(packed)
        floor = PARTITION_FLOOR / size
        quotient = np.empty(size)
        for j in range(size):
            quotient[j] = packed[j].real / max(packed[j].imag, floor)
        modal = np.fft.rfft(quotient)
        largest_modulus = 0.0
        for m in range(modal.size):
            largest_modulus = max(largest_modulus, abs(modal[m]))
        reach = modal.size - 1
        while reach > 0 and abs(modal[reach]) <= _VELOCITY_TAIL * largest_modulus:
            reach -= 1
        # An eighth of the degrees empty: what is aliased is below the tail as well.
        if 8 * reach <= 7 * (modal.size - 1) or 2 * size > largest:
            return modal[: reach + 1] / (scale * size)
        size *= 2


@njit
def _transform_flux(density, velocity, max_degree, sizes):  # type: ignore[no-untyped-def]
    """The same by transforms, on the first of the sizes that is free of aliasing."""
    size = sizes[-1]
    for candidate in sizes:
        if candidate > 2 * max_degree + velocity.size - 1:
            size = candidate
            break
    scale = _balance(velocity, density)
    if scale == 0.0:
        # Uniform stays uniform to the bit: rounding would grow.
        return np.zeros(max_degree + 1, np.complex128)
    packed = np.zeros(size, np.complex128)
    packed[0] = density[0] + 1j * scale * velocity[0].real
    for k in range(1, density.size):
        packed[k] = density[k]
        packed[size - k] = density[k].conjugate()
    for m in range(1, min(velocity.size, size // 2)):
        packed[m] += 1j * scale * velocity[m]
        packed[size - m] += 1j * scale * velocity[m].conjugate()
    packed = np.fft.ifft(packed)
    flux = np.empty(size)
    for j in range(size):
        flux[j] = packed[j].real * packed[j].imag
    modal = np.fft.rfft(flux)
    out = np.empty(max_degree + 1, np.complex128)
    for k in range(max_degree + 1):
        factor = float(k) * size / scale
        out[k] = complex(-factor * modal[k].imag, factor * modal[k].real)
    return out


@njit
def _advection(density, velocity, max_degree, sizes):  # type: ignore[no-untyped-def]
    if velocity.size - 1 <= _CONVOLUTION_DEGREE:
        return convolve_flux(density, velocity, max_degree)
    return _transform_flux(density, velocity, max_degree, sizes)
