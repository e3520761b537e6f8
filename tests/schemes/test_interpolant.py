"""States inside a step of order eight: their order, their error, and that nobody is disturbed."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import meanfield as mf
from meanfield.carriers import Options, represent
from meanfield.carriers.schemes import usual_scheme
from meanfield.schemes import RungeKuttaStepper, Start, dop853, interpolant, runge_kutta
from meanfield.spaces import Manifold

STAGES = 12
PENDULUM = np.array([1.0, 0.0])


def pendulum(_: float, y: np.ndarray) -> np.ndarray:
    """Pendulum whose swings are large."""
    return np.array([y[1], -np.sin(y[0])])


def one_step(step: float, tolerance: float = 1e6) -> RungeKuttaStepper:
    """Stepper after one step of a given length."""
    stepper = runge_kutta(pendulum, 0.0, PENDULUM, tolerance=tolerance, step=step)
    assert stepper.step(largest=step) and stepper.time == step
    return stepper


def reference(rhs: Callable, time: float, state: np.ndarray, end: float) -> np.ndarray:
    """State at the end by four steps: their error is a thousandth of that of one."""
    step = (end - time) / 4.0
    for i in range(4):
        stepper = runge_kutta(rhs, time + i * step, state, tolerance=1e9, step=step)
        stepper.step(largest=step)
        state = stepper.state
    return state


@pytest.mark.parametrize("last, order", [(np.inf, 7), (0.0, 8)])
def test_interpolants_have_their_orders(
    last: float, order: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slope of the largest error in a step against its length: one more than the order."""
    monkeypatch.setattr(interpolant, "_LAST", last)
    steps, errors = np.array([0.35, 0.5, 0.7, 1.0]), []
    for step in steps:
        stepper, times = one_step(step), step * np.linspace(0.05, 0.95, 13)
        exact = [reference(pendulum, 0.0, PENDULUM, time) for time in times]
        states = [stepper.dense_output(time) for time in times]
        errors.append(np.abs(np.array(states) - exact).max())
    slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert slope == pytest.approx(order + 1, abs=0.35), errors
    assert errors[0] > 1e-14


