"""The linear kernel and its place as the limit of the exponential one."""

import numpy as np
import pytest
from parameters import each

from meanfield import exponential, linear
from meanfield.terms.kernels import KERNELS
from meanfield.terms.kernels.quadrature import zonal_multipliers


@pytest.mark.parametrize("dimension", [1, 2, 3, 7, 63])
def test_multipliers_equal_quadrature(dimension):
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


def test_attention_is_one_everywhere():
    """Also for a scalar, and for integers."""
    assert np.array_equal(linear().attention(np.array([-1, 0, 1])), np.ones(3))
    assert linear().potential(np.float64(0.25)) == 0.25


def test_degree_zero_alone_is_possible():
    """max_degree = 0 has no place for w_1."""
    assert np.array_equal(linear().potential_multipliers(1, 0), [0.0])


def test_table_takes_beta_zero_for_the_linear_kernel():
    """`--beta 0` and the linear kernel are the same problem."""
    assert KERNELS["exponential"](0.0).name == "linear"
    assert KERNELS["linear"](7.0).beta == 0.0
    assert KERNELS["exponential"](-2.0).beta == -2.0
