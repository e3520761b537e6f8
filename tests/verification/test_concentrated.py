"""Concentrated densities under the normalised flow: far from the mass Z is below rounding."""

import numpy as np
import pytest
from parameters import each

import meanfield as mf
from meanfield.carriers.density import DensityRepresentation

CONCENTRATION = 200.0
NODES = 2048


def exact_rhs(beta: float, degree: int) -> np.ndarray:
    """-div(f v) from dense sums with the largest exponent taken out: exact at every node."""
    theta = 2 * np.pi * np.arange(NODES) / NODES
    log_density = CONCENTRATION * np.cos(theta)
    exponents = beta * np.cos(theta[:, None] - theta) + log_density
    weights = np.exp(exponents - exponents.max(axis=1, keepdims=True))
    velocity = -(weights * np.sin(theta[:, None] - theta)).sum(axis=1) / weights.sum(axis=1)
    density = np.exp(log_density - CONCENTRATION)
    flux = density / density.mean() * velocity
    return -1j * np.arange(degree + 1) * np.fft.rfft(flux)[: degree + 1] / NODES


@pytest.mark.slow
@pytest.mark.parametrize("beta", [9.0, 30.0, 100.0])
def test_rounding_far_from_the_mass_stays_there(beta):
    """Carried to another grid, the quotient of two rounding errors spreads into the mass."""
    law = mf.von_mises_fisher(CONCENTRATION)
    problem = mf.Problem(mf.Circle(), mf.exponential(beta), mf.SA, law)
    state = mf.Circle().resize(problem.initial_measure().coefficients, 512)
    rates = DensityRepresentation(problem, state, 1e-10, 512).rhs(0.0, state)
    # Degree 512 times the rounding of fluxes of size 1.
    np.testing.assert_allclose(rates, exact_rhs(beta, 512), rtol=0, atol=512 * 1e-15)


@pytest.mark.parametrize("beta", [9.0, 100.0])
def test_concentrated_run_keeps_its_degree(beta):
    """Noise of the velocity would be taken for a spectrum that fills, up to the largest degree."""
    law = mf.von_mises_fisher(CONCENTRATION)
    problem = mf.Problem(mf.Circle(), mf.exponential(beta), mf.SA, law)
    run = mf.simulate(problem, until=0.5, save=2, tolerance=1e-12)
    assert run.status == "completed"
    assert run.diagnostics["degree"].max() < 600


@each("value", [np.nan, np.inf], beta=[9.0, 100.0], flow=[mf.USA, mf.SA])
def test_states_that_are_not_finite_have_no_finite_rates(flow, beta, value):
    """The stepper must see them and reject the step; an exception would end the run unsaid."""
    problem = mf.Problem(mf.Circle(), mf.exponential(beta), flow)
    state = np.full(129, value, dtype=complex)
    with np.errstate(invalid="ignore"):
        rates = DensityRepresentation(problem, state, 1e-10, 128).rhs(0.0, state)
    assert not np.all(np.isfinite(rates[1:]))
