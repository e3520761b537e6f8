"""A measure as masses in small cells; a density is refined where its mass is spread most.

Each cell has its mass, its barycentre b (|b| < 1 unless it is one point) and its reach max |x - b|,
which bound the cost of moving it from both sides to second order in the reach, see `wasserstein`. A
token is a cell of reach 0.

Cells of a density are squares with great circles for sides. Products of Gauss-Legendre rules
integrate f and x f over them, with enough nodes for the highest degree of f across the cell. The
reach is the distance from b to the farthest corner.

W_1 depends on the difference of two densities alone:

    W_1(f, g) = t W_1((f - g)^+ / t, (f - g)^- / t)

with the mass t of either part. So common mass needs no plan, and does not loosen the lower bound.

Squares are nested: six faces of a cube, each divided into quarters again and again. A face is the
image of [-1, 1]^2 under (a, b) -> (1, tan(pi a / 4), tan(pi b / 4)), normalised and turned: lines
of constant a or b are great circles, and equal steps are nearly equal angles. The key of a point
interleaves the bits of its face and of its squares of side 2^-l, largest first: points sorted by
key are sorted by squares of every level at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray, IntArray

Evaluate = Callable[[FloatArray], FloatArray]

DEPTH = 28  # levels: squares of the last are 6e-9 wide
TOTAL = 2**60  # sums of two masses stay below 2^63

# Axes (normal, a, b) of every face.
_AXES = np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1]] * 2)
_SIGNS = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])

_NEGATIVE = 1e-10  # error of transforms where a density vanishes
_QUADRATURE = 1e-13
_COARSEST = 3
_WIDEST = 8.0  # degree times width of a cell: 12 nodes a side
_POINTS = 2**20  # quadrature points at a time
_MASS_NOISE = 1e-13  # error of the masses of evaluated densities of mass 1
_ONE_SIGN = 1e-9  # a cell has one sign if a smaller share of |f - g| cancels in it


def keys_of(points: FloatArray) -> IntArray:
    """Key of the smallest square around each point, shape (n,)."""
    rows = np.arange(len(points))
    axis = np.abs(points).argmax(axis=1)
    normal = points[rows, axis]
    face = axis + 3 * (normal < 0.0)
    squares = []
    for column in (1, 2):
        ratio = points[rows, _AXES[face, column]] / np.abs(normal)
        number = np.floor((np.arctan(ratio) * (4.0 / np.pi) + 1.0) * 2.0 ** (DEPTH - 1))
        squares.append(np.clip(number, 0, 2**DEPTH - 1).astype(np.int64))
    return key_of_square(face.astype(np.int64), squares[0], squares[1])


def key_of_square(face: IntArray, first: IntArray, second: IntArray) -> IntArray:
    """Interleave the bits of two numbers below 2^DEPTH, after the bits of the face."""
    return (face << 2 * DEPTH) | (_spread(first) << 1) | _spread(second)


def _spread(numbers: IntArray) -> IntArray:
    """Put a zero bit before every bit."""
    spread = numbers.astype(np.int64)
    for shift, mask in (
        (16, 0x0000FFFF0000FFFF),
        (8, 0x00FF00FF00FF00FF),
        (4, 0x0F0F0F0F0F0F0F0F),
        (2, 0x3333333333333333),
        (1, 0x5555555555555555),
    ):
        spread = (spread | (spread << shift)) & mask
    return spread


def face_points(face: IntArray, a: FloatArray, b: FloatArray) -> FloatArray:
    """Points of the faces at (a, b) in [-1, 1]^2, shape (..., 3)."""
    directions = np.empty((*np.broadcast_shapes(face.shape, a.shape, b.shape), 3))
    tangents = (np.ones(()), np.tan(0.25 * np.pi * a), np.tan(0.25 * np.pi * b))
    length = np.sqrt(1.0 + tangents[1] ** 2 + tangents[2] ** 2)
    for number in range(6):
        chosen = np.broadcast_to(face == number, directions.shape[:-1])
        for column in range(3):
            values = tangents[column] / length * (_SIGNS[number] if column == 0 else 1.0)
            directions[chosen, _AXES[number, column]] = np.broadcast_to(values, chosen.shape)[
                chosen
            ]
    return directions


def face_density(a: FloatArray, b: FloatArray) -> FloatArray:
    """Uniform probability per unit of (a, b): (pi/4)^2 (1 + s^2)(1 + t^2) / (4 pi r^3)."""
    s2 = np.tan(0.25 * np.pi * a) ** 2
    t2 = np.tan(0.25 * np.pi * b) ** 2
    density: FloatArray = np.pi / 64.0 * (1.0 + s2) * (1.0 + t2) / (1.0 + s2 + t2) ** 1.5
    return density


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


@dataclass(frozen=True, eq=False)
class Cells:
    """Masses in small sets of points, sorted by key."""

    masses: IntArray  # (n,): positive
    barycentres: FloatArray  # (n, 3)
    # (n,): largest Euclidean distance from the barycentre to a point of the set.
    reaches: FloatArray
    keys: IntArray  # (n,): increasing

    def __len__(self) -> int:
        return len(self.masses)

    @property
    def directions(self) -> FloatArray:
        """Barycentres projected to the sphere."""
        directions: FloatArray = self.barycentres / self.lengths[:, None]
        return directions

    @property
    def lengths(self) -> FloatArray:
        """Length of the barycentres; exactly 1 for single points."""
        lengths: FloatArray = np.linalg.norm(self.barycentres, axis=1)
        return np.where(self.reaches == 0.0, 1.0, np.minimum(lengths, 1.0))


def sorted_cells(
    masses: IntArray, barycentres: FloatArray, reaches: FloatArray, keys: IntArray
) -> Cells:
    """Cells sorted by key, without empty ones."""
    order = np.argsort(keys, kind="stable")
    order = order[masses[order] > 0]
    return Cells(
        masses[order],
        np.ascontiguousarray(barycentres[order]),
        reaches[order],
        keys[order],
    )


def token_cells(points: FloatArray, masses: IntArray) -> Cells:
    """Cells of one token each."""
    return sorted_cells(masses, points, np.zeros(len(points)), keys_of(points))


def integer_masses(weights: FloatArray, total: int = TOTAL) -> IntArray:
    """Weights as integers of sum `total`; each moves by rounding, or by 1 / total."""
    if len(weights) == 0:
        return np.zeros(0, dtype=np.int64)
    levels = np.cumsum(weights)
    scaled = np.rint(levels / levels[-1] * float(total)).astype(np.int64)
    scaled[-1] = total
    masses: IntArray = np.diff(np.minimum(scaled, total), prepend=0)
    return masses


def level_starts(cells: Cells, level: int) -> IntArray:
    """Indices at which a new square of this level begins, along the sorted cells."""
    prefixes = cells.keys >> 2 * (DEPTH - level)
    return np.append(0, np.flatnonzero(np.diff(prefixes)) + 1)


def grouped(cells: Cells, starts: IntArray) -> Cells:
    """Cells united into larger ones, each a run of neighbours."""
    masses = np.add.reduceat(cells.masses, starts)
    weighted = cells.masses[:, None] * cells.barycentres
    barycentres = np.add.reduceat(weighted, starts, axis=0) / masses[:, None]
    counts = np.diff(np.append(starts, len(cells)))
    single = counts == 1
    barycentres[single] = cells.barycentres[starts[single]]
    owner = np.repeat(np.arange(len(starts)), counts)
    distances = np.linalg.norm(cells.barycentres - barycentres[owner], axis=1)
    reaches = np.maximum.reduceat(distances + cells.reaches, starts)
    return Cells(masses, barycentres, reaches, cells.keys[starts])


class Squares(NamedTuple):
    """Unsorted cells: masses, barycentres, and the squares that they are."""

    mass: FloatArray  # (n,)
    barycentre: FloatArray  # (n, 3)
    levels: IntArray  # (n,)
    face: IntArray
    first: IntArray
    second: IntArray

    def chosen(self, which: npt.NDArray[np.bool_]) -> Squares:
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


def density_cells(evaluate: Evaluate, degree: int, count: int, p: int, name: str) -> Cells:
    """Cells of a density, about `count` unless its degree needs more.

    evaluate: density at points (n, 3). Cells with the largest mass x (mean square distance)^(p/2)
    are divided first.
    """
    return finished(refined(evaluate, degree, count, p, name))


def refined(evaluate: Evaluate, degree: int, count: int, p: int, name: str) -> Squares:
    """Squares of a density with their masses and barycentres, see `density_cells`."""
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
        # A division lowers the largest spread by 2^(p + 2): spreads below a quarter of it wait.
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
    """Sorted cells with integer masses."""
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
    """Masses and barycentres of squares; with a `name`, refuse negative densities."""
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
        # Errors of transforms are a share of the largest value on the sphere.
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
    """Number of nodes that integrate cos(phase t / 2) over [-1, 1] to rounding."""
    half = 0.5 * phase
    for count in range(2, 64):
        nodes, weights = np.polynomial.legendre.leggauss(count)
        exact = 2.0 * np.sinc(half / np.pi)
        if abs(float(weights @ np.cos(half * nodes)) - exact) < _QUADRATURE:
            return count
    raise AssertionError  # pragma: no cover


class Difference(NamedTuple):
    """W_1 = mass x W_1(positive, negative), up to `error`."""

    positive: Cells
    negative: Cells
    mass: float
    error: float


def difference_cells(first: Evaluate, second: Evaluate, degree: int, count: int) -> Difference:
    """Cells of the positive and the negative part, about `count` in all.

    Where f - g changes its sign inside a cell, the cell has its net mass, spread like |f - g|. This
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
    # Angles to the direction of b are at most pi / 2 times distances to b.
    error = np.pi * float(squares.mass[mixed] @ squares.reach[mixed])
    error += np.pi * (_ONE_SIGN * float(squares.mass.sum()) + _MASS_NOISE)
    squares = squares._replace(mass=np.abs(net))
    parts = [finished(squares.chosen(sign * net > 0.0)) for sign in (1.0, -1.0)]
    mass = float(np.abs(net).sum()) / 2.0
    return Difference(parts[0], parts[1], mass, error)
