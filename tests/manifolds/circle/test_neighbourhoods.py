"""Neighbourhoods on the circle against brute force over all pairs."""

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from meanfield.manifolds.circle.neighbourhoods import (
    dense,
    linked,
    mean_points,
    neighbourhood_mass,
)

N = 300


def _states() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    clusters = np.repeat([0.0, 2.0, 4.0, 6.2], N // 4)
    return {
        "uniform": rng.uniform(0.0, 2 * np.pi, N),
        "clusters": clusters + 0.05 * rng.normal(size=N),
        "collapsed": clusters,
        "on the cut": rng.uniform(-0.2, 0.2, N),
        "unwrapped": 40.0 * rng.normal(size=N),
        "in order": np.sort(rng.uniform(0.0, 2 * np.pi, N)),
        "one": np.array([1.0]),
    }


STATES = _states()
RADII = [0.01, 0.08, 0.5, np.pi / 2]


def _distances(points: np.ndarray) -> np.ndarray:
    d = np.abs(points[:, None] - points) % (2 * np.pi)
    return np.minimum(d, 2 * np.pi - d)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("radius", RADII)
@pytest.mark.parametrize("weighted", [False, True])
def test_mass_is_that_of_all_pairs(state: str, radius: float, weighted: bool) -> None:
    """A range that stops at the cut, or masses that lost their points in the sorting."""
    points = STATES[state]
    n = len(points)
    mass = np.random.default_rng(1).dirichlet(np.ones(n)) if weighted else np.full(n, 1.0 / n)
    expected = (_distances(points) <= radius) @ mass
    found = neighbourhood_mass(points, mass if weighted else None, radius)
    # Differences of partial sums up to 2, each of n roundings.
    np.testing.assert_allclose(found, expected, rtol=0, atol=n * 4e-16)


def test_mass_of_equal_points_is_a_count() -> None:
    """Exactly k / n, so that comparing it with a threshold does not hang on rounding."""
    points = np.repeat([0.0, 1.0, 3.0], [3, 7, 39])
    expected = np.repeat([3 / 49, 7 / 49, 39 / 49], [3, 7, 39])
    np.testing.assert_array_equal(neighbourhood_mass(points, None, 0.1), expected)


@pytest.mark.parametrize("threshold, count", [(0.3, 10), (0.7, 7), (0.71, 0)])
def test_dense_begins_at_the_threshold(threshold: float, count: int) -> None:
    """Exactly the threshold is enough."""
    points = np.repeat([0.0, 1.0], [3, 7])
    assert np.count_nonzero(dense(points, None, 0.1, threshold)) == count


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("radius", RADII)
def test_groups_are_the_connected_components(state: str, radius: float) -> None:
    """Single linkage is the components of the graph of pairs closer than the radius."""
    points = STATES[state]
    count, expected = connected_components(_distances(points) < radius)
    found = linked(points, radius)
    np.testing.assert_array_equal(np.unique(found), np.arange(count))
    # One found number to each expected one.
    assert len(set(zip(found.tolist(), expected.tolist(), strict=True))) == count


def test_no_points_have_no_groups() -> None:
    """Where every point is a straggler nothing is left to link, and that is no error."""
    assert linked(np.zeros(0), 0.1).shape == (0,)


@pytest.mark.parametrize("shift", [0.0, 3.0, -40.0])
def test_means_are_those_of_the_arcs(shift: float) -> None:
    """Mean of angles left and right of the cut, weighted, wherever it lies."""
    points = np.array([3.0, 3.3, -0.1, 0.1]) + shift
    mass = np.array([0.1, 0.1, 0.5, 0.5])
    means = mean_points(points, mass, np.array([1, 1, 0, 0]), 2)
    expected = np.angle(np.exp(1j * (np.array([0.0, 3.15]) + shift)))
    np.testing.assert_allclose(means, expected, rtol=0, atol=1e-14)


def test_mean_of_opposite_points_is_nan() -> None:
    """Their mean vector is rounding and points anywhere."""
    means = mean_points(np.array([0.0, np.pi, 1.0]), np.ones(3), np.array([0, 0, 1]), 3)
    np.testing.assert_array_equal(np.isnan(means), [True, False, True])


def test_mean_at_minus_pi_is_pi() -> None:
    """Angles are in (-pi, pi]: one number for one point."""
    assert mean_points(np.array([-np.pi]), np.ones(1), np.zeros(1, dtype=np.int64), 1) == [np.pi]
