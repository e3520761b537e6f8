"""States of an ordinary differential equation at given times, with tolerance 1e-13."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray

_TOLERANCE = 1e-13


class SolutionEnds(ValueError):
    """No solution of an equation beyond some time."""


def saved_states(
    speed: Callable[[float, npt.NDArray[Any]], npt.NDArray[Any]],
    start: npt.NDArray[Any],
    times: FloatArray,
) -> npt.NDArray[Any]:
    """States (saves, n) of y' = speed(t, y) by DOP853, with a step that ends at each time.

    SolutionEnds if the solution ends earlier.
    """
    from scipy.integrate import solve_ivp

    if times.ndim != 1 or not np.all((np.diff(times, prepend=0.0) >= 0.0) & np.isfinite(times)):
        raise ValueError("times must be a list of finite numbers, not negative and in order.")
    states, reached = [start], 0.0
    for time in times:
        last = states[-1]
        if time > reached:
            run = solve_ivp(
                speed, (reached, time), last, method="DOP853", rtol=_TOLERANCE, atol=_TOLERANCE
            )
            if not run.success:
                raise SolutionEnds(f"no states after the time {run.t[-1]:g}: {run.message}")
            last = run.y[:, -1]
        states.append(last)
        reached = float(time)
    return np.array(states[1:]).reshape(len(times), len(start))
