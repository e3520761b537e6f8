"""The density as a representation: its degree, its limits, its refusals."""

import numpy as np
import pytest
from head_oracle import vectors, velocity
from parameters import refused

import meanfield as mf
from meanfield.carriers import DensityRepresentation, density

LAW = mf.perturbed_uniform([[3, 0.2, 0.1]])


def represented(degree: int, top: complex = 0.0, flow: mf.Flow = mf.USA) -> DensityRepresentation:
    problem = mf.Problem(mf.Circle(), mf.exponential(5.0), flow, LAW)
    state = mf.Circle().resize(LAW.build(mf.Circle()).coefficients, degree)
    state[-1] = top
    return DensityRepresentation(problem, state, tolerance=1e-8, max_degree=200)


@pytest.mark.parametrize("law_degree, beta, first", [(3, 5.0, 64), (50, 5.0, 100), (3, 1e3, 282)])
def test_first_degree_holds_density_and_kernel(law_degree, beta, first):
    """At least 64, twice the degree of the datum, and the kernel's."""
    law = mf.perturbed_uniform([[law_degree, 0.1, 0.0]])
    problem = mf.Problem(mf.Circle(), mf.exponential(beta), mf.USA, law)
    measure = problem.initial_measure()
    carrier = density(problem, measure, tolerance=1e-10)
    assert carrier.grid.max_degree == first
    assert np.array_equal(carrier.moments(carrier.state, law_degree), measure.coefficients)


def test_degree_doubles_while_the_tail_is_far_below_the_tolerance():
    """Long before it matters: at a thousandth of the tolerance; the state is kept."""
    carrier = represented(64, 0.9e-11)
    assert carrier.adapt(0.0, carrier.state) is None
    carrier = represented(64, 1.1e-11j)
    wider = carrier.adapt(0.0, carrier.state)
    assert wider.grid.max_degree == 128
    assert np.array_equal(wider.state[:65], carrier.state)
    assert np.array_equal(wider.state[65:], np.zeros(64))


def test_degree_stops_at_the_largest():
    """128 becomes 200, and 200 stays."""
    carrier = represented(128, 1e-6)
    wider = carrier.adapt(0.0, carrier.state)
    assert wider.grid.max_degree == 200
    full = represented(200, 1e-6)
    assert full.adapt(0.0, full.state) is None
    assert full.refined(full.state, full.state) is None


@pytest.mark.parametrize("manifold", [mf.Circle(), mf.Sphere()])
@pytest.mark.parametrize("normalized", [False, True])
def test_exponential_steps_are_of_the_whole_right_hand_side(manifold, normalized):
    """A linear part that is left out, or counted twice, would be missed by neither half alone."""
    flow = mf.Flow(normalized=normalized, strength=-0.7, diffusivity=0.3)
    problem = mf.Problem(manifold, mf.exponential(5.0), flow, mf.von_mises_fisher(3.0))
    carrier = density(problem, problem.initial_measure(), tolerance=1e-8, max_degree=64)
    state = carrier.state
    rates = mf.growth_rates(problem, carrier.grid.max_degree)
    whole = carrier.remainder(0.0, state) + manifold.convolve(rates, state)
    expected = carrier.rhs(0.0, state)
    np.testing.assert_allclose(whole, expected, rtol=0, atol=1e-13 * np.abs(expected).max())


def test_failure_names_tail_and_degree():
    """A tail at the tolerance must not be trusted; one just below may be."""
    below, above = represented(64, 0.99e-8), represented(64, 1.01e-8)
    assert below.failure(0.0, below.state) is None
    reason = str(above.failure(0.0, above.state))
    assert reason.startswith("under-resolved: spectral tail 1.0e-08 at degree 64; raise")


def test_failure_names_a_moment_beyond_a_single_point():
    """The spectrum looks fine there."""
    # Within what errors of 100 tolerances, one a degree, may do, it passes.
    carrier = represented(64)
    state = np.zeros(65, dtype=complex)
    state[[0, 20, 40]] = 1.0, 1.0 + 0.9e-6, 0.5
    assert "moment" not in str(carrier.failure(0.0, state))
    for size, factor in ((1.0 + 1.1e-6, "1"), (1.233, "1.233")):
        state[[20, 40]] = size, size / 2
        reason = carrier.failure(0.0, state)
        assert f"moment 20 is {factor} times a single point's at degree 64" in reason


