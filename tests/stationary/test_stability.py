"""Growth rates about axisymmetric states."""

from dataclasses import replace

import numpy as np
import pytest
from noise import noisy
from parameters import refused

import meanfield as mf
from meanfield.stationary import stability
from meanfield.stationary.stability import leading_growth_rates, stationary_growth_rates
from meanfield.stationary.states import StationaryState, stationary_state

FLOWS = [mf.USA, mf.SA]


@pytest.mark.parametrize("flow", FLOWS, ids=["USA", "SA"])
@pytest.mark.parametrize("d", [2, 3, 4, 7])
def test_uniform_has_its_exact_rates(d, flow):
    """Every degree l must appear once in each order m = 0 ... l (circle: 0 and 1)."""
    problem = noisy(mf.Sphere(d), mf.exponential(3.0), 0.3, flow)
    uniform = stationary_state(problem, guess=[0.0])
    rates = mf.growth_rates(problem, 12)
    degrees = np.argsort(-rates[1:])[:4] + 1
    expected = [(rates[l], m) for l in degrees for m in range(2 if d == 2 else l + 1)]
    result = [(rate.rate, rate.order) for rate in uniform.growth_rates(len(expected))]
    # Equal rates of different orders come in any order.
    for pairs in (result, expected):
        pairs.sort(key=lambda pair: (round(pair[0], 9), pair[1]))
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-11)
    assert not uniform.is_stable


@pytest.mark.parametrize("d", [2, 3, 4, 8])
@pytest.mark.parametrize("flow", FLOWS, ids=["USA", "SA"])
def test_rotation_has_the_rate_zero(d, flow):
    """An ordered state rotated is a state: rate 0, order 1, exactly once."""
    state = stationary_state(noisy(mf.Sphere(d), mf.exponential(3.0), 0.9, flow))
    rates = state.growth_rates(4)
    neutral = [rate for rate in rates if abs(rate.rate) < 1e-9]
    assert [rate.order for rate in neutral] == [1]
    assert all(rate.rate < -1e-3 for rate in rates if rate not in neutral)
    assert state.is_stable


# d, beta, kappa_SN / kappa_#: computed apart from this library, 9 digits.
SADDLE_NODES = [
    (2, 3.0, 0.988685320), (2, 10.0, 0.728419119), (3, 2.0, 0.995900098), (3, 5.0, 0.696319663),
]  # fmt: skip


@pytest.mark.parametrize(("d", "beta", "kappa"), SADDLE_NODES)
def test_leading_rate_vanishes_at_the_saddle_node(d, beta, kappa):
    """The m = 0 rate is -c sqrt(D_SN - D) there, and its square finds D_SN."""
    distances = np.array([1e-6, 2e-6, 4e-6, 8e-6])
    squares = []
    for distance in distances:
        state = stationary_state(noisy(mf.Sphere(d), mf.exponential(beta), (1 - distance) / kappa))
        (leading,) = [rate for rate in state.growth_rates(2) if rate.order == 0]
        squares.append(leading.rate**2)
    # rate^2 = c_2 s + c_3 s^{3/2} + c_4 s^2: solved for the s at which it vanishes, as powers of
    # the rate.
    rates = np.sqrt(squares)
    powers = np.stack([np.ones(4), rates**2, rates**3, rates**4], axis=1)
    offset = np.linalg.solve(powers, distances)[0]
    # Nine digits are given; what the expansion leaves out is 4e-10 at most.
    assert abs(offset) < 2e-9


def test_middle_branch_has_one_growing_mode():
    """A guess finds the state between transition and saddle-node; it is an axisymmetric saddle."""
    problem = noisy(mf.Circle(), mf.exponential(3.0), 1.0 / 0.991225571)
    upper, lower = stationary_state(problem), stationary_state(problem, guess=[0.25 * np.sqrt(2.0)])
    assert lower.residual < 1e-14 and lower.free_energy > 0
    assert 0.05 < lower.order_parameter < upper.order_parameter - 0.05
    growing = [rate for rate in lower.growth_rates(4) if rate.rate > 1e-8]
    assert [rate.order for rate in growing] == [0]
    assert upper.is_stable and not lower.is_stable


