"""Polynomials on one interval: exactness and the maps between intervals."""

import numpy as np
import pytest

from meanfield.bases import legendre

ORDERS = [2, 7, 10, 16]
MATRICES = legendre.to_coefficients, legendre.halving, legendre.joining, legendre.differentiation
# Also outside the nodes, at the ends.
TARGETS = np.linspace(-1.0, 1.0, 33)


@pytest.mark.parametrize("order", ORDERS)
def test_quadrature_is_exact_to_twice_the_order(order):
    """Means of x^n over [-1, 1] are 1 / (n + 1) for even n up to 2 order - 1, 0 for odd."""
    nodes, weights = legendre.gauss_legendre(order)
    for n in range(2 * order):
        assert weights @ nodes**n == pytest.approx((n + 1) % 2 / (n + 1), abs=1e-15)
    # And not beyond: the weights are those of so many nodes.
    assert abs(weights @ nodes ** (2 * order) - 1 / (2 * order + 1)) > 1e-11


@pytest.mark.parametrize(
    "matrix, image, bound",
    [
        (legendre.to_coefficients, lambda p, x: p.coef, 1e-13),
        (lambda order: legendre.interpolation(order, TARGETS), lambda p, x: p(TARGETS), 1e-12),
        (legendre.halving, lambda p, x: np.concatenate([p((x - 1) / 2), p((x + 1) / 2)]), 1e-13),
        (lambda order: legendre.joining(order) @ legendre.halving(order), lambda p, x: p(x), 1e-12),
        (legendre.differentiation, lambda p, x: p.deriv()(x), 1e-11),
    ],
    ids=["coefficients", "interpolation", "halves", "joined halves", "derivative"],
)
@pytest.mark.parametrize("order", ORDERS)
def test_matrices_are_exact_for_polynomials(order, matrix, image, bound):
    """Whatever the nodes just resolve would be moved, or cut."""
    nodes, _ = legendre.gauss_legendre(order)
    p = np.polynomial.Legendre(np.random.default_rng(order).normal(size=order))
    np.testing.assert_allclose(matrix(order) @ p(nodes), image(p, nodes), rtol=0, atol=bound)


@pytest.mark.parametrize(
    "array", [*legendre.gauss_legendre(5), *(matrix(7) for matrix in MATRICES)]
)
def test_shared_arrays_are_read_only(array):
    """One write would change every later result in the process."""
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 2.0
