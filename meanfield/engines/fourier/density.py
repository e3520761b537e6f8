"""Right-hand side of a density on the circle, -d/dtheta (f Phi' / Z), in one compiled call.

Real fields are transformed one by one (`transform`), so that each has rounding of its own size.
A velocity of zero is zero at all nodes: uniform stays uniform to the bit.
"""

from __future__ import annotations

import numpy as np

from meanfield.engines.compiled import njit
from meanfield.engines.elementary import wide_vectors
from meanfield.engines.fourier.transform import SPARE, derivative, to_nodes
from meanfield.engines.partition import PARTITION_FLOOR


@njit
def transport(  # type: ignore[no-untyped-def]
    potential_multipliers, attention_multipliers, max_degree, roots, density, perturbation
):
    """Coefficients of -d/dtheta (f Phi' / Z), where Phi_k = w_k f_k and Z_k = a_k f_k.

    Z = 1 if there are no a_k, (0,). Then, if `perturbation` is true, f without its mean moves.
    """
    slope = np.empty((1, min(potential_multipliers.size, density.size)), np.complex128)
    for k in range(slope.size):
        w = potential_multipliers[k]
        slope[0, k] = complex(-k * (w * density[k].imag), k * (w * density[k].real))
    count = min(attention_multipliers.size, density.size)
    partition = np.empty((min(count, 1), count), np.complex128)
    for k in range(count):
        a = attention_multipliers[k]
        partition[0, k] = complex(a * density[k].real, a * density[k].imag)
    mean = 0.0 if perturbation and count == 0 else density[0].real
    if slope.size <= 2 and not attention_multipliers[1:count].any():
        z = max(partition[0, 0].real, PARTITION_FLOOR) if count else 1.0
        return _narrow_transport(slope[0, -1] / z, max_degree, density, mean)
    largest = np.empty(1)
    largest[0] = np.inf
    return heads_transport(slope, partition, largest, max_degree, roots, density, mean)


@njit
def _narrow_transport(slope, max_degree, density, mean):  # type: ignore[no-untyped-def]
    """Coefficients of -d/dtheta (f v) for v of degree 1 with coefficient `slope` and no mean."""
    out = np.zeros(max_degree + 1, np.complex128)
    for k in range(1, min(max_degree, density.size) + 1):
        flux = slope * (density[k - 1] if k > 1 else mean + 0.0j)
        if k + 1 < density.size:
            flux += slope.conjugate() * density[k + 1]
        out[k] = complex(k * flux.imag, -k * flux.real)
    return out


@njit
def heads_transport(  # type: ignore[no-untyped-def]
    numerators, partitions, largest, max_degree, roots, density, mean
):
    """Coefficients of -d/dtheta (f v), v the sum over heads of N_h / Z_h, one row for each head.

    If there are no partitions, (0, n), v is the first numerator. `mean` is the coefficient 0 of f.
    Quotients are cut at `largest`, one number for each head. Far from all mass they are quotients
    of rounding errors, which would make every step unstable.
    """
    rows = np.empty((6, 2, roots.shape[1]))
    velocity, flux = rows[4], rows[5]
    if len(partitions) == 0:
        numerator = numerators[0]
        velocity = to_nodes(numerator, numerator[0].real, rows[4], rows[3], roots)
    for h in range(len(partitions)):
        numerator, partition = numerators[h], partitions[h]
        v = to_nodes(numerator, numerator[0].real, rows[0], rows[1], roots)
        z = to_nodes(partition, partition[0].real, rows[2], rows[3], roots)
        _add_quotient(velocity, v, z, largest[h], h == 0)
    f = to_nodes(density, mean, rows[0], rows[1], roots)
    _multiply(flux, f, velocity)
    return derivative(flux, rows[0], max_degree, -1.0, roots)


@njit
def _add_quotient(velocity, v, z, largest, first):  # type: ignore[no-untyped-def]
    """Add v / z to the velocity, or set it."""
    wide_vectors()
    for i in range(2):
        for j in range(v.shape[1] - SPARE):
            quotient = v[i, j] / max(z[i, j], PARTITION_FLOOR)
            quotient = max(-largest, min(largest, quotient))
            velocity[i, j] = quotient if first else velocity[i, j] + quotient


@njit
def _multiply(flux, f, v):  # type: ignore[no-untyped-def]
    """Product with real and imaginary parts exchanged, for a transform of the other sign."""
    wide_vectors()
    for i in range(2):
        for j in range(v.shape[1] - SPARE):
            flux[1 - i, j] = f[i, j] * v[i, j]
