"""The equation m = G(m) and its derivatives."""

import math

import mpmath as mp
import numpy as np
import pytest
from noise import noisy
from parameters import each, refused
from scipy.special import ive

import meanfield as mf
from meanfield.stationary.self_consistency import SelfConsistency
from meanfield.stationary.states import stationary_state
from meanfield.stationary.symmetry import axisymmetric, stationary_symmetry

MANIFOLDS = [mf.Circle(), mf.Sphere(), mf.Sphere(8)]
FLOWS = [mf.USA, mf.SA, mf.Flow("none", strength=-0.7), mf.Flow(normalized=True, strength=2.0)]


def example(manifold: object, flow: mf.Flow, beta: float = 3.0) -> tuple:
    problem = mf.Problem(manifold, mf.exponential(beta), flow)
    symmetry = stationary_symmetry(problem, 0.05)
    rng = np.random.default_rng(1)
    return SelfConsistency(problem, symmetry), 0.3 * rng.random(len(symmetry.degrees)), 0.1


@each("flow", FLOWS, manifold=MANIFOLDS)
def test_jacobian_and_slope_are_the_derivatives(manifold, flow):
    """Newton's method would lose its order, and continuation predict the wrong way."""
    equation, moments, diffusivity = example(manifold, flow)
    direction = np.random.default_rng(2).standard_normal(len(moments))

    def along(step):
        return equation.residual(moments + step * direction, diffusivity)

    def beside(step):
        return equation.residual(moments, diffusivity + step)

    jacobian, slope = equation.jacobian(moments, diffusivity), equation.slope(moments, diffusivity)
    # A complex step has no cancellation, but the code is real: central, fourth order.
    for f, h, exact in ((along, 1e-3, jacobian @ direction), (beside, 1e-3 * diffusivity, slope)):
        result = (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)
        np.testing.assert_allclose(exact, result, rtol=0, atol=1e-8 * np.abs(exact).max())


