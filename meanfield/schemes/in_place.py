"""SciPy's DOP853 without new arrays within a step: the same sums in the same order, same bits.

SciPy makes three arrays a stage and six for the error. For 10^6 tokens new memory costs as much
as the velocities. This file imports SciPy: it is imported where it is used.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import DOP853
from scipy.integrate._ivp.rk import MAX_FACTOR, MIN_FACTOR, SAFETY

from meanfield.arrays import FloatArray


class InPlaceDOP853(DOP853):  # type: ignore[misc]
    """DOP853 of SciPy with work arrays of its own, two of the size of the state."""

    t: float
    y: FloatArray
    h_abs: float

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._work, self._scale = np.empty_like(self.y), np.empty_like(self.y)

    def _step_impl(self) -> tuple[bool, str | None]:
        """As SciPy's, of which only the arithmetic on arrays is written anew."""
        t, y, direction = self.t, self.y, self.direction
        least = 10 * np.abs(np.nextafter(t, direction * np.inf) - t)
        h_abs = min(max(self.h_abs, least), self.max_step)
        rejected = False
        while True:
            if h_abs < least:
                return False, self.TOO_SMALL_STEP
            t_new = t + h_abs * direction
            if direction * (t_new - self.t_bound) > 0:
                t_new = self.t_bound
            h = t_new - t
            h_abs = np.abs(h)
            y_new, f_new = self._stages(t, y, h)
            error = self._error(h, y, y_new)
            if error < 1:
                factor = MAX_FACTOR
                if error != 0:
                    factor = min(MAX_FACTOR, SAFETY * error**self.error_exponent)
                self.h_abs = h_abs * (min(1, factor) if rejected else factor)
                break
            h_abs *= max(MIN_FACTOR, SAFETY * error**self.error_exponent)
            rejected = True
        self.h_previous, self.y_old = h, y
        self.t, self.y, self.f = t_new, y_new, f_new
        return True, None

    def _stages(self, t: float, y: FloatArray, h: float) -> tuple[FloatArray, FloatArray]:
        """State and derivative at the end of a step of length h."""
        k, place = self.K, self._work
        k[0] = self.f
        for s in range(1, self.n_stages):
            np.dot(k[:s].T, self.A[s, :s], out=place)
            place *= h
            place += y
            k[s] = self.fun(t + self.C[s] * h, place)
        y_new = np.dot(k[:-1].T, self.B)
        y_new *= h
        y_new += y
        f_new = self.fun(t + h, y_new)
        k[-1] = f_new
        return y_new, f_new

    def _error(self, h: float, y: FloatArray, y_new: FloatArray) -> float:
        error, scale = self._work, self._scale
        np.abs(y, out=scale)
        np.maximum(scale, np.abs(y_new, out=error), out=scale)
        scale *= self.rtol
        scale += self.atol
        squares = []
        for weights in (self.E5, self.E3):
            np.dot(self.K.T, weights, out=error)
            error /= scale
            squares.append(np.linalg.norm(error) ** 2)
        fifth, third = squares
        if fifth == 0 and third == 0:
            return 0.0
        return float(np.abs(h) * fifth / np.sqrt((fifth + 0.01 * third) * len(scale)))
