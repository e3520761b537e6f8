"""Maxima on the sphere against exact counts, Kac and Rice, and a search that shares nothing."""

import numpy as np
import pytest
from scipy.optimize import minimize

import meanfield as mf
from meanfield.engines.harmonics.coefficients import count_of, degree_of, index
from meanfield.engines.harmonics.jets import jets, jets_on_parallels, recurrence
from meanfield.engines.harmonics.maxima_grid import fineness, normalised, on_rings, rings
from meanfield.spaces.sphere import maxima as sphere_maxima
from meanfield.spaces.sphere.maxima import basins, count_maxima, gaussian_fields, maxima

SPHERE = mf.Sphere()


def pure(degree: int, count: int, seed: int = 0) -> np.ndarray:
    return gaussian_fields(np.eye(degree + 1)[degree], count, np.random.default_rng(seed))


def mixed(degree: int, count: int, seed: int = 0) -> np.ndarray:
    variances = np.append(0.0, np.ones(degree))
    return gaussian_fields(variances, count, np.random.default_rng(seed))


def packed(field: np.ndarray) -> tuple:
    degree = degree_of(field)
    return field.real.copy(), field.imag.copy(), degree, *recurrence(degree)


def jets_at(field: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Value, gradient and Hessian in the frame, shape (n, 6)."""
    values = np.empty((len(points), 6))
    jets(packed(field), points, values)
    return values


def frame(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    x, y, z = points.T
    s = np.hypot(x, y)
    one = np.stack([z * x / s, z * y / s, -s], axis=1)
    return one, np.stack([-y / s, x / s, 0.0 * s], axis=1)


def test_jets_are_value_gradient_and_hessian():
    """Derivatives would be wrong: gradients from ducc0, Hessians from their differences."""
    field = mixed(9, 1)[0]
    points = SPHERE.random_points(60, np.random.default_rng(1))
    values, (one, other), h = jets_at(field, points), frame(points), 1e-4
    gradient = values[:, 1:2] * one + values[:, 2:3] * other
    np.testing.assert_allclose(values[:, 0], SPHERE.evaluate(field, points), rtol=0, atol=1e-12)
    np.testing.assert_allclose(gradient, SPHERE.gradient(field, points), rtol=0, atol=1e-11)
    for u, w, kind in ((one, one, 3), (one, other, 4), (other, other, 5)):
        ahead = SPHERE.gradient(field, np.cos(h) * points + np.sin(h) * u)
        behind = SPHERE.gradient(field, np.cos(h) * points - np.sin(h) * u)
        # Central differences: h^2 / 6 times a fourth derivative of about 1e5.
        slopes = ((ahead - behind) * w).sum(axis=1) / (2 * h)
        np.testing.assert_allclose(slopes, values[:, kind], rtol=0, atol=2e-3)


def test_jets_are_finite_at_the_poles():
    """A division by sin(theta) would show: the Hessian of f_l there has trace -l (l + 1) f_l."""
    values = jets_at(pure(6, 1)[0], np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]))
    np.testing.assert_allclose(values[:, 3] + values[:, 5], -42.0 * values[:, 0], rtol=1e-12)


def test_jets_on_parallels_and_rings_are_jets():
    """The three ways to the same derivatives would differ."""
    field = mixed(7, 1)
    grid = rings(7, 7)
    on_grid = on_rings(field, grid)[0]
    phi = 2.0 * np.pi * np.arange(grid.longitudes) / grid.longitudes
    angles = np.stack(np.meshgrid(grid.colatitudes, phi, indexing="ij"), axis=-1).reshape(-1, 2)
    theta, phi = angles.T
    points = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], 1)
    scattered, parallels = jets_at(field[0], points), np.empty((len(points), 6))
    runs = np.arange(len(grid.colatitudes) + 1) * grid.longitudes
    jets_on_parallels(packed(field[0]), angles, runs, parallels)
    # Values to 1e3.
    np.testing.assert_allclose(parallels, scattered, rtol=0, atol=1e-11)
    np.testing.assert_allclose(on_grid.reshape(5, -1).T, scattered[:, 1:], rtol=0, atol=1e-11)


@pytest.mark.parametrize("degree", [1, 2, 5])
def test_third_derivatives_keep_their_bound(degree):
    """Proofs would rest on a bound that fields exceed; nearly reached, it is not wasteful."""
    fields, _, bounds = normalised(pure(degree, 30, seed=2))
    points = SPHERE.random_points(300, np.random.default_rng(3))
    h, worst = 1e-3, []
    for field, bound in zip(fields, bounds, strict=True):
        behind, ahead = (
            jets_at(field, np.cos(h) * points + sign * np.sin(h) * frame(points)[0])
            for sign in (-1.0, 1.0)
        )
        # Along a meridian the frame is parallel.
        change = (ahead - behind) / (2.0 * h)
        mean, half = 0.5 * (change[:, 3] + change[:, 5]), 0.5 * (change[:, 3] - change[:, 5])
        worst.append((np.abs(mean) + np.hypot(half, change[:, 4])).max() / bound)
    assert 0.6 < max(worst) <= 1.0 + 1e-5


@pytest.mark.parametrize("degree", [1, 2])
def test_lowest_degrees_have_exactly_as_many_maxima(degree):
    """Every field of degree 1 has one maximum, of degree 2 two: grids over-count."""
    np.testing.assert_array_equal(count_maxima(pure(degree, 1000)), degree)


@pytest.mark.parametrize("degree", [4, 6])
def test_even_degrees_have_even_counts(degree):
    """Fields of even degree are the same at antipodes."""
    assert not np.any(count_maxima(pure(degree, 200)) % 2)


@pytest.mark.parametrize(
    "degree, count",
    [(3, 1000), (4, 1000), (5, 500), pytest.param(10, 1000, marks=pytest.mark.slow)],
)
def test_mean_count_is_that_of_kac_and_rice(degree, count):
    """1 + 2 eta^(3/2) / sqrt(1 + 3 eta), eta = (l - 1)(l + 2) / 4."""
    counts = count_maxima(pure(degree, count, seed=degree))
    eta = (degree - 1) * (degree + 2) / 4
    expected = 1.0 + 2.0 * eta**1.5 / np.sqrt(1.0 + 3.0 * eta)
    assert abs(counts.mean() - expected) < 3.0 * counts.std() / np.sqrt(count)


def test_maxima_of_odd_fields_are_as_many_as_minima():
    """An odd field is minus itself at antipodes."""
    fields = pure(5, 100)
    np.testing.assert_array_equal(count_maxima(fields), count_maxima(-fields))


@pytest.mark.slow
def test_maxima_are_those_of_a_search_from_everywhere():
    """A maximum would be missed or made up: quasi-Newton ascents from 120 points."""
    field = mixed(6, 1, seed=5)[0]
    ends = []

    def height(x: np.ndarray) -> float:
        # Held near length 1, where maxima do not move: they are those of f(x / |x|).
        return -SPHERE.evaluate(field, x[None])[0] + 50.0 * (x @ x - 1.0) ** 2

    def slope(x: np.ndarray) -> np.ndarray:
        gradient = SPHERE.gradient(field, x[None])[0] / np.linalg.norm(x)
        return -gradient + 200.0 * (x @ x - 1.0) * x

    for start in SPHERE.random_points(120, np.random.default_rng(6)):
        minimum = minimize(height, start, jac=slope, options={"gtol": 1e-7})
        ends.append(minimum.x / np.linalg.norm(minimum.x))
    summits = maxima(field)
    distances = SPHERE.distance(np.array(ends)[:, None], summits)
    assert distances.min(axis=1).max() < 1e-6
    assert set(distances.argmin(axis=1)) == set(range(len(summits)))
    assert count_maxima(field[None])[0] == len(summits)


@pytest.mark.slow
def test_euler_relation_of_a_fine_grid():
    """#max - #saddles + #min = 2: maxima by proof, saddles by Newton's iteration from a grid."""
    for field in mixed(5, 10, seed=7):
        points = SPHERE.random_points(4000, np.random.default_rng(8))
        for _ in range(30):
            g1, g2, h11, h12, h22 = jets_at(field, points).T[1:]
            determinant = h11 * h22 - h12 * h12
            step = np.stack([h12 * g2 - h22 * g1, h12 * g1 - h11 * g2]) / determinant
            step *= np.minimum(1.0, 0.2 / np.maximum(np.hypot(*step), 1e-30))
            one, other = frame(points)
            points = SPHERE.retract(points + step[0][:, None] * one + step[1][:, None] * other)[0]
        saddles = points[(np.hypot(*step) < 1e-9) & (determinant < 0)]
        distinct: list[np.ndarray] = []
        for saddle in saddles:
            if all(np.linalg.norm(saddle - expected) > 1e-6 for expected in distinct):
                distinct.append(saddle)
        extremes = count_maxima(np.stack([field, -field])).sum()
        assert extremes - len(distinct) == 2


def test_maxima_are_critical_to_rounding_and_highest_first():
    """Newton's iteration would have stopped too early, or the order be wrong."""
    field = mixed(12, 1, seed=9)[0]
    summits = maxima(field)
    # Gradients of about 1e2, curvatures of at least 1: positions to 1e-12.
    assert np.abs(SPHERE.gradient(field, summits)).max() < 1e-11
    assert np.all(np.diff(SPHERE.evaluate(field, summits)) < 0)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_count_does_not_depend_on_the_scale(scale):
    """Powers would overflow or underflow."""
    fields = mixed(4, 20)
    np.testing.assert_array_equal(count_maxima(scale * fields), count_maxima(fields))


def test_counts_do_not_depend_on_what_else_is_counted():
    """The grid of a batch belongs to its largest degree: counts must not."""
    fields = mixed(2, 40)
    wide = np.stack([SPHERE.resize(f, 8) for f in fields])
    both = np.concatenate([wide, mixed(8, 5)])
    np.testing.assert_array_equal(count_maxima(both)[:40], count_maxima(fields))


def test_smooth_fields_are_counted_as_on_the_finest_grid(monkeypatch):
    """A grid for the degrees that matter must not lose what small high degrees add."""
    variances = np.zeros(17)
    for small in (1e-1, 1e-3, 1e-6):
        variances[[2, 16]] = 1.0, small**2
        fields = gaussian_fields(variances, 5, np.random.default_rng(0))
        count = count_maxima(fields)
        with monkeypatch.context() as finest:
            finest.setattr(sphere_maxima, "fineness", lambda degree, bounds: degree)
            np.testing.assert_array_equal(count, count_maxima(fields))
    _, _, bounds = normalised(pure(9, 3))
    assert fineness(9, bounds) == 9
    assert fineness(40, normalised(mixed(3, 2))[2]) <= 3


def test_constant_has_no_maxima():
    """Rounding, or nothing at all, would be counted."""
    for fields in (np.zeros((2, 6)), np.ones((2, 1))):
        np.testing.assert_array_equal(count_maxima(fields), 0)
        assert maxima(fields[0]).shape == (0, 3)
    np.testing.assert_array_equal(basins(np.zeros(6), np.eye(3)), -1)


@pytest.mark.parametrize("sign, expected", [(1.0, 2), (-1.0, 0)])
def test_ridges_are_no_maxima(sign, expected):
    """P_2 has maxima at its poles; -P_2 has a ridge, the equator, and the search must end."""
    field = np.zeros(count_of(2), dtype=complex)
    field[index(2, 0, 2)] = sign
    assert count_maxima(field[None])[0] == len(maxima(field)) == expected


def test_basins_are_where_gradient_ascent_ends():
    """Tokens would be counted for the wrong cluster: small Euler steps of the frozen field."""
    field = mixed(5, 1, seed=10)[0]
    points = SPHERE.random_points(400, np.random.default_rng(11))
    result = basins(field, points)
    walkers = points
    for _ in range(600):
        walkers = SPHERE.retract(walkers + 2e-3 * SPHERE.gradient(field, walkers))[0]
    distances = SPHERE.distance(walkers[:, None], maxima(field))
    arrived = distances.min(axis=1) < 0.02
    assert arrived.mean() > 0.9
    # Euler's steps of 2e-3 move boundaries by about as much: one point in some hundreds.
    assert (result != distances.argmin(axis=1))[arrived].mean() <= 0.005


def test_variances_are_those_of_the_coefficients():
    """Fields would not be isotropic: f(x) has variance sum (2l + 1) v_l everywhere."""
    variances = np.array([0.0, 1.0, 0.5])
    fields = gaussian_fields(variances, 4000, np.random.default_rng(13))
    points = SPHERE.random_points(3, np.random.default_rng(14))
    values = np.array([SPHERE.evaluate(f, points) for f in fields])
    # Relative standard error of a variance: sqrt(2 / count) = 0.022.
    np.testing.assert_allclose(values.var(axis=0), 5.5, rtol=0.09)
