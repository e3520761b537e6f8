"""Polynomials on one interval: exactness and the maps between intervals."""

import numpy as np
import pytest

from meanfield.bases.legendre import (
    differentiation,
    gauss_legendre,
    halving,
    interpolation,
    joining,
    to_coefficients,
)

ORDERS = [2, 7, 10, 16]


def polynomial(order: int) -> np.polynomial.Polynomial:
    """Some polynomial that `order` nodes just resolve."""
    return np.polynomial.Polynomial(np.random.default_rng(order).normal(size=order))


@pytest.mark.parametrize("order", ORDERS)
def test_quadrature_is_exact_to_twice_the_order(order):
    """Means of x^n over [-1, 1] are 1 / (n + 1) for even n up to 2 order - 1, 0 for odd."""
    nodes, weights = gauss_legendre(order)
    for n in range(2 * order):
        assert weights @ nodes**n == pytest.approx((n + 1) % 2 / (n + 1), abs=1e-15)
    # And not beyond: the weights are those of so many nodes.
    assert abs(weights @ nodes ** (2 * order) - 1 / (2 * order + 1)) > 1e-11


@pytest.mark.parametrize("order", ORDERS)
def test_coefficients_are_those_of_the_legendre_series(order):
    """A series evaluated at the nodes comes back."""
    nodes, _ = gauss_legendre(order)
    series = np.random.default_rng(order).normal(size=order)
    values = np.polynomial.legendre.legval(nodes, series)
    np.testing.assert_allclose(to_coefficients(order) @ values, series, rtol=0, atol=1e-13)


@pytest.mark.parametrize("order", ORDERS)
def test_interpolation_reproduces_polynomials(order):
    """Also outside the nodes, at the ends."""
    nodes, _ = gauss_legendre(order)
    p, targets = polynomial(order), np.linspace(-1.0, 1.0, 33)
    np.testing.assert_allclose(
        interpolation(order, targets) @ p(nodes), p(targets), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("order", ORDERS)
def test_halves_hold_the_same_polynomial(order):
    """At the nodes of [-1, 0], then of [0, 1]; and joined again it is what it was."""
    nodes, _ = gauss_legendre(order)
    p = polynomial(order)
    halves = halving(order) @ p(nodes)
    expected = np.concatenate([p((nodes - 1) / 2), p((nodes + 1) / 2)])
    np.testing.assert_allclose(halves, expected, rtol=0, atol=1e-13)
    np.testing.assert_allclose(joining(order) @ halves, p(nodes), rtol=0, atol=1e-12)


@pytest.mark.parametrize("order", ORDERS)
def test_differentiation_is_exact_for_polynomials(order):
    """Values of the derivative at the nodes."""
    nodes, _ = gauss_legendre(order)
    p = polynomial(order)
    np.testing.assert_allclose(
        differentiation(order) @ p(nodes), p.deriv()(nodes), rtol=0, atol=1e-11
    )


def test_shared_nodes_cannot_be_written():
    """They are computed once for everybody."""
    for array in gauss_legendre(5):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0


@pytest.mark.parametrize("matrix", [to_coefficients, halving, joining, differentiation])
def test_shared_matrices_are_read_only(matrix):
    """One write would have changed every later result in the process."""
    with pytest.raises(ValueError, match="read-only"):
        matrix(7)[0, 0] = 2.0
