"""Cell moments: series at scattered angles at a cost per token independent of the degree.

M cells have width h = 2 pi / M and centres h m. There e^{-ik theta} is a polynomial of degree
J - 1 in the offset t = theta / h - m, |t| <= 1/2, to 1e-15:

    e^{-ik theta} = e^{-ikhm} sum_{j<J} (-i)^j r_kj t^j,

    type 1   c_k = sum_j (-i)^j r_kj sum_m e^{-ikhm} A_mj,     A_mj = sum_{theta in cell m} w t^j
    type 2   g(theta) = sum_j B_mj t^j,     B_mj = Re sum_k g_k e^{ikhm} i^j r_kj   (k and -k)

The sums over m are J real FFTs of length M. J = 16 needs M >= 2.1 K: transforms are short, and the
table stays in the fastest cache. J = 8 needs M >= 34 K and less work per token in type 2; in type 1
it saves nothing.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import scipy.fft
import scipy.special

from meanfield.arrays import ComplexArray, FloatArray, read_only
from meanfield.engines.fourier import cell_kernels
from meanfield.engines.rows import ROW, empty_rows
from meanfield.engines.threads import MOST_CHUNKS, chunk_bounds, map_chunks

_TRUNCATION = 1e-15
# A chunk of tokens must outweigh handing it to a thread, and adding up its table.
_CHUNK_TOKENS = 1 << 15
_CHUNK_TOKENS_PER_CELL = 48
# Tokens per cell from which J = 8, with longer transforms, is faster.
_SHALLOW_TOKENS_PER_CELL = 24


def cell_count(max_degree: int, depth: int = 2) -> int:
    """Power of two M with 2 (K h / 4)^J / J! below 1e-15, h = 2 pi / M, J = 8 depth."""
    powers = ROW * depth
    widest = 4.0 * (_TRUNCATION * math.factorial(powers) / 2.0) ** (1.0 / powers)
    return 1 << math.ceil(math.log2(2.0 * math.pi * max(max_degree, 1) / widest))


def moments(
    points: FloatArray, weights: FloatArray | None, max_degree: int
) -> tuple[ComplexArray, bool]:
    """Moments c_k, k = 0 ... max_degree, and True if no angle is too large."""
    cells = cell_count(max_degree)
    least = max(_CHUNK_TOKENS, _CHUNK_TOKENS_PER_CELL * cells)
    chunks, bounds = _chunks(points.size, least)
    masses = np.empty(0) if weights is None else weights

    def chunk(i: int) -> tuple[FloatArray, bool]:
        part = slice(bounds[i], bounds[i + 1])
        table = empty_rows(4 * cells)
        reduced = cell_kernels.spread(points[part], masses[part], cells, table)
        return table[: 2 * ROW * cells], bool(reduced)

    parts = map_chunks(chunk, chunks)
    total = parts[0][0]
    for table, _ in parts[1:]:
        total += table
    modal = scipy.fft.rfft(total.reshape(cells, 2 * ROW), axis=0)[: max_degree + 1]
    summed = np.einsum("kj,kj->k", modal, _powers(max_degree, cells, 2).conj())
    if weights is None:
        summed /= points.size
    return summed, all(reduced for _, reduced in parts)


def evaluate(
    series: list[ComplexArray], points: FloatArray, depth: int | None = None
) -> tuple[FloatArray, bool]:
    """Values of one real series, or the quotient of two, and True if no angle is too large."""
    max_degree = max(len(coefficients) for coefficients in series) - 1
    if depth is None:
        shallow = points.size >= _SHALLOW_TOKENS_PER_CELL * cell_count(max_degree, depth=1)
        depth = 1 if shallow else 2
    cells = cell_count(max_degree, depth)
    # The quotient reads a cell's rows of both series together.
    table = empty_rows(len(series) * cells * depth)
    interleaved = table.reshape(cells, len(series), ROW * depth)
    for n, coefficients in enumerate(series):
        modal = coefficients[:, None] * _powers(len(coefficients) - 1, cells, depth)
        # norm="forward" leaves out the division by the length; irfft adds the conjugate half.
        interleaved[:, n] = scipy.fft.irfft(modal, cells, axis=0, norm="forward")
    values = np.empty(points.size)
    chunks, bounds = _chunks(points.size, _CHUNK_TOKENS)

    def chunk(i: int) -> bool:
        part = slice(bounds[i], bounds[i + 1])
        return bool(
            cell_kernels.gather(points[part], cells, depth, len(series), table, values[part])
        )

    return values, all(map_chunks(chunk, chunks))


def _chunks(size: int, least: int) -> tuple[int, list[int]]:
    """Number, a power of two, and bounds of chunks of at least `least` items."""
    chunks = min(MOST_CHUNKS, 1 << max(0, (size // least).bit_length() - 1))
    return chunks, chunk_bounds(size, chunks)


@lru_cache(maxsize=8)
def _powers(max_degree: int, cells: int, depth: int) -> ComplexArray:
    """Coefficients i^j r_kj of t^j in e^{ikht}, shape (K + 1, J)."""
    j = np.arange(ROW * depth)
    # e^{ixs} = sum_n (2 - [n = 0]) i^n J_n(x) T_n(s), here with x = kh/2 and s = 2t.
    x = np.pi / cells * np.arange(max_degree + 1)[:, None]
    chebyshev = np.where(j == 0, 1.0, 2.0) * 1j**j * scipy.special.jv(j, x)
    to_monomials = np.zeros((j.size, j.size))
    for n in j:
        monomials = np.polynomial.chebyshev.cheb2poly(np.eye(j.size)[n])
        to_monomials[n, : len(monomials)] = monomials
    return read_only(np.asarray(chebyshev @ (to_monomials * 2.0**j)))
