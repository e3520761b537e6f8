"""The public distance on the circle: closed forms, kinds of input, errors."""

import numpy as np
import pytest
from parameters import each, refused
from scipy.special import polygamma

import meanfield as mf
from meanfield.transport.circle.wasserstein import wasserstein_circle

CIRCLE = mf.Circle()
UNIFORM = mf.Density(CIRCLE, [1.0])
DIRAC = mf.Measure(CIRCLE, [0.3])


@pytest.mark.parametrize("corners", [1, 2, 3, 10, 1000])
def test_w1_of_a_regular_polygon_to_uniform(corners):
    """W_1 = pi / (2 k), a Dirac for k = 1."""
    polygon = mf.Measure(CIRCLE, 0.3 + 2.0 * np.pi * np.arange(corners) / corners)
    distance = mf.wasserstein(polygon, UNIFORM)
    # Angles are rounded by 5e-16.
    assert distance == pytest.approx(np.pi / (2 * corners), abs=1e-15, rel=1e-14)


@each("weighted", [False, True], corners=[1, 2, 3, 10, 1000])
def test_w2_of_a_regular_polygon_to_uniform(corners, weighted, verified):
    """W_2^2 would not be pi^2 / (3 k^2), a Dirac for k = 1, also with a split corner."""
    angles = 0.3 + 2.0 * np.pi * np.arange(corners) / corners
    weights = None
    if weighted:
        angles = np.append(angles, angles[0])
        weights = np.append(np.full(corners, 1.0 / corners), 0.25 / corners)
        weights[0] *= 0.75
    distance = mf.wasserstein(mf.Measure(CIRCLE, angles, weights), UNIFORM, p=2)
    what = "W2 of polygons to uniform, circle, relative"
    verified("exact solutions", what, distance**2 * 3 * corners**2 / np.pi**2 - 1, 1e-12)


def test_w2_to_uniform_is_a_sum_over_moments(verified):
    """W_2(mu, uniform)^2 = 2 sum |c_k|^2 / k^2 for points: moments and arcs must agree."""
    # |c_k|^2 repeats with period 360 for angles on a grid of 1 degree, and the sum of 1 / k^2
    # over k = r mod 360 is psi'(r / 360) / 360^2.
    rng = np.random.default_rng(2)
    degrees, weights = rng.integers(0, 360, 20), rng.dirichlet(np.ones(20))
    measure = mf.Measure(CIRCLE, np.radians(degrees), weights)
    k = np.arange(1, 361)
    squares = np.abs(np.exp(-2j * np.pi * (np.outer(k, degrees) % 360) / 360) @ weights) ** 2
    expected = 2.0 * np.sum(squares * polygamma(1, k / 360)) / 360**2
    error = wasserstein_circle(measure, UNIFORM, p=2) ** 2 / expected - 1
    what = "W2 to uniform as a sum over moments, circle, relative"
    verified("exact solutions", what, error, 1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 10, 100])
def test_mean_w2_of_uniform_tokens_is_exact_for_every_n(n, verified):
    """E W_2(n iid uniform angles, uniform)^2 = pi^2 / (3 n), within 3 standard errors."""
    rng = np.random.default_rng(n)
    squares = [
        wasserstein_circle(mf.Measure(CIRCLE, CIRCLE.random_points(n, rng)), UNIFORM, p=2) ** 2
        for _ in range(2000)
    ]
    error = np.std(squares) / np.sqrt(len(squares))
    # One token: the distance does not depend on where it is, and the error is rounding.
    what = "E W2^2 of n uniform tokens, circle"
    verified("statistics", what, np.mean(squares) - np.pi**2 / (3 * n), 3.0 * error + 1e-14)


@pytest.mark.parametrize("p", [1, 2])
def test_distance_does_not_depend_on_the_order_of_its_arguments(p):
    """Points and a density are sorted out by kind."""
    measure = mf.Measure(CIRCLE, [0.1, 2.0, 3.0], [0.2, 0.3, 0.5])
    density = mf.Density(CIRCLE, [1.0, 0.2 + 0.1j])
    assert wasserstein_circle(measure, density, p) == wasserstein_circle(density, measure, p)


rng = np.random.default_rng(1)
POINTS = mf.Measure(CIRCLE, rng.uniform(0, 9, 30), rng.dirichlet(np.ones(30)))
MEASURES = [POINTS, mf.Density(CIRCLE, [1.0, 0.3j, 0.1]), UNIFORM]


@each("measure", MEASURES, p=[1, 2])
def test_distance_to_itself_is_zero(p, measure):
    """Rounding left in a square root would be 1e-8."""
    assert wasserstein_circle(measure, measure, p) == 0.0


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("second", MEASURES[:2], ids=["weighted", "density"])
def test_equal_weights_explicit_or_not_are_the_same(p, second):
    """Equal weights take a faster path, which must notice them."""
    angles = [3.0, 1.0, 2.0]
    distance = wasserstein_circle(mf.Measure(CIRCLE, angles, np.full(3, 1 / 3)), second, p)
    assert distance == wasserstein_circle(mf.Measure(CIRCLE, angles), second, p)


@pytest.mark.parametrize("p", [1, 2])
def test_angles_count_modulo_a_turn(p):
    """Trajectories leave [0, 2 pi), by many turns and by rounding."""
    angles = np.array([0.0, 1.0, 4.0])
    away = mf.Measure(CIRCLE, angles + 2.0 * np.pi * np.array([0, -3, 5]) - np.array([1e-17, 0, 0]))
    for second in (mf.Density(CIRCLE, [1.0, 0.4]), mf.Measure(CIRCLE, [0.5, 2.0])):
        expected = wasserstein_circle(mf.Measure(CIRCLE, angles), second, p)
        assert wasserstein_circle(away, second, p) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("p", [1, 2])
def test_distance_rejects_negative_densities(p):
    """Beyond truncation a negative density is no measure, and has no distance."""
    negative = mf.Density(CIRCLE, [1.0, 0.7])
    refused("second density is negative", wasserstein_circle, DIRAC, negative, p)


def test_distance_rejects_other_costs():
    """The chord is not implemented on the circle."""
    message = "cost = 'chordal' is not known on the circle"
    refused(message, wasserstein_circle, DIRAC, UNIFORM, cost="chordal")
