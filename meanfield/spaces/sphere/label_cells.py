"""Labels on the sphere: rectangles of a cubed sphere with p x p Gauss-Legendre nodes each.

A rectangle splits along u or along v, since the flow stretches along one direction while it
contracts along the other. Rectangles are independent: polynomials need not match at their edges.
Values (cells, p, p, k) at the nodes give the polynomials

    g(u, v) = sum_ij c_ij P_i(u) P_j(v),    i, j < p,    u, v in [-1, 1] on every cell

The cubed sphere is equiangular: six faces, each a square of two angles.

    x = (c + a tan u + b tan v) / r,    r^2 = 1 + tan^2 u + tan^2 v,    |u|, |v| <= pi/4
    dsigma = du dv / (4 pi cos^2 u cos^2 v r^3)

a, b and the face's middle c are coordinate axes with a x b = c. Sides of a rectangle are shares of
pi/4, from -1 to 1 on a face, so that halves of halves are exact numbers. The map and its Jacobian
are analytic beyond the edges, up to u = pi/2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray
from meanfield.bases.legendre import (
    Carry,
    differentiation,
    gauss_legendre,
    halving,
    joining,
    to_coefficients,
)
from meanfield.engines.threads import one_blas_thread

ORDER = 10
# Width of the widest cell, as a share of pi/4: half a face.
_LARGEST = 1.0

Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SphereCells:
    """Rectangles of label space on the sphere; nodes go cell by cell, v fastest."""

    bounds: FloatArray  # (cells, 5): face 0 to 5 and the sides u_0, u_1, v_0, v_1 as shares of pi/4
    order: int = field(default=ORDER, init=False)  # p, nodes along each direction

    @property
    def per_cell(self) -> int:
        return self.order**2

    @property
    def points(self) -> FloatArray:
        return self._quadrature[0]

    @property
    def weights(self) -> FloatArray:
        return self._quadrature[1]

    @cached_property
    def _quadrature(self) -> tuple[FloatArray, FloatArray]:
        return quadrature(self.bounds, self.order)

    def tails(self, values: FloatArray) -> FloatArray:
        return by_blocks(cell_tails, self._grid(values))

    def lengths(self, points: FloatArray) -> FloatArray:
        return by_blocks(cell_lengths, self._grid(points))

    def fold(self, points: FloatArray, slack: FloatArray | None = None) -> int | None:
        orientation = by_blocks(least_orientation, self._grid(points))
        if slack is not None:
            orientation = orientation + slack
        worst = int(orientation.argmin())
        return worst if orientation[worst] < 0.0 else None

    def split(self, which: Mask) -> tuple[SphereCells, Carry]:
        halves, first = self._split_along(0, which[:, 0])
        again = np.repeat(which[:, 1], 1 + which[:, 0])
        quarters, second = halves._split_along(1, again)
        return quarters, lambda values: second(first(values))

    def join(self, which: Mask) -> tuple[SphereCells, Carry] | None:
        free, bounds, pairs = which.copy(), self.bounds.copy(), []
        for direction in (0, 1):
            first, second = self._halves(direction, free)
            free[first] = free[second] = False
            bounds[first, 2 + 2 * direction] = self.bounds[second, 2 + 2 * direction]
            pairs.append((first, second))
        single = np.ones(len(bounds), dtype=np.bool_)
        single[np.concatenate([second for _, second in pairs])] = False
        if single.all():
            return None
        matrix = joining(self.order)

        def carry(values: FloatArray) -> FloatArray:
            grid = self._grid(values)
            carried = grid.copy()
            for axis, (first, second) in enumerate(pairs, start=1):
                both = np.concatenate([grid[first], grid[second]], axis=axis)
                carried[first] = along(axis, matrix, both)
            return carried[single].reshape(-1, values.shape[1])

        return SphereCells(bounds[single]), carry

    def _split_along(self, direction: int, which: Mask) -> tuple[SphereCells, Carry]:
        parent = np.repeat(np.arange(len(which)), 1 + which)
        lower = (np.cumsum(1 + which) - 1 - which)[which]
        bounds = self.bounds[parent]
        middle = self.bounds[which, 1 + 2 * direction : 3 + 2 * direction].mean(axis=1)
        bounds[lower, 2 + 2 * direction] = middle
        bounds[lower + 1, 1 + 2 * direction] = middle
        matrix, p = halving(self.order), self.order

        def carry(values: FloatArray) -> FloatArray:
            grid = self._grid(values)
            carried = grid[parent]
            both = along(1 + direction, matrix, grid[which])
            halves = (slice(None),) * (1 + direction)
            carried[lower] = both[(*halves, slice(None, p))]
            carried[lower + 1] = both[(*halves, slice(p, None))]
            return carried.reshape(-1, values.shape[1])

        return SphereCells(bounds), carry

    def _halves(self, direction: int, which: Mask) -> tuple[Places, Places]:
        """Lower and upper halves of the same rectangles, along one direction.

        Joining other neighbours would give rectangles that no later join can complete.
        """
        cells = np.flatnonzero(which)
        face = self.bounds[cells, 0]
        lower, upper = self.bounds[cells, 1 + 2 * direction : 3 + 2 * direction].T
        left, right = self.bounds[cells, 3 - 2 * direction : 5 - 2 * direction].T
        sequence = np.lexsort((lower, right, left, face))
        one, other = sequence[:-1], sequence[1:]
        width = (upper - lower)[one]
        fits = (width <= 0.5 * _LARGEST) & ((upper - lower)[other] == width)
        for side in (face, left, right):
            fits &= side[one] == side[other]
        fits &= (upper[one] == lower[other]) & (np.mod(lower[one] + 1.0, 2.0 * width) == 0.0)
        return cells[one[fits]], cells[other[fits]]

    def _grid(self, values: FloatArray) -> FloatArray:
        return values.reshape(len(self.bounds), self.order, self.order, -1)


def tiling(length: float) -> SphereCells:
    """Equal rectangles with sides of at most `length` radians, and of half a face."""
    if not length > 0:
        raise ValueError(f"length of label cells must be positive, got {length:g}.")
    # Powers of two: sides are exact, and `_halves` recognises halves.
    parts = max(np.pi / 2.0 / length * (1.0 - 1e-12), 2.0 / _LARGEST)
    return SphereCells(uniform_bounds(1 << math.ceil(math.log2(parts))))


def cells_of(bounds: FloatArray) -> SphereCells:
    """Cells of checked bounds."""
    return SphereCells(checked_bounds(bounds))


# Cells of a block, whose work arrays stay in the cache.
_BLOCK = 128
# Noise of transforms and steps between neighbouring positions.
_NOISE = 1e-13


def by_blocks(function: Callable[[FloatArray], FloatArray], grid: FloatArray) -> FloatArray:
    """Results of a function of cells, computed block by block."""
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
    """Matrix (4 p, p^2) from a cell's values to its last coefficients along u and along v."""
    matrix = to_coefficients(order)
    last = matrix[-2:]
    both = np.einsum("ai,bj->abij", last, matrix), np.einsum("ai,bj->abij", matrix, last)
    return np.concatenate([part.reshape(2 * order, order**2) for part in both])


