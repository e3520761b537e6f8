"""Neighbourhoods on the sphere: ties, crowds, chains and threads; see also the file above."""

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from meanfield.engines import threads
from meanfield.engines.harmonics.box_tree import build, curve_order
from meanfield.engines.harmonics.neighbourhood_kernels import linked_groups, mass_within
from meanfield.spaces.sphere.neighbourhoods import _mass_within, linked

N = 500


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _squares(points: np.ndarray) -> np.ndarray:
    x, y, z = (points[:, None] - points).transpose(2, 0, 1)
    return np.asarray(x * x + y * y + z * z)


def _square(radius: float) -> float:
    return float((2.0 * np.sin(0.5 * radius)) ** 2)


@pytest.mark.parametrize("steps", [1, 2, 4, 9])
def test_distances_that_equal_the_radius_are_within_and_not_linked(steps):
    """On a lattice squares of distances are exact: mass counts those equal, groups do not."""
    points = np.random.default_rng(6).integers(-6, 7, (N, 3)) / 16.0
    points = points[curve_order(points, stable=True)]
    square, squares = steps / 256.0, _squares(points)
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
    assert linked(np.column_stack([x, y, z]), radius).max() + 1 == count


def test_chain_is_one_group():
    """Points in a row, each close to the next only: groups grow through their neighbours."""
    angles = 0.1 * np.random.default_rng(4).permutation(60)
    points = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(60)])
    assert np.all(linked(points, 0.1001) == 0)
    assert linked(points, 0.0999).max() == 59


@pytest.mark.slow
def test_results_do_not_depend_on_threads(monkeypatch):
    """The number of threads must not change one bit, nor lose a subtree."""
    rng = np.random.default_rng(5)
    points, mass = _unit(rng.normal(size=(40_000, 3))), rng.dirichlet(np.ones(40_000))
    runs = []
    for number in (1, 3):
        monkeypatch.setattr(threads, "_chosen", number)
        runs.append(_mass_within(points, mass, 0.05, np.inf))
    np.testing.assert_array_equal(runs[0], runs[1])
    some = rng.choice(40_000, 50)
    square = np.square(points[some, None] - points).sum(axis=2)
    np.testing.assert_allclose(runs[0][some], (square <= _square(0.05)) @ mass, rtol=1e-12)
