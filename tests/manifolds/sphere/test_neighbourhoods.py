"""Neighbourhoods on the sphere against brute force over all pairs."""

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from meanfield.compute import threads
from meanfield.manifolds.sphere.box_tree import build, curve_order
from meanfield.manifolds.sphere.neighbourhood_kernels import linked_groups, mass_within
from meanfield.manifolds.sphere.neighbourhoods import (
    dense,
    linked,
    mean_points,
    neighbourhood_mass,
)

N = 500


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _states() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    uniform = _unit(rng.normal(size=(N, 3)))
    centres = uniform[rng.integers(0, 5, N)]
    axes = np.concatenate([np.eye(3), -np.eye(3)])
    # Cubes of the curve meet at 0 on every axis: around an axis four of them.
    poles = np.array([0.0, 0.0, 1.0]) * rng.choice([-1.0, 1.0], (N, 1))
    spread = 10.0 ** rng.uniform(-9.0, -0.5, (N, 1))
    return {
        "uniform": uniform,
        "clusters": _unit(centres + 0.1 * rng.normal(size=(N, 3))),
        "clusters of all sizes": _unit(centres + spread * rng.normal(size=(N, 3))),
        "collapsed": centres,
        "antipodal": uniform[0] * rng.choice([-1.0, 1.0], (N, 1)),
        "on the axes": axes[rng.integers(0, 6, N)],
        "around the poles": _unit(poles + 1e-3 * rng.normal(size=(N, 3))),
        "within one cube": _unit(uniform[0] + 1e-9 * rng.normal(size=(N, 3))),
        "one": uniform[:1],
    }


STATES = _states()
RADII = [2.5e-5, 1e-3, 0.08, 0.5, np.pi / 2]


def _squares(points: np.ndarray) -> np.ndarray:
    x, y, z = (points[:, None] - points).transpose(2, 0, 1)
    return np.asarray(x * x + y * y + z * z)


def _square(radius: float) -> float:
    return float((2.0 * np.sin(0.5 * radius)) ** 2)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("radius", RADII)
def test_mass_of_equal_points_is_the_count_of_pairs(state: str, radius: float) -> None:
    """Boxes must decide as the points would, to the last pair."""
    points = STATES[state]
    expected = (_squares(points) <= _square(radius)).sum(axis=1) / len(points)
    np.testing.assert_array_equal(neighbourhood_mass(points, None, radius), expected)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("radius", RADII)
def test_mass_of_weighted_points_is_that_of_all_pairs(state: str, radius: float) -> None:
    """Weights that lost their points in the sorting, or a box without its mass."""
    points = STATES[state]
    mass = np.random.default_rng(1).dirichlet(np.full(len(points), 0.3))
    expected = (_squares(points) <= _square(radius)) @ mass
    found = neighbourhood_mass(points, mass, radius)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("radius", RADII)
@pytest.mark.parametrize("weighted", [False, True])
def test_dense_is_the_comparison_with_the_threshold(
    state: str, radius: float, weighted: bool
) -> None:
    """Leaving off early must not change one answer, for thresholds small, large and met."""
    points = STATES[state]
    mass = np.random.default_rng(1).dirichlet(np.ones(len(points))) if weighted else None
    within = neighbourhood_mass(points, mass, radius)
    # Sums of weights in another order differ by rounding: stay off them by a little.
    met = within if mass is None else within * (1.0 - 1e-12)
    for threshold in (0.1 * np.sin(0.5 * radius) ** 2, 0.1, *np.quantile(met, [0.0, 0.5, 1.0])):
        found = dense(points, mass, radius, float(threshold))
        np.testing.assert_array_equal(found, within >= threshold)


@pytest.mark.parametrize("threshold, count", [(0.28, 25), (0.72, 18), (0.73, 0)])
def test_dense_begins_at_the_threshold(threshold: float, count: int) -> None:
    """Exactly the threshold is enough: 7 of 25, though 0.28 * 25 is rounded above 7."""
    assert 0.28 * 25 > 7
    points = np.repeat(np.eye(3)[:2], [7, 18], axis=0)
    assert np.count_nonzero(dense(points, None, 0.1, threshold)) == count


