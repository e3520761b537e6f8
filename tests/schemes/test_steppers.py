"""All adaptive steppers: memory, counting, limits, ends and failures."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
from parameters import each

from meanfield.schemes import Start, StepTooLong, dop853, rk45
from meanfield.schemes.exponential import exponential

METHODS = ("DOP853", "RK45", "exponential")


def stepper_of(
    method: str,
    part: Callable,
    state: np.ndarray,
    time: float = 0.0,
    *,
    rates: np.ndarray | float = 0.0,
    end: float = np.inf,
    **options: Any,
) -> Any:
    """Stepper of y' = rates y + part(t, y)."""
    if method == "exponential":
        rates = rates + np.zeros(len(state))
        return exponential(part, rates, time, state, end=end, **options)
    start = Start(time, state, options.get("step"), end=end)
    make = {"DOP853": dop853, "RK45": rk45}[method]
    return make(lambda t, y: rates * y + part(t, y), start, options["tolerance"])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("largest", [np.inf, 0.017])
def test_stepper_goes_on_equal_to_the_bit(method, largest):
    """Time, state and step are all its memory: what checkpoints store."""

    def stepper(*start: Any, step: float) -> Any:
        return stepper_of(
            method, lambda t, y: np.sin(t + y[::-1]), *start,
            rates=-np.array([1.0, 10.0, 100.0]), tolerance=1e-10, step=step,
        )  # fmt: skip

    first = stepper(np.array([1.0, 0.5j, -1.0]), step=1.0)
    for _ in range(3):
        first.step(largest)
    second = stepper(first.state.copy(), first.time, step=first.step_size)
    first.dense_output(0.5 * (first.previous_time + first.time))
    for _ in range(8):
        first.step(largest)
        second.step(largest)
        assert (first.time, first.step_size) == (second.time, second.step_size)
        assert first.attempts == second.attempts
        assert np.array_equal(first.state, second.state)


@pytest.mark.parametrize("method", METHODS)
def test_ends_of_a_step_are_the_states_themselves(method):
    """A save time that is a step's end must not carry the interpolant's error."""
    stepper = stepper_of(method, lambda t, y: -y, np.ones(3), tolerance=1e-8)
    for _ in range(3):
        before = stepper.state
        stepper.step()
        assert np.array_equal(stepper.dense_output(stepper.previous_time), before)
        assert np.array_equal(stepper.dense_output(stepper.time), stepper.state)


@pytest.mark.parametrize(
    ("method", "first", "evaluations"), [("DOP853", 0, 12), ("RK45", 0, 6), ("exponential", 1, 4)]
)
def test_attempts_are_counted(method, first, evaluations):
    """A jump in the right-hand side is rejected until the step is short enough."""
    calls = 0

    def jumping(time: float, y: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        return np.full_like(y, 1.0 if time < 0.5 else 1e4)

    stepper = stepper_of(method, jumping, np.zeros(1), tolerance=1e-6, step=0.4)
    attempts = []
    for _ in range(6):
        before = calls
        stepper.step()
        assert calls - before == first + evaluations * stepper.attempts
        attempts.append(stepper.attempts)
    assert attempts[0] == 1
    assert max(attempts) > 2


@pytest.mark.parametrize(
    ("method", "tolerance", "error"),
    [("DOP853", 1e-10, 1e-6), ("RK45", 1e-10, 1e-6), ("exponential", 1e-4, 1e-3)],
)
def test_step_reports_that_it_vanished(method, tolerance, error):
    """Solutions of y' = y^2 end at t = 1: the stepper says so instead of going on for ever."""
    stepper = stepper_of(method, lambda t, y: y**2, np.ones(1), tolerance=tolerance)
    steps = 0
    while stepper.step():
        steps += 1
        assert steps < 2000
    assert stepper.time == pytest.approx(1.0, abs=error)
    assert np.all(np.isfinite(stepper.state))


@each("method", METHODS, step=[None, 0.1], value=[np.nan, np.inf])
def test_step_reports_a_right_hand_side_that_is_not_finite(method, step, value):
    """A first step of length NaN compares with nothing and would be tried for ever."""
    stepper = stepper_of(
        method, lambda t, y: y * value, np.ones(2), rates=-1.0, tolerance=1e-8, step=step
    )
    assert not stepper.step()
    assert stepper.time == 0.0
    assert np.array_equal(stepper.state, np.ones(2))


@pytest.mark.parametrize("method", METHODS)
def test_largest_step_is_respected(method):
    """The Courant limit must bind although the tolerance allows more; rungs lose 5 per cent."""
    stepper = stepper_of(method, lambda t, y: -y * y[-1], np.ones(2), tolerance=1e-2)
    free = stepper.step_size
    for largest in (0.01, 0.0101, 0.0102, 0.02, 1e-5):
        stepper.step(largest)
        length = stepper.time - stepper.previous_time
        assert 0.95 * largest < length <= largest * (1 + 1e-12)
        # Runge-Kutta methods take at most ten times the step next.
        if method == "exponential":
            assert stepper.step_size == free
    assert not stepper.step(0.0)


# Half of the step of DOP853 is where the last stage but one of eight is.
STAGES = scipy.integrate.DOP853.C[1:-1]


@pytest.mark.parametrize(
    ("method", "centre", "inside", "length"),
    [
        ("DOP853", 0.5, 0.5 / float(STAGES[np.argmin(np.abs(STAGES - 0.65))]), "0.7.*"),
        ("exponential", 0.25, 0.5, "0.5"),
    ],
)
def test_a_step_inside_that_meets_a_pulse_is_refused(method, centre, inside, length):
    """A state inside would be wrong by the height of a pulse that the step jumped over."""

    def pulse(t: float, state: np.ndarray) -> np.ndarray:
        return np.full(1, 1e3 * (abs(t - centre) < 1e-3))

    stepper = stepper_of(method, pulse, np.zeros(1), rates=-1.0, tolerance=1e-6, step=1.0, end=9.0)
    assert stepper.step() and stepper.time == 1.0 and stepper.state == 0.0
    assert stepper.dense_output(0.1) == 0.0
    with pytest.raises(StepTooLong, match=f"a step of {length} has a larger error than the longer"):
        stepper.dense_output(inside)


@pytest.mark.parametrize("method", METHODS)
def test_nothing_is_evaluated_beyond_the_end(method):
    """Functions that end with the run would be asked for values that they lack."""
    times: list[float] = []

    def part(t: float, state: np.ndarray) -> np.ndarray:
        times.append(t)
        return -state * state[-1]

    options = {"tolerance": 1e-3, "step": 0.7, "end": 1.3}
    stepper = stepper_of(method, part, np.full(2, 0.5), rates=1.0, **options)
    while stepper.time < 1.3:
        assert stepper.step()
    assert stepper.time == max(times) == 1.3
