"""Exponential steps on a stiff system: order, error control, restarting, counting."""

from collections.abc import Callable

import numpy as np
import pytest
from parameters import each

from meanfield.integrators import exponential_kernels, exponential_weights
from meanfield.integrators.exponential import ExponentialStepper, exponential

STIFF = -np.logspace(0.0, 6.0, 25)
SIZES = 1.0 / (1.0 - STIFF)


def stiff_solution(time: float) -> np.ndarray:
    """Smooth solution of `stiff`, with L u of order one."""
    return SIZES * np.cos(time + np.arange(len(STIFF)))


def stiff(time: float, state: np.ndarray) -> np.ndarray:
    """Nonlinear part whose solution is `stiff_solution`; slow modes drive fast ones."""
    exact = stiff_solution(time)
    change = -SIZES * np.sin(time + np.arange(len(STIFF)))
    return change - STIFF * exact + np.sin(state[::-1]) - np.sin(exact[::-1])


def logistic(_: float, state: np.ndarray) -> np.ndarray:
    """Nonlinear part -u u_last."""
    return -state * state[-1]


def fixed_steps(stepper: ExponentialStepper, step: float, count: int) -> None:
    """Steps of one length; the tolerance is so large that none is rejected."""
    for _ in range(count):
        assert stepper.step(step)
        assert stepper.attempts == 1
        assert stepper.time - stepper.previous_time == step


def test_tolerance_is_absolute_below_one() -> None:
    """States of size 1e-3 would be followed to 1e-3 of the tolerance, in five times the steps."""
    steps = []
    for size in (1.0, 1e-3):
        start = np.full(2, 0.5 * size)
        stepper = exponential(
            lambda t, u, size=size: -u * u[-1] / size, np.ones(2), 0.0, start, tolerance=1e-9
        )
        count = 0
        while stepper.time < 3.0:
            assert stepper.step()
            count += 1
        steps.append(count)
    # Steps go like the fourth root of the tolerance over the size: 5.6 times fewer.
    assert steps[1] < 0.4 * steps[0]


def test_order_is_four_however_stiff() -> None:
    """Rates up to 1e6 at steps up to 1/4: classical order would collapse to one or two."""
    counts = np.array([8, 16, 32, 64, 128])
    errors = []
    for count in counts:
        start = stiff_solution(0.0)
        stepper = exponential(stiff, STIFF, 0.0, start, tolerance=1e9, step=2.0 / count)
        fixed_steps(stepper, 2.0 / count, count)
        errors.append(np.abs(stepper.state - stiff_solution(2.0)).max())
    slope = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert slope == pytest.approx(4.0, abs=0.15), errors
    assert errors[-1] > 1e-13


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-8, 1e-10, 1e-12])
def test_error_follows_the_tolerance(tolerance: float) -> None:
    """Adaptive steps on the stiff problem: the error at the end is not above the tolerance."""
    stepper = exponential(stiff, STIFF, 0.0, stiff_solution(0.0), tolerance=tolerance)
    while stepper.time < 2.0:
        assert stepper.step()
    error = np.abs(stepper.state - stiff_solution(stepper.time)).max()
    assert 1e-4 * tolerance < error < tolerance


def driven(_: float, state: np.ndarray) -> np.ndarray:
    """u_1' = -u_1, u_2' = u_2 / 2 + u_1^2: the second does not act back."""
    return np.array([0.0, state[0] ** 2])


@pytest.mark.parametrize("tolerance", [1e-4, 1e-8, 1e-12])
def test_error_of_driven_modes_is_seen(tolerance: float) -> None:
    """N_2 = N_3 = N_5 there: an estimate from stages alone is zero, and steps grow for ever."""
    start = np.array([1.0, 0.0])
    stepper = exponential(driven, np.array([-1.0, 0.5]), 0.0, start, tolerance=tolerance)
    while stepper.time < 3.0:
        assert stepper.step()
    exact = (np.exp(0.5 * stepper.time) - np.exp(-2.0 * stepper.time)) / 2.5
    assert abs(stepper.state[1] - exact) < 2.0 * tolerance


