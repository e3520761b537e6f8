"""States inside a step of DOP853, from its slopes K_i and those of a few stages more.

    y(t + s h) = y(t) + h sum_i w_i(s) K_i,    0 <= s <= 1

Three stages give w of degree seven, and order seven. Where its error may be above a fifth of the
tolerance, five slopes along it follow. The polynomial of degree eight that has them, and the
states and slopes of both ends, is of order eight. It differs from the first by the error of that
one. Both are sums

    y(t) + h (a_0 s + a_1 s (1 - s) + a_2 s^2 (1 - s) + a_3 s^2 (1 - s)^2 + ...)
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from meanfield.arrays import FloatArray, State

# Tolerances, root mean square: of a_6, which is 500 times the error of the first interpolant or
# more, so that this is at most 0.2; and of what the second changes, of which it leaves a part.
_LAST, _CHANGE = 100.0, 1.0
# Where the second takes slopes. Places symmetric about 1/2 would not determine it.
_PLACES = np.array([0.1, 0.25, 0.4, 0.6, 0.8])
_STEP, _ALL = 13, 16  # slopes of a step, and with Hairer's stages


def _basis(share: FloatArray) -> FloatArray:
    """Basis of polynomials at places (n,), shape (n, 8)."""
    i = np.arange(8)
    return np.asarray(share[:, None] ** ((i + 2) // 2) * (1.0 - share[:, None]) ** ((i + 1) // 2))


def _derivatives(share: FloatArray) -> FloatArray:
    """Derivatives of the basis at places within (0, 1)."""
    s, i = share[:, None], np.arange(8)
    return _basis(share) * (((i + 2) // 2) / s - ((i + 1) // 2) / (1.0 - s))


@cache
def _weights() -> FloatArray:
    """Coefficients of the first interpolant, shape (7, 16): of all slopes, in the basis.

    Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.6.
    """
    from scipy.integrate import DOP853  # only runs need it

    begin, end, whole = np.zeros((3, _ALL))
    begin[0], end[_STEP - 1], whole[: _STEP - 1] = 1.0, 1.0, DOP853.B
    return np.array([whole, begin - whole, 2.0 * whole - end - begin, *DOP853.D])


class Interpolant:
    """States inside the last step of SciPy's DOP853, which goes on as if nobody had looked."""

    def __init__(self, solver: Any) -> None:
        self._solver, step = solver, solver.h_previous
        slopes, ahead = solver.K_extended, zip(solver.A_EXTRA, solver.C_EXTRA, strict=True)
        for i, (weights, place) in enumerate(ahead, start=_STEP):
            state = solver.y_old + step * (weights[:i] @ slopes[:i])
            slopes[i] = solver.fun(solver.t_old + place * step, state)
        self._slopes, self._first = slopes, _weights()
        larger = np.maximum(np.abs(solver.y_old), np.abs(solver.y))
        self._unit = (solver.atol + solver.rtol * larger) / step
        is_small = self._size(self._first[-1] @ slopes) <= _LAST
        self._second = None if is_small else self._better()

    def __call__(self, time: float) -> State | None:
        """State at a time of the step; None where a step of its own would be better."""
        solver, step = self._solver, self._solver.h_previous
        basis = _basis(np.array([(time - solver.t_old) / step]))[0]
        slope = basis[:7] @ self._first @ self._slopes
        if self._second is not None:
            better = basis[:3] @ self._first[:3] @ self._slopes + basis[3:] @ self._second
            if not self._size(better - slope) <= _CHANGE:
                return None
            slope = better
        return np.asarray(solver.y_old + step * slope)

    def _better(self) -> FloatArray:
        """Last five coefficients of the second interpolant, shape (5, n)."""
        solver, step, wanted = self._solver, self._solver.h_previous, _derivatives(_PLACES)
        inside, ends = _basis(_PLACES)[:, :7] @ self._first, wanted[:, :3] @ self._first[:3]
        # Row by row: at a time there are few arrays as large as the state.
        rest = np.empty((len(_PLACES), len(solver.y)))
        for i, place in enumerate(_PLACES):
            state = solver.y_old + step * (inside[i] @ self._slopes)
            rest[i] = solver.fun(solver.t_old + place * step, state) - ends[i] @ self._slopes
        return np.asarray(np.linalg.inv(wanted[:, 3:]) @ rest)

    def _size(self, slope: FloatArray) -> float:
        """Root mean square of the step times a slope, in tolerances."""
        return float(np.linalg.norm(slope / self._unit) / np.sqrt(len(slope)))
