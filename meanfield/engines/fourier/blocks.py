"""Product of a density with a velocity of fewer degrees, by transforms of blocks of degrees.

    (f v)_k = sum_{|m| <= H} v_m f_{k-m},    k = 0 ... max_degree

Overlap-save: the coefficients k - H ... k + size - H - 1 of f are transformed, multiplied by the
values of v at `size` nodes and transformed back; all but the outer H at either end are exact.
Blocks of some 7 H stay in the first caches, where one transform of all degrees does not, and
their transforms have fewer levels.
"""

from __future__ import annotations

import numpy as np
import rocket_fft  # noqa: F401  (lets compiled code call numpy.fft)

from meanfield.engines.compiled import njit

# Nodes per degree of the velocity, rounded up to a power of two: best of 2 to 40 for velocities
# of 48 to 282 degrees, as are two blocks for the fewest degrees of a density
# (tests/benchmarks/density_rhs.py).
_NODES_PER_DEGREE = 7
_LEAST_SIZE = 512
_FEWEST_BLOCKS = 2


@njit
def block_size(velocity_degree, max_degree):  # type: ignore[no-untyped-def]
    """Nodes of a block; 0 if one transform of all degrees is as fast."""
    size = _LEAST_SIZE
    while size < _NODES_PER_DEGREE * velocity_degree:
        size *= 2
    return size if max_degree >= _FEWEST_BLOCKS * size else 0


@njit
def block_flux(density, mean, slope, factor, max_degree, size):  # type: ignore[no-untyped-def]
    """Coefficients ik (f v)_k, times a factor, of f with this mean and v = slope."""
    reach = slope.size - 1
    usable = size - 2 * reach
    count = max_degree // usable + 1
    rows = np.zeros((count + 1, size), np.complex128)
    for m in range(slope.size):
        rows[count, m] = slope[m]
        rows[count, -m] = slope[m].conjugate()
    for b in range(count):
        first = b * usable - reach
        # f_{-k} = conj f_k.
        for k in range(max(first, 1 - density.size), min(0, first + size)):
            rows[b, k - first] = density[-k].conjugate()
        for k in range(max(first, 0), min(density.size, first + size)):
            rows[b, k - first] = mean if k == 0 else density[k]
    nodal = np.fft.fft(rows)
    for b in range(count):
        for j in range(size):
            # Values of a real field; the imaginary part is rounding.
            nodal[b, j] *= nodal[count, j].real
    flux = np.fft.ifft(nodal[:count])
    out = np.empty(max_degree + 1, np.complex128)
    for b in range(count):
        for k in range(b * usable, min((b + 1) * usable, max_degree + 1)):
            g = flux[b, k - b * usable + reach]
            out[k] = complex(-factor * k * g.imag, factor * k * g.real)
    return out
