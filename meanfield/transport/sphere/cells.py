"""A measure as masses in small sets of points, sorted along a path over the sphere.

Of each set its mass, its barycentre b (in the ball: |b| < 1 unless it is one point) and its
reach max |x - b| are known. With these the cost of moving it is bounded from both sides to second
order in the reach, see `levels`; a token is a set of reach 0.

Cells are nested: six faces of a cube, each a square of squares. A face is the image of [-1, 1]^2
under (a, b) -> (1, tan(pi a / 4), tan(pi b / 4)), normalised and turned: lines of constant a or b
are great circles, and equal steps are nearly equal angles. The key of a point interleaves the bits
of its face and of the squares of side 2^-l that hold it, largest first: points sorted by key are
sorted by cells of every level at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray, IntArray

TOTAL = 2**60  # sums of two masses stay below 2^63


@dataclass(frozen=True, eq=False)
class Cells:
    """Masses in small sets."""

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
    """Cells sorted by key, without those that are empty."""
    order = np.argsort(keys, kind="stable")
    order = order[masses[order] > 0]
    return Cells(
        masses[order],
        np.ascontiguousarray(barycentres[order]),
        reaches[order],
        keys[order],
    )


def token_cells(points: FloatArray, masses: IntArray) -> Cells:
    """Every token a cell of its own."""
    return sorted_cells(masses, points, np.zeros(len(points)), keys_of(points))


def integer_masses(weights: FloatArray, total: int = TOTAL) -> IntArray:
    """Weights as integers with this sum; each moves by one unit of rounding, or 1 / total."""
    if len(weights) == 0:
        return np.zeros(0, dtype=np.int64)
    levels = np.cumsum(weights)
    scaled = np.rint(levels / levels[-1] * float(total)).astype(np.int64)
    scaled[-1] = total
    masses: IntArray = np.diff(np.minimum(scaled, total), prepend=0)
    return masses


def level_starts(cells: Cells, level: int) -> IntArray:
    """Where a new cell of this level begins, along the sorted sets."""
    prefixes = cells.keys >> 2 * (DEPTH - level)
    return np.append(0, np.flatnonzero(np.diff(prefixes)) + 1)


def grouped(cells: Cells, starts: IntArray) -> Cells:
    """Sets united into larger ones, each a run of neighbours."""
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


DEPTH = 28  # levels: cells of the last are 6e-9 wide

# Axes (normal, a, b) of every face.
_AXES = np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1]] * 2)
_SIGNS = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])


def keys_of(points: FloatArray) -> IntArray:
    """Key of the smallest cell that holds each point, shape (n,)."""
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