def cell_tails(grid: FloatArray) -> FloatArray:
    """Largest |c_ij| with i >= p - 2, and with j >= p - 2, shape (cells, 2)."""
    cells, order = grid.shape[:2]
    # One product of large matrices: (4 p, p^2) times (p^2, cells * k).
    nodal = grid.reshape(cells, order**2, -1).swapaxes(0, 1).reshape(order**2, -1)
    values = np.abs(_last_coefficients(order) @ nodal).reshape(2, 2 * order, cells, -1)
    return np.asarray(values.max(axis=(1, 3)).T)


def cell_lengths(grid: FloatArray) -> FloatArray:
    """Length of the longest row of nodes along u and along v, shape (cells, 2).

    Sums of chords between neighbouring nodes, extended to the sides of the cell.
    """
    nodes, _ = gauss_legendre(grid.shape[1])
    parts = []
    for axis in (1, 2):
        steps = np.diff(grid, axis=axis)
        chords = np.sqrt(np.einsum("cijk,cijk->cij", steps, steps))
        parts.append(chords.sum(axis=axis).max(axis=1))
    return np.asarray(2.0 / (nodes[-1] - nodes[0]) * np.stack(parts, axis=1))


def least_orientation(grid: FloatArray) -> FloatArray:
    """Least <x, x_u x x_v> / (|x_u| + |x_v|) of each cell plus its error, shape (cells,).

    Negative only where the image has reversed its orientation. The error of a polynomial is about
    its tail plus noise, and that of its derivative is larger by the norm of differentiation.
    """
    cells, order = grid.shape[:2]
    matrix = differentiation(order)
    # (p, p, 3, cells): products of large matrices, with contiguous components.
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
    unsure = np.abs(matrix).sum(axis=1).max() * (_NOISE + cell_tails(grid).sum(axis=1))
    return np.asarray(ratio.min(axis=(0, 1)) + unsure)


