"""Steppers: measured order on a nonlinear solution, counting, interpolation, restarting."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
from exact_solutions import poisson_radius
from parameters import each

import meanfield as mf
from meanfield.carriers import DensityRepresentation, Options, represent
from meanfield.schemes import INTEGRATORS, Start, StepTooLong, dop853, rk45, runge_kutta

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
    """Right-hand side c_k' = k / 2 (c_1 c_{k-1} - conj(c_1) c_{k+1}).

    Steps longer than a run takes would make an explosion of rounding in high degrees.
    """
    k = np.arange(len(c))
    before, after = np.concatenate([[0], c[:-1]]), np.concatenate([c[1:], [0]])
    return np.asarray(k / 2 * (c[1] * before - np.conj(c[1]) * after))


def test_kuramoto_rhs_is_that_of_the_density() -> None:
    """Another equation would be solved below."""
    carrier, start = kuramoto()
    np.testing.assert_allclose(carrier.rhs(0.0, start), kuramoto_rhs(0.0, start), atol=1e-14)


def error_with_fixed_steps(method: str, count: int) -> float:
    """Largest error of a moment at t = 2 after `count` equal steps, none ever rejected."""
    _, start = kuramoto()
    step = 2.0 / count
    stepper = runge_kutta(kuramoto_rhs, 0.0, start, tolerance=1e6, step=step, method=method)
    for _ in range(count):
        assert stepper.step(largest=step)
        assert stepper.attempts == 1
    assert stepper.time == pytest.approx(2.0, abs=1e-14)
    exact = (poisson_radius(2.0, 0.3) * np.exp(-1j * ANGLE)) ** np.arange(13)
    return float(np.abs(stepper.state[:13] - exact).max())


@pytest.mark.parametrize("method, order", INTEGRATORS.items())
def test_stepper_has_its_order(method: str, order: int) -> None:
    """Slope of error against step on the nonlinear Poisson solution, fitted over the range."""
    counts = np.array(STEPS[method])
    errors = [error_with_fixed_steps(method, int(count)) for count in counts]
    slope = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
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
    """Saved times lie inside steps: a crude interpolant would spoil what steps computed.

    The interpolant has one order less than the step: thirty tolerances where the step is free.
    """
    carrier, start = kuramoto()
    stepper = runge_kutta(carrier.rhs, 0.0, start, tolerance=1e-10, method=method)
    worst, before = 0.0, 0.0
    while stepper.time < 2.0:
        stepper.step()
        for time in np.linspace(before, stepper.time, 7):
            exact = (poisson_radius(time, 0.3) * np.exp(-1j * ANGLE)) ** np.arange(13)
            worst = max(worst, np.abs(stepper.dense_output(time)[:13] - exact).max())
        before = stepper.time
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
        carrier, taken = random_carrier(seed), 0

        def counted(time: float, state: np.ndarray, carrier: Any = carrier) -> np.ndarray:
            nonlocal taken
            taken += 1
            return np.asarray(carrier.rhs(time, state))

        stepper = runge_kutta(counted, 0.0, carrier.state, tolerance=carrier.tolerance)
        for _ in range(4):
            stepper.step()
            taken = 0
            for time in np.linspace(stepper.previous_time, stepper.time, 41):
                stepper.dense_output(time)
            spent.append(taken)
    assert set(spent) <= {3, 8, 8 + 39 * 13}
    assert spent.count(3) > 20 and spent.count(8) > 20
    assert len(spent) - spent.count(3) - spent.count(8) <= 12


def test_interpolation_at_the_end_is_the_state_itself() -> None:
    """A save time that is a step's end must not carry the interpolant's error."""
    stepper = runge_kutta(lambda t, y: -y, 0.0, np.ones(3), tolerance=1e-8)
    stepper.step()
    assert np.array_equal(stepper.dense_output(stepper.time), stepper.state)


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


@pytest.mark.parametrize("method", INTEGRATORS)
def test_stepper_goes_on_equal_to_the_bit(method: str) -> None:
    """Time, state and step are all its memory: what checkpoints store."""
    carrier, start = kuramoto(40)
    first = runge_kutta(carrier.rhs, 0.0, start, tolerance=1e-9, method=method)
    for _ in range(3):
        first.step()
    second = runge_kutta(
        carrier.rhs,
        first.time,
        first.state.copy(),
        tolerance=1e-9,
        step=first.step_size,
        method=method,
    )
    for _ in range(3):
        first.step()
        second.step()
        assert (first.time, first.step_size) == (second.time, second.step_size)
        assert np.array_equal(first.state, second.state)


@pytest.mark.parametrize("method", INTEGRATORS)
def test_attempts_are_counted(method: str) -> None:
    """A jump in the right-hand side is rejected until the step is short enough."""
    calls, stages = 0, getattr(scipy.integrate, method).n_stages

    def jumping(time: float, y: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        return np.full_like(y, 1.0 if time < 0.5 else 1e4)

    stepper = runge_kutta(jumping, 0.0, np.zeros(1), tolerance=1e-6, step=0.4, method=method)
    attempts = []
    for _ in range(6):
        before = calls
        stepper.step()
        assert (calls - before) // stages == stepper.attempts
        attempts.append(stepper.attempts)
    assert attempts[0] == 1
    assert max(attempts) > 2


def test_step_reports_that_it_vanished() -> None:
    """Solutions of y' = y^2 end at t = 1: the stepper says so instead of going on for ever."""
    stepper = runge_kutta(lambda t, y: y**2, 0.0, np.ones(1), tolerance=1e-10)
    with np.errstate(all="ignore"):
        steps = 0
        while stepper.step() and np.all(np.isfinite(stepper.state)):
            steps += 1
            assert steps < 2000
    assert stepper.time == pytest.approx(1.0, abs=1e-6)


