"""Searches over trees of runs, against all pairs."""

import numpy as np
import pytest
from parameters import each

import meanfield as mf
from meanfield.transport.sphere.partition import grouped, integer_masses, level_starts
from meanfield.transport.sphere.partition import token_cells as cells_of
from meanfield.transport.sphere.plans import pair_costs, sites
from meanfield.transport.sphere.search import nearest
from meanfield.transport.sphere.tangents import Tangents, _bound, transform
from meanfield.transport.sphere.wasserstein import _tangents

SPHERE = mf.Sphere()
CASES = [(geodesic, p) for geodesic in (True, False) for p in (1, 2)]


def cells(count: int, level: int, seed: int):
    points = SPHERE.random_points(count, np.random.default_rng(seed))
    tokens = cells_of(points, integer_masses(np.full(count, 1 / count)))
    return grouped(tokens, level_starts(tokens, level))


# Level 12: single points.
LEVELS = [(12, 3), *(pytest.param(pair, marks=pytest.mark.slow) for pair in [(3, 4), (3, 12)])]


def smooth(points: np.ndarray) -> np.ndarray:
    noise = np.random.default_rng(0).normal(size=len(points))
    return 0.4 * points[:, 0] - 0.3 * points[:, 1] * points[:, 2] + 0.01 * noise


def tangents(family, seed: int) -> Tangents:
    """Arbitrary slopes: every one gives a bound."""
    rng = np.random.default_rng(seed)
    n = len(family)
    slopes, normals = rng.normal(size=(2, n, 3)) / 3.0
    return Tangents(family.barycentres, family.reaches, slopes, normals, rng.normal(size=n) / 9.0)


@pytest.mark.slow
@pytest.mark.parametrize(("geodesic", "p"), CASES)
def test_nearest_are_those_of_all_pairs(geodesic, p):
    """A run that holds the smallest value would be left out."""
    x, y = sites(cells(3000, 4, 1), geodesic), sites(cells(4000, 5, 2), geodesic)
    duals = smooth(y.points)
    index, values = nearest(x, y, duals, 3, None, geodesic, p)
    n, m = len(x.points), len(y.points)
    pairs = np.repeat(np.arange(n), m), np.tile(np.arange(m), n)
    all_values = pair_costs(x, y, *pairs, geodesic, p).reshape(n, m) - duals
    np.testing.assert_array_equal(values, np.sort(all_values, axis=1)[:, :3])
    np.testing.assert_array_equal(np.take_along_axis(all_values, index, 1), values)


@pytest.mark.slow
@each("geodesic, p", CASES, levels=LEVELS)
def test_transform_is_that_of_all_pairs(geodesic, p, levels):
    """Potentials would be called feasible that are not: the lower bound would be none."""
    first, second = cells(400, levels[0], 1), cells(500, levels[1], 2)
    x, y = tangents(first, 1), tangents(second, 2)
    duals = smooth(second.barycentres)
    expected = [
        min(
            _bound(
                *(x.points[i] - y.points[k]), x.reaches[i], x.slopes[i], y.reaches[k], y.slopes[k],
                x.normals[i], x.offsets[i], y.normals[k], y.offsets[k], geodesic, p,
            ) - duals[k]
            for k in range(len(second))
        )
        for i in range(len(first))
    ]  # fmt: skip
    np.testing.assert_array_equal(transform(x, y, duals, geodesic, p), expected)


@pytest.mark.slow
@pytest.mark.parametrize(("geodesic", "p"), CASES)
def test_bound_of_cells_is_below_the_cost_of_their_points(geodesic, p):
    """The tangents would cut off a piece of the cost."""
    rng = np.random.default_rng(4)
    for _ in range(300):
        size = 10.0 ** rng.uniform(-3, -0.3)
        centre, other = rng.normal(size=(2, 1, 3))
        if rng.random() < 0.3:
            other = centre + size * rng.normal(size=3)
        if rng.random() < 0.2:
            other = -centre
        x = SPHERE.check_points(centre + size * rng.normal(size=(20, 3)))
        y = SPHERE.check_points(other + size * rng.normal(size=(20, 3)))
        b, c = x.mean(axis=0), y.mean(axis=0)
        r, q = (np.linalg.norm(z - z.mean(axis=0), axis=1).max() for z in (x, y))
        u, v = rng.normal(size=(2, 3))
        # Tangents at differences of two of the points, which are slopes of the cost.
        normal, offset = _tangents(x[:1] - y[:1], geodesic, p)
        tangent = normal[0], offset[0]
        bound = _bound(*(b - c), r, u, q, v, *tangent, *tangent, geodesic, p)
        chord = np.linalg.norm(x[:, None] - y[None], axis=2)
        cost = (2.0 * np.arcsin(np.minimum(0.5 * chord, 1.0)) if geodesic else chord) ** p
        left = cost - ((x - b) @ u)[:, None] + ((y - c) @ v)[None, :]
        assert bound <= left.min() + 1e-12
