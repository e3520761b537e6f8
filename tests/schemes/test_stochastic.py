"""Noisy steps: their weak order, runs that repeat, states inside a step."""

from collections.abc import Callable
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from numpy.polynomial.legendre import legder, legval, legvander
from parameters import refused, together

import meanfield as mf
from meanfield.carriers.particles import ParticleRepresentation
from meanfield.schemes import runge_kutta
from meanfield.schemes.stochastic import StochasticStepper, stochastic
from meanfield.spaces.circle.circle import Circle
from meanfield.spaces.sphere.sphere import Sphere


def circle_noise(diffusivity: float):
    return lambda state, time, normals: Circle().diffuse(state, diffusivity * time, normals)


def sphere_noise(diffusivity: float):
    def noise(state: np.ndarray, time: float, normals: np.ndarray) -> np.ndarray:
        return Sphere().diffuse(state.reshape(-1, 3), diffusivity * time, normals).ravel()

    return noise


def many_tokens(count: int) -> np.ndarray:
    return Sphere().random_points(count, np.random.default_rng(0)).ravel()


def test_without_noise_order_is_two() -> None:
    """The drift of the particle representation must be carried to order two, lengths included."""
    problem = mf.Problem(Sphere(), mf.exponential(4.0), mf.SA)
    state = many_tokens(5)
    rhs = ParticleRepresentation(problem, state).rhs
    reference = runge_kutta(rhs, 0.0, state, tolerance=1e-12)
    while reference.time < 1.6:
        assert reference.step(1.6 - reference.time + 1e-12)
    exact = Sphere().retract(reference.dense_output(1.6).reshape(-1, 3))[0]
    errors = []
    for step in (0.1, 0.05, 0.025):
        stepper = stochastic(rhs, sphere_noise(0.0), (5, 2), 0.0, state, step=step, seed=0)
        assert all(stepper.step() for _ in range(round(1.6 / step)))
        errors.append(np.abs(stepper.state.reshape(-1, 3) - exact).max())
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2.0, abs=0.05)


@pytest.mark.parametrize("fraction", [0.02, 0.3, 0.5, 0.77])
def test_saved_states_lie_on_the_path(fraction: float) -> None:
    """Without drift cov(x(s), x(t)) = 2 D min(s, t), with the end of the step and inside."""
    start = np.zeros(100_000)
    noise = circle_noise(0.3)
    stepper = stochastic(lambda t, x: 0.0 * x, noise, start.shape, 1.0, start, step=0.5, seed=4)
    assert stepper.step()
    time = 0.5 * fraction
    here = stepper.dense_output(1.0 + time)
    for other, later in ((stepper.state, 0.5), (stepper.dense_output(1.45), 0.45), (here, time)):
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
    cosine = stepper.dense_output(0.2).reshape(-1, 3) @ start[0]
    for l, values in enumerate(legvander(cosine, 4).T[1:], start=1):
        error = values.mean() - np.exp(-l * (l + 1) * 0.3 * 0.2)
        assert abs(error) < 4.0 * values.std() / np.sqrt(values.size)


def test_inside_joins_the_ends() -> None:
    """A state saved just before the end, or after the beginning, must be near that state."""
    state = many_tokens(50)
    drift = ParticleRepresentation(mf.Problem(Sphere(), mf.exponential(4.0), mf.SA), state).rhs
    stepper = stochastic(drift, sphere_noise(0.05), (50, 2), 0.0, state, step=0.1, seed=1)
    assert stepper.step()
    assert np.array_equal(stepper.dense_output(stepper.time), stepper.state)
    assert np.array_equal(stepper.dense_output(stepper.previous_time), state)
    # The path moves by about sqrt(2 D dt) = 3e-6 in dt = 1e-10.
    assert np.abs(stepper.dense_output(1e-10) - state).max() < 2e-5
    assert np.abs(stepper.dense_output(stepper.time - 1e-10) - stepper.state).max() < 2e-5


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


@together("step", [0.0, -1.0, float("inf"), float("nan")])
def test_refuses_steps_that_are_none(step: float) -> None:
    """A step of zero never ends."""
    noise, message = circle_noise(0.1), "is not a time step, expected a positive number"
    start = np.zeros(2)
    refused(message, stochastic, lambda t, x: x, noise, (2,), 0.0, start, step=step, seed=0)