@pytest.mark.parametrize("last, more", [(np.inf, 3), (0.0, 8)])
def test_slopes_are_evaluated_once_a_step(
    last: float, more: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step of its own for each saved time takes thirteen, and runs with many saves take ages."""
    monkeypatch.setattr(interpolant, "_LAST", last)
    calls: list[float] = []

    def counted(time: float, y: np.ndarray) -> np.ndarray:
        calls.append(time)
        return pendulum(time, y)

    stepper = runge_kutta(counted, 0.0, PENDULUM, tolerance=1e-8, step=0.5)
    for _ in range(2):
        stepper.step()
        before = len(calls)
        for share in (0.3, 0.9, 0.5):
            stepper.dense_output(
                stepper.previous_time + share * (stepper.time - stepper.previous_time)
            )
        assert len(calls) == before + more


@pytest.mark.parametrize("last", [np.inf, 0.0])
def test_looking_disturbs_neither_steps_nor_other_states(
    last: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A state would depend on what else is saved, and so would all that follows."""
    monkeypatch.setattr(interpolant, "_LAST", last)
    seen, unseen = (dop853(pendulum, Start(0.0, PENDULUM, 0.5), 1e-8) for _ in range(2))
    for _ in range(4):
        assert seen.step() and unseen.step()
        assert seen.time == unseen.time and np.array_equal(seen.state, unseen.state)
        length = seen.time - seen.previous_time
        first, *_, again = (
            seen.dense_output(seen.previous_time + share * length) for share in (0.4, 0.2, 0.7, 0.4)
        )
        resumed = dop853(
            pendulum, Start(seen.previous_time, seen.dense_output(seen.previous_time), length), 1e-8
        )
        resumed.step()
        alone = resumed.dense_output(seen.previous_time + 0.4 * length)
        assert resumed.time == seen.time
        assert np.array_equal(first, again) and np.array_equal(first, alone)


@pytest.mark.parametrize("last", [np.inf, 0.0])
def test_interpolants_meet_both_ends(last: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A jump there would show in figures and in energies."""
    monkeypatch.setattr(interpolant, "_LAST", last)
    stepper = one_step(0.8)
    begin, end = stepper.dense_output(1e-12), stepper.dense_output(0.8 - 1e-12)
    np.testing.assert_allclose(begin, PENDULUM, rtol=0, atol=5e-12)
    np.testing.assert_allclose(end, stepper.state, rtol=0, atol=5e-12)


@pytest.mark.parametrize("unit", [1.0, 2.0**40])
def test_states_are_those_of_any_unit(unit: float) -> None:
    """Very slow runs are solved in long units of time."""
    slow = dop853(lambda t, y: pendulum(t, y) / unit, Start(0.0, PENDULUM, 0.5 * unit, unit), 1e-9)
    usual = dop853(pendulum, Start(0.0, PENDULUM, 0.5), 1e-9)
    assert slow.step() and usual.step()
    assert np.array_equal(slow.dense_output(0.3 * unit), usual.dense_output(0.3))


def test_a_state_that_neither_interpolant_knows_is_a_step_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where steps are at the limit of stability, both may err by several tolerances."""
    monkeypatch.setattr(interpolant, "_LAST", 0.0)
    monkeypatch.setattr(interpolant, "_CHANGE", 0.0)
    stepper = one_step(0.8)
    assert np.array_equal(stepper.dense_output(0.5), stepper.shorter_step(0.5))


def test_order_five_takes_steps_of_its_own() -> None:
    """The weights are those of order eight."""
    stepper = runge_kutta(pendulum, 0.0, PENDULUM, tolerance=1e-6, step=0.1, method="RK45")
    assert stepper.step()
    assert np.array_equal(stepper.dense_output(0.05), stepper.shorter_step(0.05))


LAW = mf.perturbed_uniform([[1, 0.1, 0.05], [2, 0.0, 0.15], [3, -0.12, 0.05]])
ON_SPHERE = mf.perturbed_uniform([[1, 0, 0.1], [2, 1, 0.15], [3, -2, -0.12]])


def random_problem(seed: int) -> tuple[mf.Problem, str, float]:
    """Problem, carrier and tolerance: tokens in four spaces, densities, nodes, heads."""
    rng = np.random.default_rng([37, seed])
    beta, tolerance = 10.0 ** rng.uniform(-0.3, 1.3), 10.0 ** rng.uniform(-11.0, -4.0)
    kernel, flow = mf.exponential(beta), (mf.SA, mf.USA)[seed // 7 % 2]
    circle, sphere, high, plain = mf.Circle(), mf.Sphere(), mf.Sphere(9), mf.Euclidean(3)

    def tokens(space: Manifold) -> Any:
        return mf.from_points(space.random_points(30, rng))

    heads = mf.Attention([mf.Head(*rng.normal(size=(2, 2, 2))) for _ in range(2)], beta=3.0)
    falling = mf.Attention([mf.Head(-0.5 * np.eye(3))], beta=1.0)
    problem, carrier = [
        (lambda: mf.Problem(circle, kernel, flow, tokens(circle)), "particles"),
        (lambda: mf.Problem(sphere, kernel, flow, tokens(sphere)), "particles"),
        (lambda: mf.Problem(high, kernel, flow, tokens(high)), "particles"),
        (lambda: mf.Problem(circle, kernel, flow, LAW), "density"),
        (lambda: mf.Problem(circle, kernel, flow, LAW), "characteristics"),
        (lambda: mf.Problem(circle, heads, initial=tokens(circle)), "particles"),
        (
            lambda: mf.Problem(plain, falling, initial=mf.from_points(rng.normal(size=(20, 3)))),
            "particles",
        ),
    ][seed % 7]
    return problem(), carrier, tolerance


@pytest.mark.parametrize("seed", range(21))
def test_states_inside_are_as_good_as_the_tolerance(seed: int) -> None:
    """Root mean square error in tolerances, of ten steps at three places each.

    Steps err by at most one, by their own estimate. At 2,700 places of other problems no more than
    0.002 of the last coefficient was wrong, of which 100 tolerances are allowed. The second
    interpolant is off by less than it changes, which may be one.
    """
    problem, carrier_name, tolerance = random_problem(seed)
    carrier = represent(problem, Options(name=carrier_name, tolerance=tolerance))
    scheme = usual_scheme(problem, carrier)
    stepper = scheme(carrier, Start(0.0, carrier.state), tolerance, lambda rhs: rhs)
    worst = 0.0
    for _ in range(10):
        before = stepper.state
        assert stepper.step(carrier.largest_step(stepper.time, before))
        length = stepper.time - stepper.previous_time
        unit = tolerance * (1.0 + np.maximum(np.abs(before), np.abs(stepper.state)))
        for share in (0.2, 0.5, 0.8):
            time = stepper.previous_time + share * length
            exact = reference(carrier.rhs, stepper.previous_time, before, time)
            error = np.abs(stepper.dense_output(time) - exact) / unit
            worst = max(worst, float(np.sqrt(np.mean(error**2))))
    assert worst < 1.0
