"""The operator linearised about any density, and its leading eigenvalues."""

import numpy as np
import pytest
import scipy.linalg
from noise import noisy
from parameters import refused

import meanfield as mf
from meanfield.bases.coordinates import coordinates
from meanfield.stationary import stability as module
from meanfield.stationary.stability import leading_growth_rates, linearised
from meanfield.stationary.states import stationary_state

CIRCLE, SPHERE = mf.Circle(), mf.Sphere()
MANIFOLDS = pytest.mark.parametrize("manifold", [CIRCLE, SPHERE], ids=lambda m: m.name)
FLOWS = pytest.mark.parametrize("flow", [mf.USA, mf.SA], ids=["USA", "SA"])


def lopsided(manifold):
    means = [0.3, 2.0] if manifold is CIRCLE else [[0.0, 0.6, 0.8], [1.0, 0.0, 0.2]]
    parts = [(0.3, means[0], 2.0), (0.7, means[1], 1.0)]
    return mf.mixture(parts).build(manifold)


@MANIFOLDS
@FLOWS
def test_linearised_about_uniform_is_diagonal(manifold, flow):
    """A wrong rate of some harmonic, or coupling between two, about the uniform density."""
    problem = noisy(manifold, mf.exponential(4.0), flow=flow)
    matrix = linearised(problem, mf.uniform().build(manifold), 9).matrix(9)
    rates = mf.growth_rates(problem, 9)[coordinates(manifold.dimension, 9).vector_degrees]
    # Rounding of transforms times the gradient's and the divergence's degree.
    assert np.abs(matrix - np.diag(rates)).max() < 1e-13


@MANIFOLDS
def test_leading_rates_about_uniform_have_multiplicity(manifold):
    """A copy of a multiple eigenvalue would be missed, or counted twice."""
    problem = noisy(manifold, mf.exponential(9.0), 0.2)
    rates = mf.growth_rates(problem)
    multiplicity = 2 * np.arange(len(rates)) ** (manifold.dimension - 1) + manifold.dimension - 1
    expected = np.sort(np.repeat(rates[1:], multiplicity[1:]))[::-1][:12]
    result = leading_growth_rates(problem, mf.uniform().build(manifold), 12)
    np.testing.assert_allclose(result, expected, atol=1e-14)


@pytest.mark.parametrize(
    ("beta", "share", "max_degree"),
    # A broad state: degree 14 holds these rates to rounding.
    [(1.0, 0.9, 14), pytest.param(2.0, 0.8, None, marks=pytest.mark.slow)],
)
@MANIFOLDS
@FLOWS
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
    monkeypatch.setattr(module, "_DENSE", 100)
    np.testing.assert_allclose(leading_growth_rates(problem, f, max_degree=18), dense, atol=1e-11)


def test_leading_rates_come_as_complex_pairs():
    """A lopsided density drifts: a rate without its conjugate, or made real, would be wrong."""
    problem = noisy(CIRCLE, mf.exponential(4.0), 0.3, mf.SA)
    rates = leading_growth_rates(problem, lopsided(CIRCLE), 8, max_degree=40)
    matrix = linearised(problem, lopsided(CIRCLE), 40).matrix(40)
    eigenvalues = scipy.linalg.eigvals(matrix)
    assert np.abs(rates.imag).max() > 1e-5
    assert np.abs(rates[:, None] - eigenvalues[None]).min(axis=1).max() < 1e-12
    assert np.all(np.diff(rates.real) <= 0)


@MANIFOLDS
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
        monkeypatch.setattr(module, name, value)
    problem = mf.Problem(CIRCLE, mf.exponential(4.0), mf.USA)
    with pytest.raises(RuntimeError, match=message):
        leading_growth_rates(problem, lopsided(CIRCLE), max_degree=max_degree)