@each("flow", FLOWS, manifold=MANIFOLDS)
def test_jacobian_at_uniform_gives_growth_rates(manifold, flow):
    """The residual's slope D (1 - A_l / D) l (l + d - 2) would not be minus the growth rate."""
    equation, moments, diffusivity = example(manifold, flow)
    jacobian = equation.jacobian(0.0 * moments, diffusivity)
    diffusive = mf.Flow(flow.normalized, flow.strength, diffusivity)
    problem = mf.Problem(manifold, equation.problem.kernel, diffusive)
    degrees = equation.symmetry.degrees
    eigenvalues = degrees * (degrees + manifold.dimension - 1)
    rates = mf.growth_rates(problem, int(degrees[-1]))[degrees]
    expected = np.diag(rates / eigenvalues)
    np.testing.assert_allclose(-diffusivity * jacobian, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("manifold", MANIFOLDS, ids=lambda manifold: manifold.name)
def test_density_has_the_moments_of_the_image(manifold):
    """Density and G(m) would disagree: mass 1, moments by the quadrature."""
    equation, moments, diffusivity = example(manifold, mf.SA)
    density = equation.density(moments, diffusivity)
    weights = equation.symmetry.weights
    assert weights @ density == pytest.approx(1.0, rel=1e-14)
    result = (weights * density) @ equation.symmetry.values
    np.testing.assert_allclose(result, equation.image(moments, diffusivity), rtol=0, atol=1e-13)


@pytest.mark.parametrize("flow", [mf.USA, mf.Flow("none", strength=0.5)], ids=str)
@pytest.mark.parametrize("manifold", MANIFOLDS, ids=lambda manifold: manifold.name)
def test_free_energy_is_entropy_and_interaction(manifold, flow):
    """F = D int f log f - 1/2 strength sum w_l m_l^2, term by term, at a stationary state."""
    problem = noisy(manifold, mf.exponential(3.0), 0.7, flow)
    state = stationary_state(problem)
    f, degrees = state.nodal_density, state.symmetry.degrees
    w = problem.kernel.potential_multipliers(manifold.dimension, int(degrees[-1]))[degrees]
    entropy = state.symmetry.weights @ (f * np.log(f))
    direct = state.diffusivity * entropy - 0.5 * flow.strength * (w @ state.moments**2)
    assert state.free_energy == pytest.approx(direct, rel=1e-12)


def test_free_energy_keeps_digits_near_the_bifurcation():
    """F is of order |m|^4 there, its terms of order |m|^2: against 40 digits."""
    beta = 2.0
    for distance in (1e-2, 1e-4, 1e-6):
        state = stationary_state(noisy(mf.Circle(), mf.exponential(beta), 1 - distance))
        with mp.workdps(40):
            diffusivity = mp.mpf(state.diffusivity)
            m = [mp.mpf(float(x)) for x in state.moments]
            a = [mp.besseli(l + 1, beta) * mp.exp(-beta) / beta for l in range(len(m))]
            total = mp.mpf(0)
            for j in range(64):
                angle = 2 * mp.pi * j / 64
                terms = (a[l] * m[l] * mp.cos((l + 1) * angle) for l in range(len(m)))
                total += mp.exp(mp.sqrt(2) * sum(terms) / diffusivity) / 64
            exact = sum(x * y * y for x, y in zip(a, m, strict=True)) / 2
            exact -= diffusivity * mp.log(total)
            error = abs(float(mp.mpf(state.free_energy) - exact))
        # Measured: error below 2e-15 D |m|^2, a few eps.
        assert error < 4e-15 * state.diffusivity * float(state.moments[0]) ** 2
        assert state.free_energy < 0


def test_free_energy_is_continuous_where_its_formula_changes():
    """The formula for weak fields and that for strong ones would leave a step between."""
    energies = [
        stationary_state(noisy(mf.Circle(), mf.exponential(2.0), share)).free_energy
        for share in np.linspace(0.985, 0.999, 57).tolist()
    ]
    # The branch is smooth in D, so that high differences are rounding: 70 times that of F, which
    # is eps D. A step s would show as 35 s.
    differences = np.diff(np.array(energies), 8)
    assert np.abs(differences).max() < 1e-14
    assert np.abs(energies).max() > 1e-6


@pytest.mark.parametrize("d", [2, 3, 4, 8])
def test_free_energy_slope_is_the_entropy(d):
    """DF/dD = int f log f at a stationary state: the envelope theorem."""
    shares = 0.8 + 1e-3 * np.arange(-2, 3)
    states = [stationary_state(noisy(mf.Sphere(d), mf.exponential(3.0), share)) for share in shares]
    energies, h = [state.free_energy for state in states], 1e-3 * states[2].diffusivity / 0.8
    slope = (8 * (energies[3] - energies[1]) - (energies[4] - energies[0])) / (12 * h)
    f, weights = states[2].nodal_density, states[2].symmetry.weights
    assert slope == pytest.approx(weights @ (f * np.log(f)), rel=1e-8)


def test_order_parameter_of_a_dirac_is_one():
    """The mean vector of a Dirac has length 1 in every dimension."""
    for manifold in MANIFOLDS:
        equation, _, _ = example(manifold, mf.USA)
        first = np.zeros(len(equation.symmetry.degrees))
        first[0] = -math.sqrt(manifold.dimension + 1)
        assert equation.order_parameter(first) == pytest.approx(1.0, rel=1e-15)


@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
def test_images_of_the_linear_kernel_are_closed_forms(flow):
    """The Bessel ratio and Langevin's function: the partition function is 1 for both flows."""
    for space, x, ratio in (
        (mf.Circle(), 0.7 / 0.3, ive(1, 0.7 / 0.3) / ive(0, 0.7 / 0.3)),
        (mf.Sphere(), 2.0, 1 / np.tanh(2.0) - 1 / 2.0),
    ):
        dimension = space.dimension
        equation = SelfConsistency(mf.Problem(space, mf.linear(), flow), axisymmetric(dimension, 1))
        dirac = np.sqrt(dimension + 1.0)
        image = equation.image(np.array([dirac * x * 0.2]), 0.2)
        assert image[0] == pytest.approx(dirac * ratio, rel=1e-14)
        assert equation.exponent is None


def test_unsuitable_problems_are_refused():
    """Each would give numbers that mean nothing."""
    circle = mf.Problem(mf.Circle(), mf.exponential(3.0), mf.USA)
    message = r"symmetry is of S\^2, the problem lives on S\^1"
    refused(message, SelfConsistency, circle, axisymmetric(2, 40))
    refused("ends at degree 5, the kernel acts up to", SelfConsistency, circle, axisymmetric(1, 5))
    own = mf.Problem(mf.Circle(), mf.zonal(lambda s: np.exp(s - 1)), mf.SA)
    message = "kernel 'zonal' with a normalised flow: its velocity is"
    refused(message, SelfConsistency, own, axisymmetric(1, 40))


def test_missing_free_energy_is_nan():
    """Arrays of energies along a branch need a number."""
    equation, moments, diffusivity = example(mf.Circle(), mf.SA)
    assert math.isnan(equation.free_energy(moments, diffusivity))


@pytest.mark.parametrize("beta", [-7.0, -4.0, 3.0, 9.0])
def test_rounding_bounds_what_a_bit_changes(beta):
    """Newton's method would stop early, or try for digits that SA with beta < 0 does not have."""
    state = stationary_state(noisy(mf.Circle(), mf.exponential(beta), 0.5, mf.SA))
    # A rule with other nodes sums in another order; both resolve the state.
    degree, nodes = int(state.symmetry.degrees[-1]), len(state.symmetry.weights)
    changes = []
    for more in range(5, 50, 5):
        equation = SelfConsistency(state.problem, axisymmetric(1, degree, nodes=nodes + more))
        changes.append(np.abs(equation.residual(state.moments, state.diffusivity)).max())
    bound = state.equation.rounding(state.moments, state.diffusivity)
    assert 1e-3 * bound < max(changes) < 8.0 * bound


@pytest.mark.slow
def test_own_kernel_has_the_states_of_the_exponential_one():
    """An own kernel equal to the exponential one, by quadrature, without normalisation."""
    flow = mf.Flow("none", diffusivity=0.08)
    kernels = [mf.exponential(1.5), mf.zonal(lambda s: np.exp(1.5 * (s - 1)))]
    first, second = (stationary_state(mf.Problem(mf.Sphere(), kernel, flow)) for kernel in kernels)
    assert first.order_parameter == pytest.approx(second.order_parameter, rel=1e-12)