@each("method", INTEGRATORS, step=[None, 0.1], value=[np.nan, np.inf])
def test_step_reports_a_right_hand_side_that_is_not_finite(method, step, value):
    """A first step of length NaN compares with nothing and would be tried for ever."""
    with np.errstate(all="ignore"):
        stepper = runge_kutta(
            lambda t, y: y * value, 0.0, np.ones(2), tolerance=1e-8, step=step, method=method
        )
        assert not stepper.step()
    assert stepper.time == 0.0


def test_largest_step_is_respected() -> None:
    """The Courant limit must bind although the tolerance allows more."""
    stepper = runge_kutta(lambda t, y: -y, 0.0, np.ones(1), tolerance=1e-3)
    for largest in (0.1, 0.01, 0.05):
        before = stepper.time
        stepper.step(largest=largest)
        assert stepper.time - before <= largest * (1 + 1e-12)


def test_unknown_method_is_refused() -> None:
    """The message lists what is known."""
    with pytest.raises(ValueError, match="method 'RK4' is not known. Known: DOP853, RK45"):
        runge_kutta(lambda t, y: y, 0.0, np.ones(1), tolerance=1e-6, method="RK4")


@pytest.mark.parametrize("starter, method", [(dop853, "DOP853"), (rk45, "RK45")])
def test_starters_take_the_method_of_their_name(starter: Callable, method: str) -> None:
    """Another order would have other steps."""
    start, state = Start(0.0, np.array([1.0, 2.0]), 0.125, 2.0), np.array([1.0, 2.0])
    steppers = (
        starter(lambda t, y: -y * y, start, 1e-4),
        runge_kutta(
            lambda t, y: -y * y, 0.0, state, tolerance=1e-4, step=0.125, method=method, unit=2.0
        ),
    )
    for stepper in steppers:
        stepper.step()
    np.testing.assert_array_equal(*(stepper.state for stepper in steppers))


def test_a_step_inside_that_meets_a_pulse_is_refused() -> None:
    """A state inside would be wrong by the height of a pulse that the step jumped over."""

    def pulse(t: float, state: np.ndarray) -> np.ndarray:
        return np.full(1, 1e3 * (abs(t - 0.5) < 1e-3))

    stepper = runge_kutta(pulse, 0.0, np.zeros(1), tolerance=1e-6, step=1.0, end=9.0)
    assert stepper.step() and stepper.time == 1.0 and stepper.state == 0.0
    assert stepper.dense_output(0.1) == 0.0
    # Half of it is where the last stage but one of eight is.
    stages = scipy.integrate.DOP853.C[1:-1]
    with pytest.raises(StepTooLong, match="a step of 0.7.* has a larger error than the longer one"):
        stepper.dense_output(0.5 / float(stages[np.argmin(np.abs(stages - 0.65))]))


def test_rounding_of_times_is_no_error() -> None:
    """Saved times that a step misses by rounding would make runs take it again."""
    start, time = 0.8936225993419271, 3.1622776601683795
    assert start + (time - start) < time
    stepper = dop853(lambda t, u: -0.01 * u, Start(start, np.ones(1), 3.0), 1e-6)
    assert stepper.step()
    # DOP853 at a hundredth of its radius of stability.
    assert abs(stepper.dense_output(time)[0] - np.exp(-0.01 * (time - start))) < 1e-12


@pytest.mark.parametrize("method", INTEGRATORS)
def test_nothing_is_evaluated_beyond_the_end(method: str) -> None:
    """Functions that end with the run would be asked for values that they lack."""
    times: list[float] = []

    def rhs(t: float, state: np.ndarray) -> np.ndarray:
        times.append(t)
        return -state

    make = {"DOP853": dop853, "RK45": rk45}[method]
    stepper = make(rhs, Start(0.0, np.ones(2), 0.7, end=1.3), 1e-3)
    while stepper.time < 1.3:
        assert stepper.step()
    assert stepper.time == max(times) == 1.3
