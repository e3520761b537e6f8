"""Mass and mean vector: the moments of tokens where densities have no series.

Coefficients (1, int x dmu) are complex, shape (d + 1,): degrees 0 and 1. They give the order
parameter of tokens, and determine no density.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from meanfield.arrays import ComplexArray, FloatArray, ModalArray

LARGEST_DEGREE = 1

MODAL_AXES = ("component",)


def check_coefficients(coefficients: Any) -> ComplexArray:
    """Refuse densities."""
    raise ValueError(
        f"coefficients of shape {np.shape(coefficients)}: densities on S^(d-1), d > 3, have an "
        "axis, and live on mf.Axial(d); R^d carries tokens alone, mf.from_points."
    )


def degree_of(coefficients: ModalArray) -> int:
    """Degree 1, or 0 for the mass alone."""
    return min(len(coefficients) - 1, 1)


def resize(coefficients: ModalArray, max_degree: int) -> ModalArray:
    """Coefficients, or the mass alone for max_degree = 0."""
    return coefficients if max_degree else coefficients[:1]


def convolve(multipliers: FloatArray, coefficients: ModalArray) -> ModalArray:
    """Mass and mean vector, each times the multiplier of its degree."""
    if len(multipliers) == 1:
        return np.asarray(multipliers * coefficients[:1])
    return np.asarray(np.where(np.arange(len(coefficients)), *multipliers[1::-1]) * coefficients)


def inner(first: ModalArray, second: ModalArray) -> float:
    """Product of the masses plus inner product of the mean vectors."""
    n = min(len(first), len(second))
    return float(np.real(np.vdot(first[:n], second[:n])))


def sizes_by_degree(coefficients: ModalArray) -> FloatArray:
    """Mass and length of the mean vector."""
    rest = [np.linalg.norm(coefficients[1:])] if len(coefficients) > 1 else []
    return np.array([np.abs(coefficients[0]), *rest])


def largest_sizes(max_degree: int) -> FloatArray:
    """Sizes 1 and 1 of one token on a sphere."""
    return np.ones(min(max_degree, LARGEST_DEGREE) + 1)


def unpacked(coefficients: ModalArray) -> FloatArray:
    """Real mass and mean vector, shape (d + 1,)."""
    return np.asarray(np.real(coefficients))


def packed(array: FloatArray) -> ModalArray:
    """Inverse of `unpacked`."""
    return np.asarray(array, dtype=np.complex128)


def from_modes(modes: Sequence[Sequence[float]]) -> ComplexArray:
    """Refuse densities."""
    raise ValueError(
        "densities on S^(d-1), d > 3, have an axis, and live on Axial(d), axial:D in run files; "
        "R^d has none. Start from tokens: normal_tokens, or points that you give."
    )


def order_parameter(moments: ModalArray) -> float:
    """Length of the mean vector."""
    return float(np.linalg.norm(moments[1:]))


def moments(points: FloatArray, weights: FloatArray | None, max_degree: int) -> ComplexArray:
    """Mass and mean of points (n, d), or the mass alone for max_degree = 0."""
    mean = points.mean(axis=0) if weights is None else weights @ points
    return np.concatenate([[1.0], mean[: len(mean) * min(max_degree, 1)]]).astype(np.complex128)
