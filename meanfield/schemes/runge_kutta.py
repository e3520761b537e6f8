"""Explicit Runge-Kutta with SciPy's adaptive stepper classes.

Complex states become pairs of real numbers, which halves the work of SciPy's complex products with
real coefficients. The stepper has no end, so saving and stopping never change its steps. Its memory
is (time, state, step), so a resumed run is equal to the bit.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from meanfield.arrays import FloatArray, State
from meanfield.schemes.stepper import INNER_ERROR, RightHandSide, Start, StepTooLong

INTEGRATORS: dict[str, int] = {"DOP853": 8, "RK45": 5}
"""SciPy's stepper classes in use, with the order that tests measure for each."""

# Largest last term, in tolerances, of an interpolant that is used. DOP853's interpolant errs by
# 2e-5 to 1.7e-3 of its last term, as measured with tokens, atoms, densities and characteristics at
# tolerances 1e-4 to 1e-10.
_LAST_TERM = 100.0
# Shares of a step at which slopes raise the order; symmetric ones would not determine it.
_NODES = (0.1, 0.2, 0.3, 0.5, 0.7)
# Shares of a step at which both interpolants are compared.
_COMPARED = (0.2, 0.35, 0.5, 0.65, 0.8)
# Largest difference between them, in tolerances: the better one errs by about a tenth of it.
_APART = 2.0
# Components of a state whose coefficients are computed at a time.
_COLUMNS = 4096


