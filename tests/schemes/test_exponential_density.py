"""Exponential steps on the density's equation with diffusion: order, error, known solutions."""

from functools import cache

import numpy as np
import pytest
import scipy.integrate
import scipy.special
from parameters import each

import meanfield as mf
from meanfield.arrays import FloatArray, ModalArray
from meanfield.carriers import DensityRepresentation
from meanfield.schemes.exponential import ExponentialStepper, exponential

MANIFOLDS = {"circle": (mf.Circle(), 32, 0.2), "sphere": (mf.Sphere(), 10, 0.15)}
FLOWS = {
    "USA": mf.Flow("none", diffusivity=0.01),
    "SA": mf.Flow(normalized=True, diffusivity=0.05),
}
# Between rounding and the steps that are too long to show the order.
STEPS = {"USA": (8, 16, 32, 64), "SA": (32, 64, 128)}
END = 8.0


def spread(space: mf.Circle | mf.Sphere, by_degree: FloatArray) -> ModalArray:
    """Coefficients that have these values, one for each degree."""
    ones = 0.0 * space.resize(np.ones(1, complex), len(by_degree) - 1) + 1.0
    return np.asarray(space.convolve(by_degree, ones))


def stepper(carrier: DensityRepresentation, state, tolerance, step=None) -> ExponentialStepper:
    """Stepper from time 0."""
    rates = carrier.linear_rates
    return exponential(carrier.remainder, rates, 0.0, state, tolerance=tolerance, step=step)


@cache
def case(manifold: str, flow: str) -> tuple[DensityRepresentation, ModalArray]:
    """Carrier at its start, and the state at END by DOP853 on the whole right-hand side."""
    space, degree, size = MANIFOLDS[manifold]
    start = spread(space, size * np.exp(-0.8 * np.arange(degree + 1.0)))
    rng = np.random.default_rng(3)
    start *= rng.normal(size=len(start))
    if manifold == "circle":
        start *= np.exp(1j * rng.normal(size=len(start)))
    start[0] = 1.0
    problem = mf.Problem(space, mf.exponential(5.0), FLOWS[flow])
    carrier = DensityRepresentation(problem, start, 1.0, degree)
    steps = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-15}
    solution = scipy.integrate.solve_ivp(carrier.rhs, (0.0, END), start, **steps)
    return carrier, np.ascontiguousarray(solution.y[:, -1])


@pytest.mark.slow
@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize("manifold", MANIFOLDS)
def test_order_is_four_on_the_real_equation(manifold: str, flow: str) -> None:
    """Fixed steps against DOP853 on the whole equation: linear part, remainder and order."""
    carrier, end = case(manifold, flow)
    assert np.abs(end - carrier.state).max() > 0.015
    counts = np.array(STEPS[flow])
    errors = []
    for count in counts:
        steps = stepper(carrier, carrier.state, 1e9, END / count)
        for _ in range(count):
            steps.step(END / count)
        assert steps.time == END
        errors.append(np.abs(steps.state - end).max())
    slope = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert slope == pytest.approx(4.0, abs=0.15), errors
    assert errors[-1] > 1e-14


@each("manifold", MANIFOLDS, flow=FLOWS, tolerance=[1e-4, 1e-6, 1e-8, 1e-10, 1e-12])
def test_error_follows_the_tolerance(manifold: str, flow: str, tolerance: float) -> None:
    """Adaptive steps: the error at the end is below the tolerance, and not for nothing."""
    carrier, end = case(manifold, flow)
    steps = stepper(carrier, carrier.state, tolerance)
    while steps.time < END:
        assert steps.step()
    error = np.abs(steps.dense_output(END) - end).max()
    # Below 1e-4 single long steps may be lucky.
    assert error < tolerance
    assert error > 1e-3 * tolerance or tolerance > 1e-5


@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize("manifold", MANIFOLDS)
def test_small_perturbations_grow_at_their_rates(manifold: str, flow: str) -> None:
    """A mode of 1e-8, of odd degree, acts back on itself at third order: e^{lambda t} to 1e-16."""
    carrier, _ = case(manifold, flow)
    sizes = np.where(np.arange(carrier.max_degree + 1) == 3, 1e-8, 0.0)
    sizes[0] = 1.0
    start = spread(carrier.problem.manifold, sizes)
    steps = stepper(carrier, start, 1e-8)
    while steps.time < 5.0:
        assert steps.step()
    rate = mf.growth_rates(carrier.problem, 3)[3]
    grown = steps.state[start == 1e-8]
    np.testing.assert_allclose(grown, 1e-8 * np.exp(rate * steps.time), rtol=1e-12)


@pytest.mark.parametrize("step", [1e-3, 0.3, 3.0])
def test_stationary_state_of_noisy_kuramoto_stays(step: float) -> None:
    """Density exp(kappa cos theta) / I_0(kappa) rests at D = I_1(kappa) / (kappa I_0(kappa))."""
    kappa, degree = 2.0, 40
    moments = scipy.special.ive(np.arange(degree + 1), kappa) / scipy.special.ive(0, kappa)
    flow = mf.Flow("none", diffusivity=moments[1] / kappa)
    problem = mf.Problem(mf.Circle(), mf.linear(), flow)
    carrier = DensityRepresentation(problem, moments + 0j, 1.0, degree)
    steps = stepper(carrier, carrier.state, 1e-6, step)
    for _ in range(3):
        assert steps.step(step)
        assert steps.attempts == 1
    # Three units of rounding of the largest moment, 1, each step.
    assert np.abs(steps.state - moments).max() < 1e-15
