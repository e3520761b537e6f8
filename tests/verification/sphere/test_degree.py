"""Convergence in degree while clusters form on the sphere."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import meanfield as mf
from meanfield.carriers import DensityRepresentation
from meanfield.trajectory import trajectory

SPHERE = mf.Sphere()
LAW = mf.perturbed_uniform([[1, 0, 0.1], [1, 1, 0.05], [2, -1, 0.15], [3, 2, -0.1]])
# Degrees below which moments are compared.
LOW = 7


def moments_at_degree(problem: mf.Problem, end: float, degree: int) -> np.ndarray:
    """Moments of the low degrees at the end when the degree is held, whatever the tail says."""
    state = SPHERE.resize(problem.initial_measure().coefficients, degree)
    held = DensityRepresentation(problem, state, tolerance=10.0, max_degree=degree)
    (last,) = trajectory(problem, held, [end], tolerance=1e-13)
    return SPHERE.spread(last.moments)[:LOW, :LOW]


@pytest.mark.slow
@pytest.mark.parametrize("flow", [mf.USA, mf.SA], ids=["USA", "SA"])
def test_moments_converge_faster_than_any_power(flow: mf.Flow, verified: Callable) -> None:
    """Doubling the degree must gain more digits each time, down to rounding."""
    problem = mf.Problem(SPHERE, mf.exponential(5.0), flow, LAW)
    end = (2.2 if flow.normalized else 1.6) / mf.growth_rates(problem).max()
    exact = moments_at_degree(problem, end, 192)
    degrees = (8, 16, 32, 64)
    errors = [np.abs(moments_at_degree(problem, end, degree) - exact).max() for degree in degrees]
    orders = [np.log2(a / b) for a, b in zip(errors, errors[1:], strict=False) if b > 1e-11]
    assert len(orders) >= 2, errors
    assert np.all(np.diff(orders) > 0), (errors, orders)
    assert orders[-1] > 6
    what = f"clusters forming, sphere, {'SA' if flow.normalized else 'USA'}"
    verified("convergence in degree", what, errors[-1], 2e-12, curve=(degrees, errors))
