"""Tokens of a density on the sphere: first the colatitude, then the longitude on its parallel.

The mass north of theta is a series of Legendre polynomials:

    G(theta) = sin^2(theta / 2) - 1/2 sum_{l>=1} f_l0 (P_{l+1} - P_{l-1})(cos theta) / sqrt(2l + 1).

On a parallel f is a Fourier series with the coefficients g_m = sum_l f_lm Y_lm(theta, 0), and so is
the periodic part of its cumulative distribution. Both distributions are inverted. A token costs L^2
operations for g_m, and needs no bound of f.
"""

from __future__ import annotations

import ducc0
import numpy as np
import scipy.fft

from meanfield.arrays import ComplexArray, FloatArray
from meanfield.engines.compiled import njit
from meanfield.engines.harmonics.coefficients import degree_of
from meanfield.engines.harmonics.margin import SCALE, arguments, with_margin
from meanfield.engines.newton import narrowed
from meanfield.engines.threads import threads

# Number of coefficients of parallels at a time.
_AT_ONCE = 2**19
# Newton's steps in radians end here: the square of this step, times the degree, is rounding.
_CLOSE = 1e-10
_MAX_STEPS = 100


def sphere_tokens(coefficients: ComplexArray, count: int, rng: np.random.Generator) -> FloatArray:
    """Unit vectors, shape (count, 3)."""
    degree = degree_of(coefficients)
    levels = rng.random((2, count))
    zonal = coefficients[: degree + 1].real / np.sqrt(2.0 * np.arange(degree + 1) + 1.0)
    theta, phi = _colatitudes(zonal, levels[0]), np.empty(count)
    alm = with_margin(SCALE * coefficients, degree)
    keywords = arguments(degree) | {"nthreads": threads()}
    keywords["mval"] = np.arange(keywords.pop("mmax") + 1, dtype=np.uint64)
    nodes = scipy.fft.next_fast_len(2 * (degree + 1), real=True)
    orders = 1j * np.arange(1, degree + 1)
    rows = max(_AT_ONCE // (degree + 1), 1)
    for start in range(0, count, rows):
        part = slice(start, start + rows)
        parallels = ducc0.sht.alm2leg(alm=alm, theta=theta[part], **keywords)[0]
        # Periodic part of the primitive: g_m / im.
        mean = parallels[:, 0].real.copy()
        parallels[:, 0] = 0.0
        parallels[:, 1:] /= orders
        table = scipy.fft.irfft(parallels, nodes, axis=1, norm="forward")
        phi[part] = _longitudes(mean, parallels, table, levels[1, part])
    sine = np.sin(theta)
    return np.stack([sine * np.cos(phi), sine * np.sin(phi), np.cos(theta)], axis=1)


@njit
def _north(zonal: FloatArray, theta: float) -> tuple[float, float]:
    """Mass north of a parallel, and its derivative in theta; zonal are f_l0 / sqrt(2l + 1)."""
    z = np.cos(theta)
    before, here = 1.0, z
    mass, density = 0.0, zonal[0]
    for l in range(1, len(zonal)):
        after = ((2 * l + 1) * z * here - l * before) / (l + 1)
        mass += zonal[l] * (before - after)
        density += (2 * l + 1) * zonal[l] * here
        before, here = here, after
    return zonal[0] * np.sin(0.5 * theta) ** 2 + 0.5 * mass, 0.5 * np.sin(theta) * density


@njit
def _colatitudes(zonal: FloatArray, levels: FloatArray) -> FloatArray:
    """Colatitudes with the given shares of the mass north of them."""
    nodes = 2 * len(zonal)
    table = np.empty(nodes + 1)
    for j in range(nodes + 1):
        table[j] = _north(zonal, np.pi * j / nodes)[0]
    angles = np.empty(len(levels))
    for i in range(len(levels)):
        target = table[0] + levels[i] * (table[nodes] - table[0])
        j = _place(table, nodes, target)
        low, high = np.pi * j / nodes, np.pi * (j + 1) / nodes
        theta = 0.5 * (low + high)
        for _ in range(_MAX_STEPS):
            mass, slope = _north(zonal, theta)
            before = theta
            low, high, theta = narrowed(low, high, theta, mass - target, slope)
            if abs(theta - before) <= _CLOSE:
                break
        angles[i] = theta
    return angles


@njit
def _longitudes(
    mean: FloatArray, terms: ComplexArray, table: FloatArray, levels: FloatArray
) -> FloatArray:
    """Longitudes with the given shares of the mass of each parallel between 0 and them.

    The primitive is mean phi + 2 Re sum_m terms_m e^{im phi}; the table has the sum at nodes.
    """
    nodes, degree = table.shape[1], terms.shape[1] - 1
    angles = np.empty(len(levels))
    whole = np.empty(nodes + 1)
    for i in range(len(levels)):
        for j in range(nodes):
            whole[j] = mean[i] * (2.0 * np.pi * j / nodes) + table[i, j]
        whole[nodes] = mean[i] * 2.0 * np.pi + table[i, 0]
        target = whole[0] + levels[i] * (whole[nodes] - whole[0])
        j = _place(whole, nodes, target)
        low, high = 2.0 * np.pi * j / nodes, 2.0 * np.pi * (j + 1) / nodes
        phi = 0.5 * (low + high)
        for _ in range(_MAX_STEPS):
            turn = complex(np.cos(phi), np.sin(phi))
            wave = turn
            value, slope = mean[i] * phi, mean[i]
            for m in range(1, degree + 1):
                term = terms[i, m] * wave
                value += 2.0 * term.real
                slope -= 2.0 * m * term.imag
                wave *= turn
            before = phi
            low, high, phi = narrowed(low, high, phi, value - target, slope)
            if abs(phi - before) <= _CLOSE:
                break
        angles[i] = phi
    return angles


@njit
def _place(table: FloatArray, count: int, target: float) -> int:
    """Index j < count with table[j] <= target <= table[j + 1]; the table may have rounding."""
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        if table[middle] > target:
            high = middle
        else:
            low = middle
    return low