BETA = 2.0
STEPS = np.array([0.8, 0.4, 0.2, 0.1])
TIME = 1.6


def nodes(*halves: np.ndarray) -> Any:
    """Path with nodes of a quadrature for its normals."""
    return SimpleNamespace(halves=lambda step: halves)


def check_order(verified: Callable, what: str, errors: list[float]) -> None:
    """Errors fall by h^2; the next term is of order four, so slopes come close to 2."""
    order = np.log2(errors[-2] / errors[-1])
    curve = (STEPS, errors)
    verified("order in time", f"splitting, {what}", order - 2.0, 0.05, measured=order, curve=curve)


# Two tokens on the circle that attract each other. Their difference phi has
#     d phi = -e^{beta (cos phi - 1)} sin phi dt + sqrt(4 D) dB
# and the stationary density exp(e^{beta (cos phi - 1)} / (2 beta D)).

PAIR_DIFFUSIVITY = 0.1
PAIR_DEGREE = 24


def pair_drift(time: float, state: np.ndarray) -> np.ndarray:
    """Velocities of pairs of tokens, each pair alone; weights 1/2."""
    first, second = state.reshape(2, -1)
    velocity = 0.5 * np.exp(BETA * (np.cos(second - first) - 1.0)) * np.sin(second - first)
    return np.concatenate([velocity, -velocity])


@lru_cache
def pair_operator(step: float) -> np.ndarray:
    """Matrix of E e^{ik phi'} given phi, on e^{ik phi}, |k| <= PAIR_DEGREE, for one step."""
    count = 2 * PAIR_DEGREE + 1
    phi = 2.0 * np.pi * np.arange(count) / count
    # Common turns change nothing: the noise of the two may be opposite.
    x, w = np.polynomial.hermite_e.hermegauss(16)
    w = w / w.sum()
    start, first, second = (a.ravel() for a in np.meshgrid(phi, x, x, indexing="ij"))
    normals = (np.concatenate([-n, n]) / np.sqrt(2.0) for n in (first, second))
    state = np.concatenate([np.zeros_like(start), start])
    noise = circle_noise(PAIR_DIFFUSIVITY)
    stepper = StochasticStepper(pair_drift, noise, nodes(*normals), 0.0, state, step=step)
    assert stepper.step()
    before, after = stepper.state.reshape(2, -1)
    degrees = np.arange(-PAIR_DEGREE, PAIR_DEGREE + 1)
    waves = np.exp(1j * degrees[:, None] * (after - before)).reshape(count, count, -1)
    means = waves @ np.outer(w, w).ravel()
    return means @ np.exp(-1j * np.outer(phi, degrees)) / count


@pytest.mark.slow
def test_weak_order_is_two_for_two_tokens_on_the_circle(verified: Callable) -> None:
    """E cos k phi of two interacting tokens must err by h^2 at a fixed time."""
    # Exact generator on the same waves, row k: b u_k' + 2 D u_k''.
    count = 8 * PAIR_DEGREE
    phi = 2.0 * np.pi * np.arange(count) / count
    drift = -np.exp(BETA * (np.cos(phi) - 1.0)) * np.sin(phi)
    degrees = np.arange(-PAIR_DEGREE, PAIR_DEGREE + 1)[:, None]
    waves = np.exp(1j * degrees * phi)
    images = (1j * degrees * drift - 2.0 * PAIR_DIFFUSIVITY * degrees**2) * waves
    exact = scipy.linalg.expm(TIME * images @ waves.conj().T / count)
    start = np.exp(2.0j * degrees[:, 0])  # phi = 2
    for k in (1, 2, 3):
        errors = []
        for step in STEPS:
            power = np.linalg.matrix_power(pair_operator(step), round(TIME / step))
            errors.append(abs((power - exact)[PAIR_DEGREE + k] @ start))
        check_order(verified, f"noisy pair, E cos {k} phi, circle", errors)


