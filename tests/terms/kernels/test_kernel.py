"""Kernels of the table: where they are cut off, their limits and the linear kernel."""

import numpy as np
import pytest
from parameters import each, refused

from meanfield import exponential, linear, zonal
from meanfield.terms.kernels import KERNELS
from meanfield.terms.kernels.exponential import Exponential
from meanfield.terms.kernels.quadrature import zonal_multipliers


@pytest.mark.parametrize("name", KERNELS)
@each("beta", [-25.0, 1e-9, 1.0, 5.0, 25.0, 100.0, 1e4], dimension=[1, 2, 7])
def test_degree_cuts_where_multipliers_are_negligible(name, dimension, beta):
    """Size of the velocity of degree l is l w_l: below 1e-16 of the largest it is nothing."""
    kernel = KERNELS[name](beta)
    degree = kernel.degree(dimension)
    l = np.arange(4 * degree + 8)
    size = l * np.abs(kernel.potential_multipliers(dimension, len(l) - 1))
    assert size[degree] > 1e-16 * size.max()
    assert np.all(size[degree + 1 :] <= 1e-16 * size.max())


@pytest.mark.parametrize("beta", [-25.0, 1.0, 5.0, 25.0, 100.0, 1e4, 1e6])
def test_series_up_to_degree_is_the_kernel(beta):
    """The cut-off degrees would change velocity or partition function above rounding."""
    kernel = exponential(beta)
    k = np.arange(kernel.degree(1) + 1)
    t = np.linspace(0.0, np.pi, 301)
    twice = np.where(k == 0, 1.0, 2.0)
    a = kernel.attention_multipliers(1, k[-1])
    w = kernel.potential_multipliers(1, k[-1])
    attention = np.cos(np.outer(t, k)) @ (twice * a)
    velocity = -np.sin(np.outer(t, k)) @ (twice * k * w)
    # Rounding of t and of s = cos(t) near 1, where a changes by beta in s: what the sums are
    # compared with is itself that uncertain.
    slack = 1e-15 * (5 + np.sqrt(abs(beta))) + 1e-16 * abs(beta)
    np.testing.assert_allclose(attention, kernel.attention(np.cos(t)), rtol=0, atol=slack)
    expected = -np.sin(t) * kernel.attention(np.cos(t))
    np.testing.assert_allclose(velocity, expected, rtol=0, atol=slack)


@pytest.mark.parametrize("dimension", [1, 2, 3, 7, 63])
def test_multipliers_of_the_linear_kernel_equal_quadrature(dimension):
    """w_1 = 1/d and nothing else; a_0 = 1 and nothing else."""
    kernel = linear()
    for multipliers, function in (
        (kernel.attention_multipliers, kernel.attention),
        (kernel.potential_multipliers, kernel.potential),
    ):
        expected = zonal_multipliers(function, dimension, 5)
        np.testing.assert_allclose(multipliers(dimension, 5), expected, rtol=0, atol=2e-15)


@each("dimension", [1, 2, 7, 63], beta=[1e-4, 1e-6, 1e-8, -1e-6])
def test_exponential_tends_to_linear(dimension, beta):
    """The limit is of first order in beta; degree 0 of W only adds a constant."""
    result = exponential(beta).potential_multipliers(dimension, 6)[1:]
    expected = linear().potential_multipliers(dimension, 6)[1:]
    np.testing.assert_allclose(result, expected, rtol=0, atol=2 * abs(beta))


def test_linear_kernel_takes_integers_scalars_and_degree_zero():
    """Attention would have another kind or shape; max_degree = 0 has no place for w_1."""
    assert np.array_equal(linear().attention(np.array([-1, 0, 1])), np.ones(3))
    assert linear().potential(np.float64(0.25)) == 0.25
    assert np.array_equal(linear().potential_multipliers(1, 0), [0.0])


@pytest.mark.slow
@pytest.mark.parametrize("last", [70, 1500])
def test_degree_does_not_stop_at_a_gap(last):
    """A kernel of degrees 1 and 70 would lose all but the first 2, for more than 100 tokens."""
    multipliers = np.zeros(last + 1)
    multipliers[[0, 1, last]] = 1.0, 0.2, 0.2
    # W has one degree more than a.
    assert zonal(multipliers=multipliers).degree(1) == last + 1


def test_degree_refuses_multipliers_that_do_not_decay():
    """A kernel with a kink has no degree; guessing one would be silently wrong."""

    class Kink(Exponential):
        def potential_multipliers(self, dimension: int, max_degree: int) -> np.ndarray:
            return 1.0 / (1.0 + np.arange(max_degree + 1.0))

    refused("kernel 'exponential' is not smooth enough", Kink(1.0).degree, 1)


def test_degree_outlives_the_underflow_of_multipliers():
    """On S^999 at beta = 2000 all are below 1e-308; their ratios still say what carries."""
    kernel = exponential(2000.0)
    assert not kernel.potential_multipliers(999, 10).any()
    ratios = np.arange(400) * kernel.normalized_multipliers(999, 399)
    degree = kernel.degree(999)
    assert ratios[degree] > 1e-16 * ratios.max() >= ratios[degree + 1]


@each("dimension", [1, 2, 7], name=KERNELS)
def test_normalized_multipliers_are_the_quotient(dimension, name):
    """Multipliers of softmax near uniform would not be w_l / a_0, where nothing underflows."""
    for kernel in (KERNELS[name](4.0), KERNELS[name](-4.0), zonal(lambda s: np.exp(4 * s))):
        expected = kernel.potential_multipliers(dimension, 9)
        expected /= kernel.attention_multipliers(dimension, 0)[0]
        result = kernel.normalized_multipliers(dimension, 9)
        np.testing.assert_allclose(result, expected, rtol=2e-15)


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [1, 2, 7])
def test_kernel_of_mean_zero_has_a_degree(dimension):
    """For a(s) = s the mean a_0 is 0 and W = (s^2 - 1) / 2: nothing may be divided by a_0."""
    assert zonal(lambda s: s).degree(dimension) == 2


@pytest.mark.parametrize("kernel", [exponential(-3.0), exponential(7.0), linear()], ids=repr)
def test_log_slope_is_the_logarithmic_derivative(kernel):
    """Pair sums and divergences take a' for log_slope a: central differences are good to 1e-8."""
    s, step = np.linspace(-0.9, 0.9, 7), 1e-4
    slope = (kernel.attention(s + step) - kernel.attention(s - step)) / (2 * step)
    expected = kernel.log_slope * kernel.attention(s)
    np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=0)
    assert zonal(kernel.attention).log_slope is None


@pytest.mark.parametrize(
    "kernel", [linear(), *map(exponential, [-30.0, -7.0, 0.5, 7.0, 400.0, 1e6])], ids=repr
)
def test_largest_attention_of_the_table_is_one(kernel):
    """Scaled time, steps and widths of states are measured by it, and nothing may overflow."""
    assert kernel.largest_attention == kernel.attention(np.linspace(-1.0, 1.0, 1001)).max() == 1.0


def test_largest_attention_is_detected_between_the_ends():
    """An own kernel may be largest, in modulus, anywhere: here at s = 0.3."""
    kernel = zonal(lambda s: -2.0 * np.exp(-8.0 * (s - 0.3) ** 2))
    # The nearest of 1,001 angles is 1.6e-3 off at most.
    assert kernel.largest_attention == pytest.approx(2.0, rel=8 * 1.6e-3**2)
    assert kernel.largest_attention <= 2.0
