"""Series at scattered angles by products of rotations, O(n K): for few tokens or few degrees.

Degrees come in groups of nine around the centres a = 0, 9, 18, ... With u = e^{ia theta} and
v_b = e^{ib theta}, b = 1 ... 4,

    e^{i(a + b) theta} = u v_b,    e^{i(a - b) theta} = u conj(v_b),

so the four real products of u and v_b serve two degrees. That takes two FMA per degree and token;
a recurrence from degree to degree takes six. From one centre to the next u turns by e^{9i theta},
computed from theta with the product 9 theta exact. So rounding grows like K / 9 units in the last
place.
"""

from __future__ import annotations

import numpy as np

from meanfield.arrays import ComplexArray, FloatArray
from meanfield.engines.fourier import recurrence_kernels as kernels
from meanfield.engines.threads import MOST_CHUNKS, chunk_bounds, map_chunks

# Products that take a thread about 0.1 ms, longer than its start.
_CHUNK_PRODUCTS = 1 << 18
# Empty array in place of an absent one.
_NONE = np.empty(0)


def moments(
    points: FloatArray, weights: FloatArray | None, max_degree: int
) -> tuple[ComplexArray, bool]:
    """Moments c_k, k = 0 ... max_degree, and True if no angle is too large."""
    chunks, bounds = _chunks(points.size, max_degree)
    masses = _NONE if weights is None else weights
    groups = kernels.group_count(max_degree)

    def chunk(i: int) -> tuple[FloatArray, bool]:
        part = slice(bounds[i], bounds[i + 1])
        return kernels.products(points[part], masses[part], groups)  # type: ignore[no-any-return]

    parts = map_chunks(chunk, chunks)
    total = parts[0][0]
    for sums, _ in parts[1:]:
        total += sums
    scale = 1.0 / points.size if weights is None else 1.0
    return kernels.moments(total, scale, max_degree), all(reduced for _, reduced in parts)


def evaluate(series: list[ComplexArray], points: FloatArray) -> tuple[FloatArray, bool]:
    """Values of one real series, or the quotient of two, and True if no angle is too large."""
    max_degree = max(len(coefficients) for coefficients in series) - 1
    factors = np.empty((len(series), kernels.group_count(max_degree), kernels.REACH + 1, 4))
    for coefficients, rows in zip(series, factors, strict=True):
        kernels.set_factors(coefficients, rows)
    values = np.empty(points.size)
    chunks, bounds = _chunks(points.size, len(series) * max_degree)

    def chunk(i: int) -> bool:
        part = slice(bounds[i], bounds[i + 1])
        return bool(kernels.values(factors, points[part], values[part]))

    return values, all(map_chunks(chunk, chunks))


def _chunks(size: int, max_degree: int) -> tuple[int, list[int]]:
    chunks = chunk_count(size, max_degree)
    return chunks, chunk_bounds(size, chunks)


def chunk_count(size: int, max_degree: int) -> int:
    """Number of chunks for `size` angles."""
    # Sines and cosines cost as much as 16 degrees.
    products = size * (max_degree + 16)
    return min(MOST_CHUNKS, 1 << max(0, (products // _CHUNK_PRODUCTS).bit_length() - 1))
