"""Runge-Kutta steppers: order on a nonlinear solution, SciPy's steps, interpolation."""

from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import scipy.integrate
from exact_solutions import poisson_radius
from parameters import refused

import meanfield as mf
from meanfield.carriers import DensityRepresentation, Options, represent
from meanfield.schemes import INTEGRATORS, Start, dop853, runge_kutta

ANGLE = 0.8
# Steps in t = 2 by halving, between rounding and the range where the order is not yet seen.
STEPS = {"DOP853": (4, 6, 8, 12, 16), "RK45": (20, 40, 80, 160)}
SLACK = {"DOP853": 0.3, "RK45": 0.2}


def kuramoto(degree: int = 160) -> tuple[DensityRepresentation, np.ndarray]:
    """Right-hand side whose solution is c_k = r(t)^k e^{-ik angle}, from r_0 = 0.3."""
    start = (0.3 * np.exp(-1j * ANGLE)) ** np.arange(degree + 1)
    problem = mf.Problem(mf.Circle(), mf.linear(), mf.USA)
    return DensityRepresentation(problem, start, tolerance=1.0, max_degree=4096), start


def kuramoto_rhs(time: float, c: np.ndarray) -> np.ndarray:
    """Right-hand side c_k' = k / 2 (c_1 c_{k-1} - conj(c_1) c_{k+1}), for long steps, too."""
    k = np.arange(len(c))
    before, after = np.concatenate([[0], c[:-1]]), np.concatenate([c[1:], [0]])
    return np.asarray(k / 2 * (c[1] * before - np.conj(c[1]) * after))


def test_kuramoto_rhs_is_that_of_the_density() -> None:
    """Another equation would be solved below."""
    carrier, start = kuramoto()
    np.testing.assert_allclose(
        carrier.rhs(0.0, start), kuramoto_rhs(0.0, start), rtol=0, atol=1e-14
    )


@pytest.mark.parametrize("method, order", INTEGRATORS.items())
def test_stepper_has_its_order(method: str, order: int) -> None:
    """Slope of error against step on the nonlinear Poisson solution, fitted over the range."""
    start, errors = kuramoto()[1], []
    exact = (poisson_radius(2.0, 0.3) * np.exp(-1j * ANGLE)) ** np.arange(13)
    for count in STEPS[method]:
        step = 2.0 / count
        stepper = runge_kutta(kuramoto_rhs, 0.0, start, tolerance=1e6, step=step, method=method)
        for _ in range(count):
            assert stepper.step(largest=step)
            assert stepper.attempts == 1
        assert stepper.time == pytest.approx(2.0, abs=1e-14)
        errors.append(np.abs(stepper.state[:13] - exact).max())
    slope = -np.polyfit(np.log(STEPS[method]), np.log(errors), 1)[0]
    assert slope == pytest.approx(order, abs=SLACK[method]), errors
    assert errors[-1] > 1e-14


@pytest.mark.parametrize("method", INTEGRATORS)
@pytest.mark.parametrize("tolerance", [1e-6, 1e-9, 1e-12])
def test_error_follows_the_tolerance(method: str, tolerance: float) -> None:
    """Adaptive steps: the error at the end is of the size of the tolerance, not a hundredfold."""
    carrier, start = kuramoto()
    stepper = runge_kutta(carrier.rhs, 0.0, start, tolerance=tolerance, method=method)
    while stepper.time < 2.0:
        stepper.step(largest=2.0 - stepper.time if stepper.time > 1.9 else np.inf)
    exact = (poisson_radius(stepper.time, 0.3) * np.exp(-1j * ANGLE)) ** np.arange(13)
    assert np.abs(stepper.state[:13] - exact).max() < 20 * tolerance


@pytest.mark.parametrize("method", INTEGRATORS)
def test_interpolation_is_nearly_as_good_as_the_step(method: str) -> None:
    """Saved times lie inside steps: a crude interpolant would spoil what steps computed."""
    carrier, start = kuramoto()
    stepper = runge_kutta(carrier.rhs, 0.0, start, tolerance=1e-10, method=method)
    worst, before = 0.0, 0.0
    while stepper.time < 2.0:
        stepper.step()
        for time in np.linspace(before, stepper.time, 7):
            exact = (poisson_radius(time, 0.3) * np.exp(-1j * ANGLE)) ** np.arange(13)
            worst = max(worst, np.abs(stepper.dense_output(time)[:13] - exact).max())
        before = stepper.time
    # The interpolant has one order less: thirty tolerances where the step is free.
    assert worst < 5e-9


