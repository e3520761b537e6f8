"""Neighbourhoods against brute force over all pairs, on every space that has them."""

import numpy as np
import pytest
from parameters import each
from scipy.sparse.csgraph import connected_components

import meanfield as mf
from meanfield.engines.fourier.neighbourhood_kernels import is_filled
from meanfield.spaces import Geometry
from meanfield.spaces.neighbourhoods import dense, dense_groups, linked, mean_points

N = 400
CIRCLE, SPHERE = mf.Circle(), mf.Sphere()
RADII = [2.5e-5, 1e-3, 0.08, 0.5, np.pi / 2]


def _states() -> dict[str, tuple[Geometry, np.ndarray]]:
    rng = np.random.default_rng(0)
    arcs = np.repeat([0.0, 2.0, 4.0, 6.2], N // 4)
    uniform = SPHERE.random_points(N, rng)
    centres = uniform[rng.integers(0, 5, N)]
    axes = np.concatenate([np.eye(3), -np.eye(3)])
    # Cubes of the sphere's curve meet at 0 on every axis: around an axis four of them.
    poles = np.array([0.0, 0.0, 1.0]) * rng.choice([-1.0, 1.0], (N, 1))
    spread = 10.0 ** rng.uniform(-9.0, -0.5, (N, 1))
    circle = {
        "uniform": rng.uniform(0.0, 2 * np.pi, N),
        "clusters": arcs + 0.05 * rng.normal(size=N),
        "collapsed": arcs,
        "on the cut": rng.uniform(-0.2, 0.2, N),
        "unwrapped": 40.0 * rng.normal(size=N),
        "in order": np.sort(rng.uniform(0.0, 2 * np.pi, N)),
        "one": np.array([1.0]),
    }
    sphere = {
        "uniform": uniform,
        "clusters": centres + 0.1 * rng.normal(size=(N, 3)),
        "clusters of all sizes": centres + spread * rng.normal(size=(N, 3)),
        "collapsed": centres,
        "antipodal": uniform[0] * rng.choice([-1.0, 1.0], (N, 1)),
        "on the axes": axes[rng.integers(0, 6, N)],
        "around the poles": poles + 1e-3 * rng.normal(size=(N, 3)),
        "within one cube": uniform[0] + 1e-9 * rng.normal(size=(N, 3)),
        "one": uniform[:1],
    }
    return {f"circle, {name}": (CIRCLE, points) for name, points in circle.items()} | {
        f"sphere, {name}": (SPHERE, SPHERE.check_points(x)) for name, x in sphere.items()
    }


STATES = _states()


def _within(space, points, radius, strictly=False):
    """True for pairs within the radius; on the sphere by the squares of chords."""
    if space == SPHERE:
        x, y, z = (points[:, None] - points).transpose(2, 0, 1)
        distances, bound = x * x + y * y + z * z, (2.0 * np.sin(0.5 * radius)) ** 2
    else:
        distances, bound = space.distance(points[:, None], points), radius
    return distances < bound if strictly else distances <= bound


@pytest.mark.slow
@each("state", STATES, radius=RADII, weighted=[False, True])
def test_dense_is_the_mass_of_all_pairs_against_the_threshold(state, radius, weighted):
    """A range that stops at the cut, a box without its mass, or one that is left off too early."""
    space, points = STATES[state]
    n = len(points)
    mass = np.random.default_rng(1).dirichlet(np.full(n, 0.3)) if weighted else None
    near = _within(space, points, radius)
    within = near.sum(axis=1) / n if mass is None else near @ mass
    # Thresholds small, large and met. Sums of weights in another order differ by rounding.
    met = within if mass is None else within * (1.0 - 1e-12)
    for threshold in (0.1 * np.sin(0.5 * radius) ** 2, 0.1, *np.quantile(met, [0.0, 0.5, 1.0])):
        result = dense(space, points, mass, radius, float(threshold))
        np.testing.assert_array_equal(result, within >= threshold)


@pytest.mark.parametrize("threshold, count", [(0.28, 25), (0.72, 18), (0.73, 0)])
@pytest.mark.parametrize("space", [CIRCLE, SPHERE], ids=repr)
def test_dense_begins_at_the_threshold(space, threshold, count):
    """Exactly the threshold is enough: 7 of 25, though 0.28 * 25 is rounded above 7."""
    assert 0.28 * 25 > 7
    points = np.repeat(space.random_points(2, np.random.default_rng(0)), [7, 18], axis=0)
    assert np.count_nonzero(dense(space, points, None, 0.1, threshold)) == count


@pytest.mark.slow
@each("state", STATES, radius=RADII)
def test_groups_are_the_connected_components(state, radius):
    """Single linkage is the components of the graph of pairs closer than the radius."""
    space, points = STATES[state]
    # Groups of the circle are numbered by their angles, the one across 0 first.
    order = np.arange(len(points)) if space == SPHERE else np.argsort(points % (2 * np.pi))
    _, component = connected_components(_within(space, points, radius, strictly=True))
    first: dict[int, int] = {}
    expected = [first.setdefault(c, len(first)) for c in component[order].tolist()]
    np.testing.assert_array_equal(linked(space, points, radius)[order], expected)


@pytest.mark.parametrize("spread", [0.01, 1.0], ids=["clusters", "alone"])
@pytest.mark.parametrize("space", [mf.Sphere(6), mf.Euclidean(3)], ids=repr)
def test_groups_in_any_dimension_are_found_block_by_block(space, spread, monkeypatch):
    """Tokens of a later block would be taken for those of the first one."""
    monkeypatch.setattr("meanfield.spaces.vector_neighbourhoods._PAIRS", 900)
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((5, space.ambient))[rng.integers(5, size=100)]
    points = space.points_of(centres + spread * rng.standard_normal(centres.shape))
    near = space.distance(points[:, None], points) < 0.3
    np.testing.assert_array_equal(linked(space, points, 0.3), connected_components(near)[1])


def _parts(space: Geometry, points: np.ndarray, group: np.ndarray) -> list[list[list[float]]]:
    """Sorted points of each group; angles to 1e-12."""
    places = np.round(points % (2 * np.pi), 12) if space == CIRCLE else points
    return [sorted(places[group == g].tolist()) for g in range(group.max(initial=-1) + 1)]


@each("state", STATES, radius=RADII, weighted=[False, True])
def test_dense_groups_are_the_groups_of_dense_points(state, radius, weighted):
    """One sort in place of two would leave points out, or number groups in another order."""
    space, points = STATES[state]
    n = len(points)
    mass = np.random.default_rng(1).dirichlet(np.full(n, 0.3)) if weighted else None
    for threshold in (1e-9, 0.1 * np.sin(0.5 * radius) ** 2, 2.5 / n, 0.1, 2.0):
        inside = dense(space, points, mass, radius, threshold)
        chosen, masses, group = dense_groups(space, points, mass, radius, threshold)
        expected = linked(space, points[inside], radius)
        assert _parts(space, chosen, group) == _parts(space, points[inside], expected)
        if mass is None:
            assert masses is None
        else:
            total = np.bincount(expected, mass[inside])
            np.testing.assert_allclose(np.bincount(group, masses), total, rtol=1e-12)


@pytest.mark.parametrize("law", ["uniform", "gap", "thin"])
def test_many_angles_need_no_sort_where_they_are_everywhere(law):
    """A gap of a radius, or an arc of less than the threshold, would be overlooked."""
    rng, n, radius = np.random.default_rng(0), 50_000, 0.08
    points = rng.uniform(-20.0, 20.0, n) if law == "uniform" else rng.uniform(0.5, 2 * np.pi, n)
    if law == "thin":
        points = np.append(points, rng.uniform(0.0, 0.5, 60))
    threshold = 0.1 * radius / np.pi
    assert is_filled(points, radius, threshold) == (law == "uniform")
    inside = dense(CIRCLE, points, None, radius, threshold)
    chosen, _, group = dense_groups(CIRCLE, points, None, radius, threshold)
    assert len(chosen) == inside.sum()
    assert group.max() == linked(CIRCLE, points[inside], radius).max() == 0


@pytest.mark.parametrize("space", [CIRCLE, SPHERE, mf.Sphere(5)], ids=repr)
def test_no_points_have_no_neighbours(space):
    """Where every point is a straggler nothing is left, and that is no error."""
    none = np.zeros((0, *space.point_shape))
    assert linked(space, none, 0.1).shape == (0,)
    for mass in (None, np.zeros(0)):
        assert dense(space, none, mass, 0.1, 0.1).shape == (0,)
    assert dense_groups(space, none, None, 0.1, 0.1)[2].shape == (0,)


@pytest.mark.parametrize("shift", [0.0, 3.0, -40.0])
def test_means_on_the_circle_are_those_of_the_arcs(shift):
    """Mean of angles left and right of the cut, weighted, wherever it lies."""
    points = np.array([3.0, 3.3, -0.1, 0.1]) + shift
    mass = np.array([0.1, 0.1, 0.5, 0.5])
    means = mean_points(CIRCLE, points, mass, np.array([1, 1, 0, 0]), 2)
    expected = np.angle(np.exp(1j * (np.array([0.0, 3.15]) + shift)))
    np.testing.assert_allclose(means, expected, rtol=0, atol=1e-14)
    # Angles are in (-pi, pi]: one number for one point.
    one = np.zeros(1, dtype=np.int64)
    assert mean_points(CIRCLE, np.array([-np.pi]), np.ones(1), one, 1) == [np.pi]


@pytest.mark.parametrize("space", [CIRCLE, SPHERE, mf.Sphere(5)], ids=repr)
def test_means_are_directions_of_weighted_sums(space):
    """Groups with next to no mass would have no direction, or opposite points one."""
    points = space.random_points(3, np.random.default_rng(2))
    opposite = space.points_of(-space.vectors(points[2:]))
    points = np.concatenate([points, opposite])
    mass, group = np.array([0.25, 0.1, 0.3, 0.3]), np.array([1, 1, 0, 0])
    means = mean_points(space, points, mass, group, 3)
    x = space.vectors(points)
    expected = space.points_of(0.25 * x[:1] + 0.1 * x[1:2])
    np.testing.assert_allclose(means[1:2], expected, rtol=0, atol=1e-15)
    assert np.isnan(means[[0, 2]]).all()
    light = mean_points(CIRCLE, np.array([1.0, 1.2]), np.full(2, 1e-200), np.zeros(2, int), 1)
    np.testing.assert_allclose(light, [1.1], rtol=1e-14)


def test_points_of_many_dimensions_have_their_own_mass():
    """Rounding of products took 82 of 200 points out of their own neighbourhood."""
    space = mf.Sphere(768)
    points = space.random_points(200, np.random.default_rng(0))
    assert dense(space, points, None, 1e-9, 1 / 200).all()
