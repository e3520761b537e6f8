"""The density's right-hand side on the circle in one compiled call: d/dtheta (f Phi' / Z).

A velocity Phi' of few degrees is multiplied by convolution (`convolution`), one of fewer than the
density by transforms of blocks (`blocks`), else by one of all degrees: f and Phi' travel as the
real and imaginary part of one complex transform, since the transforms are what this costs.

A normalised flow divides by Z. Where Z is nowhere small its velocity Phi' / Z is a smooth
function, mostly of some 33 to 150 degrees: its coefficients come from a small grid, and the
product from the same methods. Elsewhere it is divided at the nodes of the product alone. Far from
all mass Phi' / Z is a quotient of rounding errors. Times f = 0 that is harmless; on another grid
it would spread into the mass.

`sizes` are increasing numbers of nodes: a polynomial velocity takes the first that is free of
aliasing, a quotient the last, three times max_degree or more.
"""

from __future__ import annotations

import numpy as np
import rocket_fft  # noqa: F401  (lets compiled code call numpy.fft)

from meanfield.engines.compiled import njit
from meanfield.engines.elementary import copy_to
from meanfield.engines.fourier.blocks import block_flux, block_size
from meanfield.engines.fourier.convolution import convolve_flux
from meanfield.engines.partition import PARTITION_FLOOR

# Velocities up to this degree are multiplied by convolution: measured crossover with the
# transforms at 256 to 4,096 degrees (tests/benchmarks/density_rhs.py).
_CONVOLUTION_DEGREE = 40
# Nodes of the small grid, and the degree of a density from which it is worth a try. Odd: half an
# even number of waves may vanish at every node, and a quotient that repeats itself 64 or 128 times
# would seem to end below.
_QUOTIENT_SIZE = 525
_QUOTIENT_PAYS = 320
# Z at least this share of its largest value: the quotient then has 14 digits everywhere.
_NOWHERE_SMALL = 1e-2
# Its coefficients end where they fall below this share of the largest: rounding. They must have
# done so on the first three quarters of the small grid's degrees.
_QUOTIENT_ENDS = 1e-15
_QUOTIENT_DEGREES = 3 * _QUOTIENT_SIZE // 8
# Largest degree of Phi' and Z: twice it, aliased, is still above those three quarters. Of 176 the
# double would be taken for 173, and nothing be seen above.
_DIVIDED_DEGREE = (_QUOTIENT_SIZE - _QUOTIENT_DEGREES) // 2 - 1


@njit
def _slope(potential):  # type: ignore[no-untyped-def]
    """Coefficients i m Phi_m of the derivative."""
    velocity = np.empty(potential.size, np.complex128)
    for m in range(potential.size):
        velocity[m] = complex(-m * potential[m].imag, m * potential[m].real)
    return velocity


@njit
def _balance(slope, turning, density, mean):  # type: ignore[no-untyped-def]
    """Power of two that makes the slope as large as the density; 0 if it vanishes."""
    sizes = np.zeros(2)
    sizes[0] = abs(turning)
    sizes[1] = abs(mean.real) + abs(mean.imag)
    for which, field in enumerate((slope, density)):
        for k in range(1, field.size):
            sizes[which] += abs(field[k].real) + abs(field[k].imag)
    if sizes[0] == 0.0:
        return 0.0
    if not np.isfinite(sizes[0] + sizes[1]):
        # Nothing to balance: what is not finite stays so, and the stepper rejects the step.
        return 1.0
    return 2.0 ** round(np.log2(sizes[1]) - np.log2(sizes[0]))


@njit
def _density_and_slope(density, mean, slope, turning, scale, size):  # type: ignore[no-untyped-def]
    """Nodal values of (f + i scale Phi') / size."""
    packed = np.zeros(size, np.complex128)
    packed[0] = mean + 1j * scale * turning
    for k in range(1, density.size):
        packed[k] = density[k]
    for k in range(1, density.size):
        packed[size - k] = density[k].conjugate()
    for m in range(1, slope.size):
        packed[m] += 1j * scale * slope[m]
        packed[size - m] += 1j * scale * slope[m].conjugate()
    return np.fft.ifft(packed)


@njit
def _derivative(flux, max_degree, factor):  # type: ignore[no-untyped-def]
    """Coefficients ik flux_k, times a factor."""
    modal = np.fft.rfft(flux)
    out = np.empty(max_degree + 1, np.complex128)
    for k in range(max_degree + 1):
        out[k] = complex(-factor * k * modal[k].imag, factor * k * modal[k].real)
    return out


@njit
def _transform_flux(density, mean, slope, turning, factor, max_degree, sizes):  # type: ignore[no-untyped-def]
    """Product with a polynomial velocity, on the first size that is free of aliasing."""
    scale = _balance(slope, turning, density, mean)
    if scale == 0.0:
        # Uniform stays uniform to the bit: rounding would grow.
        return np.zeros(max_degree + 1, np.complex128)
    size = sizes[-1]
    for candidate in sizes:
        if candidate > 2 * max_degree + slope.size - 1:
            size = candidate
            break
    packed = _density_and_slope(density, mean, slope, turning, scale, size)
    flux = np.empty(size)
    for j in range(size):
        flux[j] = packed[j].real * packed[j].imag
    return _derivative(flux, max_degree, factor * size / scale)


@njit
def _multiplied(  # type: ignore[no-untyped-def]
    density, mean, slope, turning, factor, max_degree, sizes
):
    """Product with the velocity of these coefficients; `turning` is its mean, 0 of a gradient."""
    if slope.size - 1 <= _CONVOLUTION_DEGREE:
        return convolve_flux(density, mean, slope, factor, max_degree)
    size = block_size(slope.size - 1, max_degree)
    if size > 0:
        return block_flux(density, mean, slope, factor, max_degree, size)
    return _transform_flux(density, mean, slope, turning, factor, max_degree, sizes)


