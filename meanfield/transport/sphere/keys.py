"""Nested cells of the sphere: six faces of a cube, each a square of squares.

A face is the image of [-1, 1]^2 under (a, b) -> (1, tan(pi a / 4), tan(pi b / 4)), normalised and
turned: lines of constant a or b are great circles, and equal steps are nearly equal angles. The key
of a point interleaves the bits of its face and of the squares of side 2^-l that hold it, largest
first: points sorted by key are sorted by cells of every level at once.
"""

from __future__ import annotations

import numpy as np

from meanfield.arrays import FloatArray, IntArray

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
