"""Polynomials on rectangles of labels, given by their values (cells, p, p, k) at the nodes.

    g(u, v) = sum_ij c_ij P_i(u) P_j(v),    i, j < p,    u, v in [-1, 1] on every cell

How well they are resolved, how long an image is, and whether it is turned over.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.bases.legendre import differentiation, gauss_legendre, to_coefficients
from meanfield.engines.threads import one_blas_thread

# Cells that are worked on together, so that work arrays stay in the cache.
_BLOCK = 128
# What transforms and steps leave of noise between neighbouring positions.
_NOISE = 1e-13


def by_blocks(function: Callable[[FloatArray], FloatArray], grid: FloatArray) -> FloatArray:
    """Results of a function of cells, some cells at a time."""
    starts = range(0, len(grid), _BLOCK)
    with one_blas_thread():
        return np.concatenate([function(grid[start : start + _BLOCK]) for start in starts])


def along(axis: int, matrix: FloatArray, grid: FloatArray) -> FloatArray:
    """Apply a matrix (q, p) along u (axis 1) or v (axis 2) of values (cells, p, p, k)."""
    cells, p, q, k = grid.shape
    with one_blas_thread():
        if axis == 2:
            return np.asarray(matrix @ grid)
        flat = matrix @ grid.reshape(cells, p, q * k)
    return np.asarray(flat.reshape(cells, len(matrix), q, k))


@lru_cache(maxsize=8)
def _last_coefficients(order: int) -> FloatArray:
    """Matrix (2 * 2 p, p^2) from a cell's values to its last coefficients along u and along v."""
    matrix = to_coefficients(order)
    last = matrix[-2:]
    both = np.einsum("ai,bj->abij", last, matrix), np.einsum("ai,bj->abij", matrix, last)
    return np.concatenate([part.reshape(2 * order, order**2) for part in both])


def tails(grid: FloatArray) -> FloatArray:
    """Largest |c_ij| with i >= p - 2, and with j >= p - 2, shape (cells, 2)."""
    cells, order = grid.shape[:2]
    # One product of large matrices: (4 p, p^2) times (p^2, cells * k).
    nodal = grid.reshape(cells, order**2, -1).swapaxes(0, 1).reshape(order**2, -1)
    values = np.abs(_last_coefficients(order) @ nodal).reshape(2, 2 * order, cells, -1)
    return np.asarray(values.max(axis=(1, 3)).T)


def lengths(grid: FloatArray) -> FloatArray:
    """Length of the longest row of nodes along u and along v, shape (cells, 2).

    Chords between neighbouring nodes, summed and drawn out to the sides of the cell.
    """
    nodes, _ = gauss_legendre(grid.shape[1])
    parts = []
    for axis in (1, 2):
        steps = np.diff(grid, axis=axis)
        chords = np.sqrt(np.einsum("cijk,cijk->cij", steps, steps))
        parts.append(chords.sum(axis=axis).max(axis=1))
    return np.asarray(2.0 / (nodes[-1] - nodes[0]) * np.stack(parts, axis=1))


def least_orientation(grid: FloatArray) -> FloatArray:
    """Bound below which <x, x_u x x_v> / (|x_u| + |x_v|) does not fall, shape (cells,).

    Negative only where the image is turned over. A polynomial differs from its function by about
    its tail and by noise, and its derivative by as much times the norm of differentiation: that
    much is added, for what is no larger than its error has no sign.
    """
    cells, order = grid.shape[:2]
    matrix = differentiation(order)
    # (p, p, 3, cells): products of large matrices, and components in one piece.
    x = np.ascontiguousarray(np.moveaxis(grid, 0, 3))
    along_u = (matrix @ x.reshape(order, -1)).reshape(x.shape)
    along_v = (matrix @ x.reshape(order, order, -1)).reshape(x.shape)
    oriented = np.zeros((order, order, cells))
    for i in range(3):
        a, b, c = (i, (i + 1) % 3, (i + 2) % 3)
        oriented += x[:, :, a] * (along_u[:, :, b] * along_v[:, :, c])
        oriented -= x[:, :, a] * (along_u[:, :, c] * along_v[:, :, b])
    sizes = np.sqrt(np.einsum("ijkc,ijkc->ijc", along_u, along_u))
    sizes += np.sqrt(np.einsum("ijkc,ijkc->ijc", along_v, along_v))
    ratio = np.divide(oriented, sizes, out=np.zeros_like(sizes), where=sizes > 0.0)
    unsure = np.abs(matrix).sum(axis=1).max() * (_NOISE + tails(grid).sum(axis=1))
    return np.asarray(ratio.min(axis=(0, 1)) + unsure)