class RungeKuttaStepper:
    """Adaptive explicit Runge-Kutta stepper with rtol = atol = tolerance."""

    def __init__(
        self,
        rhs: RightHandSide,
        time: float,
        state: State,
        *,
        tolerance: float,
        step: float | None = None,
        method: str = "DOP853",
        unit: float = 1.0,
        end: float = float("inf"),
    ) -> None:
        import scipy.integrate  # only runs need it

        self._make = getattr(scipy.integrate, method)
        self._dtype = state.dtype
        self._rhs = _real(rhs, state.dtype, unit)
        self._unit, self._tolerance = unit, tolerance
        # A function of time, which has an end, may change between stages.
        self._interpolates = method == "DOP853" and end == float("inf")
        self._inside: Callable[[float], State] | None = None
        self._inside_end = math.nan
        real = np.ascontiguousarray(state).view(np.float64)
        step = None if step is None else min(step, end - time) / unit
        self._solver = self._start(time / unit, real, end / unit, tolerance, step)
        # SciPy's steppers refer to themselves; without this their stages, many times the size
        # of the state, would wait for the garbage collector.
        weakref.finalize(self, vars(self._solver).clear)
        self._spent = 0

    def _start(
        self, time: float, state: State, end: float, tolerance: float, step: float | None
    ) -> Any:
        # The caller checks that values are finite; NumPy need not warn.
        with np.errstate(all="ignore"):
            return self._make(
                self._rhs, time, state, end, rtol=tolerance, atol=tolerance, first_step=step
            )

    @property
    def time(self) -> float:
        return float(self._solver.t) * self._unit

    @property
    def previous_time(self) -> float:
        return float(self._solver.t_old) * self._unit

    @property
    def state(self) -> State:
        return np.asarray(self._solver.y.view(self._dtype))

    @property
    def step_size(self) -> float:
        return float(self._solver.h_abs) * self._unit

    @property
    def attempts(self) -> int:
        return max(self._spent // int(self._solver.n_stages), 1)

    def step(self, largest: float = np.inf) -> bool:
        if not np.isfinite(self._solver.h_abs):
            # The right-hand side is not finite here, nor is the step chosen from it.
            return False
        self._solver.max_step = largest / self._unit
        before = self._solver.nfev
        with np.errstate(all="ignore"):
            self._solver.step()
        self._spent = self._solver.nfev - before
        return bool(self._solver.status != "failed")

    def dense_output(self, time: float) -> State:
        solver, time = self._solver, time / self._unit
        if time == solver.t:
            return self.state
        if time == solver.t_old:
            return np.asarray(solver.y_old.view(self._dtype))
        self.interpolate()
        state = self._side_step(time) if self._inside is None else self._inside(time)
        return np.asarray(state.view(self._dtype))

    def interpolate(self) -> None:
        """Compute the interpolant of the last step.

        SciPy's interpolant of order 7 takes three stages. If its last term shows an error above a
        tenth of the tolerance, slopes at five of its states raise the order to 8. If the two differ
        by more than two tolerances, or the right-hand side has an end, each time takes a step
        of its own.
        """
        solver = self._solver
        if not self._interpolates or self._inside_end == solver.t:
            return
        scale = self._tolerance * (1.0 + np.abs(solver.y_old))
        with np.errstate(all="ignore"):
            coarse = solver.dense_output()
            self._inside, self._inside_end = coarse, solver.t
            if not _size(coarse.F[-1] / scale) <= _LAST_TERM:
                fine, step = _raised(solver, coarse), solver.t - solver.t_old
                times = [solver.t_old + share * step for share in _COMPARED]
                apart = max(_size((fine(time) - coarse(time)) / scale) for time in times)
                self._inside = fine if apart <= _APART else None

    def _side_step(self, time: float) -> State:
        solver = self._solver
        length, tolerance = time - solver.t_old, INNER_ERROR * self._tolerance
        side = self._start(solver.t_old, solver.y_old, time, tolerance, length)
        with np.errstate(all="ignore"):
            side.step()
        state, reached = side.y, side.t
        vars(side).clear()  # frees its stages, as the finalizer does for self
        # A rejected step is at least a tenth shorter; sums of times round.
        if reached - solver.t_old < 0.95 * length:
            raise StepTooLong(length * self._unit)
        return np.asarray(state)


def _size(values: State) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _raised(solver: Any, coarse: Callable[[float], State]) -> Callable[[float], State]:
    """Interpolant of order 8: values and slopes at both ends, slopes at states of order 7.

    An error e of such a state changes its slope by about step * e.
    """
    start, step, before = solver.t_old, solver.t - solver.t_old, solver.y_old
    change = np.empty((8, len(before)))
    change[:3] = solver.y - before, step * solver.K[0], step * solver.f
    for row, x in enumerate(_NODES, 3):
        change[row] = step * solver.fun(start + x * step, coarse(start + x * step))
    # In place: arrays of the size of the state limit the number of tokens in memory.
    for column in range(0, len(before), _COLUMNS):
        some = change[:, column : column + _COLUMNS]
        some[:] = _birkhoff() @ some
    return lambda time: before + ((time - start) / step) ** np.arange(1, 9) @ change


@cache
def _birkhoff() -> FloatArray:
    """Matrix (8, 8) from the change over a step and the slopes at 0, 1, nodes to x, ..., x^8."""
    powers = np.arange(1.0, 9.0)
    slopes = [powers * x ** (powers - 1.0) for x in (0.0, 1.0, *_NODES)]
    return np.asarray(np.linalg.inv([np.ones(8), *slopes]))


def _real(rhs: RightHandSide, dtype: np.dtype[Any], unit: float) -> RightHandSide:
    def real(time: float, state: State) -> State:
        derivative = rhs(time * unit, state.view(dtype))
        pairs = np.ascontiguousarray(derivative).view(np.float64)
        return np.asarray(pairs if unit == 1.0 else pairs * unit)

    return real


def runge_kutta(
    rhs: RightHandSide,
    time: float,
    state: State,
    *,
    tolerance: float,
    step: float | None = None,
    method: str = "DOP853",
    unit: float = 1.0,
    end: float = float("inf"),
) -> RungeKuttaStepper:
    """Start an adaptive stepper.

    - time: where to start, in scaled time.
    - tolerance: relative and absolute tolerance of the error of a step (root mean square norm).
    - step: first step to try; chosen from the right-hand side if not given.
    - method: "DOP853" (order 8, default) or "RK45" (order 5).
    - unit: unit of time in which SciPy works, a power of two. SciPy squares errors and velocities;
      velocities below 1e-150 need a unit of about 1e150.
    - end: time beyond which the right-hand side is not evaluated.

    Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.5 (DOP853).
    """
    if method not in INTEGRATORS:
        raise ValueError(f"method {method!r} is not known. Known: {', '.join(INTEGRATORS)}.")
    return RungeKuttaStepper(
        rhs, time, state, tolerance=tolerance, step=step, method=method, unit=unit, end=end
    )


def dop853(rhs: RightHandSide, start: Start, tolerance: float) -> RungeKuttaStepper:
    """Stepper of order eight from a start, the usual one of carriers."""
    return runge_kutta(
        rhs,
        start.time,
        start.state,
        tolerance=tolerance,
        step=start.step,
        unit=start.unit,
        end=start.end,
    )


def rk45(rhs: RightHandSide, start: Start, tolerance: float) -> RungeKuttaStepper:
    """Stepper of order five from a start, stable on [-3.3, 0] instead of [-6.4, 0].

    At tolerances from 1e-5 on it takes about 0.7 times the evaluations, and errs ten times more.
    """
    return runge_kutta(
        rhs,
        start.time,
        start.state,
        tolerance=tolerance,
        step=start.step,
        method="RK45",
        unit=start.unit,
        end=start.end,
    )
