"""The exponential kernel's multipliers: every dimension, every temperature, full precision."""

import mpmath
import numpy as np
import pytest
from parameters import each, refused, together

from meanfield import exponential
from meanfield.terms.kernels.exponential import bessel_ratio, scaled_bessel
from meanfield.terms.kernels.quadrature import zonal_multipliers

BETAS = [1e-12, 1e-6, 1e-3, 0.1, 1.0, 5.0, 25.0, 1e2, 1e3, 1e4, 1e5, 1e6, 1e8]
DEGREES = [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 610]
# Below this a double loses digits on its way to underflow.
SMALLEST = 1e-300


def reference(d: int, beta: float, degree: int) -> mpmath.mpf:
    """Multiplier e^{-|beta|} Gamma(d/2) (2/beta)^{d/2-1} I_{l+d/2-1}(beta) in 40 digits."""
    with mpmath.workdps(40):
        b, nu = mpmath.mpf(abs(beta)), mpmath.mpf(d) / 2 - 1
        value = mpmath.gamma(nu + 1) * (2 / b) ** nu * mpmath.besseli(degree + nu, b)
        return mpmath.exp(-b) * value * (-1 if beta < 0 and degree % 2 else 1)


@each("d", [2, 3, 4, 8, 64, 1000], beta=BETAS, sign=[1.0, -1.0])
def test_multipliers_equal_mpmath(d, beta, sign):
    """Cancellation, overflow or a recurrence that starts too late would cost digits."""
    multipliers = exponential(sign * beta).attention_multipliers(d - 1, DEGREES[-1])
    assert np.all(np.isfinite(multipliers))
    for degree in DEGREES:
        expected = reference(d, sign * beta, degree)
        if abs(expected) > SMALLEST:
            # 610 factors, each rounded, some of them the same way.
            assert abs(float(mpmath.mpf(multipliers[degree]) / expected - 1)) < 1e-13, degree


@each("dimension", [1, 2, 3, 7, 63], beta=[-30.0, -1.0, 1e-3, 1.0, 10.0, 300.0])
def test_multipliers_equal_quadrature(dimension, beta):
    """The definition itself, with no Bessel function in it; measured 2e-15 or better."""
    # A missing factor 1 / beta of the potential, or its sign, would scale every velocity.
    kernel = exponential(beta)
    for multipliers, function in (
        (kernel.attention_multipliers, kernel.attention),
        (kernel.potential_multipliers, kernel.potential),
    ):
        result = multipliers(dimension, 40)
        expected = zonal_multipliers(function, dimension, 40)
        np.testing.assert_allclose(result, expected, rtol=0, atol=2e-14 * abs(expected).max())


@pytest.mark.parametrize("dimension", [1, 2, 63])
def test_multipliers_do_not_depend_on_their_number(dimension):
    """A recurrence started too low would show in the last ones."""
    many = scaled_bessel(dimension, 50.0, 400)
    for count in (0, 1, 7, 60):
        np.testing.assert_allclose(scaled_bessel(dimension, 50.0, count), many[: count + 1], 1e-14)


def test_multipliers_returned_are_not_shared():
    """A caller that writes into them would spoil the cached recurrence."""
    first = exponential(3.0).attention_multipliers(1, 5)
    before = first.copy()
    first[:] = -1.0
    assert np.array_equal(exponential(3.0).attention_multipliers(1, 5), before)


@each("beta", [1e-3, 1.0, 30.0, 1e4], order=[0.5, 1.0, 12.0, 500.5])
def test_bessel_ratio_equals_mpmath(order, beta):
    """Thresholds are its roots: what it lacks in digits they lack too."""
    with mpmath.workdps(40):
        expected = mpmath.besseli(order, beta) / mpmath.besseli(order - 1, beta)
        assert abs(float(bessel_ratio(order, beta) / expected - 1)) < 2e-15


@together("beta", [0.0, 5e-324, -1e-308, np.nan, np.inf, -np.inf, 1.1e8, -1.1e8])
def test_exponential_refuses_impossible_beta(beta):
    """Zero would divide by zero, denormal ones overflow, larger ones take forever."""
    message = r"beta must be (1e-300 to 1e\+08|a finite number)"
    limit = "" if beta else ".* the limit beta -> 0 is the linear kernel"
    refused(message + limit, exponential, beta)
