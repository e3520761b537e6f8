"""Neighbourhoods on the sphere: ties, crowds, chains and threads."""

import numpy as np
import pytest
from any_threads import check_any_threads
from parameters import each
from scipy.sparse.csgraph import connected_components

import meanfield as mf
from meanfield.engines.harmonics.box_tree import build, curve_order
from meanfield.engines.harmonics.neighbourhood_kernels import linked_groups, mass_within
from meanfield.spaces.neighbourhoods import dense, linked, mean_points
from meanfield.spaces.sphere.neighbourhoods import _mass_within, node_groups

N, SPHERE = 500, mf.Sphere()


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize("steps", [1, 2, 4, 9])
def test_distances_that_equal_the_radius_are_within_and_not_linked(steps):
    """On a lattice squares of distances are exact: mass counts those equal, groups do not."""
    points = np.random.default_rng(6).integers(-6, 7, (N, 3)) / 16.0
    points = points[curve_order(points, stable=True)]
    square, squares = steps / 256.0, np.square(points[:, None] - points).sum(axis=2)
    tree = build(points, np.ones(N))
    result = mass_within(tree, square, np.inf)
    np.testing.assert_array_equal(result, (squares <= square).sum(axis=1))
    count, component = connected_components(squares < square)
    leader = linked_groups(tree, square)
    assert len(np.unique(leader)) == count
    np.testing.assert_array_equal(component, component[leader])


@pytest.mark.parametrize("factor, count", [(0.999, 1), (1.001, 2)])
def test_gap_of_one_radius_separates(factor, count):
    """Two crowded caps whose rims are one geodesic radius apart: boxes cannot tell."""
    rng = np.random.default_rng(3)
    radius, turn = 0.3, rng.uniform(0.0, 2.0 * np.pi, 4000)
    # Two points of the rims face each other; all others are farther.
    polar = np.append(rng.uniform(0.0, 0.4, 3998), [0.4, 0.4])
    turn[-2:] = 0.0, np.pi
    x, y, z = np.sin(polar) * np.cos(turn), np.sin(polar) * np.sin(turn), np.cos(polar)
    tilt = (0.4 + 0.5 * factor * radius) * np.where(np.arange(4000) % 2, 1.0, -1.0)
    x, z = np.cos(tilt) * x + np.sin(tilt) * z, np.cos(tilt) * z - np.sin(tilt) * x
    assert linked(SPHERE, np.column_stack([x, y, z]), radius).max() + 1 == count


def test_chain_is_one_group():
    """Points in a row, each close to the next only: groups grow through their neighbours."""
    angles = 0.1 * np.random.default_rng(4).permutation(60)
    points = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(60)])
    assert np.all(linked(SPHERE, points, 0.1001) == 0)
    assert linked(SPHERE, points, 0.0999).max() == 59


@pytest.mark.slow
def test_results_do_not_depend_on_threads():
    """The number of threads must not change one bit, nor lose a subtree."""
    rng = np.random.default_rng(5)
    points, mass = _unit(rng.normal(size=(40_000, 3))), rng.dirichlet(np.ones(40_000))
    (within,) = check_any_threads(lambda: [_mass_within(points, mass, 0.05, np.inf)])
    some = rng.choice(40_000, 50)
    square = np.square(points[some, None] - points).sum(axis=2)
    expected = (square <= (2.0 * np.sin(0.025)) ** 2) @ mass
    np.testing.assert_allclose(within[some], expected, rtol=1e-12)


def _densities() -> dict[str, list[tuple[float, list[float], float]]]:
    """Components of mixtures: weight, mean, concentration."""
    rng = np.random.default_rng(7)
    ring = [[np.cos(t), np.sin(t), 0.4] for t in np.linspace(0.0, 2.0 * np.pi, 13)[:-1]]
    return {
        "a pole": [(1.0, [0.0, 0.0, 1.0], 30.0)],
        "both poles": [(0.5, [0.0, 0.0, 1.0], 50.0), (0.5, [0.0, 0.0, -1.0], 50.0)],
        "across longitude 0": [(0.5, [1.0, 0.0, 0.2], 60.0), (0.5, [-1.0, 0.0, 0.0], 60.0)],
        "a ring": [(1.0 / 12.0, mean, 20.0) for mean in ring],
        "beads": [(1.0 / 12.0, mean, 80.0) for mean in ring],
        "many": [(0.1, rng.normal(size=3).tolist(), 70.0) for _ in range(10)],
        "uneven": [(0.01, [0.0, 1.0, 0.0], 20.0), (0.99, [0.0, -1.0, 0.0], 5.0)],
    }


@each("radius", [0.2, 0.45, 1.3], threshold=[1e-4, 3e-3, 0.05, 0.9], law=_densities())
def test_groups_of_nodes_are_those_of_points(radius, threshold, law):
    """Runs would be joined too far or too near, or one that goes on at longitude 0 be cut."""
    density = mf.mixture(_densities()[law]).build(SPHERE)
    grid = SPHERE.grid(max(int(16.0 * np.pi / 3.0 / radius), 30))
    mass = np.maximum(grid.to_nodal(SPHERE.resize(density.coefficients, 30)), 0.0) * grid.weights
    sums, mean = node_groups(grid, mass, radius, threshold)
    inside = dense(SPHERE, grid.points, mass, radius, threshold)
    points, mass = grid.points[inside], mass[inside]
    group = linked(SPHERE, points, radius)
    np.testing.assert_allclose(sums, np.bincount(group, mass), rtol=1e-13)
    if not len(group):
        return
    expected = mean_points(SPHERE, points, mass, group, len(sums))
    some = ~np.isnan(expected[:, 0])
    np.testing.assert_allclose(_unit(mean)[some], expected[some], rtol=0, atol=1e-10)
