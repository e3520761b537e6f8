"""Transforms on the circle's grid."""

import numpy as np
import pytest
from random_data import circle_field

from meanfield.bases.fourier import CircleGrid, alias_free_size


@pytest.mark.parametrize("degree", [1, 5, 64])
def test_to_nodal_sums_the_series(degree):
    """Nodal values are Re[g_0 + 2 sum g_k e^{ik theta}] at `points`, not mirrored."""
    grid, c = CircleGrid(degree), circle_field(degree)
    k = np.arange(1, degree + 1)
    expected = c[0].real + 2 * (np.exp(1j * np.outer(grid.points, k)) @ c[1:]).real
    np.testing.assert_allclose(grid.to_nodal(c), expected, rtol=0, atol=1e-13 * degree)


def test_gradient_is_the_derivative():
    """d/dtheta of 3 sin 5 theta - cos 2 theta."""
    grid, c = CircleGrid(8), np.zeros(9, dtype=complex)
    c[5], c[2] = -1.5j, -0.5
    expected = 15 * np.cos(5 * grid.points) + 2 * np.sin(2 * grid.points)
    np.testing.assert_allclose(grid.gradient(c), expected, rtol=0, atol=1.5e-13)


def test_divergence_is_the_derivative_and_conserves_mass():
    """Degree 0 is exactly zero for any flux, resolved or not."""
    grid = CircleGrid(8)
    divergence = grid.divergence(np.cos(3 * grid.points))
    assert divergence[3] == pytest.approx(1.5j, abs=1e-15)
    noise = np.random.default_rng(0).normal(size=grid.size)
    assert grid.divergence(noise)[0] == 0.0


def test_weights_integrate_sigma():
    """Equal weights that sum to one: exact for every degree below the number of nodes."""
    grid = CircleGrid(6)
    assert grid.weights.sum() == pytest.approx(1.0, abs=1e-15)
    assert grid.weights @ np.cos(7 * grid.points) == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("degree, reach", [(5, 3), (64, 31), (64, 64), (100, 7), (1000, 64)])
def test_alias_free_size_is_enough_and_no_more_than_fast(degree, reach):
    """At least 2K + H + 1, even, and at most what the next fast length costs."""
    size = alias_free_size(degree, reach)
    assert size % 2 == 0
    assert 2 * degree + reach < size <= 1.15 * (2 * degree + reach + 1) + 8