def random_carrier(seed: int) -> Any:
    """Tokens or a density of a random problem, to a random tolerance."""
    rng = np.random.default_rng([31, seed])
    space = [mf.Circle(), mf.Sphere(), mf.Sphere(5)][rng.integers(3)]
    flow = [mf.USA, mf.SA][rng.integers(2)]
    modes = [3, 0.2, 0.5] if space.name == "circle" else [2, 0, 0.2]
    tokens = space.name == "sphere:5" or rng.random() < 0.5
    law = mf.uniform() if tokens else mf.perturbed_uniform([modes])
    problem = mf.Problem(space, mf.exponential(10 ** rng.uniform(-0.5, 1.3)), flow, law)
    name = "particles" if tokens else "density"
    tolerance = 10 ** rng.uniform(-11, -4)
    count = int(rng.integers(3, 80)) if tokens else None
    options = Options(name=name, tokens=count, seed=seed, tolerance=tolerance)
    return represent(problem, options)


@pytest.mark.slow
def test_states_inside_steps_are_as_good_as_the_tolerance(verified: Callable[..., None]) -> None:
    """200 random problems: against a much sharper stepper from the start of the same step."""
    worst = []
    for seed in range(200):
        carrier = random_carrier(seed)
        rhs, tolerance = carrier.rhs, carrier.tolerance
        stepper = runge_kutta(rhs, 0.0, carrier.state, tolerance=tolerance)
        # The first step is chosen short: interpolants of later ones err more.
        for _ in range(6):
            before = stepper.state
            stepper.step(carrier.largest_step(stepper.time, before))
        for share in (0.15, 0.35, 0.6, 0.85):
            time = stepper.previous_time + share * (stepper.time - stepper.previous_time)
            sharp = runge_kutta(
                rhs, stepper.previous_time, before, tolerance=max(1e-4 * tolerance, 1e-13)
            )
            while sharp.time < time:
                sharp.step(largest=time - sharp.time)
            error = (stepper.dense_output(time) - sharp.state).view(np.float64)
            size = 1.0 + np.abs(np.ascontiguousarray(before).view(np.float64))
            worst.append(np.sqrt(np.mean((error / size) ** 2)) / tolerance)
    verified("order in time", "states inside steps, in tolerances", np.array(worst), 0.5)


@pytest.mark.slow
def test_states_inside_a_step_take_few_evaluations() -> None:
    """Three for any number of them, eight where that is not accurate enough, else steps of 13."""
    spent = []
    for seed in range(20):
        carrier = random_carrier(seed)
        rhs = Mock(wraps=carrier.rhs)
        stepper = runge_kutta(rhs, 0.0, carrier.state, tolerance=carrier.tolerance)
        for _ in range(4):
            stepper.step()
            rhs.reset_mock()
            for time in np.linspace(stepper.previous_time, stepper.time, 41):
                stepper.dense_output(time)
            spent.append(rhs.call_count)
    assert set(spent) <= {3, 8, 8 + 39 * 13}
    assert spent.count(3) > 20 and spent.count(8) > 20
    assert len(spent) - spent.count(3) - spent.count(8) <= 12


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_state_keeps_its_kind(dtype: type) -> None:
    """Complex coefficients travel as pairs of reals and must come back as complex."""
    stepper = runge_kutta(lambda t, y: -y, 0.0, np.ones(2, dtype), tolerance=1e-9)
    stepper.step()
    assert stepper.state.dtype == dtype
    assert stepper.dense_output(0.5 * stepper.time).dtype == dtype
    np.testing.assert_allclose(stepper.state, np.exp(-stepper.time), rtol=1e-8)


@pytest.mark.parametrize("method", INTEGRATORS)
def test_steps_are_those_of_scipy(method: str) -> None:
    """The layer is thin: the same end of every step as SciPy's class on real numbers."""

    def rotation(_: float, y: np.ndarray) -> np.ndarray:
        return np.array([y[1], -np.sin(y[0])])

    stepper = runge_kutta(rotation, 0.0, np.array([1.0, 0.0]), tolerance=1e-8, method=method)
    solver = getattr(scipy.integrate, method)(
        rotation, 0.0, np.array([1.0, 0.0]), np.inf, rtol=1e-8, atol=1e-8
    )
    for _ in range(10):
        stepper.step()
        solver.step()
        assert stepper.time == solver.t
        assert np.array_equal(stepper.state, solver.y)


def test_unknown_method_is_refused() -> None:
    """The message lists what is known."""
    make = partial(runge_kutta, lambda t, y: y, 0.0, np.ones(1), tolerance=1e-6)
    refused("method 'RK4' is not known. Known: DOP853, RK45", make, method="RK4")


def test_rounding_of_times_is_no_error() -> None:
    """Saved times that a step misses by rounding would make runs take it again."""
    start, time = 0.8936225993419271, 3.1622776601683795
    assert start + (time - start) < time
    stepper = dop853(lambda t, u: -0.01 * u, Start(start, np.ones(1), 3.0), 1e-6)
    assert stepper.step()
    # DOP853 at a hundredth of its radius of stability.
    assert abs(stepper.dense_output(time)[0] - np.exp(-0.01 * (time - start))) < 1e-12
