"""Points of a curve F(x, p) = 0 by Newton's method on the bordered system; no physics here.

F has n components, x has n, p is a number. The system is bordered by one row r,

    F(y) = 0,    <r, y - y_0> = 0,    y = (x, p),

which is regular wherever the curve crosses that plane, at folds too, where dF/dx is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray

# Quadratic convergence from a prediction needs three to five; the continuation halves its step
# if these do not do.
_NEWTON_STEPS = 10
# A Newton step of this size is followed by one of its square; below _STALLED steps that do not
# shrink any more are rounding.
_CONVERGED = 1e-11
_STALLED = 1e-7
# Newton's method that moves the parameter farther from its prediction goes to another curve, if
# anywhere: parameters are logarithms, of which functions of any growth are taken.
FARTHEST = 0.3


class ContinuationError(RuntimeError):
    """The curve could not be followed to its end, from a place on: reason, where, parameter p."""

    def __init__(self, reason: str, parameter: float | None = None, where: str = "") -> None:
        place = where if parameter is None or where else f"p = {parameter:g}"
        super().__init__(f"{reason} {place}".rstrip())
        self.reason, self.parameter = reason, parameter


@dataclass(frozen=True)
class System:
    """The equations F(x, p) = 0: F (n,), dF/dx (n, n), dF/dp (n,); the last need not be exact."""

    residual: Callable[[FloatArray, float], FloatArray]
    jacobian: Callable[[FloatArray, float], FloatArray]
    slope: Callable[[FloatArray, float], FloatArray]


@dataclass(frozen=True, eq=False)
class CurvePoint:
    """A point of the curve."""

    state: FloatArray  # (n,): x
    parameter: float  # p
    tangent: FloatArray  # (n + 1,): unit vector (dx/ds, dp/ds)
    # Determinant of dF with the tangent as last row: its sign, the logarithm of its modulus.
    determinant: tuple[float, float]


def first_point(system: System, state: FloatArray, parameter: float, row: FloatArray) -> CurvePoint:
    """Point of the curve near a guess, on its plane <row, (x, p)>, with <row, tangent> > 0."""
    row = row / np.linalg.norm(row)
    point, converged = corrected(system, np.append(state, parameter), row)
    if not converged:
        raise ContinuationError("no point of the curve near the guess at", parameter)
    return point_at(system, point, row)


def vector(point: CurvePoint) -> FloatArray:
    """The point (x, p) as one vector, shape (n + 1,)."""
    return np.append(point.state, point.parameter)


def corrected(system: System, guess: FloatArray, row: FloatArray) -> tuple[FloatArray, bool]:
    """Newton's method in the plane of the guess across `row`, and whether it converged."""
    from scipy.linalg.lapack import dgetrf, dgetrs

    point, level, last = guess, float(row @ guess), math.inf
    for _ in range(_NEWTON_STEPS):
        residual = system.residual(point[:-1], point[-1])
        factors, pivots, singular = dgetrf(_bordered(system, point, row))
        if singular or not np.all(np.isfinite(residual)):
            return point, False
        change = -dgetrs(factors, pivots, np.append(residual, row @ point - level))[0]
        point = point + change
        size = float(np.linalg.norm(change) / (1.0 + np.linalg.norm(point)))
        if size <= _CONVERGED or (size <= _STALLED and size > 0.5 * last):
            return point, True
        if not abs(point[-1] - guess[-1]) <= FARTHEST:
            return point, False
        last = size
    return point, False


def point_at(system: System, vector: FloatArray, row: FloatArray) -> CurvePoint:
    """The point with its tangent, which is oriented along `row`."""
    from scipy.linalg.lapack import dgetrf, dgetrs

    factors, pivots, singular = dgetrf(_bordered(system, vector, row))
    if singular:
        return CurvePoint(vector[:-1], float(vector[-1]), row, (0.0, -math.inf))
    tangent = dgetrs(factors, pivots, np.eye(1, len(vector), len(vector) - 1)[0])[0]
    length = float(np.linalg.norm(tangent))
    diagonal = np.diagonal(factors)
    swaps = np.count_nonzero(pivots != np.arange(len(vector)))
    sign = float(np.prod(np.sign(diagonal)) * (-1.0) ** swaps)
    # The tangent is <row, tangent> = 1 / length of the way: Laplace expansion of the last row.
    logarithm = float(np.sum(np.log(np.abs(diagonal)))) + math.log(length)
    return CurvePoint(vector[:-1], float(vector[-1]), tangent / length, (sign, logarithm))


def _bordered(system: System, vector: FloatArray, row: FloatArray) -> FloatArray:
    """The matrix (dF/dx, dF/dp; row)."""
    state, parameter = vector[:-1], float(vector[-1])
    slope = system.slope(state, parameter)
    return np.vstack([np.column_stack([system.jacobian(state, parameter), slope]), row])
