"""Gradients and Hessians of many fields on a grid of rings, and bounds on third derivatives.

Bounds come from the addition theorem. A linear functional of a field of one degree l and power
p = sum_m |c_lm|^2 is at most sqrt(p) s, where s is its standard deviation for the isotropic
Gaussian field with unit variances. With L = l (l + 1), along unit tangent vectors u, v, w:

    |<grad f, u>|        <= sqrt(p (2l + 1) L / 2),
    |(D_u D^2 f)(v, w)|  <= sqrt(p (2l + 1) [L (3L - 2)^2 + L (L - 2) (L - 6)] / 32).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from meanfield.arrays import EPS, ComplexArray, FloatArray, IntArray
from meanfield.engines.harmonics.coefficients import degree_of, degrees_orders, resize
from meanfield.engines.harmonics.jets import recurrence

# Rings for each degree of `fineness`; fewer rings mean more halvings, more rings longer transforms.
_RINGS_PER_DEGREE = 7
# Bound on third derivatives over bound on gradients, over l^2, of a field of one large degree l.
_THIRD_OVER_FIRST = np.sqrt(10.0) / 4.0
# Largest ratio of the width of a cell to its height.
_WIDEST = 1.2


@dataclass(frozen=True)
class Rings:
    """Cells around nodes at theta_i = (i + 1/2) pi / n and phi = 2 pi j / longitudes."""

    colatitudes: FloatArray  # (n,): theta_i
    strides: IntArray  # (n,): longitudes of the transform for each cell, above 1 near the poles
    longitudes: int  # longitudes of the transform
    # For each order m, (L + 1 - m, 5, n): from coefficients to transforms of f_1, -i f_2, H_11,
    # -i H_12, H_22.
    tables: tuple[FloatArray, ...]


def fineness(max_degree: int, bounds: FloatArray) -> int:
    """Degree that bounds the fineness of fields, from the bounds on their third derivatives."""
    degree = int(np.ceil(np.sqrt(bounds.max() / _THIRD_OVER_FIRST)))
    return min(max(degree, 1), max_degree)


@lru_cache(maxsize=4)
def rings(max_degree: int, fine: int) -> Rings:
    """Grid for fields up to `max_degree` that are as fine as fields of the degree `fine`."""
    # Transforms need more than 2 max_degree longitudes, and there are two for each ring.
    n = max(_RINGS_PER_DEGREE * fine, max_degree, 7) + 2
    theta: FloatArray = (np.arange(n, dtype=np.float64) + 0.5) * (np.pi / n)
    # u 2^v with u = 4 ... 7: a power of two divides it, for the strides.
    unit = 1 << max(int(np.ceil(np.log2(2 * n / 7.0))), 1)
    longitudes = unit * int(np.ceil(2 * n / unit))
    widths = 2.0 * np.pi / longitudes * np.sin(theta)
    strides = np.ones(n, dtype=np.int64)
    while True:
        wider = (2 * strides * widths <= _WIDEST * np.pi / n) & (2 * strides <= unit)
        if not wider.any():
            break
        strides[wider] *= 2
    return Rings(theta, strides, longitudes, _tables(max_degree, theta, longitudes))


def _tables(max_degree: int, theta: FloatArray, longitudes: int) -> tuple[FloatArray, ...]:
    a, b = recurrence(max_degree)
    z, s = np.cos(theta), np.sin(theta)
    tables = []
    position = 0
    for m in range(max_degree + 1):
        k = max(m - 1, 0)
        start = s**k
        first = k * s ** max(k - 1, 0) * z
        second = k * ((k - 1) * s ** max(k - 2, 0) * z * z - start)
        q = a[position] * np.stack([start, first, second])
        r = np.zeros_like(q)
        table = np.empty((max_degree + 1 - m, 5, len(theta)))
        for l in range(m, max_degree + 1):
            if l > m:
                x, y = a[position], b[position]
                following = np.stack([z * q[0], z * q[1] - s * q[0],
                                      z * (q[2] - q[0]) - 2.0 * s * q[1]])  # fmt: skip
                q, r = x * following - y * r, q
            # P = sin Q, for m = 0 P = Q.
            p0, p1, p2 = q
            if m > 0:
                p0, p1, p2 = s * q[0], s * q[1] + z * q[0], s * (q[2] - q[0]) + 2.0 * z * q[1]
            table[l - m] = p1, m * q[0], p2, m * q[1], -l * (l + 1) * p0 - p2
            position += 1
        # irfft divides by the longitudes and doubles m > 0, as `recurrence` does already.
        table *= longitudes if m == 0 else 0.5 * longitudes
        tables.append(table)
    return tuple(tables)


def on_rings(fields: ComplexArray, grid: Rings) -> FloatArray:
    """Gradients and Hessians f_1, f_2, H_11, H_12, H_22, shape (5, count, rings, longitudes)."""
    count, degree, n = len(fields), len(grid.tables) - 1, len(grid.colatitudes)
    spectra = np.empty((count, 5, n, degree + 1), dtype=np.complex128)
    position = 0
    for m, table in enumerate(grid.tables):
        chosen = fields[:, position : position + len(table)]
        flat = table.reshape(len(table), -1)
        shape = (count, 5, n)
        spectra[..., m].real = (chosen.real @ flat).reshape(shape)
        spectra[..., m].imag = (chosen.imag @ flat).reshape(shape)
        position += len(table)
    spectra[:, 1::2] *= 1j
    return np.asarray(np.fft.irfft(spectra, grid.longitudes, axis=-1))


def normalised(fields: ComplexArray) -> tuple[ComplexArray, IntArray, FloatArray]:
    """Fields scaled to gradients of at most 1, without degrees that are rounding.

    Also their degrees, and bounds on their third derivatives.
    """
    array = np.asarray(fields, dtype=np.complex128)
    degree = degree_of(array)
    degrees, orders = degrees_orders(degree)
    parts = np.stack([array.real, np.where(orders > 0, array.imag, 0.0)])
    parts[..., degrees == 0] = 0.0
    # A power of two is exact; two factors, because 2^1074 overflows.
    exponents = np.frexp(np.abs(parts).max(axis=(0, 2)))[1][:, None]
    parts = np.ldexp(np.ldexp(parts, -(exponents // 2)), -(exponents - exponents // 2))
    squares = np.where(orders == 0, 1.0, 2.0) * (parts**2).sum(axis=0)
    of_degree = degrees[:, None] == np.arange(degree + 1)
    sizes = np.sqrt(squares @ of_degree)
    l = np.arange(degree + 1.0)
    product = l * (l + 1.0)
    first = sizes * np.sqrt((2 * l + 1) * product / 2)
    third = sizes * np.sqrt(
        (2 * l + 1) * (product * (3 * product - 2) ** 2 + product * (product - 2) * (product - 6))
        / 32
    )  # fmt: skip
    tails = np.cumsum(first[:, ::-1], axis=1)[:, ::-1]
    significant = tails > 0.25 * EPS * tails[:, :1]
    largest = np.where(significant.any(axis=1), degree - np.argmax(significant[:, ::-1], axis=1), 0)
    scale = 1.0 / np.maximum(tails[:, 0], np.finfo(np.float64).tiny)
    scaled = (parts[0] + 1j * parts[1]) * scale[:, None] * significant[:, degrees]
    bounds = scale * np.where(significant, third, 0.0).sum(axis=1)
    return resize(scaled, int(largest.max(initial=0))), largest.astype(np.int64), bounds
