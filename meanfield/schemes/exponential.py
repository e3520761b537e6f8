"""Exponential Runge-Kutta method of stiff order four with adaptive steps.

    u' = L u + N(t, u),    L diagonal and real.

The linear part is exact, however stiff; `exponential_weights` states the method. An embedded method
of order three estimates the error: it replaces N_5 by the mean of N_2 and N_3, whose errors of
order two are opposite. Modes that do not act back on the modes that drive them have
N_2 = N_3 = N_5. There only the second difference N_1 - 2 N_5 + N_4 shows the error of the integral
of N over the step.

Step sizes are powers of 2^{1/16} and change rarely, so that weights are reused. The stepper has no
memory beyond (time, state, step).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from meanfield.arrays import FloatArray, State
from meanfield.engines.steps.exponential_weights import Table, tables
from meanfield.schemes.stepper import INNER_ERROR, RightHandSide, StepTooLong

ORDER = 4
"""Order that tests measure, also on stiff problems."""

_CACHED_TABLES = 4
_RUNGS = 16.0
# Modes may grow by e^3 in a step.
_GROWTH = 3.0
_LONGEST = 1e100
_SAFETY = 0.9
_SMALLEST_FACTOR, _LARGEST_FACTOR = 0.2, 5.0
# Smallest growth of a step that pays for new weights, and largest factor of a shrinking step.
_MORE, _LESS = 2.0 ** (1 / 2), 2.0 ** (-1 / 8)
# So many halvings bring any step below rounding.
_MOST_ATTEMPTS = 100
# Squared share of |second difference|^2 / |first difference|: the error of the integral of N is a
# third of it where L is stiff, and less elsewhere.
_QUADRATURE = 1.0 / 9.0


class ExponentialStepper:
    """Adaptive exponential Runge-Kutta stepper; see `exponential`."""

    def __init__(
        self,
        nonlinear: RightHandSide,
        linear: FloatArray,
        time: float,
        state: State,
        *,
        tolerance: float,
        step: float | None = None,
        end: float = math.inf,
    ) -> None:
        # Numba takes a third of a second to load.
        from meanfield.engines.steps import exponential_kernels

        self._kernels: Any = exponential_kernels
        self._nonlinear, self._tolerance = nonlinear, tolerance
        self._table = tables(linear)
        self._kept = lru_cache(_CACHED_TABLES)(self._table)
        fastest = float(linear.max(initial=0.0))
        self._cap = _GROWTH / fastest if fastest > 0.0 else _LONGEST
        self.time = self.previous_time = float(time)
        self._end = end
        self.state = np.array(state, dtype=np.complex128 if np.iscomplexobj(state) else np.float64)
        self._before, self._first = self.state, self.state
        self._half, self._stage = np.empty_like(self.state), np.empty_like(self.state)
        self.attempts = 0
        slowest = float(np.abs(linear[linear != 0.0]).min(initial=np.inf))
        wanted = self._starting_step(1.0 / slowest) if step is None else float(step)
        self.step_size = min(wanted, self._cap)

    def step(self, largest: float = np.inf) -> bool:
        limited = largest < self.step_size
        # Limits vary from step to step; rungs let weights be reused.
        tried = rung(largest) if limited else self.step_size
        tried = min(tried, self._end - self.time)
        with np.errstate(all="ignore"):
            first = self._evaluate(self.time, self.state)
            self.attempts = 0
            while self.time + tried > self.time and self.attempts < _MOST_ATTEMPTS:
                table = self._kept(tried)
                state, error = self._attempt(self.time, self.state, first, tried, table)
                self.attempts += 1
                if error <= 1.0:
                    self.step_size = self._next(tried, error, limited)
                    self._before, self._first, self.state = self.state, first, state
                    at_end = tried == self._end - self.time
                    following = self._end if at_end else self.time + tried
                    self.previous_time, self.time = self.time, following
                    return True
                if not math.isfinite(error):
                    tried *= 0.5
                    if not np.all(np.isfinite(first)):
                        return False
                else:
                    tried = rung(tried * max(_factor(error), _SMALLEST_FACTOR))
        return False

    def interpolate(self) -> None:
        pass

    def dense_output(self, time: float) -> State:
        if time == self.time:
            return self.state
        if time == self.previous_time:
            return self._before
        length = time - self.previous_time
        with np.errstate(all="ignore"):
            # Not from the cache: weights of this length do not recur.
            table = self._table(length)
            before, first = self._before, self._first
            state, error = self._attempt(self.previous_time, before, first, length, table)
        if not error <= INNER_ERROR:
            raise StepTooLong(length)
        return state

    def _attempt(
        self, time: float, state: State, first: State, step: float, table: Table
    ) -> tuple[State, float]:
        kernels, middle = self._kernels, time + 0.5 * step
        end = min(time + step, self._end)
        half, stage, full = self._half, self._stage, np.empty_like(state)
        kernels.second_stage(half, state, first, *table)
        second = self._evaluate(middle, half)
        kernels.third_stage(stage, half, first, second, *table)
        third = self._evaluate(middle, stage)
        kernels.fourth_stage(full, stage, state, first, second, third, *table)
        fourth = self._evaluate(end, stage)
        kernels.fifth_stage(stage, half, first, second, third, fourth, *table)
        fifth = self._evaluate(middle, stage)
        error, size = kernels.finish(full, first, second, third, fourth, fifth, *table, _QUADRATURE)
        return full, error / (self._tolerance * max(1.0, size))

    def _evaluate(self, time: float, state: State) -> State:
        return np.ascontiguousarray(self._nonlinear(time, state), dtype=state.dtype)

    def _next(self, taken: float, error: float, limited: bool) -> float:
        """Step size after an accepted step: the same size where it is good enough."""
        factor = min(_factor(error), _LARGEST_FACTOR if self.attempts == 1 else 1.0)
        if limited and self.attempts == 1 and factor >= 1.0:
            return self.step_size
        if factor < 1.0:
            return rung(taken * min(factor, _LESS))
        return taken if factor < _MORE else min(rung(taken * factor), self._cap)

    def _starting_step(self, slow: float) -> float:
        """Step whose error is the tolerance if N keeps its rate of change."""
        with np.errstate(all="ignore"):
            first = self._evaluate(self.time, self.state)
            size, drive = max(1.0, _size(self.state)), _size(first)
            probe = min(self._cap, slow or 1.0, self._end - self.time)
            if 0.0 < drive < math.inf:
                probe = min(probe, 0.01 * size / drive)
            # U_2 of twice the step is the linear step.
            self._kernels.second_stage(self._half, self.state, first, *self._table(2.0 * probe))
            change = _size(self._evaluate(self.time + probe, self._half) - first) / probe
        if not change > 0.0:
            return probe
        # h^4 change rate^2 / 70 is the error of the linear equation N = rate u.
        rate = change / max(drive, change * probe)
        wanted = (70.0 * self._tolerance * size / (change * rate**2)) ** 0.25
        return rung(min(wanted, 100.0 * probe))


def rung(step: float) -> float:
    """Largest power of 2^{1/16} that is no larger than a step; 0 for steps up to 0."""
    if not step > 0.0:
        return 0.0
    return float(2.0 ** (math.floor(_RUNGS * math.log2(step)) / _RUNGS))


def _factor(error: float) -> float:
    return _SAFETY * error ** (-1.0 / ORDER) if error > 0 else math.inf


def _size(state: State) -> float:
    return float(np.abs(state).max(initial=0.0))


def exponential(
    nonlinear: RightHandSide,
    linear: FloatArray,
    time: float,
    state: State,
    *,
    tolerance: float,
    step: float | None = None,
    end: float = math.inf,
) -> ExponentialStepper:
    """Start an adaptive stepper for u' = L u + N(t, u), stiff in L.

    - nonlinear: N(time, state), an array like the state. It must be new in each call, for the
      stepper keeps five. The stepper overwrites the argument later.
    - linear (n,): diagonal of L, the rate of each coefficient, negative where it decays.
    - time: where to start, in scaled time.
    - state (n,): real or complex.
    - tolerance: largest error of a coefficient in a step, relative to max(1, largest coefficient).
    - step: first step to try; chosen from N if not given.
    - end: time beyond which N is not evaluated.

    Hochbruck, Ostermann, SIAM J. Numer. Anal. 43 (2005), 1069-1090, eq. 5.19.
    """
    if np.any(np.imag(linear)):
        raise ValueError("linear must be real rates, got complex ones: put rotations into N.")
    rates = np.array(np.real(linear), dtype=np.float64)
    if rates.shape != np.shape(state):
        raise ValueError(
            f"linear has shape {rates.shape}, expected {np.shape(state)} of the state."
        )
    if not np.all(np.isfinite(rates)):
        raise ValueError("linear must be finite rates.")
    if not 0 < tolerance < np.inf:
        raise ValueError(f"tolerance must be positive, got {tolerance}.")
    return ExponentialStepper(
        nonlinear, rates, time, state, tolerance=tolerance, step=step, end=end
    )
