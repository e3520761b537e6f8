"""A user's own kernel, from a function or from multipliers."""

import numpy as np
import pytest
from parameters import each, refused, together

from meanfield import exponential, zonal
from meanfield.terms.kernels.quadrature import zonal_multipliers


@each("dimension", [1, 2, 7], beta=[-6.0, pytest.param(1.0, marks=pytest.mark.slow), 40.0])
def test_zonal_of_the_exponential_is_the_exponential_kernel(dimension, beta):
    """Quadrature and the recurrence w_l from a_l against the closed form."""
    expected = exponential(beta)
    own = zonal(expected.attention, beta=abs(beta))
    # The potentials differ by a constant, multiplier 0. The noise of the quadrature, 64 eps of the
    # largest, is cut to zero.
    for name, first in (("attention_multipliers", 0), ("potential_multipliers", 1)):
        result, closed = (
            getattr(kernel, name)(dimension, 30)[first:] for kernel in (own, expected)
        )
        np.testing.assert_allclose(result, closed, rtol=0, atol=3e-14)
    assert own.degree(1) <= expected.degree(1)


@pytest.mark.slow
@pytest.mark.parametrize("beta", [400.0, 4e4])
def test_narrow_kernel_keeps_its_potential_and_its_degree(beta):
    """A rule of 64 nodes lost half of W at beta = 4000; noise would pass for high degrees."""
    expected = exponential(beta)
    own = zonal(expected.attention, beta=beta)
    s = np.array([1.0, 1.0 - 1e-4, 0.99])
    difference = beta * (own.potential(s) - expected.potential(s))
    np.testing.assert_allclose(difference, 0.0, rtol=0, atol=3e-13)
    for dimension in (1, 2):
        assert 0.8 * expected.degree(dimension) < own.degree(dimension)
        assert own.degree(dimension) <= expected.degree(dimension)


@pytest.mark.slow
@pytest.mark.parametrize("beta", [-4.0, 1.0, 5.0])
def test_potential_gives_its_slope(beta):
    """W' was left to the user; of the exponential it is known."""
    expected = exponential(beta)
    own = zonal(potential=expected.potential, beta=abs(beta))
    s = np.linspace(-1.0, 1.0, 101)
    np.testing.assert_allclose(own.attention(s), expected.attention(s), rtol=0, atol=2e-13)
    for dimension in (1, 7):
        result, exact = (each.attention_multipliers(dimension, 20) for each in (own, expected))
        np.testing.assert_allclose(result, exact, rtol=0, atol=2e-13)
    shift = expected.potential(s)[0]
    np.testing.assert_allclose(own.potential(s), expected.potential(s) - shift, rtol=0, atol=2e-13)


def test_potential_is_compared_named_and_refused():
    """Two kernels of one W would differ; a corner, or two functions, would pass."""
    assert zonal(potential=np.exp) == zonal(potential=np.exp) != zonal(np.exp)
    assert repr(zonal(potential=np.exp)).startswith("zonal(potential=exp, beta=1.0")
    cube = zonal(potential=lambda s: s**3 - 7.0)
    assert cube.attention(np.array([0.5]))[0] == pytest.approx(0.75, abs=1e-13)
    for power in (1, 3):
        refused("not smooth enough", zonal, potential=lambda s, p=power: np.abs(s) ** p)
    refused("its multipliers or its potential, got both", zonal, np.exp, potential=np.exp)


def test_zonal_refuses_kernels_that_are_too_narrow():
    """Beyond degree 2047 nothing is computed: a kernel cut off there rings."""
    message = "too narrow: its multipliers of degree 2047 are still 2e"
    refused(message, zonal, exponential(1e5).attention)


@pytest.mark.parametrize("dimension", [1, 2])
def test_zonal_refuses_degrees_that_it_would_miss(dimension):
    """Degree 3,000 is orthogonal to all that is computed: it went without a word."""
    kernel = zonal(lambda s: 1.0 + 0.4 * s + 0.1 * np.cos(3000 * np.arccos(np.clip(s, -1, 1))))
    refused("degrees above 2047.* changes by 0.07 of its largest", kernel.degree, dimension)


