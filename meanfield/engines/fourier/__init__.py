"""Moments of scattered tokens on the circle, and real series at scattered angles.

    c_k = sum_j w_j e^{-ik theta_j},     g(theta) = Re[g_0 + 2 sum_{k=1}^K g_k e^{ik theta}]

Two methods serve any input, and the faster one is used. `recurrence` costs n K without setup,
`cells` costs n plus transforms of a length proportional to K. Results are equal to the bit for any
number of threads.
"""

from __future__ import annotations

import operator
from types import ModuleType

import numpy as np

from meanfield.arrays import ComplexArray, FloatArray
from meanfield.engines.fourier import cells, recurrence

__all__ = ["evaluate", "gradient", "moments"]

# Tokens from which cells are faster. The setup of cells and a token's recurrence both grow with K,
# so these numbers hardly depend on K (tests/benchmarks/circle_velocity.py).
_MOMENTS_BY_CELLS = 7_000
_VALUES_BY_CELLS = 4_000
# More cells for each token would take more memory than the tokens, and more time.
_MOST_CELLS_PER_TOKEN = 16


def moments(points: FloatArray, weights: FloatArray | None, max_degree: int) -> ComplexArray:
    """Moments of weighted tokens, within 1e-13 for masses with sum 1.

        c_k = sum_j w_j e^{-ik theta_j},    k = 0 ... max_degree

    points (n,): angles in radians; weights (n,): masses; None means 1/n each.
    """
    angles = checked_angles(points)
    degree = operator.index(max_degree)
    if degree < 0:
        raise ValueError(f"max_degree must be at least 0, got {degree}.")
    masses = checked_masses(weights, angles)
    method = _method(angles, degree, _MOMENTS_BY_CELLS)
    result: ComplexArray
    result, reduced = method.moments(angles, masses, degree)
    if not reduced:
        result, _ = method.moments(_reduced(angles), masses, degree)
    return result


def evaluate(
    coefficients: ComplexArray, points: FloatArray, divisor: ComplexArray | None = None
) -> FloatArray:
    """Values of a real field at angles, divided by another field if given, within 1e-13 sum |g_k|.

        g(theta) = Re[g_0 + 2 sum_{k=1}^K g_k e^{ik theta}]     or    g(theta) / h(theta)

    coefficients (K + 1,): g_k, complex or real; divisor: h_k, of any length.
    """
    series = [_coefficients(coefficients, "coefficients")]
    if divisor is not None:
        series.append(_coefficients(divisor, "divisor"))
    return _values(series, points)


def gradient(
    coefficients: ComplexArray, points: FloatArray, divisor: ComplexArray | None = None
) -> FloatArray:
    """Gradient of a real field at angles, divided by another field if given.

    g'(theta) = 2 Re sum_{k=1}^K ik g_k e^{ik theta}     or    g'(theta) / h(theta)
    """
    field = _coefficients(coefficients, "coefficients")
    series = [1j * np.arange(len(field)) * field]
    if divisor is not None:
        series.append(_coefficients(divisor, "divisor"))
    return _values(series, points)


def takes_one_pass(count: int, max_degree: int, series: int) -> bool:
    """True if moments of `count` angles, and values of `series` fields, take one chunk each."""
    few = count < min(_MOMENTS_BY_CELLS, _VALUES_BY_CELLS)
    return few and recurrence.chunk_count(count, series * max_degree) == 1


def _values(series: list[ComplexArray], points: FloatArray) -> FloatArray:
    angles = checked_angles(points)
    degree = max(len(coefficients) for coefficients in series) - 1
    method = _method(angles, degree, _VALUES_BY_CELLS)
    result: FloatArray
    result, reduced = method.evaluate(series, angles)
    if not reduced:
        result, _ = method.evaluate(series, _reduced(angles))
    return result


def _method(angles: FloatArray, degree: int, crossover: int) -> ModuleType:
    few_cells = cells.cell_count(degree) <= _MOST_CELLS_PER_TOKEN * angles.size
    return cells if angles.size >= crossover and few_cells else recurrence


def checked_angles(points: FloatArray) -> FloatArray:
    """Angles (n,), n > 0, contiguous; ValueError for any other shape."""
    angles = np.ascontiguousarray(points, dtype=np.float64)
    if angles.ndim != 1 or angles.size == 0:
        raise ValueError(f"points have shape {angles.shape}, expected angles of shape (n,), n > 0.")
    return angles


def checked_masses(weights: FloatArray | None, angles: FloatArray) -> FloatArray | None:
    """Masses (n,) of angles (n,), contiguous; ValueError for any other shape."""
    if weights is None:
        return None
    masses = np.ascontiguousarray(weights, dtype=np.float64)
    if masses.shape != angles.shape:
        raise ValueError(f"weights have shape {masses.shape}, points {angles.shape}: not the same.")
    return masses


def _reduced(angles: FloatArray) -> FloatArray:
    """Angles modulo 2 pi, for kernels that refuse large angles; NaN and infinity give NaN."""
    with np.errstate(invalid="ignore"):
        return np.arctan2(np.sin(angles), np.cos(angles))


def _coefficients(values: ComplexArray, name: str) -> ComplexArray:
    coefficients = np.ascontiguousarray(values, dtype=np.complex128)
    if coefficients.ndim != 1 or coefficients.size == 0:
        raise ValueError(f"{name} have shape {coefficients.shape}, expected (max_degree + 1,).")
    return coefficients