@pytest.mark.parametrize("steps", [1, 2, 4, 9])
def test_distances_that_equal_the_radius_are_within_and_not_linked(steps: int) -> None:
    """On a lattice squares of distances are exact: mass counts those equal, groups do not."""
    points = np.random.default_rng(6).integers(-6, 7, (N, 3)) / 16.0
    points = points[curve_order(points, stable=True)]
    square, squares = steps / 256.0, _squares(points)
    tree = build(points, np.ones(N))
    found = mass_within(tree, square, np.inf)
    np.testing.assert_array_equal(found, (squares <= square).sum(axis=1))
    count, component = connected_components(squares < square)
    leader = linked_groups(tree, square)
    assert len(np.unique(leader)) == count
    np.testing.assert_array_equal(component, component[leader])


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("radius", RADII)
def test_groups_are_the_connected_components(state: str, radius: float) -> None:
    """Single linkage is the components of the graph of pairs closer than the radius."""
    points = STATES[state]
    _, component = connected_components(_squares(points) < _square(radius))
    first: dict[int, int] = {}
    expected = [first.setdefault(c, len(first)) for c in component.tolist()]
    np.testing.assert_array_equal(linked(points, radius), expected)


@pytest.mark.parametrize("factor, count", [(0.999, 1), (1.001, 2)])
def test_gap_of_one_radius_separates(factor: float, count: int) -> None:
    """Two crowded caps whose rims are one geodesic radius apart: boxes cannot tell."""
    rng = np.random.default_rng(3)
    radius, turn = 0.3, rng.uniform(0.0, 2.0 * np.pi, 4000)
    # Two points of the rims face each other; all others are farther.
    polar = np.append(rng.uniform(0.0, 0.4, 3998), [0.4, 0.4])
    turn[-2:] = 0.0, np.pi
    x, y, z = np.sin(polar) * np.cos(turn), np.sin(polar) * np.sin(turn), np.cos(polar)
    tilt = (0.4 + 0.5 * factor * radius) * np.where(np.arange(4000) % 2, 1.0, -1.0)
    x, z = np.cos(tilt) * x + np.sin(tilt) * z, np.cos(tilt) * z - np.sin(tilt) * x
    assert linked(np.column_stack([x, y, z]), radius).max() + 1 == count


def test_chain_is_one_group() -> None:
    """Points in a row, each close to the next only: groups grow through their neighbours."""
    angles = 0.1 * np.random.default_rng(4).permutation(60)
    points = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(60)])
    assert np.all(linked(points, 0.1001) == 0)
    assert linked(points, 0.0999).max() == 59


def test_no_points_have_no_neighbours() -> None:
    """Where every point is a straggler nothing is left, and that is no error."""
    assert linked(np.zeros((0, 3)), 0.1).shape == (0,)
    assert dense(np.zeros((0, 3)), None, 0.1, 0.1).shape == (0,)
    assert dense(np.zeros((0, 3)), np.zeros(0), 0.1, 0.1).shape == (0,)


def test_results_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of threads must not change one bit, nor lose a subtree."""
    rng = np.random.default_rng(5)
    points, mass = _unit(rng.normal(size=(40_000, 3))), rng.dirichlet(np.ones(40_000))
    runs = []
    for number in (1, 3):
        monkeypatch.setattr(threads, "_chosen", number)
        runs.append(neighbourhood_mass(points, mass, 0.05))
    np.testing.assert_array_equal(runs[0], runs[1])
    some = rng.choice(40_000, 50)
    square = np.square(points[some, None] - points).sum(axis=2)
    np.testing.assert_allclose(runs[0][some], (square <= _square(0.05)) @ mass, rtol=1e-12)


def test_means_are_those_of_the_groups() -> None:
    """Weighted mean direction, as unit vectors."""
    points = _unit(np.array([[3.0, 4.0, 0.0], [3.0, -4.0, 0.0], [0.0, 1.0, 2.0]]))
    means = mean_points(points, np.array([0.25, 0.25, 0.1]), np.array([1, 1, 0]), 2)
    np.testing.assert_allclose(means, [points[2], [1.0, 0.0, 0.0]], rtol=0, atol=1e-15)


def test_mean_of_opposite_points_is_nan() -> None:
    """Their mean vector is rounding and points anywhere; so is that of no point."""
    points = np.concatenate([STATES["uniform"][:50], -STATES["uniform"][:50], np.eye(3)[:1]])
    means = mean_points(points, np.ones(101), np.append(np.zeros(100, dtype=np.int64), 1), 3)
    np.testing.assert_array_equal(np.isnan(means).all(axis=1), [True, False, True])
