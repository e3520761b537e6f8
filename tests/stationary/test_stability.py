"""Growth rates about axisymmetric states, and about any density."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
from noise import noisy
from parameters import refused

import meanfield as mf
from meanfield.bases.coordinates import coordinates
from meanfield.stationary import stability
from meanfield.stationary.stability import (
    leading_growth_rates,
    linearised,
    stationary_growth_rates,
)
from meanfield.stationary.states import StationaryState, stationary_state

CIRCLE, SPHERE = mf.Circle(), mf.Sphere()
FLOWS = [mf.USA, mf.SA]
ON_EACH = pytest.mark.parametrize("manifold", [CIRCLE, SPHERE], ids=lambda m: m.name)
OF_EACH = pytest.mark.parametrize("flow", FLOWS, ids=["USA", "SA"])


@OF_EACH
@pytest.mark.parametrize("d", [2, 3, 4, 7])
def test_uniform_has_its_exact_rates(d, flow):
    """Every degree l must appear once in each order m = 0 ... l (circle: 0 and 1)."""
    problem = noisy(mf.Sphere(d), mf.exponential(3.0), 0.3, flow)
    uniform = stationary_state(problem, guess=[0.0])
    rates = mf.growth_rates(problem, 12)
    degrees = np.argsort(-rates[1:])[: 5 if d == 2 else 3] + 1
    expected = [(rates[l], m) for l in degrees for m in range(2 if d == 2 else l + 1)]
    result = [(rate.rate, rate.order) for rate in uniform.growth_rates(len(expected))]
    # Equal rates of different orders come in any order.
    for pairs in (result, expected):
        pairs.sort(key=lambda pair: (round(pair[0], 9), pair[1]))
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-11)
    assert not uniform.is_stable


@pytest.mark.parametrize("d", [2, 3, 4, 8])
@OF_EACH
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
    problem = noisy(CIRCLE, mf.exponential(3.0), 1.0 / 0.991225571)
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
            problem = noisy(SPHERE, mf.exponential(3.0), share, flow)
            assert stationary_state(problem, guess=[0.0]).is_stable == stable


def test_even_states_are_unstable_to_perturbations_that_are_not():
    """Stability is judged against all perturbations: two clusters fall into one."""
    state = stationary_state(noisy(CIRCLE, mf.exponential(6.0), 0.5), "2-fold")
    assert not state.is_stable
    # Among its own kind it is a minimum of the free energy.
    jacobian = state.equation.jacobian(state.moments, state.diffusivity)
    assert np.linalg.eigvals(jacobian).real.min() > 0


def test_sharp_state_has_the_rates_of_its_two_wells():
    """D -> 0: Ornstein-Uhlenbeck processes about a Dirac and its antipode, rates in closed form."""
    # At the Dirac v = -a(1) theta: rates -n a(1), n >= 2, besides the rotation. At the antipode
    # v = a(-1) theta: what is there leaves with the rates -n a(-1), n >= 1; a(-1) = e^{-2 beta}.
    state = stationary_state(noisy(CIRCLE, mf.exponential(0.5), 0.004))
    values = np.array([rate.rate for rate in state.growth_rates(8)])
    escape = np.exp(-1.0)
    wells = [0.0, *(-n * escape for n in range(1, 7)), -2.0]
    # Curvature of the wells changes them by a few D = 1e-3.
    np.testing.assert_allclose(values, sorted(wells, reverse=True), rtol=0, atol=0.03)


def test_rates_do_not_depend_on_the_first_degree(monkeypatch):
    """Started too low, the degree must rise until the rates agree."""
    state = stationary_state(noisy(SPHERE, mf.exponential(2.0), 0.5))
    usual = state.growth_rates(4)
    monkeypatch.setattr(stability, "density_degree", lambda degree, width: degree + 1)
    other = stability.stationary_growth_rates(state.equation, state.moments, state.diffusivity, 4)
    for first, second in zip(usual, other, strict=True):
        assert first.order == second.order
        assert first.rate == pytest.approx(second.rate, abs=1e-11)


def test_rates_that_do_not_settle_are_said(monkeypatch):
    """Unconverged rates would be taken for rates."""
    state = stationary_state(noisy(CIRCLE, mf.exponential(1.0), 0.001))
    monkeypatch.setattr(stability, "_ROUNDS", 2)
    monkeypatch.setattr(stability, "density_degree", lambda degree, width: degree + 1)
    with pytest.raises(RuntimeError, match="growth rates have not converged at degree"):
        stability.stationary_growth_rates(state.equation, state.moments, state.diffusivity, 4)


def test_bad_input_is_refused():
    """Without polar angles there are no orders; rates of time 0 do not hold later."""
    state = stationary_state(noisy(CIRCLE, mf.exponential(3.0), 0.9))
    refused("count must be at least 1, got 0", state.growth_rates, 0)
    rising = mf.Problem(CIRCLE, mf.exponential(lambda t: 3.0 + t), mf.USA)
    uniform = mf.uniform().build(CIRCLE)
    refused("the kernel is a function of time", leading_growth_rates, rising, uniform)
    rates, message = stationary_growth_rates, "so sharp that perturbations need degree"
    refused(message, rates, state.equation, state.moments, 1e-7)
    bare = StationaryState(state.problem, replace(state.symmetry, angles=None), state.moments)
    message = "no polar angles: these growth rates are for"
    refused(message, rates, bare.equation, bare.moments, bare.diffusivity)


def lopsided(manifold):
    means = [0.3, 2.0] if manifold is CIRCLE else [[0.0, 0.6, 0.8], [1.0, 0.0, 0.2]]
    parts = [(0.3, means[0], 2.0), (0.7, means[1], 1.0)]
    return mf.mixture(parts).build(manifold)


@ON_EACH
@OF_EACH
def test_linearised_about_uniform_is_diagonal(manifold, flow):
    """A wrong rate of some harmonic, or coupling between two, about the uniform density."""
    problem = noisy(manifold, mf.exponential(4.0), flow=flow)
    matrix = linearised(problem, mf.uniform().build(manifold), 9).matrix(9)
    rates = mf.growth_rates(problem, 9)[coordinates(manifold.dimension, 9).vector_degrees]
    # Rounding of transforms times the gradient's and the divergence's degree.
    assert np.abs(matrix - np.diag(rates)).max() < 1e-13


@ON_EACH
def test_leading_rates_about_uniform_have_multiplicity(manifold):
    """A copy of a multiple eigenvalue would be missed, or counted twice."""
    problem = noisy(manifold, mf.exponential(9.0), 0.2)
    rates = mf.growth_rates(problem)
    multiplicity = 2 * np.arange(len(rates)) ** (manifold.dimension - 1) + manifold.dimension - 1
    expected = np.sort(np.repeat(rates[1:], multiplicity[1:]))[::-1][:12]
    result = leading_growth_rates(problem, mf.uniform().build(manifold), 12)
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("beta", "share", "max_degree"),
    # A broad state: degree 14 holds these rates to rounding.
    [(1.0, 0.9, 14), pytest.param(2.0, 0.8, None, marks=pytest.mark.slow)],
)
@ON_EACH
@OF_EACH
def test_leading_rates_agree_with_those_by_azimuthal_number(
    manifold, flow, beta, share, max_degree
):
    """Two routes to one spectrum: packed harmonics on a grid, and Legendre functions by order."""
    state = stationary_state(noisy(manifold, mf.exponential(beta), share, flow))
    expected = [
        rate.rate
        for rate in state.growth_rates(8)
        for _ in range(2 if rate.order and manifold is SPHERE else 1)
    ][:8]
    result = leading_growth_rates(state.problem, state.density(), 8, max_degree=max_degree)
    np.testing.assert_allclose(expected, result, rtol=0, atol=1e-11)
    # A stationary state may be turned: 1 direction on the circle, 2 on the sphere.
    assert np.sum(np.abs(result) < 1e-9) == manifold.dimension


@pytest.mark.slow
def test_leading_rates_of_large_matrices_are_those_of_dense_ones(monkeypatch):
    """Arnoldi's method could miss an eigenvalue, or a copy of one, that the dense solver has."""
    problem = noisy(SPHERE, mf.exponential(4.0), flow=mf.SA)
    f = stationary_state(problem).density()
    dense = leading_growth_rates(problem, f, max_degree=18)
    monkeypatch.setattr(stability, "_DENSE", 100)
    np.testing.assert_allclose(
        leading_growth_rates(problem, f, max_degree=18), dense, rtol=0, atol=1e-11
    )