@pytest.mark.slow
def test_stationary_law_of_two_tokens_errs_by_order_two(verified: Callable) -> None:
    """The law in which two noisy tokens settle must be exp(W / 2 D) up to h^2."""
    phi = 2.0 * np.pi * np.arange(512) / 512
    density = np.exp(np.exp(BETA * (np.cos(phi) - 1.0)) / (2.0 * BETA * PAIR_DIFFUSIVITY))
    exact = (density @ np.cos(phi)) / density.sum()
    errors = []
    for step in STEPS:
        settled = np.linalg.matrix_power(pair_operator(step), 4096)
        errors.append(abs(settled[PAIR_DEGREE + 1].sum() - exact))
    check_order(verified, "noisy pair, stationary law, circle", errors)
    assert errors[-1] < 1e-3


# A token on the sphere in the field of a fixed one at the pole: P_l(z) are closed under
#     e^{beta (z - 1)} (1 - z^2) d/dz + D Laplacian.

POLE_DIFFUSIVITY = 0.2
POLE_DEGREE = 17


def pole_drift(time: float, state: np.ndarray) -> np.ndarray:
    """Velocity |x| v(x / |x|) towards the pole, flattened vectors."""
    vectors = state.reshape(-1, 3)
    lengths = np.sqrt((vectors**2).sum(axis=1))[:, None]
    points = vectors / lengths
    z = points[:, 2:]
    return (lengths * np.exp(BETA * (z - 1.0)) * (np.array([0.0, 0.0, 1.0]) - z * points)).ravel()


def pole_operator(step: float) -> np.ndarray:
    """Matrix of E P_l(z') given z, on P_l(z), for one step."""
    z, w = np.polynomial.legendre.leggauss(POLE_DEGREE + 1)
    # E over normals: q = r^2 = 2 t with the law e^{-t} dt, and the azimuth.
    t, v = np.polynomial.laguerre.laggauss(8)
    psi = 2.0 * np.pi * (np.arange(12) + 0.5) / 12
    plane = np.sqrt(2.0 * t)[:, None, None] * np.stack([np.cos(psi), np.sin(psi)], axis=1)
    plane, share = plane.reshape(-1, 2), np.repeat(v / 12, 12)
    count = len(plane)
    points = np.stack([np.sqrt(1.0 - z * z), 0.0 * z, z], axis=1)
    state = np.repeat(points, count * count, axis=0).ravel()
    first = np.tile(np.repeat(plane, count, axis=0), (len(z), 1))
    second = np.tile(plane, (len(z) * count, 1))
    noise = sphere_noise(POLE_DIFFUSIVITY)
    stepper = StochasticStepper(pole_drift, noise, nodes(first, second), 0.0, state, step=step)
    assert stepper.step()
    after = stepper.state.reshape(-1, 3)[:, 2]
    shares = np.outer(share, share).ravel()
    rows = [shares @ legvander(part, POLE_DEGREE) for part in np.split(after, len(z))]
    degrees = np.arange(POLE_DEGREE + 1)
    to_modal = (degrees[:, None] + 0.5) * (legvander(z, POLE_DEGREE) * w[:, None]).T
    return (to_modal @ np.array(rows)).T


@pytest.mark.slow
def test_weak_order_is_two_on_the_sphere(verified: Callable) -> None:
    """E P_l of a token drawn to another must err by h^2 at a fixed time."""
    x, w = np.polynomial.legendre.leggauss(80)
    l, values = np.arange(POLE_DEGREE + 1), legvander(x, POLE_DEGREE)
    slopes = legval(x, legder(np.eye(len(l))))
    images = np.exp(BETA * (x - 1.0)) * (1.0 - x * x) * slopes
    images -= POLE_DIFFUSIVITY * (l * (l + 1))[:, None] * values.T
    exact = scipy.linalg.expm(TIME * images @ ((l + 0.5) * values * w[:, None]))
    start = legvander(np.array([0.4]), POLE_DEGREE)[0]
    powers = [np.linalg.matrix_power(pole_operator(h), round(TIME / h)) for h in STEPS]
    for l in (1, 2, 3):
        errors = [abs((power - exact)[l] @ start) for power in powers]
        check_order(verified, f"noisy token, E P_{l}, sphere", errors)
