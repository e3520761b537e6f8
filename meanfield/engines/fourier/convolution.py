"""The density's right-hand side without a grid, for velocities of low degree.

A velocity that is a trigonometric polynomial of degree H multiplies a density of degree K by
a banded convolution of their coefficients:

    (f v)_k = sum_{|m| <= H} v_m f_{k-m}.

It has no aliasing, and takes 4 (2H + 1) K multiplications. A pass takes eight taps over
contiguous real and imaginary parts, which vectorises. Up to H of about 40 that is faster than the
transforms at every K (tests/benchmarks/density_rhs.py).
"""

from __future__ import annotations

import numpy as np

from meanfield.engines.compiled import njit
from meanfield.engines.elementary import fma, wide_vectors

_TAPS = 8


@njit
def convolve_flux(density, mean, velocity, factor, max_degree):  # type: ignore[no-untyped-def]
    """Coefficients 0 ... max_degree of factor * d/dtheta (f v); degree 0 of f is `mean`."""
    reach = velocity.size - 1
    taps = (2 * reach + _TAPS) // _TAPS * _TAPS
    # Coefficients v_m, m = -reach ... reach, filled up with zeros.
    velocity_real, velocity_imag = np.zeros(taps), np.zeros(taps)
    for m in range(reach + 1):
        real, imag = factor * velocity[m].real, factor * velocity[m].imag
        velocity_real[reach - m], velocity_imag[reach - m] = real, -imag
        velocity_real[reach + m], velocity_imag[reach + m] = real, imag
    # f_k stands at index taps + k; what lies outside its degrees is zero.
    count = max_degree + 1
    length = min(density.size, count + reach)
    real_part, imag_part = np.zeros(taps + count + reach), np.zeros(taps + count + reach)
    for k in range(length):
        real_part[taps + k], imag_part[taps + k] = density[k].real, density[k].imag
    real_part[taps], imag_part[taps] = mean.real, mean.imag
    for k in range(1, min(taps, density.size - 1) + 1):
        real_part[taps - k], imag_part[taps - k] = density[k].real, -density[k].imag
    flux_real, flux_imag = np.zeros(count), np.zeros(count)
    for tap in range(0, taps, _TAPS):
        _add_taps(
            flux_real, flux_imag, real_part, imag_part, velocity_real, velocity_imag,
            tap, taps + reach - tap,
        )  # fmt: skip
    out = np.empty(count, np.complex128)
    for k in range(count):
        out[k] = complex(-k * flux_imag[k], k * flux_real[k])
    return out


@njit
def _add_taps(xs, ys, re, im, vr, vi, tap, start):  # type: ignore[no-untyped-def]
    """Add sum_{j < 8} v[tap + j] f[start - j + k] to x + iy, for every k, vectorised over k."""
    wide_vectors()
    n = xs.size
    a0, a1, a2, a3 = vr[tap], vr[tap + 1], vr[tap + 2], vr[tap + 3]
    a4, a5, a6, a7 = vr[tap + 4], vr[tap + 5], vr[tap + 6], vr[tap + 7]
    b0, b1, b2, b3 = vi[tap], vi[tap + 1], vi[tap + 2], vi[tap + 3]
    b4, b5, b6, b7 = vi[tap + 4], vi[tap + 5], vi[tap + 6], vi[tap + 7]
    r0, s0 = re[start : start + n], im[start : start + n]
    r1, s1 = re[start - 1 : start - 1 + n], im[start - 1 : start - 1 + n]
    r2, s2 = re[start - 2 : start - 2 + n], im[start - 2 : start - 2 + n]
    r3, s3 = re[start - 3 : start - 3 + n], im[start - 3 : start - 3 + n]
    r4, s4 = re[start - 4 : start - 4 + n], im[start - 4 : start - 4 + n]
    r5, s5 = re[start - 5 : start - 5 + n], im[start - 5 : start - 5 + n]
    r6, s6 = re[start - 6 : start - 6 + n], im[start - 6 : start - 6 + n]
    r7, s7 = re[start - 7 : start - 7 + n], im[start - 7 : start - 7 + n]
    for k in range(n):
        x, y = xs[k], ys[k]
        x = fma(a0, r0[k], x)
        x = fma(-b0, s0[k], x)
        y = fma(a0, s0[k], y)
        y = fma(b0, r0[k], y)
        x = fma(a1, r1[k], x)
        x = fma(-b1, s1[k], x)
        y = fma(a1, s1[k], y)
        y = fma(b1, r1[k], y)
        x = fma(a2, r2[k], x)
        x = fma(-b2, s2[k], x)
        y = fma(a2, s2[k], y)
        y = fma(b2, r2[k], y)
        x = fma(a3, r3[k], x)
        x = fma(-b3, s3[k], x)
        y = fma(a3, s3[k], y)
        y = fma(b3, r3[k], y)
        x = fma(a4, r4[k], x)
        x = fma(-b4, s4[k], x)
        y = fma(a4, s4[k], y)
        y = fma(b4, r4[k], y)
        x = fma(a5, r5[k], x)
        x = fma(-b5, s5[k], x)
        y = fma(a5, s5[k], y)
        y = fma(b5, r5[k], y)
        x = fma(a6, r6[k], x)
        x = fma(-b6, s6[k], x)
        y = fma(a6, s6[k], y)
        y = fma(b6, r6[k], y)
        x = fma(a7, r7[k], x)
        x = fma(-b7, s7[k], x)
        y = fma(a7, s7[k], y)
        y = fma(b7, r7[k], y)
        xs[k], ys[k] = x, y