def test_failure_names_values_far_below_zero():
    """The spectrum looks fine there."""
    carrier = represented(64)
    # Twice the sum of the errors of 65 degrees is 1.3e-4.
    for low, reason in (
        (1.2e-4, "None"),
        (1.4e-4, "under-resolved: the density falls to -0.00014 at degree 64; raise"),
    ):
        state = np.zeros(65, dtype=complex)
        state[:2] = 1.0, 0.5 * (1.0 + low)
        assert str(carrier.failure(0.0, state)).startswith(reason)


@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
def test_largest_step_is_the_courant_limit(flow):
    """4 / (degree max|v|), the velocity summed plainly; shorter in proportion at more degrees."""
    carrier = represented(160, 0.0, flow)
    theta = 2 * np.pi * np.arange(4000) / 4000
    f = 1 + 0.2 * np.cos(3 * theta) + 0.1 * np.sin(3 * theta)
    x, head = vectors(theta), (5.0 * np.eye(2), np.eye(2))
    how, unit = ("softmax", 1.0) if flow.normalized else ("none", np.exp(-5.0))
    v = unit * velocity(x[::10], x, f / 4000, [head], how)
    expected = 4.0 / (160 * np.linalg.norm(v, axis=1).max())
    # Its nodes and these miss the maximum by a little.
    assert carrier.largest_step(0.0, carrier.state) == pytest.approx(expected, rel=2e-3)
    wide = represented(200, 0.0, flow)
    assert wide.largest_step(0.0, wide.state) == pytest.approx(0.8 * expected, rel=2e-3)


def test_largest_step_with_diffusion_is_an_e_fold_of_the_growth():
    """Steps of many e-folds would miss a mode that grows from below the tolerance."""
    flow = mf.Flow("none", diffusivity=1e-3)
    carrier = represented(64, flow=flow)
    near = carrier.state.copy()
    near[1] = 1e-6
    expected = 1.0 / mf.growth_rate_max(carrier.problem)
    assert carrier.largest_step(0.0, near) == pytest.approx(expected, rel=1e-12)


def test_uniform_density_has_no_largest_step():
    """Nothing moves."""
    problem = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.USA)
    carrier = density(problem, problem.initial_measure(), tolerance=1e-10)
    assert carrier.largest_step(0.0, carrier.state) == np.inf


def test_diagnostics_hold_the_smallest_value():
    """A run file would not show a negative density."""
    carrier = represented(64)
    diagnostics = carrier.diagnostics(0.0, carrier.state)
    assert diagnostics["density_min"] == pytest.approx(1 - np.hypot(0.2, 0.1), abs=2e-3)
    assert diagnostics["degree"] == 64


def test_smallest_value_of_an_axial_density_is_resolved():
    """Near a pole without mass the series is noise, and no value of the density."""
    problem = mf.Problem(mf.Axial(40), mf.exponential(9.0), initial=mf.von_mises_fisher(5.0))
    law = problem.initial_measure()
    carrier = density(problem, law, tolerance=1e-10)
    grid, state = carrier.grid, carrier.state
    expected = law.at(grid.points[grid.resolved(state)]).min()
    assert grid.to_nodal(state).min() < 0.6 * expected
    lowest = carrier.diagnostics(0.0, state)["density_min"]
    assert lowest == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    "mode, beta, needed, owner", [(100, 5.0, 100, "initial density"), (3, 1e4, 889, "kernel")]
)
def test_density_refuses_a_largest_degree_that_cuts(mode, beta, needed, owner):
    """Neither the datum nor the kernel may be cut."""
    law = mf.perturbed_uniform([[mode, 0.1, 0.0]])
    problem = mf.Problem(mf.Circle(), mf.exponential(beta), mf.USA, law)
    message = f"max_degree = 99 is below degree {needed} of the {owner}"
    refused(message, density, problem, problem.initial_measure(), tolerance=1e-10, max_degree=99)
