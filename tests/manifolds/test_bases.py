"""What every basis and its grid must do, whatever its functions are."""

from __future__ import annotations

import numpy as np
import pytest

import meanfield as mf
from meanfield.manifolds import Manifold
from meanfield.manifolds.manifold import laplacian_eigenvalues

BASES = [mf.Circle(), mf.Sphere()]
both = pytest.mark.parametrize("space", BASES, ids=repr)


def random_field(space: Manifold, degree: int, seed: int = 0) -> np.ndarray:
    """Coefficients of a real field: moments of points with masses of both signs."""
    rng = np.random.default_rng(seed)
    return space.moments(space.random_points(40, rng), rng.normal(size=40) / 6.0, degree)


@both
def test_inner_product_is_the_integral(space: Manifold) -> None:
    """Int f g dsigma of real fields, of different degree."""
    f, g, grid = random_field(space, 4), random_field(space, 8, seed=1), space.grid(8)
    expected = grid.weights @ (grid.to_nodal(f) * grid.to_nodal(g))
    assert space.inner(f, g) == pytest.approx(expected, rel=1e-13)
    assert space.inner(g, f) == pytest.approx(expected, rel=1e-13)


@both
def test_moments_of_points_are_coefficients_of_their_density(space: Manifold) -> None:
    """Moments and coefficients share one convention: m_l = int conj(Y_l) dmu."""
    f, grid = random_field(space, 6), space.grid(6)
    found = space.moments(grid.points, grid.to_nodal(f) * grid.weights, 6)
    np.testing.assert_allclose(found, f, rtol=0, atol=1e-14)


@both
def test_values_and_slopes_at_points_are_those_of_the_grid(space: Manifold) -> None:
    """Scattered points and grid must use one basis; the divisor divides."""
    f, grid = random_field(space, 8), space.grid(8)
    z = 0.1 * space.resize(random_field(space, 2, seed=1), 4)
    z[0] = 2.0
    points = np.ascontiguousarray(grid.points)
    slack = 1e-13
    np.testing.assert_allclose(space.evaluate(f, points), grid.to_nodal(f), rtol=0, atol=slack)
    squared = grid.squared_norm(grid.gradient(f))
    found = space.squared_norm(space.gradient(f, points))
    np.testing.assert_allclose(found, squared, rtol=0, atol=slack * squared.max())
    quotient = space.gradient(f, points) / space.per_point(grid.to_nodal(z))
    np.testing.assert_allclose(space.gradient(f, points, z), quotient, rtol=0, atol=4 * slack)


@both
def test_order_parameter_is_the_length_of_the_mean_vector(space: Manifold) -> None:
    """|int x dmu| of tokens, from moments of degree 1 or more."""
    points = space.random_points(7, np.random.default_rng(2))
    expected = np.linalg.norm(space.vectors(points).mean(axis=0))
    for degree in (1, 5):
        found = space.order_parameter(space.moments(points, None, degree))
        assert found == pytest.approx(expected, rel=1e-14)


@both
def test_resize_and_convolve_cut_or_fill_with_zeros(space: Manifold) -> None:
    """Refining must not invent coefficients; degrees beyond the shorter are not felt."""
    f = random_field(space, 3)
    wide = space.resize(f, 7)
    assert (space.degree_of(f), space.degree_of(wide)) == (3, 7)
    np.testing.assert_array_equal(space.resize(wide, 3), f)
    assert np.abs(wide).sum() == pytest.approx(np.abs(f).sum(), rel=1e-15)
    doubled = space.convolve(np.array([1.0, 2.0]), f)
    expected = [1.0, 2.0] * space.sizes_by_degree(f)[:2]
    np.testing.assert_allclose(space.sizes_by_degree(doubled), expected, rtol=1e-15)
    np.testing.assert_array_equal(space.convolve(np.ones(8), f), f)


@both
@pytest.mark.parametrize("degree", [0, 1, 2, 7, 64, 127])
def test_roundtrip_is_the_identity(space: Manifold, degree: int) -> None:
    """Analysis undoes synthesis; rounding grows with the degree."""
    grid, f = space.grid(degree), random_field(space, degree)
    assert len(grid.weights) == len(grid.points)
    assert grid.weights.min() > 0
    assert grid.weights.sum() == pytest.approx(1.0, abs=1e-14)
    found = grid.to_modal(grid.to_nodal(f))
    np.testing.assert_allclose(found, f, rtol=0, atol=1e-15 * (degree + 4) * np.abs(f).max())


@both
@pytest.mark.parametrize("degree", [1, 6, 63, 127])
def test_divergence_of_the_gradient_is_the_laplacian(space: Manifold, degree: int) -> None:
    """Degree by degree -l (l + d - 2); nothing of degree 0."""
    grid, f = space.grid(degree), random_field(space, degree)
    found = grid.divergence(grid.gradient(f))
    expected = -space.convolve(laplacian_eigenvalues(space.dimension, degree), f)
    slack = 1e-14 * degree * np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=slack)
    assert found[0] == 0
