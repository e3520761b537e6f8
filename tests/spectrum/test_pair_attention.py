"""Attention between points keeps its digits."""

import mpmath
import numpy as np
import pytest
from parameters import each

import meanfield as mf
from meanfield.spectrum.pair_attention import attention_and_slope, log_attention

ANGLES = np.array([0.0, 1e-9, 1e-3, 0.4, 1.2, 3.0, np.pi])


@pytest.mark.parametrize("beta", [1e4, 81.0, 0.3, -5.0, -1e4])
def test_log_attention_is_right_to_rounding(beta):
    """From cos phi the error would be beta eps, and nothing would be left at phi = 1e-9."""
    result = log_attention(beta, ANGLES)
    with mpmath.workdps(60):
        for angle, value in zip(ANGLES, result, strict=True):
            exact = beta * mpmath.cos(mpmath.mpf(float(angle))) - abs(beta)
            assert abs(value - exact) <= 1e-15 * abs(exact) + 1e-300


@each("beta", [-3.0, 0.5, 12.0], normalized=[False, True])
def test_a_function_gives_the_slope_of_the_closed_form(beta, normalized):
    """The Chebyshev series of a kernel, differentiated, against a' = beta a."""
    angles, masses = np.array([ANGLES, ANGLES[::-1]]), np.full(7, 1 / 7)
    result, expected = (
        attention_and_slope(mf.Problem(mf.Circle(), kernel, mf.Flow(normalized)), masses, angles)
        for kernel in (mf.zonal(lambda s: np.exp(beta * s - abs(beta))), mf.exponential(beta))
    )
    for one, other in zip(result, expected, strict=True):
        # Terms 2 a_k T_k' with a_k below 64 eps are taken for noise; T_k' is up to k^2.
        noise = 128 * np.finfo(float).eps * mf.exponential(beta).degree(1) ** 2
        np.testing.assert_allclose(one, other, rtol=0, atol=noise * np.abs(other).max())


def test_shares_of_attention_do_not_underflow():
    """For beta = -500 every attention underflows, but not their shares."""
    problem = mf.Problem(mf.Circle(), mf.exponential(-500.0), mf.SA)
    angles = np.array([[0.0, 0.01], [0.01, 0.0]])
    shares, slopes, partition = attention_and_slope(problem, np.array([0.25, 0.75]), angles)
    odds = 3.0 * np.exp(1000.0 * np.sin(0.005) ** 2)
    np.testing.assert_allclose(shares[0], [1 / (1 + odds), odds / (1 + odds)], rtol=1e-13)
    np.testing.assert_allclose(slopes, -500.0 * shares, rtol=1e-15)
    assert np.all(partition == 0.0)


def test_points_without_mass_are_not_attended_to():
    """A massless point nearest of all must not take the place of the largest exponent."""
    problem = mf.Problem(mf.Circle(), mf.exponential(2000.0), mf.SA)
    shares, _, _ = attention_and_slope(problem, np.array([0.0, 1.0]), np.array([[0.0, 2.0]]))
    np.testing.assert_array_equal(shares, [[0.0, 1.0]])