_EIGHTH = np.pi / 4.0
_AXES = np.eye(3)
# (face, [a, b, c], component): middles x, y, z, -x, -y, -z. Swapped axes a, b reverse the middle.
_FRAMES = np.array(
    [[_AXES[(i + 1) % 3], _AXES[(i + 2) % 3], _AXES[i]] for i in range(3)]
    + [[_AXES[(i + 2) % 3], _AXES[(i + 1) % 3], -_AXES[i]] for i in range(3)]
)


def uniform_bounds(parts: int) -> FloatArray:
    """Rectangles (6 parts^2, 5): every face cut into `parts` along u and along v."""
    edges = np.linspace(-1.0, 1.0, parts + 1)
    face, i, j = np.meshgrid(np.arange(6), *2 * [np.arange(parts)], indexing="ij")
    sides = (face, edges[i], edges[i + 1], edges[j], edges[j + 1])
    return np.stack([side.ravel() for side in sides], axis=1).astype(np.float64)


def checked_bounds(bounds: FloatArray) -> FloatArray:
    """Rectangles (cells, 5) of face, u_0, u_1, v_0, v_1; ValueError if these cannot tile faces."""
    cells = np.ascontiguousarray(bounds, dtype=np.float64)
    if cells.ndim != 2 or cells.shape[1] != 5 or len(cells) == 0:
        raise ValueError(
            f"bounds have shape {cells.shape}, expected (cells, 5): face, u0, u1, v0, v1."
        )
    face, sides = cells[:, 0], cells[:, 1:].reshape(-1, 2, 2)
    fine = np.isin(face, np.arange(6.0)) & np.all(np.abs(sides) <= 1.0, axis=(1, 2))
    fine &= np.all(sides[:, :, 0] < sides[:, :, 1], axis=1)
    if not fine.all():
        first = int(np.argmin(fine))
        raise ValueError(
            f"cell {first} is {cells[first].tolist()}, expected a face 0 to 5 and sides "
            "-1 <= u0 < u1 <= 1, -1 <= v0 < v1 <= 1."
        )
    covered = np.bincount(face.astype(int), np.prod(np.diff(sides)[:, :, 0], axis=1), 6)
    if np.any(np.abs(covered - 4.0) > 1e-9):
        raise ValueError(
            f"cells cover {np.array2string(covered / 4.0, precision=6)} of the six faces, "
            "expected each once."
        )
    return cells


def quadrature(bounds: FloatArray, order: int) -> tuple[FloatArray, FloatArray]:
    """Nodes (n, 3) and weights (n,) for sigma, order x order on each rectangle.

    Exact to rounding for smooth functions on rectangles of at most half a face along each side.
    """
    nodes, means = gauss_legendre(order)
    tangents, slopes = [], []
    for lower, upper in (bounds[:, 1:3].T, bounds[:, 3:5].T):
        angles = 0.5 * _EIGHTH * ((lower + upper)[:, None] + (upper - lower)[:, None] * nodes)
        t = np.tan(angles)  # (cells, order)
        tangents.append(t)
        slopes.append(_EIGHTH * (upper - lower)[:, None] * means * (1.0 + t * t))
    s, t = tangents[0][:, :, None, None], tangents[1][:, None, :, None]
    a, b, c = np.moveaxis(_FRAMES[bounds[:, 0].astype(int)], 1, 0)[:, :, None, None, :]
    inverse = 1.0 / np.sqrt(1.0 + s * s + t * t)
    points = ((c + s * a) + t * b) * inverse  # (cells, order, order, 3)
    weights = slopes[0][:, :, None] * slopes[1][:, None, :] * inverse[..., 0] ** 3 / (4.0 * np.pi)
    return points.reshape(-1, 3), weights.ravel()
