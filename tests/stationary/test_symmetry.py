"""The axisymmetric basis, its quadrature, and the degrees and nodes that resolve states."""

from dataclasses import replace

import numpy as np
import pytest
from noise import noisy
from parameters import each, refused, together
from scipy.special import eval_legendre, gammaln

import meanfield as mf
from meanfield.stationary.self_consistency import SelfConsistency
from meanfield.stationary.states import stationary_state
from meanfield.stationary.symmetry import (
    axisymmetric,
    carrying_degree,
    gegenbauer,
    log_harmonic_counts,
    log_mean,
    narrowest_width,
    polar_rule,
    stationary_symmetry,
    steepest,
)

# Measured 2e-14 at d = 1000, below 8e-15 elsewhere; and with the fewest nodes.
RULES = [(d, 60, None, 4e-14) for d in (1, 2, 3, 4, 7, 30, 63, 999)]
RULES += [(d, 12, 12 + d // 2 + 1, 1e-14) for d in (1, 2, 3, 4, 9, 10)]


@together("dimension, degree, nodes, error", RULES)
def test_basis_is_orthonormal(dimension, degree, nodes, error):
    """Moments would be mixed; 1 is orthogonal to all and left out."""
    symmetry = axisymmetric(dimension, degree, nodes=nodes)
    # Weights of d = 1000 underflow: their roots do not, and go to the factors.
    values = np.exp(0.5 * symmetry.log_weights)[:, None] * symmetry.values
    np.testing.assert_allclose(values.T @ values, np.eye(degree), rtol=0, atol=error)
    np.testing.assert_allclose(symmetry.weights @ symmetry.values, 0.0, rtol=0, atol=1e-13)
    assert abs(symmetry.weights.sum() - 1.0) < 1e-14


@pytest.mark.parametrize("dimension", [1, 2, 3, 8, 15])
def test_rule_integrates_powers(dimension):
    """The rule would be of another measure: int t^2k = G(k + 1/2) G(d/2) / G(1/2) G(k + d/2)."""
    angles, log_weights = polar_rule(dimension, 30)
    half = 0.5 * (dimension + 1)
    for k in range(20):
        exact = gammaln(k + 0.5) + gammaln(half) - gammaln(0.5) - gammaln(k + half)
        mean = np.exp(log_weights) @ np.cos(angles) ** (2 * k)
        assert mean == pytest.approx(np.exp(exact), rel=2e-13)


def test_circle_basis_is_cosines():
    """Moments on the circle are promised as sqrt(2) Re c_l."""
    symmetry = axisymmetric(1, 9)
    cosines = np.sqrt(2.0) * np.cos(np.outer(symmetry.angles, symmetry.degrees))
    np.testing.assert_array_equal(symmetry.values, cosines)
    by_recurrence = gegenbauer(0.0, np.cos(symmetry.angles), 9)[1:].T
    np.testing.assert_allclose(by_recurrence, cosines, rtol=0, atol=1e-14)


def test_sphere_basis_is_legendre():
    """Moments on the sphere would not be pyshtools': sqrt(2 l + 1) P_l."""
    symmetry = axisymmetric(2, 30)
    exact = eval_legendre(symmetry.degrees, np.cos(symmetry.angles)[:, None])
    exact *= np.sqrt(2 * symmetry.degrees + 1)
    # The rounding of t = cos(theta) near the poles is magnified by l^2.
    np.testing.assert_allclose(symmetry.values, exact, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dimension", [1, 2, 3, 6, 99])
def test_value_at_the_pole_counts_harmonics(dimension):
    """p_l(1)^2 = N_l is what moments of a Dirac rest on; two recurrences meet here."""
    at_pole = gegenbauer(dimension / 2 - 0.5, np.array([1.0]), 20)[:, 0]
    np.testing.assert_allclose(at_pole**2, np.exp(log_harmonic_counts(dimension, 20)), rtol=1e-12)
    assert np.all(at_pole > 0)


def test_fold_keeps_its_degrees():
    """A 3-fold state would get harmonics without that symmetry."""
    symmetry = axisymmetric(1, 10, fold=3)
    np.testing.assert_array_equal(symmetry.degrees, [3, 6, 9])
    assert symmetry.name == "3-fold"
    even = axisymmetric(4, 7, fold=2)
    np.testing.assert_array_equal(even.degrees, [2, 4, 6])
    np.testing.assert_allclose(even.values, even.values[::-1], rtol=0, atol=1e-13)


def test_impossible_symmetries_are_refused():
    """Each would give a wrong basis."""
    refused("dimension must be at least 1, got 0", axisymmetric, 0, 4)
    refused("fold = 3 is not a symmetry .* on S\\^2: take 1, or 2", axisymmetric, 2, 4, fold=3)
    refused("fold = 0 .* must be at least 1", axisymmetric, 1, 4, fold=0)
    refused("nodes = 5 cannot resolve degree 4 on S\\^2: .* least 6", axisymmetric, 2, 4, nodes=5)
    refused("'3-fold' has no harmonic .* raise max_degree", axisymmetric, 1, 2, fold=3)
    # Polyhedral symmetries would get the moments of something else.
    bare = replace(axisymmetric(1, 4), angles=None)
    assert not bare.is_axisymmetric
    refused("symmetry 'axisymmetric' has no pole", lambda: bare.dirac)


@pytest.mark.parametrize(("dimension", "fold"), [(1, 1), (1, 3), (2, 1), (2, 2), (7, 1), (99, 1)])
def test_dirac_has_the_values_at_the_pole(dimension, fold):
    """Moments as shares of a Dirac's would not reach 1; by another recurrence."""
    symmetry = axisymmetric(dimension, 12, fold=fold)
    at_pole = gegenbauer(dimension / 2 - 0.5, np.array([1.0]), 12)[:, 0]
    np.testing.assert_allclose(symmetry.dirac, at_pole[symmetry.degrees], rtol=1e-13)


def test_dirac_does_not_overflow():
    """N_l is above every float for d = 1,000 and l = 500, its root is not."""
    assert np.isfinite(axisymmetric(999, 500).dirac).all()


@pytest.mark.parametrize("shift", [0.0, 1e4, -1e4])
def test_log_mean_of_shifted_exponents_is_shifted(shift):
    """Exponents beyond the floats would give infinity, or log(0)."""
    exponents, weights = np.array([0.0, 1.0, -2.0]), np.array([0.5, 0.2, 0.3])
    exact = np.log(weights @ np.exp(exponents))
    # Rounding of 1e4.
    assert log_mean(exponents + shift, np.log(weights)) == pytest.approx(exact + shift, abs=4e-12)


def test_stationary_symmetry_resolves_sharp_states():
    """Twice the nodes would move the moments: the rule of nodes per width would be too small."""
    for manifold in (mf.Circle(), mf.Sphere(), mf.Sphere(4), mf.Sphere(21)):
        for beta, share in ((1.0, 0.02), (4.0, 0.1), (20.0, 0.5)):
            problem = noisy(manifold, mf.exponential(beta), share)
            diffusivity = problem.flow.diffusivity
            symmetry = stationary_symmetry(problem, diffusivity)
            degree, nodes = int(symmetry.degrees[-1]), 2 * len(symmetry.weights)
            finer = axisymmetric(manifold.dimension, degree, nodes=nodes)
            # Almost a Dirac, so that the density is as sharp as it can be.
            moments = symmetry.values[0]
            coarse = SelfConsistency(problem, symmetry).image(moments, diffusivity)
            fine = SelfConsistency(problem, finer).image(moments, diffusivity)
            np.testing.assert_allclose(coarse, fine, rtol=1e-12, atol=1e-12)


def test_carrying_degree_covers_a_dirac():
    """In high dimension the kernel's own degree is too low for the field of a Dirac."""
    problem = mf.Problem(mf.Sphere(100), mf.exponential(5.0), mf.USA)
    degree = carrying_degree(problem)
    assert degree > problem.kernel_degree
    symmetry = axisymmetric(99, degree)
    equation = SelfConsistency(problem, symmetry)
    # W(t) - w_0 = sum_l w_l p_l(1) p_l(t): moments of a Dirac are p_l(1).
    w = problem.kernel.potential_multipliers(99, degree)
    t = np.array([1.0, 0.9, 0.3])
    series = gegenbauer(49.0, t, degree)
    field = (w * np.exp(0.5 * log_harmonic_counts(99, degree))) @ series
    np.testing.assert_allclose(field, problem.kernel.potential(t), rtol=1e-12)
    assert equation.coupling[0] == w[1]


def test_carrying_degree_of_a_narrow_kernel_in_high_dimension():
    """There a_l underflows and N_l overflows: their product must not become NaN."""
    degrees = [
        carrying_degree(mf.Problem(mf.Sphere(1000), mf.exponential(beta), mf.SA))
        for beta in (1.0, 100.0, 1000.0)
    ]
    assert degrees == sorted(degrees)
    # The kernel has the width 1/sqrt(beta): its degrees go like exp(-l^2 / (2 beta)) or faster.
    assert degrees[-1] < 9 * np.sqrt(1000.0) + 1000.0


@pytest.mark.parametrize("normalized", [False, True], ids=["USA", "SA"])
@each("beta", [-30.0, -5.0, -1.0, -0.2, 0.2, 1.0, 5.0, 30.0], strength=[1.0, -0.5])
def test_no_measure_bends_its_potential_more(normalized, beta, strength):
    """A state could be narrower than the quadrature that is to resolve it."""
    # D V = strength W * f or strength log(a * f) / beta of one, two, three tokens, by differences.
    problem = mf.Problem(mf.Circle(), mf.exponential(beta), mf.Flow(normalized, strength))
    rng, angles, h = np.random.default_rng(0), np.linspace(0.0, 2 * np.pi, 4001), 1e-3
    largest = 0.0
    for trial in range(60):
        tokens = rng.uniform(0.0, 2 * np.pi, trial % 3 + 1)
        bend = 0.0
        for shift, factor in ((-h, 1.0), (0.0, -2.0), (h, 1.0)):
            s = np.cos(angles[:, None] + shift - tokens)
            kernel = problem.kernel.attention if normalized else problem.kernel.potential
            field = kernel(s).mean(axis=1)
            bend = bend + factor * (np.log(field) / beta if normalized else field) / h**2
        largest = max(largest, float((-strength * bend).max()))
    # Differences of logarithms of 1e-26 and of exponents of 60, divided by h^2.
    bound = steepest(problem)
    assert largest < bound * (1 + 1e-5)
    assert largest > 0.3 * bound


def test_narrowest_width_bounds_a_state_of_anti_attention():
    """SA with beta < 0 bends more than one token does: 1 / sqrt(-V'') is 0.3 here, not 0.4."""
    state = stationary_state(noisy(mf.Circle(), mf.exponential(-5.0), 0.9, mf.SA))
    angles, log_f = state.symmetry.angles, np.log(state.nodal_density)
    bend = np.gradient(np.gradient(log_f, angles), angles)[2:-2]
    width = 1.0 / np.sqrt(-bend.min())
    # One token gives sqrt(D): the example tells the two bounds apart.
    assert width < 0.8 * np.sqrt(state.diffusivity)
    assert narrowest_width(state.problem, state.diffusivity) < width


def test_unsuitable_diffusivities_are_refused():
    """Without noise, or next to none, states are Diracs."""
    circle = mf.Problem(mf.Circle(), mf.exponential(3.0), mf.USA)
    refused("need a diffusivity above 0, got 0", stationary_symmetry, circle, 0.0)
    message = "diffusivity = 1e-12 makes states of width 1e-06: these"
    refused(message, stationary_symmetry, circle, 1e-12)
