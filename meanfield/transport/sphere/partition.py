"""A density as masses in small cells, refined where its mass has far to go inside a cell.

Cells are squares of `cells`, with great circles for sides. Their mass and barycentre are integrals
of f and x f by a product of Gauss-Legendre rules. The rules have enough nodes for the highest
degree of f across the cell. The reach of a cell is the distance to its farthest corner.

W_1 depends on the difference of two densities alone:

    W_1(f, g) = t W_1((f - g)^+ / t, (f - g)^- / t)

with the mass t of either part. What stays where it is does not have to be transported, and the
lower bound does not suffer from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray, IntArray
from meanfield.transport.sphere.cells import (
    DEPTH,
    Cells,
    face_density,
    face_points,
    integer_masses,
    key_of_square,
    sorted_cells,
)

Evaluate = Callable[[FloatArray], FloatArray]

_NEGATIVE = 1e-10  # what transforms leave where a density vanishes
_QUADRATURE = 1e-13
_COARSEST = 3
_WIDEST = 8.0  # degree times width of a cell: 12 nodes a side
_POINTS = 2**20  # at a time


def density_cells(evaluate: Evaluate, degree: int, count: int, p: int, name: str) -> Cells:
    """Cells of a density, about `count` of them unless its degree needs more.

    evaluate: density at points (n, 3). Cells with most mass x (mean square distance)^(p/2) are
    divided first.
    """
    return finished(refined(evaluate, degree, count, p, name))


class Squares(NamedTuple):
    """Cells before they are sorted: mass, barycentre, and which squares they are."""

    mass: FloatArray  # (n,)
    barycentre: FloatArray  # (n, 3)
    levels: IntArray  # (n,)
    face: IntArray
    first: IntArray
    second: IntArray

    def chosen(self, which: npt.NDArray[np.bool_]) -> Squares:
        """Some of them."""
        return Squares(
            self.mass[which],
            self.barycentre[which],
            self.levels[which],
            self.face[which],
            self.first[which],
            self.second[which],
        )

    @property
    def reach(self) -> FloatArray:
        """Largest distance from the barycentre to a corner."""
        corners = _at(*self[2:], np.array([-1.0, 1.0]))  # (n, 2, 2, 3)
        away = np.linalg.norm(corners - self.barycentre[:, None, None, :], axis=3)
        reach: FloatArray = away.max(axis=(1, 2))
        return reach

    @property
    def keys(self) -> IntArray:
        shift = DEPTH - self.levels
        return key_of_square(self.face, self.first << shift, self.second << shift)


def refined(evaluate: Evaluate, degree: int, count: int, p: int, name: str) -> Squares:
    """Squares and what they hold; see `density_cells`."""
    level = _COARSEST
    while 0.5 * np.pi / 2**level * degree > _WIDEST:
        level += 1
    side = np.arange(2**level)
    face, first, second = (
        grid.ravel() for grid in np.meshgrid(np.arange(6), side, side, indexing="ij")
    )
    levels = np.full(len(face), level)
    mass, barycentre = integrals(evaluate, degree, levels, face, first, second, name)
    while True:
        room = (count - len(mass)) // 3
        spread = mass * np.maximum(1.0 - np.linalg.norm(barycentre, axis=1), 0.0) ** (0.5 * p)
        spread[levels == DEPTH] = 0.0
        order = np.argsort(-spread, kind="stable")
        # A division lowers the largest by a factor of 2^(p + 2): none below a quarter of it yet.
        chosen = order[: int(np.count_nonzero(spread > 0.25 * spread[order[0]]))][: max(room, 0)]
        if len(chosen) == 0:
            break
        keep = np.ones(len(mass), dtype=bool)
        keep[chosen] = False
        quarters = np.repeat(chosen, 4)
        new_levels = levels[quarters] + 1
        new_face = face[quarters]
        new_first = 2 * first[quarters] + np.tile([0, 0, 1, 1], len(chosen))
        new_second = 2 * second[quarters] + np.tile([0, 1, 0, 1], len(chosen))
        new_mass, new_barycentre = integrals(
            evaluate, degree, new_levels, new_face, new_first, new_second
        )
        levels = np.concatenate((levels[keep], new_levels))
        face = np.concatenate((face[keep], new_face))
        first = np.concatenate((first[keep], new_first))
        second = np.concatenate((second[keep], new_second))
        mass = np.concatenate((mass[keep], new_mass))
        barycentre = np.concatenate((barycentre[keep], new_barycentre))
    return Squares(mass, barycentre, levels, face, first, second)


def finished(squares: Squares) -> Cells:
    """Sort the squares, and make their masses integers."""
    masses = integer_masses(squares.mass)
    return sorted_cells(masses, squares.barycentre, squares.reach, squares.keys)


def integrals(
    evaluate: Evaluate,
    degree: int,
    levels: IntArray,
    face: IntArray,
    first: IntArray,
    second: IntArray,
    name: str | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Masses and barycentres of cells; `name` is for errors on the whole sphere."""
    width = 0.5 * np.pi / 2.0 ** levels.min()
    nodes, weights = np.polynomial.legendre.leggauss(_node_count((degree + 2) * width))
    pair_weights = np.outer(weights, weights).ravel()
    mass = np.empty(len(levels))
    barycentre = np.empty((len(levels), 3))
    step = max(1, _POINTS // len(pair_weights))
    lowest, largest = 0.0, 1.0
    for start in range(0, len(levels), step):
        part = slice(start, start + step)
        cells = levels[part], face[part], first[part], second[part]
        points = np.ascontiguousarray(_at(*cells, nodes).reshape(-1, 3))
        values = evaluate(points)
        # Transforms leave a share of the largest value, wherever that is.
        lowest, largest = min(lowest, float(values.min())), max(largest, float(values.max()))
        a, b, half = _coordinates(*cells, nodes)
        density = face_density(a[:, :, None], b[:, None, :]).reshape(len(cells[0]), -1)
        masses = np.maximum(values, 0.0).reshape(density.shape) * density * pair_weights
        masses *= half[:, None] ** 2
        mass[part] = masses.sum(axis=1)
        weighted = np.einsum("cq,cqx->cx", masses, points.reshape(*masses.shape, 3))
        filled = np.where(mass[part] > 0.0, mass[part], 1.0)
        barycentre[part] = weighted / filled[:, None]
    if name is not None and lowest < -_NEGATIVE * largest:
        raise ValueError(
            f"{name} density is negative: {lowest:.3g}, allowed {-_NEGATIVE * largest:.2g}. "
            "Raise max_degree, or reduce the amplitudes."
        )
    return mass, barycentre


def _node_count(phase: float) -> int:
    """Nodes that integrate cos(phase t / 2) over [-1, 1] to rounding."""
    half = 0.5 * phase
    for count in range(2, 64):
        nodes, weights = np.polynomial.legendre.leggauss(count)
        exact = 2.0 * np.sinc(half / np.pi)
        if abs(float(weights @ np.cos(half * nodes)) - exact) < _QUADRATURE:
            return count
    raise AssertionError  # pragma: no cover


def _coordinates(
    levels: IntArray, face: IntArray, first: IntArray, second: IntArray, nodes: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    half: FloatArray = 1.0 / 2.0 ** levels.astype(np.float64)
    a = (2 * first + 1)[:, None] * half[:, None] - 1.0 + half[:, None] * nodes
    b = (2 * second + 1)[:, None] * half[:, None] - 1.0 + half[:, None] * nodes
    return a, b, half


def _at(
    levels: IntArray, face: IntArray, first: IntArray, second: IntArray, nodes: FloatArray
) -> FloatArray:
    """Points of a product of nodes in every cell, shape (n, q, q, 3)."""
    a, b, _ = _coordinates(levels, face, first, second, nodes)
    return face_points(face[:, None, None], a[:, :, None], b[:, None, :])


_MASS_NOISE = 1e-13  # mass by which evaluated densities of mass 1 are uncertain
_ONE_SIGN = 1e-9  # of |f - g|: a cell in which less has the other sign is taken to have one


class Difference(NamedTuple):
    """W_1 = mass x W_1(positive, negative), up to `error`."""

    positive: Cells
    negative: Cells
    mass: float
    error: float


def difference_cells(first: Evaluate, second: Evaluate, degree: int, count: int) -> Difference:
    """Cells of the positive and the negative part, about `count` in all.

    Where f - g changes its sign inside a cell, the cell has its net mass, spread like |f - g|: that
    moves W_1 by at most twice the integral of |f - g| there, times the distance to its direction.
    """
    squares = refined(lambda x: np.abs(first(x) - second(x)), degree, count, 1, "difference")
    net = np.subtract(
        *(
            integrals(density, degree, *squares[2:], name)[0]
            for density, name in ((first, "first"), (second, "second"))
        )
    )
    mixed = squares.mass - np.abs(net) > _ONE_SIGN * squares.mass
    # Angles are at most pi / 2 times chords, and the direction is not farther off than that allows.
    error = np.pi * float(squares.mass[mixed] @ squares.reach[mixed])
    error += np.pi * (_ONE_SIGN * float(squares.mass.sum()) + _MASS_NOISE)
    squares = squares._replace(mass=np.abs(net))
    parts = [finished(squares.chosen(sign * net > 0.0)) for sign in (1.0, -1.0)]
    mass = float(np.abs(net).sum()) / 2.0
    return Difference(parts[0], parts[1], mass, error)
