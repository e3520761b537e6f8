"""Moments of scattered tokens on the sphere, and fields and gradients at scattered points.

    m_lm = sum_j w_j conj(Y_lm(x_j)),     g(x) = sum_l g_l0 Y_l0(x) + 2 Re sum_{m>0} g_lm Y_lm(x)

Two methods serve any number of points, and the faster one is used. `solid` costs n L^2 with almost
no setup, `transforms` n plus plans and grids. Results are equal to the bit for any number of
threads.
"""

from __future__ import annotations

import operator

import numpy as np

from meanfield.arrays import ComplexArray, FloatArray
from meanfield.engines.harmonics import solid, transforms
from meanfield.engines.harmonics.coefficients import degree_of


def moments(points: FloatArray, weights: FloatArray | None, max_degree: int) -> ComplexArray:
    """Moments of weighted tokens, within 1e-13 for masses with sum 1.

        m_lm = sum_j w_j conj(Y_lm(x_j)),    0 <= m <= l <= max_degree

    points (n, 3): vectors of lengths 1e-100 to 1e100; with any other all moments are NaN. weights
    (n,): masses; None means 1/n each.
    """
    vectors = checked_vectors(points)
    degree = operator.index(max_degree)
    if degree < 0:
        raise ValueError(f"max_degree must be at least 0, got {degree}.")
    masses = checked_masses(weights, vectors)
    method = solid if solid.is_faster(len(vectors), degree, False) else transforms
    result: ComplexArray = method.moments(vectors, masses, degree)
    return result


def evaluate(coefficients: ComplexArray, points: FloatArray) -> FloatArray:
    """Values of a real field g_lm at points (n, 3); NaN at vectors without a direction."""
    vectors = checked_vectors(points)
    field = _coefficients(coefficients)
    method = solid if solid.is_faster(len(vectors), degree_of(field), False) else transforms
    result: FloatArray = method.evaluate(field, vectors)
    return result


def evaluate_several(coefficients: ComplexArray, points: FloatArray) -> FloatArray:
    """Values (k, n) at points (n, 3) of k fields, coefficients (k, count); see `evaluate`."""
    vectors = checked_vectors(points)
    fields = np.ascontiguousarray(coefficients, dtype=np.complex128)
    if solid.is_faster(len(vectors), degree_of(fields), False):
        return np.array([solid.evaluate(field, vectors) for field in fields])
    return transforms.evaluate_several(fields, vectors)


def gradient(
    coefficients: ComplexArray,
    points: FloatArray,
    divisor: ComplexArray | None = None,
    slope: float | None = None,
) -> FloatArray:
    """Gradient (n, 3) of a real field at points, divided by another field h_lm if given.

    slope: the number c in h_lm = c g_lm, l > 0, if known; it saves the sum for h.
    """
    vectors = checked_vectors(points)
    field = _coefficients(coefficients)
    below = None if divisor is None else _coefficients(divisor)
    degree = max(degree_of(field), 0 if below is None else degree_of(below))
    if solid.is_faster(len(vectors), degree, True):
        return solid.gradient(field, vectors, below, slope)
    return transforms.gradient(field, vectors, below)


def checked_vectors(points: FloatArray) -> FloatArray:
    """Vectors (n, 3), n > 0, contiguous; ValueError for any other shape."""
    vectors = np.ascontiguousarray(points, dtype=np.float64)
    if vectors.ndim != 2 or vectors.shape[1] != 3 or len(vectors) == 0:
        raise ValueError(
            f"points have shape {vectors.shape}, expected vectors of shape (n, 3), n > 0."
        )
    return vectors


def checked_masses(weights: FloatArray | None, vectors: FloatArray) -> FloatArray | None:
    """Masses (n,) of vectors (n, 3), contiguous; ValueError for any other shape."""
    if weights is None:
        return None
    masses, count = np.ascontiguousarray(weights, dtype=np.float64), len(vectors)
    if masses.shape != (count,):
        raise ValueError(
            f"weights have shape {masses.shape}, points {vectors.shape}: expected ({count},)."
        )
    return masses


def _coefficients(values: ComplexArray) -> ComplexArray:
    coefficients = np.ascontiguousarray(values, dtype=np.complex128)
    if np.ndim(values) != 1:
        raise ValueError(
            f"coefficients have shape {np.shape(values)}, expected ((L + 1)(L + 2) / 2,)."
        )
    return coefficients
