"""Time steps of tokens on the sphere: the order of the method, and lengths."""

import numpy as np
import pytest
from parameters import each

import meanfield as mf
from meanfield.carriers import Options, ParticleRepresentation, represent
from meanfield.schemes import INTEGRATORS, runge_kutta
from meanfield.trajectory import trajectory

SPHERE = mf.Sphere()
FLOWS = {"USA": mf.USA, "SA": mf.SA}
# Steps, between rounding and the range where the order is not yet seen.
STEPS = {
    ("USA", "DOP853"): (24, 32, 48), ("USA", "RK45"): (80, 160), ("SA", "DOP853"): (12, 16, 24),
    ("SA", "RK45"): (40, 80, 160),
}  # fmt: skip
END = {"USA": 12.0, "SA": 4.0}


def tokens(flow: str, count: int = 12, beta: float = 3.0) -> ParticleRepresentation:
    points = SPHERE.random_points(count, np.random.default_rng(7))
    points[0] = [0.0, 0.0, 1.0]
    problem = mf.Problem(SPHERE, mf.exponential(beta), FLOWS[flow], mf.from_points(points))
    return represent(problem, Options(name="particles"))


def after_fixed_steps(flow: str, method: str, count: int, scale: float = 1.0) -> np.ndarray:
    """State at the end after equal steps, none ever rejected, from vectors of a length."""
    carrier, step = tokens(flow), END[flow] / count
    start = scale * carrier.state
    stepper = runge_kutta(carrier.rhs, 0.0, start, tolerance=1e6, step=step, method=method)
    for _ in range(count):
        assert stepper.step(largest=step)
    assert stepper.time == pytest.approx(END[flow], rel=1e-13)
    return stepper.state.reshape(-1, 3)


def direction(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.slow
@pytest.mark.parametrize("method, order", INTEGRATORS.items())
@pytest.mark.parametrize("flow", FLOWS)
def test_directions_keep_the_order_of_the_method(flow, method, order, verified):
    """Drifting lengths, normalised within a step or after it, must not spoil the order."""
    exact = direction(after_fixed_steps(flow, "DOP853", 200))
    start = tokens(flow).state.reshape(-1, 3)
    assert np.abs(exact - start).max() > 0.3
    counts = np.array(STEPS[flow, method])
    ends = [direction(after_fixed_steps(flow, method, int(count))) for count in counts]
    errors = [np.abs(end - exact).max() for end in ends]
    slope = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert slope > order - 0.5, (slope, errors)
    what = f"{method} on tokens, sphere, {flow}"
    verified(
        "order in time",
        what,
        slope - order,
        0.7,
        measured=slope,
        curve=(END[flow] / counts, errors),
    )
    assert errors[-1] > 1e-14


@pytest.mark.parametrize("flow", FLOWS)
def test_lengths_drift_and_do_not_matter(flow):
    """The field |x| v(x / |x|) is homogeneous: doubled vectors stay doubled, to the bit."""
    plain, doubled = (after_fixed_steps(flow, "DOP853", 12, scale) for scale in (1.0, 2.0))
    assert np.array_equal(doubled, 2.0 * plain)
    drift = np.abs(np.linalg.norm(plain, axis=1) - 1.0).max()
    assert 1e-14 < drift < 1e-4


@each("flow", FLOWS, tolerance=[1e-6, 1e-9, 1e-12])
def test_error_follows_the_tolerance(flow, tolerance):
    """Adaptive steps: the error at the end is of the size of the tolerance, not a hundredfold."""
    carrier = tokens(flow)
    exact = direction(after_fixed_steps(flow, "DOP853", 200))
    (last,) = trajectory(carrier.problem, carrier, [END[flow]], tolerance=tolerance)
    assert np.abs(last.measure.points - exact).max() < 30 * tolerance
