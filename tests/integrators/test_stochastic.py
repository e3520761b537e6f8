"""Noisy steps: runs that repeat and resume, and states inside a step on the same path."""

from __future__ import annotations

import numpy as np
import pytest

import meanfield as mf
from meanfield.integrators import runge_kutta
from meanfield.integrators.stochastic import StochasticStepper, stochastic
from meanfield.manifolds.circle.circle import Circle
from meanfield.manifolds.sphere.sphere import Sphere
from meanfield.representations.particles import ParticleRepresentation


def circle_noise(diffusivity: float):
    """Noise of tokens on the circle."""
    return lambda state, time, normals: Circle().diffuse(state, diffusivity * time, normals)


def sphere_noise(diffusivity: float):
    """Noise of tokens on the sphere, in flattened vectors."""

    def noise(state: np.ndarray, time: float, normals: np.ndarray) -> np.ndarray:
        return Sphere().diffuse(state.reshape(-1, 3), diffusivity * time, normals).ravel()

    return noise


def noisy_particles(seed: int, steps: int, state: np.ndarray, time: float) -> StochasticStepper:
    """Tokens of a problem on the sphere, with noise."""
    problem = mf.Problem(Sphere(), mf.exponential(4.0), mf.SA)
    drift = ParticleRepresentation(problem, state).rhs
    shape = (len(state) // 3, 2)
    return stochastic(
        drift, sphere_noise(0.05), shape, time, state, step=0.1, seed=seed, steps=steps
    )


def many_tokens(count: int = 20_000) -> np.ndarray:
    """More numbers than one chunk of the generator."""
    return Sphere().random_points(count, np.random.default_rng(0)).ravel()


def test_without_noise_order_is_two() -> None:
    """The drift of the particle representation must be carried to order two, lengths included."""
    problem = mf.Problem(Sphere(), mf.exponential(4.0), mf.SA)
    state = many_tokens(5)
    rhs = ParticleRepresentation(problem, state).rhs
    reference = runge_kutta(rhs, 0.0, state, tolerance=1e-12)
    while reference.time < 1.6:
        assert reference.step(1.6 - reference.time + 1e-12)
    exact = Sphere().retract(reference.inside(1.6).reshape(-1, 3))[0]
    errors, steps = [], np.array([0.1, 0.05, 0.025])
    for step in steps:
        stepper = stochastic(rhs, sphere_noise(0.0), (5, 2), 0.0, state, step=step, seed=0)
        assert all(stepper.step() for _ in range(round(1.6 / step)))
        errors.append(np.abs(stepper.state.reshape(-1, 3) - exact).max())
    slopes = np.diff(np.log(errors)) / np.diff(np.log(steps))
    assert slopes[-1] == pytest.approx(2.0, abs=0.05)


def test_run_resumes_equal_to_the_bit() -> None:
    """A stepper with a memory beyond (time, state, steps) could not go on from a file."""
    whole = noisy_particles(3, 0, many_tokens(), 0.0)
    assert all(whole.step() for _ in range(3))
    middle = whole.time, whole.state.copy(), whole.steps
    assert all(whole.step() for _ in range(2))
    resumed = noisy_particles(3, middle[2], middle[1], middle[0])
    assert all(resumed.step() for _ in range(2))
    assert resumed.time == whole.time
    assert np.array_equal(resumed.state, whole.state)


def test_looking_inside_never_changes_the_path() -> None:
    """Saved runs would differ from others if the bridge took numbers from the steps."""
    seen, blind = (noisy_particles(3, 0, many_tokens(), 0.0) for _ in range(2))
    for _ in range(2):
        assert seen.step() and blind.step()
        seen.inside(0.3 * seen.previous_time + 0.7 * seen.time)
    assert np.array_equal(seen.state, blind.state)


@pytest.mark.parametrize("fraction", [0.02, 0.3, 0.5, 0.77])
def test_saved_states_lie_on_the_path(fraction: float) -> None:
    """Without drift cov(x(s), x(t)) = 2 D min(s, t), with the end of the step and inside."""
    start = np.zeros(100_000)
    noise = circle_noise(0.3)
    stepper = stochastic(lambda t, x: 0.0 * x, noise, start.shape, 1.0, start, step=0.5, seed=4)
    assert stepper.step()
    time = 0.5 * fraction
    here = stepper.inside(1.0 + time)
    for other, later in ((stepper.state, 0.5), (stepper.inside(1.45), 0.45), (here, time)):
        products = here * other
        error = products.mean() - 0.6 * min(time, later)
        assert abs(error) < 4.0 * products.std() / np.sqrt(start.size)
        assert abs(other.mean()) < 4.0 * other.std() / np.sqrt(start.size)


def test_saved_states_on_the_sphere_have_the_heat_kernel() -> None:
    """Inside a step without drift E P_l must be e^{-l(l+1) D t}."""
    start = np.tile([0.0, 0.6, 0.8], (100_000, 1))
    stepper = stochastic(
        lambda t, x: 0.0 * x, sphere_noise(0.3), (100_000, 2), 0.0, start.ravel(), step=0.5, seed=4
    )
    assert stepper.step()
    cosine = stepper.inside(0.2).reshape(-1, 3) @ start[0]
    for l, values in enumerate(np.polynomial.legendre.legvander(cosine, 4).T[1:], start=1):
        error = values.mean() - np.exp(-l * (l + 1) * 0.3 * 0.2)
        assert abs(error) < 4.0 * values.std() / np.sqrt(values.size)


def test_inside_joins_the_ends() -> None:
    """A state saved just before the end, or after the beginning, must be near that state."""
    stepper = noisy_particles(1, 0, many_tokens(50), 0.0)
    began = stepper.state
    assert stepper.step()
    assert np.array_equal(stepper.inside(stepper.time), stepper.state)
    assert np.array_equal(stepper.inside(stepper.previous_time), began)
    # The path moves by about sqrt(2 D dt) = 3e-6 in dt = 1e-10.
    assert np.abs(stepper.inside(1e-10) - began).max() < 2e-5
    assert np.abs(stepper.inside(stepper.time - 1e-10) - stepper.state).max() < 2e-5


def test_states_that_are_not_finite_are_returned() -> None:
    """The time loop says what happened; the stepper must neither hide it nor warn."""
    stepper = stochastic(
        lambda t, x: x * np.inf, sphere_noise(0.1), (2, 2), 0.0, many_tokens(2), step=0.1, seed=0
    )
    assert stepper.step()
    assert not np.isfinite(stepper.state).any()


def test_stops_where_the_clock_stands_still() -> None:
    """A step below the rounding of time would go on for ever."""
    state = np.zeros(3)
    stepper = stochastic(lambda t, x: x, circle_noise(0.1), (3,), 1e17, state, step=0.1, seed=0)
    assert not stepper.step()


@pytest.mark.parametrize("step", [0.0, -1.0, float("inf"), float("nan")])
def test_refuses_steps_that_are_none(step: float) -> None:
    """A step of zero never ends."""
    with pytest.raises(ValueError, match="is not a time step, expected a positive number"):
        stochastic(lambda t, x: x, circle_noise(0.1), (2,), 0.0, np.zeros(2), step=step, seed=0)
