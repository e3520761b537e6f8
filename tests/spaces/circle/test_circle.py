"""Geometry and layout of the circle."""

from functools import partial

import numpy as np
import pytest
from parameters import refused, together
from scipy.stats import kstest

import meanfield as mf
from meanfield.spaces.manifold import laplacian_eigenvalues

CIRCLE = mf.Circle()


def test_distance_is_the_shorter_arc():
    """Across the cut, around several times, and never above pi."""
    first = np.array([0.1, 0.0, 1.0, 0.0, -3.0])
    second = np.array([2 * np.pi - 0.1, np.pi, 1.0 + 6 * np.pi, 3 * np.pi / 2, 3.0])
    expected = [0.2, np.pi, 0.0, np.pi / 2, 2 * np.pi - 6.0]
    np.testing.assert_allclose(CIRCLE.distance(first, second), expected, rtol=0, atol=1e-14)
    np.testing.assert_allclose(CIRCLE.distance(second, first), expected, rtol=0, atol=1e-14)


def test_random_points_are_uniform():
    """Kolmogorov-Smirnov at the 0.1 % level, seeded; and the seed decides."""
    points = CIRCLE.random_points(100_000, np.random.default_rng(7))
    assert kstest(points / (2 * np.pi), "uniform").pvalue > 1e-3
    assert points.min() >= 0.0 and points.max() < 2 * np.pi
    assert np.array_equal(points, CIRCLE.random_points(100_000, np.random.default_rng(7)))


def test_vectors_are_points_of_the_circle():
    """Whoever has (n, 2) unit vectors would have to know arctan2, and its order."""
    angles = np.array([0.0, 3.0, -2.0, np.pi])
    vectors = np.array([[2.0], [1.0], [1e-200], [5.0]]) * CIRCLE.vectors(angles)
    np.testing.assert_allclose(CIRCLE.check_points(vectors), angles, rtol=0, atol=1e-15)


POINTS, COEFFICIENTS = partial(mf.Measure, CIRCLE), partial(mf.Density, CIRCLE)
ANGLES = r"points have shape .*, expected angles of shape \(n,\)"
SERIES = r"coefficients have shape .*, expected \(max_degree \+ 1"
MASS = "coefficient of degree 0 is .*, expected the mass 1"


@together(
    "check, value, message",
    [
        # Vectors of R^3 belong to the sphere, as another layout does; no tokens belong nowhere.
        *((POINTS, np.zeros(shape), ANGLES) for shape in ((0,), (3, 3), (0, 2))),
        (POINTS, np.array([0, 1, np.nan, np.inf]), "point 2 is nan, expected finite angles"),
        (POINTS, np.array([np.inf]), "point 0 is inf, expected finite angles"),
        (
            POINTS,
            np.eye(2)[[0, 0]] * [[1], [0]],
            "point 1 is .*, expected a finite vector, not zero",
        ),
        *((COEFFICIENTS, np.ones(shape), SERIES) for shape in ((0,), (2, 2))),
        (COEFFICIENTS, np.array([1, np.nan]), "coefficients of a density must be finite"),
        # Densities relative to sigma have c_0 = 1; 1 / (2 pi) is a common slip.
        *((COEFFICIENTS, np.array([c, 0.1]), MASS) for c in (0.0, 1.0 + 1e-8, 1.0 + 0.1j)),
    ],
)
def test_what_is_no_measure_is_refused(check, value, message):
    """Among a million tokens one must be found, and not when the first step fails."""
    refused(message, check, value)


def test_check_coefficients_makes_a_copy():
    """A user's later change of the array would change the density."""
    c = np.array([1.0, 0.1 + 0j])
    checked = CIRCLE.check_coefficients(c)
    c[1] = 5.0
    assert checked[1] == 0.1


@pytest.mark.parametrize("dimension", [1, 2, 3, 7])
def test_laplacian_eigenvalues(dimension):
    """l(l + d - 2): k^2 on the circle, l(l+1) on the sphere."""
    l = np.arange(6)
    assert np.array_equal(laplacian_eigenvalues(dimension, 5), l * (l + dimension - 1))


@pytest.mark.slow
def test_large_angles_are_reduced():
    """Beside 1e12 turns a step of a thousandth of a radian is lost, and runs went elsewhere."""
    large = 1.0 + 2.0 * np.pi * 1e9
    reduced = CIRCLE.check_points([large, 3.0 + 2.0 * np.pi])
    assert reduced[0] == pytest.approx(np.arctan2(np.sin(large), np.cos(large)), abs=1e-15)
    assert reduced[1] == 3.0 + 2.0 * np.pi
    law = mf.from_points([large, 0.05, 2.5])
    run = mf.simulate(mf.Problem(CIRCLE, mf.exponential(9.0), mf.USA, law), until=1e6, save=2)
    assert len(run.measures[-1].points) == 1
