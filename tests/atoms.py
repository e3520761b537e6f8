"""Atoms of the circle, integrated by SciPy."""

import numpy as np
from scipy.integrate import solve_ivp

from meanfield.engines.pairs.circle import exponential_velocity_circle


def angles_after(
    time: float, angles: np.ndarray, weights: np.ndarray | None, beta: float, normalized: bool,
    atol: float = 1e-15,
) -> np.ndarray:  # fmt: skip
    """Angles at a scaled time under exponential attention."""
    run = solve_ivp(
        lambda t, x: exponential_velocity_circle(x, weights, beta, normalized), (0.0, time), angles,
        method="DOP853", rtol=1e-13, atol=atol,
    )  # fmt: skip
    return run.y[:, -1]