@njit
def _quotient(slope, turning, partition):  # type: ignore[no-untyped-def]
    """Coefficients of Phi' / Z, cut where they end; none if that is not on the small grid."""
    none = np.empty(0, np.complex128)
    if max(slope.size, partition.size) - 1 > _DIVIDED_DEGREE:
        return none
    scale = _balance(slope, turning, partition, partition[0])
    if scale == 0.0:
        return none
    packed = _density_and_slope(partition, partition[0], slope, turning, scale, _QUOTIENT_SIZE)
    least, most = np.inf, 0.0
    for j in range(_QUOTIENT_SIZE):
        least, most = min(least, packed[j].real), max(most, packed[j].real)
    if not least > _NOWHERE_SMALL * most:
        return none
    quotient = np.empty(_QUOTIENT_SIZE)
    for j in range(_QUOTIENT_SIZE):
        quotient[j] = packed[j].imag / packed[j].real / (scale * _QUOTIENT_SIZE)
    modal = np.fft.rfft(quotient)
    largest = 0.0
    for k in range(modal.size):
        largest = max(largest, abs(modal[k].real) + abs(modal[k].imag))
    last = modal.size - 1
    while last > 0 and abs(modal[last].real) + abs(modal[last].imag) <= _QUOTIENT_ENDS * largest:
        last -= 1
    return modal[: last + 1] if last <= _QUOTIENT_DEGREES else none


@njit
def _normalized_flux(density, potential, partition, factor, max_degree, sizes):  # type: ignore[no-untyped-def]
    slope = _slope(potential)
    if max_degree >= _QUOTIENT_PAYS:
        quotient = _quotient(slope, 0.0, partition)
        if quotient.size > 0:
            return _multiplied(density, density[0], quotient, 0.0, factor, max_degree, sizes)
    return _quotient_flux(density, slope, partition, factor, max_degree, sizes[-1])


@njit
def _quotient_flux(density, slope, partition, factor, max_degree, size):  # type: ignore[no-untyped-def]
    scale = _balance(slope, 0.0, density, density[0])
    if scale == 0.0:
        return np.zeros(max_degree + 1, np.complex128)
    packed = _density_and_slope(density, density[0], slope, 0.0, scale, size)
    modal = np.zeros(size // 2 + 1, np.complex128)
    copy_to(modal, partition)
    z = np.fft.irfft(modal, size)
    floor = PARTITION_FLOOR / size
    flux = np.empty(size)
    for j in range(size):
        flux[j] = packed[j].real * packed[j].imag / max(z[j], floor)
    return _derivative(flux, max_degree, factor / scale)


@njit
def _field(multipliers, density):  # type: ignore[no-untyped-def]
    out = np.empty(min(multipliers.size, density.size), np.complex128)
    for k in range(out.size):
        out[k] = complex(multipliers[k] * density[k].real, multipliers[k] * density[k].imag)
    return out


@njit
def transport(  # type: ignore[no-untyped-def]
    potential_multipliers, attention_multipliers, max_degree, sizes, density, perturbation
):
    """Coefficients of -d/dtheta (f Phi' / Z), where Phi_k = w_k f_k and Z_k = a_k f_k.

    Z = 1 if there are no a_k; then f without its mean is what moves if `perturbation` is true.
    """
    potential = _field(potential_multipliers, density)
    if attention_multipliers is not None:
        partition = _field(attention_multipliers, density)
        return _normalized_flux(density, potential, partition, -1.0, max_degree, sizes)
    mean = 0j if perturbation else density[0]
    return _multiplied(density, mean, _slope(potential), 0.0, -1.0, max_degree, sizes)


@njit
def heads_transport(  # type: ignore[no-untyped-def]
    numerators, partitions, largest, normalized, max_degree, sizes, density
):
    """Coefficients of -d/dtheta (f v), v the sum over heads of N_h / Z_h, one row a head.

    Z = 1 unless `normalized`. No quotient is larger than `largest`, one number a head: far from all
    mass quotients of rounding errors would be, and no step would be stable.
    """
    if not normalized:
        total = numerators.sum(axis=0)
        turning = total[0].real
        return _multiplied(density, density[0], total, turning, -1.0, max_degree, sizes)
    if max_degree >= _QUOTIENT_PAYS:
        total = np.zeros(_QUOTIENT_DEGREES + 1, np.complex128)
        reach = -1
        for h in range(len(numerators)):
            quotient = _quotient(numerators[h], numerators[h][0].real, partitions[h])
            if quotient.size == 0:
                reach = -1
                break
            reach = max(reach, quotient.size - 1)
            total[: quotient.size] += quotient
        if reach >= 0:
            turning = total[0].real
            leading = total[: reach + 1]
            return _multiplied(density, density[0], leading, turning, -1.0, max_degree, sizes)
    size = sizes[-1]
    modal = np.zeros(size // 2 + 1, np.complex128)
    copy_to(modal, density)
    values = np.fft.irfft(modal, size)
    velocity = np.zeros(size)
    floor = PARTITION_FLOOR / size
    for h in range(len(numerators)):
        below = partitions[h]
        turning = numerators[h][0].real
        scale = _balance(numerators[h], turning, below, below[0])
        if scale == 0.0:
            continue
        packed = _density_and_slope(below, below[0], numerators[h], turning, scale, size)
        for j in range(size):
            quotient_here = packed[j].imag / max(packed[j].real, floor) / scale
            velocity[j] += max(-largest[h], min(largest[h], quotient_here))
    for j in range(size):
        velocity[j] *= values[j]
    return _derivative(velocity, max_degree, -1.0)