def test_leading_rates_come_as_complex_pairs():
    """A lopsided density drifts: a rate without its conjugate, or made real, would be wrong."""
    problem = noisy(CIRCLE, mf.exponential(4.0), 0.3, mf.SA)
    rates = leading_growth_rates(problem, lopsided(CIRCLE), 8, max_degree=40)
    matrix = linearised(problem, lopsided(CIRCLE), 40).matrix(40)
    eigenvalues = scipy.linalg.eigvals(matrix)
    assert np.abs(rates.imag).max() > 1e-5
    assert np.abs(rates[:, None] - eigenvalues[None]).min(axis=1).max() < 1e-12
    assert np.all(np.diff(rates.real) <= 0)


@ON_EACH
def test_coordinates_keep_the_inner_product(manifold):
    """Coordinates that are not orthonormal would make a symmetric operator look unsymmetric."""
    numbers = coordinates(manifold.dimension, 6)
    assert numbers.size == (12 if manifold is CIRCLE else 48)
    one, other = np.random.default_rng(3).standard_normal((2, numbers.size))
    fields = [numbers.to_coefficients(vector) for vector in (one, other)]
    assert manifold.inner(*fields) == pytest.approx(one @ other, rel=1e-13)
    np.testing.assert_allclose(numbers.to_vector(fields[0]), one, rtol=1e-15)


