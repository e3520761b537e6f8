"""Exponential steps on a stiff system: order, error control, stored weights, limits."""

from unittest.mock import Mock

import numpy as np
import pytest
from parameters import each, refused, together

from meanfield.engines.steps import exponential_kernels, exponential_weights
from meanfield.schemes.exponential import exponential, rung

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
    counts, errors = [8, 16, 32, 64, 128], []
    for count in counts:
        step, start = 2.0 / count, stiff_solution(0.0)
        stepper = exponential(stiff, STIFF, 0.0, start, tolerance=1e9, step=step)
        for _ in range(count):
            assert stepper.step(step)
            assert stepper.attempts == 1
            assert stepper.time - stepper.previous_time == step
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


@pytest.mark.parametrize("tolerance", [1e-4, 1e-8, 1e-12])
def test_error_of_driven_modes_is_detected(tolerance: float) -> None:
    """N_2 = N_3 = N_5 there: an estimate from stages alone is zero, and steps grow for ever."""

    def driven(t: float, u: np.ndarray) -> np.ndarray:
        # u_1' = -u_1, u_2' = u_2 / 2 + u_1^2: the second does not act back.
        return np.array([0.0, u[0] ** 2])

    start = np.array([1.0, 0.0])
    stepper = exponential(driven, np.array([-1.0, 0.5]), 0.0, start, tolerance=tolerance)
    while stepper.time < 3.0:
        assert stepper.step()
    exact = (np.exp(0.5 * stepper.time) - np.exp(-2.0 * stepper.time)) / 2.5
    assert abs(stepper.state[1] - exact) < 2.0 * tolerance


@pytest.mark.slow
@each("index", [None, np.array([1, 0, 1])], turn=[1.0, 1j, 0.6 + 0.8j, None])
def test_error_and_size_are_moduli(turn: complex | None, index: np.ndarray | None) -> None:
    """Imaginary parts would be ignored, or real numbers counted twice."""
    rng, share = np.random.default_rng(5), 0.7
    parts = rng.normal(size=(6, 3, 2)) @ np.array([1.0, 0.3j])
    parts = parts.real.copy() if turn is None else parts * turn
    weights = exponential_weights.weights(np.array([-3.0, -0.5, -40.0]), 0.4)
    _, n1, n2, n3, n4, n5 = parts
    result = parts[0].copy()
    error, size = exponential_kernels.finish(result, n1, n2, n3, n4, n5, weights, index, share)

    end, middle = weights[[exponential_weights.FOURTH, exponential_weights.FIFTH]]
    if index is not None:
        end, middle = end[index], middle[index]
    exact = parts[0] + end * (n4 - n1) + middle * (n5 - n1)
    change, bend = np.abs(n4 - n1), np.abs(n1 - 2.0 * n5 + n4)
    stages = np.abs(n5 - 0.5 * (n2 + n3))
    wrong = np.abs(middle) * np.hypot(stages, np.sqrt(share / (change**2 + bend**2)) * bend**2)
    np.testing.assert_allclose(result, exact, rtol=1e-14)
    np.testing.assert_allclose([error, size], [wrong.max(), np.abs(exact).max()], rtol=1e-14)


def test_rejected_steps_leave_no_trace() -> None:
    """The step that is accepted is the one that is taken at once if its length is given."""
    start = stiff_solution(0.0)
    first = exponential(stiff, STIFF, 0.0, start, tolerance=1e-10, step=1.0)
    assert first.step()
    assert first.attempts > 1
    length = first.time
    second = exponential(stiff, STIFF, 0.0, start, tolerance=1e-10, step=length)
    assert second.step()
    assert second.attempts == 1
    assert second.time == length
    assert np.array_equal(first.state, second.state)


def test_inside_is_as_good_as_the_step() -> None:
    """Saved times lie inside steps."""
    stepper = exponential(stiff, STIFF, 0.0, stiff_solution(0.0), tolerance=1e-8)
    while stepper.time < 1.0:
        stepper.step()
        for time in np.linspace(stepper.previous_time, stepper.time, 7):
            assert np.abs(stepper.dense_output(time) - stiff_solution(time)).max() < 1e-8