@pytest.mark.parametrize("dimension", [1, 2, 7])
def test_potential_is_the_primitive_that_vanishes_at_minus_one(dimension):
    """For a = 3 s^2 it is s^3 + 1; its multiplier of degree 0 is the mean of that, 1."""
    kernel = zonal(lambda s: 3 * s**2)
    s = np.linspace(-1.0, 1.0, 9)
    np.testing.assert_allclose(kernel.potential(s), s**3 + 1, rtol=0, atol=1e-15)
    expected = zonal_multipliers(lambda s: s**3 + 1, dimension, 4)
    result = kernel.potential_multipliers(dimension, 4)
    np.testing.assert_allclose(result, expected, rtol=0, atol=3e-15)


@pytest.mark.slow
def test_kernel_from_multipliers_returns_them_on_the_circle():
    """a(cos t) = a_0 + 2 sum_k a_k cos(k t): a forgotten 2 would halve them."""
    coefficients = [1.0, 0.25, 0.0, -0.125]
    kernel = zonal(multipliers=coefficients)
    result, t = kernel.attention_multipliers(1, 6), 0.7
    np.testing.assert_allclose(result[:4], coefficients, rtol=0, atol=2e-15)
    assert np.array_equal(result[4:], np.zeros(3))
    value = 1 + 2 * 0.25 * np.cos(t) - 2 * 0.125 * np.cos(3 * t)
    assert kernel.attention(np.cos(t)) == pytest.approx(value, abs=1e-15)


@pytest.mark.slow
def test_kernel_from_multipliers_equals_the_one_from_its_function():
    """Both roads must lead to the same velocity, on the sphere too."""
    kernels = zonal(multipliers=[0.5, 0.25]), zonal(lambda s: 0.5 + 0.5 * s)
    for dimension in (1, 2):
        first, second = (kernel.potential_multipliers(dimension, 5) for kernel in kernels)
        np.testing.assert_allclose(first, second, rtol=0, atol=2e-15)


@pytest.mark.slow
def test_multipliers_beyond_the_quadrature_are_zero():
    """Degrees that nothing computed are asked for by refined grids."""
    multipliers = zonal(np.exp).attention_multipliers(1, 3000)
    assert len(multipliers) == 3001
    assert np.array_equal(multipliers[2048:], np.zeros(953))


FINITE, BUILT_IN = "multipliers must be a list of finite numbers", "is that of a built-in kernel"


@together("options, error, message", [
    # Two sources could contradict each other; NaN would spread to every velocity.
    ({}, ValueError, "give the attention function, its multipliers or its pot"),
    ({"attention": np.exp, "multipliers": [1.0]}, ValueError,
     "give the attention function, it"),
    ({"multipliers": [1.0, np.nan]}, ValueError, FINITE),
    ({"multipliers": [[1.0, 2.0]]}, ValueError, FINITE),
    ({"multipliers": [np.inf]}, ValueError, FINITE),
    # None would fail far away; more than are computed would be cut off.
    ({"multipliers": []}, ValueError, "holds 0 numbers, expected 1 to 2048"),
    ({"multipliers": [1.0] * 2049}, ValueError, "holds 2049 numbers, expected 1 to 2048"),
    ({"attention": 2.0}, TypeError, "attention must be a function, got 2.0"),
    # The pair sums would move tokens by the wrong kernel.
    ({"attention": np.exp, "name": "exponential"}, ValueError, BUILT_IN),
    ({"attention": np.exp, "name": "linear"}, ValueError, BUILT_IN),
])  # fmt: skip
def test_zonal_refuses_what_is_no_kernel(options, error, message):
    """The mistake would surface in a run."""
    refused(message, zonal, **options, error=error)