def test_leading_rates_reject_what_has_none():
    """Fewer rates than asked for would be taken for all of them."""
    of, density = noisy(CIRCLE, mf.exponential(4.0)), lopsided(CIRCLE)
    # Points have no density; coefficients would be read in the wrong packing.
    message, points = "density is a Measure, expected a Density", mf.Measure(CIRCLE, [0.0])
    refused(message, leading_growth_rates, of, points, error=TypeError)
    message = "lives on the sphere, the problem on the circle"
    refused(message, leading_growth_rates, of, lopsided(SPHERE))
    refused("count must be at least 1, got 0", leading_growth_rates, of, density, 0)
    message = "count = 7 is more than the 6 unknowns of max_degree = 3"
    refused(message, leading_growth_rates, of, density, 7, 3)
    refused("max_degree must be at least 1, got 0", leading_growth_rates, of, density, 1, 0)


@pytest.mark.parametrize(
    "limits, max_degree, message",
    [
        # Without diffusion there need not be eigenvalues: numbers of one degree mean nothing.
        ({"_LARGEST": 150}, None, "still change by .* at the largest degree tried"),
        ({"_DENSE": 10, "_RESTARTS": 1}, 128, "too close together to separate"),
    ],
    ids=["unsettled", "Arnoldi"],
)
def test_leading_rates_say_that_they_did_not_converge(limits, max_degree, message, monkeypatch):
    """An iteration that gave up would return too few rates, or wrong ones."""
    for name, value in limits.items():
        monkeypatch.setattr(stability, name, value)
    problem = mf.Problem(CIRCLE, mf.exponential(4.0), mf.USA)
    with pytest.raises(RuntimeError, match=message):
        leading_growth_rates(problem, lopsided(CIRCLE), max_degree=max_degree)