@each("index", [None, np.array([1, 0, 1])], turn=[1.0, 1j, 0.6 + 0.8j, None])
def test_error_and_size_are_moduli(turn: complex | None, index: np.ndarray | None) -> None:
    """Imaginary parts would be ignored, or real numbers counted twice."""
    rng, share = np.random.default_rng(5), 0.7
    parts = rng.normal(size=(6, 3, 2)) @ np.array([1.0, 0.3j])
    parts = parts.real.copy() if turn is None else parts * turn
    weights = exponential_weights.weights(np.array([-3.0, -0.5, -40.0]), 0.4)
    _, n1, n2, n3, n4, n5 = parts
    found = parts[0].copy()
    error, size = exponential_kernels.finish(found, n1, n2, n3, n4, n5, weights, index, share)

    end, middle = weights[[exponential_weights.FOURTH, exponential_weights.FIFTH]]
    if index is not None:
        end, middle = end[index], middle[index]
    exact = parts[0] + end * (n4 - n1) + middle * (n5 - n1)
    change, bend = np.abs(n4 - n1), np.abs(n1 - 2.0 * n5 + n4)
    stages = np.abs(n5 - 0.5 * (n2 + n3))
    wrong = np.abs(middle) * np.hypot(stages, np.sqrt(share / (change**2 + bend**2)) * bend**2)
    np.testing.assert_allclose(found, exact, rtol=1e-14)
    np.testing.assert_allclose([error, size], [wrong.max(), np.abs(exact).max()], rtol=1e-14)


def rejected() -> ExponentialStepper:
    """Stepper whose first step is far too long."""
    return exponential(stiff, STIFF, 0.0, stiff_solution(0.0), tolerance=1e-10, step=1.0)


def test_rejected_steps_leave_no_trace() -> None:
    """The step that is accepted is the one that is taken at once if its length is given."""
    first = rejected()
    assert first.step()
    assert first.attempts > 1
    length = first.time
    second = exponential(stiff, STIFF, 0.0, stiff_solution(0.0), tolerance=1e-10, step=length)
    assert second.step()
    assert second.attempts == 1
    assert second.time == length
    assert np.array_equal(first.state, second.state)


@pytest.mark.parametrize("largest", [np.inf, 0.017])
def test_stepper_goes_on_equal_to_the_bit(largest: float) -> None:
    """Time, state and step are all its memory: what checkpoints store."""
    first = rejected()
    for _ in range(3):
        first.step(largest)
    second = exponential(
        stiff, STIFF, first.time, first.state.copy(), tolerance=1e-10, step=first.step_size
    )
    first.inside(0.5 * (first.previous_time + first.time))
    for _ in range(8):
        first.step(largest)
        second.step(largest)
        assert (first.time, first.step_size) == (second.time, second.step_size)
        assert (first.attempts, first.evaluations) == (second.attempts, second.evaluations)
        assert np.array_equal(first.state, second.state)


def test_inside_is_as_good_as_the_step() -> None:
    """Saved times lie inside steps; ends are the states themselves."""
    stepper = exponential(stiff, STIFF, 0.0, stiff_solution(0.0), tolerance=1e-8)
    while stepper.time < 1.0:
        before = stepper.state
        stepper.step()
        assert np.array_equal(stepper.inside(stepper.previous_time), before)
        assert np.array_equal(stepper.inside(stepper.time), stepper.state)
        for time in np.linspace(stepper.previous_time, stepper.time, 7):
            assert np.abs(stepper.inside(time) - stiff_solution(time)).max() < 1e-8


def test_attempts_and_evaluations_are_counted() -> None:
    """Five evaluations a step, four for each attempt that failed."""
    calls = 0

    def counted(time: float, state: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        return stiff(time, state)

    stepper = exponential(counted, STIFF, 0.0, stiff_solution(0.0), tolerance=1e-9, step=1.0)
    attempts = []
    for _ in range(10):
        before = calls
        stepper.step()
        assert stepper.evaluations == calls - before == 1 + 4 * stepper.attempts
        attempts.append(stepper.attempts)
    assert attempts[0] > 1
    assert min(attempts) == 1


def test_steps_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights cost as much as a step: few tables, although the error comes and goes."""
    made: list[float] = []
    original = exponential_weights.weights

    def counted(rates: np.ndarray, step: float) -> np.ndarray:
        made.append(step)
        return original(rates, step)

    monkeypatch.setattr(exponential_weights, "weights", counted)
    stepper = exponential(stiff, STIFF, 0.0, stiff_solution(0.0), tolerance=1e-12)
    steps = 0
    while stepper.time < 2.0:
        stepper.step()
        steps += 1
    assert steps > 200
    assert len(made) < steps / 8


@pytest.mark.parametrize("tolerance", [1e-4, 1e-8, 1e-12])
@pytest.mark.parametrize(
    "nonlinear, rates, start",
    [(stiff, STIFF, stiff_solution(0.0)), (logistic, np.ones(2), np.full(2, 1e-3))],
)
def test_first_step_is_of_the_size_of_the_next(
    nonlinear: Callable[[float, np.ndarray], np.ndarray],
    rates: np.ndarray,
    start: np.ndarray,
    tolerance: float,
) -> None:
    """A first step far too short or too long wastes as much as many steps."""
    stepper = exponential(nonlinear, rates, 0.0, start, tolerance=tolerance)
    assert stepper.step()
    assert stepper.attempts <= 3
    first = stepper.time
    for _ in range(3):
        stepper.step()
    assert stepper.time - stepper.previous_time < 30.0 * first
