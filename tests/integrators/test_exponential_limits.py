"""Exponential steps: what is exact, and what limits and ends them."""

import numpy as np
import pytest

from meanfield.integrators import exponential_weights
from meanfield.integrators.exponential import exponential, rung


def logistic(_: float, state: np.ndarray) -> np.ndarray:
    """Nonlinear part -u u_last."""
    return -state * state[-1]


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


def test_largest_step_is_respected_on_the_ladder() -> None:
    """A Courant limit binds although the tolerance allows more, and costs at most 5 per cent."""
    stepper = exponential(logistic, np.zeros(2), 0.0, np.ones(2), tolerance=1e-2)
    free = stepper.step_size
    for largest in (0.01, 0.0101, 0.0102, 0.02, 1e-5):
        stepper.step(largest)
        length = stepper.time - stepper.previous_time
        assert 0.95 * largest < length <= largest
        assert stepper.step_size == free
    assert not stepper.step(0.0)


def test_growth_is_limited_to_three_e_foldings() -> None:
    """An invisible mode that grows by e^700 in a step overflows."""
    stepper = exponential(lambda t, u: 0.0 * u, np.array([10.0, -1.0]), 0.0, np.full(2, 1e-9),
                          tolerance=1e-6, step=1e3)  # fmt: skip
    stepper.step()
    assert stepper.time == pytest.approx(0.3)
    np.testing.assert_allclose(stepper.state[0], 1e-9 * np.exp(3.0), rtol=1e-15)


def test_step_reports_that_it_vanished() -> None:
    """Solutions of y' = y^2 end at t = 1: the stepper says so instead of going on for ever."""
    stepper = exponential(lambda t, y: y**2, np.zeros(1), 0.0, np.ones(1), tolerance=1e-4)
    steps = 0
    while stepper.step():
        steps += 1
        assert steps < 2000
    assert stepper.time == pytest.approx(1.0, abs=1e-3)
    assert np.all(np.isfinite(stepper.state))


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("step", [None, 0.1])
def test_step_reports_a_right_hand_side_that_is_not_finite(
    step: float | None, value: float
) -> None:
    """Nothing moves, nothing is tried for ever, nothing warns."""
    stepper = exponential(
        lambda t, y: y * value, -np.ones(2), 0.0, np.ones(2), tolerance=1e-8, step=step
    )
    assert not stepper.step()
    assert stepper.time == 0.0
    assert np.array_equal(stepper.state, np.ones(2))


def test_step_that_is_not_finite_is_halved() -> None:
    """exp(u) overflows in the stages of a long step only."""
    stepper = exponential(
        lambda t, y: np.where(y > 2.0, np.nan, -1.0 * y + 2.0), np.ones(1), 0.0, np.ones(1),
        tolerance=1e-3, step=2.9,
    )  # fmt: skip
    assert stepper.step()
    assert stepper.attempts > 1
    assert np.all(np.isfinite(stepper.state))


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
        states.append((stepper.time, stepper.state.real))
    for time, state in states[1:]:
        assert time == states[0][0]
        assert np.array_equal(state, states[0][1])


def test_rungs_are_below_and_close() -> None:
    """The ladder has sixteen rungs to the octave; each is its own."""
    for step in np.logspace(-12, 12, 97):
        assert 0.957 * step < rung(step) <= step * (1 + 1e-12)
    assert rung(2.0**-7) == 2.0**-7
    assert rung(0.0) == 0.0


def test_wrong_arguments_are_refused() -> None:
    """The message says what came."""
    with pytest.raises(ValueError, match=r"linear has shape \(2,\), expected \(3,\) of the state"):
        exponential(logistic, np.zeros(2), 0.0, np.ones(3), tolerance=1e-6)
    with pytest.raises(ValueError, match="linear must be real rates, got complex ones"):
        exponential(logistic, np.array([1j]), 0.0, np.ones(1), tolerance=1e-6)
    with pytest.raises(ValueError, match="linear must be finite rates"):
        exponential(logistic, np.array([-np.inf]), 0.0, np.ones(1), tolerance=1e-6)
    with pytest.raises(ValueError, match="tolerance must be positive, got 0"):
        exponential(logistic, np.zeros(1), 0.0, np.ones(1), tolerance=0.0)