def test_uniform_is_stable_above_the_critical_diffusivity():
    """The sign of the leading rate is what stability means."""
    for share, stable in ((1.001, True), (0.999, False)):
        for flow in FLOWS:
            problem = noisy(mf.Sphere(), mf.exponential(3.0), share, flow)
            assert stationary_state(problem, guess=[0.0]).is_stable == stable


def test_even_states_are_unstable_to_perturbations_that_are_not():
    """Stability is judged against all perturbations: two clusters fall into one."""
    state = stationary_state(noisy(mf.Circle(), mf.exponential(6.0), 0.5), "2-fold")
    assert not state.is_stable
    # Among its own kind it is a minimum of the free energy.
    jacobian = state.equation.jacobian(state.moments, state.diffusivity)
    assert np.linalg.eigvals(jacobian).real.min() > 0


def test_sharp_state_has_the_rates_of_its_two_wells():
    """D -> 0: Ornstein-Uhlenbeck processes about a Dirac and its antipode, rates in closed form."""
    # At the Dirac v = -a(1) theta: rates -n a(1), n >= 2, besides the rotation. At the antipode
    # v = a(-1) theta: what is there leaves with the rates -n a(-1), n >= 1; a(-1) = e^{-2 beta}.
    state = stationary_state(noisy(mf.Circle(), mf.exponential(0.5), 0.004))
    values = np.array([rate.rate for rate in state.growth_rates(8)])
    escape = np.exp(-1.0)
    wells = [0.0, *(-n * escape for n in range(1, 7)), -2.0]
    # Curvature of the wells changes them by a few D = 1e-3.
    np.testing.assert_allclose(values, sorted(wells, reverse=True), atol=0.03)


def test_rates_do_not_depend_on_the_first_degree(monkeypatch):
    """Started too low, the degree must rise until the rates agree."""
    state = stationary_state(noisy(mf.Sphere(), mf.exponential(2.0), 0.5))
    usual = state.growth_rates(4)
    monkeypatch.setattr(stability, "density_degree", lambda degree, width: degree + 1)
    other = stability.stationary_growth_rates(state.equation, state.moments, state.diffusivity, 4)
    for first, second in zip(usual, other, strict=True):
        assert first.order == second.order
        assert first.rate == pytest.approx(second.rate, abs=1e-11)


def test_rates_that_do_not_settle_are_said(monkeypatch):
    """Unconverged rates would be taken for rates."""
    state = stationary_state(noisy(mf.Circle(), mf.exponential(1.0), 0.001))
    monkeypatch.setattr(stability, "_ROUNDS", 2)
    monkeypatch.setattr(stability, "density_degree", lambda degree, width: degree + 1)
    with pytest.raises(RuntimeError, match="growth rates have not converged at degree"):
        stability.stationary_growth_rates(state.equation, state.moments, state.diffusivity, 4)


def test_bad_input_is_refused():
    """Without polar angles there are no orders; rates of time 0 are none of later times."""
    state = stationary_state(noisy(mf.Circle(), mf.exponential(3.0), 0.9))
    refused("count must be at least 1, got 0", state.growth_rates, 0)
    rising = mf.Problem(mf.Circle(), mf.exponential(lambda t: 3.0 + t), mf.USA)
    uniform = mf.uniform().build(mf.Circle())
    refused("the kernel is a function of time", leading_growth_rates, rising, uniform)
    rates, message = stationary_growth_rates, "so sharp that perturbations need degree"
    refused(message, rates, state.equation, state.moments, 1e-7)
    bare = StationaryState(state.problem, replace(state.symmetry, angles=None), state.moments)
    message = "no polar angles: these growth rates are for"
    refused(message, rates, bare.equation, bare.moments, bare.diffusivity)
