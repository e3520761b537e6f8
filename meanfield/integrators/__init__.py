"""Time steppers: SciPy's adaptive Runge-Kutta classes, named for run files and studies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from meanfield.representations.representation import State

__all__ = ["INTEGRATORS", "runge_kutta"]

INTEGRATORS: dict[str, int] = {"DOP853": 8, "RK45": 5}
"""SciPy's stepper classes in use and the order that tests measure for each."""


def runge_kutta(
    rhs: Callable[[float, State], State],
    time: float,
    state: State,
    *,
    tolerance: float,
    step: float | None = None,
    method: str = "DOP853",
) -> Any:
    """Start one of SciPy's adaptive steppers, with rtol = atol = tolerance.

    It has no memory beyond (time, state, step): one that starts from these goes on equal to
    the bit. It has no end either, so saving and stopping never change the steps.

    Parameters
    ----------
    rhs : callable (time, state) -> derivative
        Right-hand side.
    time : float
        Where to start, in scaled time.
    state : ndarray
        Real or complex.
    tolerance : float
        Relative and absolute tolerance of the error of a step (root mean square norm).
    step : float, optional
        First step to try; chosen from the right-hand side if not given.
    method : str
        "DOP853" (order 8, default) or "RK45" (order 5).

    Returns
    -------
    scipy.integrate.OdeSolver

    References
    ----------
    Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.5 (DOP853).

    Examples
    --------
    >>> import numpy as np
    >>> stepper = runge_kutta(lambda t, y: -y, 0.0, np.ones(1), tolerance=1e-10)
    >>> stepper.step()
    >>> bool(abs(stepper.y[0] - np.exp(-stepper.t)) < 1e-9)
    True
    """
    import scipy.integrate

    stepper = getattr(scipy.integrate, method)
    return stepper(
        rhs, time, state, float("inf"), rtol=tolerance, atol=tolerance, first_step=step
    )
