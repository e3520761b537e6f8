"""Exponential steps on the density's equation with diffusion: order, error, known solutions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
import scipy.integrate
import scipy.special
from advection import advection
from parameters import each

import meanfield as mf
from meanfield.arrays import FloatArray, ModalArray
from meanfield.fields.mean_field import interaction
from meanfield.schemes.exponential import exponential
from meanfield.spaces.manifold import laplacian_eigenvalues

MANIFOLDS = {"circle": (mf.Circle(), 32, 0.2), "sphere": (mf.Sphere(), 10, 0.15)}
FLOWS = {
    "USA": mf.Flow("none", diffusivity=0.01),
    "SA": mf.Flow(normalized=True, diffusivity=0.05),
}
# Between the range where the order is not yet seen and rounding.
STEPS = {"USA": (8, 16, 32, 64), "SA": (32, 64, 128)}
END = 8.0


@dataclass(frozen=True, eq=False)
class Equation:
    problem: mf.Problem
    degree: int

    def spread(self, by_degree: FloatArray) -> FloatArray:
        space = self.problem.manifold
        ones = 0.0 * space.resize(np.ones(1, complex), self.degree) + 1.0
        return np.asarray(space.convolve(by_degree, ones).real)

    def whole(self) -> Callable[[float, ModalArray], ModalArray]:
        """Right-hand side -div(f v) + D Laplacian f."""
        problem, space = self.problem, self.problem.manifold
        mean_field = interaction(problem)
        heat = -problem.flow.diffusivity * laplacian_eigenvalues(space.dimension, self.degree)
        rates = self.spread(heat)

        def rhs(time: float, state: ModalArray) -> ModalArray:
            field = mean_field.field(state)
            flux = advection(space, self.degree, state, field.potential, field.partition)
            return rates * state - flux

        return rhs

    def remainder(self) -> Callable[[float, ModalArray], ModalArray]:
        """Without L u: for USA exactly what the perturbation does to itself."""
        problem, space = self.problem, self.problem.manifold
        mean_field = interaction(problem)
        still = replace(problem, flow=replace(problem.flow, diffusivity=0.0))
        coupling = self.spread(mf.growth_rates(still, self.degree))

        def nonlinear(time: float, state: ModalArray) -> ModalArray:
            field = mean_field.field(state)
            if field.partition is None:
                perturbation = state.copy()
                perturbation[0] = 0.0
                return -advection(space, self.degree, perturbation, field.potential)
            flux = advection(space, self.degree, state, field.potential, field.partition)
            return -flux - coupling * state

        return nonlinear

    def stepper(self, state, tolerance, step=None):
        """Stepper from time 0."""
        linear = self.spread(mf.growth_rates(self.problem, self.degree))
        return exponential(self.remainder(), linear, 0.0, state, tolerance=tolerance, step=step)


@cache
def case(manifold: str, flow: str) -> tuple[Equation, ModalArray, ModalArray]:
    """Equation, start, and the state at END by DOP853 on the whole right-hand side."""
    space, degree, size = MANIFOLDS[manifold]
    equation = Equation(mf.Problem(space, mf.exponential(5.0), FLOWS[flow]), degree)
    start = equation.spread(size * np.exp(-0.8 * np.arange(degree + 1.0))) + 0j
    rng = np.random.default_rng(3)
    start *= rng.normal(size=len(start))
    if manifold == "circle":
        start *= np.exp(1j * rng.normal(size=len(start)))
    start[0] = 1.0
    steps = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-15}
    solution = scipy.integrate.solve_ivp(equation.whole(), (0.0, END), start, **steps)
    return equation, start, np.ascontiguousarray(solution.y[:, -1])


@pytest.mark.slow
@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize("manifold", MANIFOLDS)
def test_order_is_four_on_the_real_equation(manifold: str, flow: str) -> None:
    """Fixed steps against DOP853 on the whole equation: linear part, remainder and order."""
    equation, start, end = case(manifold, flow)
    assert np.abs(end - start).max() > 0.015
    counts = np.array(STEPS[flow])
    errors = []
    for count in counts:
        stepper = equation.stepper(start, 1e9, END / count)
        for _ in range(count):
            stepper.step(END / count)
        assert stepper.time == END
        errors.append(np.abs(stepper.state - end).max())
    slope = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert slope == pytest.approx(4.0, abs=0.15), errors
    assert errors[-1] > 1e-14


@each("manifold", MANIFOLDS, flow=FLOWS, tolerance=[1e-4, 1e-6, 1e-8, 1e-10, 1e-12])
def test_error_follows_the_tolerance(manifold: str, flow: str, tolerance: float) -> None:
    """Adaptive steps: the error at the end is below the tolerance, and not for nothing."""
    equation, start, end = case(manifold, flow)
    stepper = equation.stepper(start, tolerance)
    while stepper.time < END:
        assert stepper.step()
    error = np.abs(stepper.dense_output(END) - end).max()
    # Below 1e-4 single long steps may be lucky.
    assert error < tolerance
    assert error > 1e-3 * tolerance or tolerance > 1e-5


@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize("manifold", MANIFOLDS)
def test_small_perturbations_grow_at_their_rates(manifold: str, flow: str) -> None:
    """A mode of 1e-8, of odd degree, acts back on itself at third order: e^{lambda t} to 1e-16."""
    equation, _, _ = case(manifold, flow)
    sizes = np.where(np.arange(equation.degree + 1) == 3, 1e-8, 0.0)
    sizes[0] = 1.0
    start = equation.spread(sizes) + 0j
    stepper = equation.stepper(start, 1e-8)
    while stepper.time < 5.0:
        assert stepper.step()
    rate = mf.growth_rates(equation.problem, 3)[3]
    grown = stepper.state[start == 1e-8]
    np.testing.assert_allclose(grown, 1e-8 * np.exp(rate * stepper.time), rtol=1e-12)


@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize("manifold", MANIFOLDS)
def test_uniform_stays_to_the_bit(manifold: str, flow: str) -> None:
    """Rounding would grow where uniform is unstable."""
    equation, start, _ = case(manifold, flow)
    uniform = np.where(np.arange(len(start)) == 0, 1.0 + 0j, 0.0)
    stepper = equation.stepper(uniform, 1e-8)
    for _ in range(5):
        assert stepper.step()
    assert np.array_equal(stepper.state, uniform)


@pytest.mark.parametrize("step", [1e-3, 0.3, 3.0])
def test_stationary_state_of_noisy_kuramoto_stays(step: float) -> None:
    """Density exp(kappa cos theta) / I_0(kappa) rests at D = I_1(kappa) / (kappa I_0(kappa))."""
    kappa, degree = 2.0, 40
    moments = scipy.special.ive(np.arange(degree + 1), kappa) / scipy.special.ive(0, kappa)
    flow = mf.Flow("none", diffusivity=moments[1] / kappa)
    equation = Equation(mf.Problem(mf.Circle(), mf.linear(), flow), degree)
    stepper = equation.stepper(moments + 0j, 1e-6, step)
    for _ in range(3):
        assert stepper.step(step)
        assert stepper.attempts == 1
    # Three units of rounding of the largest moment, 1, each step.
    assert np.abs(stepper.state - moments).max() < 1e-15