@pytest.mark.slow
def test_steps_are_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights cost as much as a step: few tables, although the error comes and goes."""
    counted = Mock(wraps=exponential_weights.weights)
    monkeypatch.setattr(exponential_weights, "weights", counted)
    stepper = exponential(stiff, STIFF, 0.0, stiff_solution(0.0), tolerance=1e-12)
    steps = 0
    while stepper.time < 2.0:
        stepper.step()
        steps += 1
    assert steps > 200
    assert 0 < counted.call_count < steps / 8


@pytest.mark.parametrize("tolerance", [1e-4, 1e-8, 1e-12])
@pytest.mark.parametrize(
    "nonlinear, rates, start",
    [(stiff, STIFF, stiff_solution(0.0)), (logistic, np.ones(2), np.full(2, 1e-3))],
)
def test_first_step_is_of_the_size_of_the_next(nonlinear, rates, start, tolerance):
    """A first step far too short or too long wastes as much as many steps."""
    stepper = exponential(nonlinear, rates, 0.0, start, tolerance=tolerance)
    assert stepper.step()
    assert stepper.attempts <= 3
    first = stepper.time
    for _ in range(3):
        stepper.step()
    assert stepper.time - stepper.previous_time < 30.0 * first


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_linear_part_is_exact(dtype: type) -> None:
    """One step of any length is e^{hL}, also where that is far below what decays."""
    rates = np.concatenate([-np.logspace(-9, 2, 45), [0.0, 0.5, 2.0]])
    start = np.linspace(0.5, 1.5, len(rates)) * (1.0 if dtype is np.float64 else 0.6 + 0.8j)
    for step in (1e-6, 0.01, 1.0):
        stepper = exponential(
            lambda t, u: 0.0 * u, rates, 0.0, start.astype(dtype), tolerance=1e-10, step=step
        )
        assert stepper.step()
        assert stepper.time == step
        assert stepper.state.dtype == dtype
        np.testing.assert_allclose(stepper.state, start * np.exp(step * rates), rtol=1e-15)


@pytest.mark.slow
def test_small_linear_steps_do_not_add_up_their_rounding() -> None:
    """The rounding of e^{hL} is the same in every step: 1e5 of them would lose five digits."""
    rates, step, count = np.array([-0.3, 0.3, -0.7]), 2.0**-17, 2**15
    stepper = exponential(lambda t, u: 0.0 * u, rates, 0.0, np.ones(3), tolerance=1e9, step=step)
    for _ in range(count):
        stepper.step(step)
    # Rounding of the sum, at random: sqrt(2^15) * 1e-16 = 2e-14.
    np.testing.assert_allclose(stepper.state, np.exp(rates * step * count), rtol=5e-14)


@pytest.mark.parametrize("step", [1e-9, 1e-3, 1.0, 1e3, 1e9])
def test_fixed_points_stay_to_the_bit(step: float) -> None:
    """L u + N(u) = 0 must be a state of rest for steps of any length."""
    rates = np.concatenate([-np.logspace(-3, 8, 45), [0.0]])
    start = np.random.default_rng(1).normal(size=len(rates))
    stepper = exponential(lambda t, u: -rates * u, rates, 0.0, start, tolerance=1e-8, step=step)
    assert stepper.step()
    assert stepper.time == step
    assert np.array_equal(stepper.state, start)


def test_growth_is_limited_to_three_e_foldings() -> None:
    """An invisible mode that grows by e^700 in a step overflows."""
    stepper = exponential(lambda t, u: 0.0 * u, np.array([10.0, -1.0]), 0.0, np.full(2, 1e-9),
                          tolerance=1e-6, step=1e3)  # fmt: skip
    stepper.step()
    assert stepper.time == pytest.approx(0.3)
    np.testing.assert_allclose(stepper.state[0], 1e-9 * np.exp(3.0), rtol=1e-15)


def test_step_that_is_not_finite_is_halved() -> None:
    """Only the stages of a long step are not finite: the run would end."""
    stepper = exponential(
        lambda t, y: np.where(y > 2.0, np.nan, -1.0 * y + 2.0), np.ones(1), 0.0, np.ones(1),
        tolerance=1e-3, step=2.9,
    )  # fmt: skip
    assert stepper.step()
    assert stepper.attempts > 1
    assert np.all(np.isfinite(stepper.state))


@pytest.mark.slow
def test_how_weights_are_stored_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked up or spread, real or complex: the same steps to the bit."""
    rates = np.tile(-np.arange(7.0), 5)
    start = np.random.default_rng(2).normal(size=35)
    states = []
    for size, dtype in ((2**13, float), (0, float), (2**13, complex), (0, complex)):
        monkeypatch.setattr(exponential_weights, "_SPREAD_SIZE", size)
        stepper = exponential(
            lambda t, u: np.sin(u.real).astype(u.dtype), rates, 0.0, start.astype(dtype),
            tolerance=1e-8,
        )  # fmt: skip
        for _ in range(20):
            assert stepper.step()
        states.append(np.append(stepper.state.real, stepper.time))
    assert all(np.array_equal(state, states[0]) for state in states[1:])


def test_rungs_are_below_and_close() -> None:
    """The ladder has sixteen rungs to the octave; each is its own."""
    for step in np.logspace(-12, 12, 97):
        assert 0.957 * step < rung(step) <= step * (1 + 1e-12)
    assert rung(2.0**-7) == 2.0**-7
    assert rung(0.0) == 0.0


@together(
    "linear, start, tolerance, message",
    [
        (np.zeros(2), np.ones(3), 1e-6, r"linear has shape \(2,\), expected \(3,\) of the state"),
        (np.array([1j]), np.ones(1), 1e-6, "linear must be real rates, got complex ones"),
        (np.array([-np.inf]), np.ones(1), 1e-6, "linear must be finite rates"),
        (np.zeros(1), np.ones(1), 0.0, "tolerance must be positive, got 0"),
    ],
)
def test_wrong_arguments_are_refused(linear, start, tolerance, message):
    """The message says what came."""
    refused(message, exponential, logistic, linear, 0.0, start, tolerance=tolerance)
