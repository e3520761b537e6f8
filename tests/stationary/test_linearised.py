"""The operator linearised about any density, and its leading eigenvalues."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
from parameters import refused, together

import meanfield as mf
from meanfield.bases.coordinates import coordinates
from meanfield.carriers.density import density as density_representation
from meanfield.stationary import stability as module
from meanfield.stationary.stability import leading_growth_rates, linearised
from meanfield.stationary.states import stationary_state

CIRCLE, SPHERE = mf.Circle(), mf.Sphere()
MANIFOLDS = pytest.mark.parametrize("manifold", [CIRCLE, SPHERE], ids=lambda m: m.name)
NORMALIZED = pytest.mark.parametrize("normalized", [False, True], ids=["USA", "SA"])


def noisy(manifold, normalized=False, beta=4.0, share=0.8):
    """Problem with a diffusivity that is a share of the critical one."""
    problem = mf.Problem(manifold, mf.exponential(beta), mf.Flow(normalized))
    critical = mf.critical_diffusivity(problem)
    return replace(problem, flow=mf.Flow(normalized, diffusivity=share * critical))


def lopsided(manifold):
    means = [0.3, 2.0] if manifold is CIRCLE else [[0.0, 0.6, 0.8], [1.0, 0.0, 0.2]]
    parts = [(0.3, means[0], 2.0), (0.7, means[1], 1.0)]
    return mf.mixture(parts).build(manifold)


@MANIFOLDS
@NORMALIZED
def test_linearised_about_uniform_is_diagonal(manifold, normalized):
    """A wrong rate of some harmonic, or coupling between two, about the uniform density."""
    problem = noisy(manifold, normalized)
    matrix = linearised(problem, mf.uniform().build(manifold), 9).matrix(9)
    rates = mf.growth_rates(problem, 9)[coordinates(manifold.dimension, 9).vector_degrees]
    # Rounding of transforms times the gradient's and the divergence's degree.
    assert np.abs(matrix - np.diag(rates)).max() < 1e-13


@MANIFOLDS
def test_leading_rates_about_uniform_have_multiplicity(manifold):
    """A copy of a multiple eigenvalue would be missed, or counted twice."""
    problem = noisy(manifold, beta=9.0, share=0.2)
    rates = mf.growth_rates(problem)
    multiplicity = 2 * np.arange(len(rates)) ** (manifold.dimension - 1) + manifold.dimension - 1
    expected = np.sort(np.repeat(rates[1:], multiplicity[1:]))[::-1][:12]
    result = leading_growth_rates(problem, mf.uniform().build(manifold), 12)
    np.testing.assert_allclose(result, expected, atol=1e-14)


@MANIFOLDS
@NORMALIZED
def test_linearised_is_derivative_of_right_hand_side(manifold, normalized):
    """A wrong or missing term: the equation's own right-hand side would change otherwise."""
    problem, f = noisy(manifold, normalized), lopsided(manifold)
    representation = density_representation(problem, f, tolerance=1.0, max_degree=64)
    state = manifold.resize(f.coefficients, 64)
    numbers = coordinates(manifold.dimension, 64)
    vector = np.random.default_rng(1).standard_normal(numbers.size)
    # Small in the high degrees, so that quotients are resolved.
    vector *= 0.5**numbers.vector_degrees
    g = numbers.to_coefficients(vector)

    def difference(step):
        ends = [representation.rhs(0.0, state + sign * step * g).copy() for sign in (1, -1)]
        return (ends[0] - ends[1]) / (2 * step)

    # Richardson: error step^4 and rounding eps / step.
    expected = (4 * difference(1e-3) - difference(2e-3)) / 3
    result = linearised(problem, f, 64).derivative(g)
    assert np.abs(result - expected).max() < 1e-9 * np.abs(expected).max()


@pytest.mark.slow
@MANIFOLDS
@NORMALIZED
def test_rotation_has_rate_zero(manifold, normalized):
    """A stationary state may be turned: 1 direction on the circle, 2 on the sphere."""
    state = stationary_state(noisy(manifold, normalized, beta=2.0))
    rates = leading_growth_rates(state.problem, state.density())
    # The largest rate of uniform is the scale of all.
    scale = mf.growth_rate_max(state.problem)
    assert np.sum(np.abs(rates) < 1e-9 * scale) == manifold.dimension
    assert rates[manifold.dimension] < -1e-3 * scale


@pytest.mark.slow
@MANIFOLDS
@NORMALIZED
def test_leading_rates_agree_with_those_by_azimuthal_number(manifold, normalized):
    """Two routes to one spectrum: packed harmonics on a grid, and Legendre functions by order."""
    state = stationary_state(noisy(manifold, normalized, beta=2.0))
    expected = [
        result.rate
        for result in state.growth_rates(8)
        for _ in range(1 if manifold is CIRCLE or result.order == 0 else 2)
    ][:8]
    result = leading_growth_rates(state.problem, state.density(), 8)
    scale = np.abs(expected).max()
    assert np.abs(result - expected).max() < 1e-9 * scale


@pytest.mark.slow
def test_leading_rates_of_large_matrices_are_those_of_dense_ones(monkeypatch):
    """Arnoldi's method could miss an eigenvalue, or a copy of one, that the dense solver has."""
    problem = noisy(SPHERE, True)
    f = stationary_state(problem).density()
    dense = leading_growth_rates(problem, f, max_degree=18)
    monkeypatch.setattr(module, "_DENSE", 100)
    np.testing.assert_allclose(leading_growth_rates(problem, f, max_degree=18), dense, atol=1e-11)


def test_leading_rates_come_as_complex_pairs():
    """A lopsided density drifts: a rate without its conjugate, or made real, would be wrong."""
    problem = noisy(CIRCLE, True, beta=4.0, share=0.3)
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


@together(
    "arguments, error, message",
    [
        # Points have no density; coefficients would be read in the wrong packing.
        ((mf.Measure(CIRCLE, [0.0]),), TypeError, "density is a Measure, expected a Density"),
        ((lopsided(SPHERE),), ValueError, "lives on the sphere, the problem on the circle"),
        ((lopsided(CIRCLE), 0), ValueError, "count must be at least 1, got 0"),
        (
            (lopsided(CIRCLE), 7, 3),
            ValueError,
            "count = 7 is more than the 6 unknowns of max_degree = 3",
        ),
        ((lopsided(CIRCLE), 1, 0), ValueError, "max_degree must be at least 1, got 0"),
    ],
)
def test_leading_rates_reject_what_has_none(arguments, error, message):
    """Fewer rates than asked for would be taken for all of them."""
    refused(message, leading_growth_rates, noisy(CIRCLE), *arguments, error=error)


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
