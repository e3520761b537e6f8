"""Cell moments: series at scattered angles at a cost per token that does not know the degree.

M cells of width h = 2 pi / M, centres h m, M >= 34 K, so that e^{-ik theta} is a polynomial of
degree 7 in the offset t = theta / h - m, |t| <= 1/2, to 1e-15:

    e^{-ik theta} = e^{-ikhm} sum_{j<8} (-i)^j r_kj t^j,

    type 1   c_k = sum_j (-i)^j r_kj sum_m e^{-ikhm} A_mj,     A_mj = sum_{theta in cell m} w t^j
    type 2   g(theta) = sum_j B_mj t^j,     B_mj = Re sum_k g_k e^{ikhm} i^j r_kj   (k and -k)

The sums over m are real FFTs, eight of length M. No sine is computed.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import scipy.fft
import scipy.special

from meanfield.arrays import ComplexArray, FloatArray
from meanfield.manifolds.circle_points import cell_kernels
from meanfield.manifolds.circle_points.rows import ROW, empty_rows
from meanfield.threads import map_chunks

_TRUNCATION = 1e-15
# A chunk of tokens must outweigh handing it to a thread, and adding up its table.
_MOST_CHUNKS = 16
_CHUNK_TOKENS = 1 << 15
_CHUNK_TOKENS_PER_CELL = 24


def cell_count(max_degree: int) -> int:
    """Power of two M with 2 (K h / 4)^8 / 8! below 1e-15, h = 2 pi / M.

    That is the first Chebyshev coefficient dropped of e^{-iKht} on |t| <= 1/2.

    Examples
    --------
    >>> [cell_count(degree) for degree in (14, 30, 78)]
    [512, 1024, 4096]
    """
    widest = 4.0 * (_TRUNCATION * scipy.special.factorial(ROW) / 2.0) ** (1.0 / ROW)
    least = 2.0 * np.pi * max(max_degree, 1) / widest
    return int(2 ** np.ceil(np.log2(least)))


def moments(
    points: FloatArray, weights: FloatArray | None, max_degree: int
) -> tuple[ComplexArray, bool]:
    """Moments c_k, k = 0 ... max_degree, and whether all angles were small enough to reduce."""
    cells = cell_count(max_degree)
    chunks, bounds = _chunks(points.size, max(_CHUNK_TOKENS, _CHUNK_TOKENS_PER_CELL * cells))
    masses = np.empty(0) if weights is None else weights

    def chunk(i: int) -> tuple[FloatArray, bool]:
        part = slice(bounds[i], bounds[i + 1])
        table = empty_rows(2 * cells)
        reduced = cell_kernels.spread(points[part], masses[part], cells, table)
        return table[: ROW * cells], bool(reduced)

    parts = map_chunks(chunk, chunks)
    total = parts[0][0]
    for table, _ in parts[1:]:
        total += table
    modal = scipy.fft.rfft(total.reshape(cells, ROW), axis=0)[: max_degree + 1]
    summed = np.einsum("kj,kj->k", modal, _powers(max_degree).conj())
    if weights is None:
        summed /= points.size
    return summed, all(reduced for _, reduced in parts)


def evaluate(series: list[ComplexArray], points: FloatArray) -> tuple[FloatArray, bool]:
    """Values of one real series, or the quotient of two, and whether angles were reduced."""
    max_degree = max(len(coefficients) for coefficients in series) - 1
    cells = cell_count(max_degree)
    # One after the other in a row of 16 doubles: the quotient reads its two rows together.
    table = empty_rows(len(series) * cells)
    interleaved = table.reshape(cells, len(series), ROW)
    for n, coefficients in enumerate(series):
        interleaved[:, n] = _tabulated(coefficients, cells)
    kernel = cell_kernels.gather if len(series) == 1 else cell_kernels.gather_quotient
    values = np.empty(points.size)
    chunks, bounds = _chunks(points.size, _CHUNK_TOKENS)

    def chunk(i: int) -> bool:
        part = slice(bounds[i], bounds[i + 1])
        return bool(kernel(points[part], cells, table, values[part]))

    return values, all(map_chunks(chunk, chunks))


def _chunks(size: int, least: int) -> tuple[int, list[int]]:
    """Split into a power of two of chunks, no smaller than `least`: number and bounds."""
    chunks = min(_MOST_CHUNKS, 1 << max(0, (size // least).bit_length() - 1))
    return chunks, [size * i // chunks for i in range(chunks + 1)]


def _tabulated(coefficients: ComplexArray, cells: int) -> FloatArray:
    """Coefficients (cells, 8) of the polynomial in each cell."""
    modal = coefficients[:, None] * _powers(len(coefficients) - 1, cells)
    # irfft divides by its length and adds the conjugate half itself.
    return np.asarray(scipy.fft.irfft(modal, cells, axis=0, norm="forward"))


@lru_cache(maxsize=16)
def _powers(max_degree: int, cells: int | None = None) -> ComplexArray:
    """Coefficients i^j r_kj of t^j in e^{ikht}, shape (K + 1, 8)."""
    h = 2.0 * np.pi / (cells or cell_count(max_degree))
    j = np.arange(ROW)
    # e^{ixs} = sum_n (2 - [n = 0]) i^n J_n(x) T_n(s), here with x = kh/2 and s = 2t.
    bessel = scipy.special.jv(j, 0.5 * h * np.arange(max_degree + 1)[:, None])
    chebyshev = np.where(j == 0, 1.0, 2.0) * 1j**j * bessel
    to_monomials = np.zeros((ROW, ROW))
    for n in range(ROW):
        monomials = np.polynomial.chebyshev.cheb2poly(np.eye(ROW)[n])
        to_monomials[n, : len(monomials)] = monomials
    powers = np.asarray(chebyshev @ (to_monomials * 2.0**j))
    powers.flags.writeable = False
    return powers
