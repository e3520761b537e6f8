"""The negative Sobolev distance: closed forms, invariance, errors."""

import numpy as np
import pytest
from parameters import refused, together
from scipy.spatial.transform import Rotation
from scipy.special import eval_legendre

import meanfield as mf

SPHERE = mf.Sphere()
UNIFORM = mf.Density(SPHERE, np.array([1.0]))


def test_distance_to_uniform_is_w2_on_the_circle():
    """W_2^2 = 2 sum |c_k|^2 / k^2, exactly, for a law of finitely many degrees."""
    law = mf.perturbed_uniform([[1, 0.1, 0.0], [5, 0.0, 0.2]]).build(mf.Circle())
    uniform = mf.Density(mf.Circle(), [1.0])
    expected = mf.wasserstein(law, uniform, 2)
    assert mf.sobolev_distance(law, uniform) == pytest.approx(expected, rel=1e-13)


def test_distance_on_the_sphere_is_the_sum_over_amplitudes():
    """Real harmonics of mean square 1: sum of A^2 / (l (l + 1))."""
    first = mf.perturbed_uniform([[2, -1, 0.1], [3, 2, 0.05]]).build(SPHERE)
    second = mf.perturbed_uniform([[3, 2, -0.05], [4, 0, 0.02]]).build(SPHERE)
    expected = np.sqrt(0.1**2 / 6 + 0.1**2 / 12 + 0.02**2 / 20)
    assert mf.sobolev_distance(first, second) == pytest.approx(expected, rel=1e-13)
    # Degrees above the largest are left out.
    below = np.sqrt(0.1**2 / 6 + 0.1**2 / 12)
    assert mf.sobolev_distance(first, second, 3) == pytest.approx(below, rel=1e-13)


def test_distance_of_two_diracs_is_that_of_the_addition_theorem():
    """sum_l (2 l + 1) 2 (1 - P_l(cos angle)) / (l (l + 1))."""
    angle, l = 0.7, np.arange(1, 13)
    points = np.array([[0.0, 0.0, 1.0], [np.sin(angle), 0.0, np.cos(angle)]])
    terms = (2 * l + 1) * 2.0 * (1.0 - eval_legendre(l, np.cos(angle))) / (l * (l + 1))
    first, second = (mf.Measure(SPHERE, point[None]) for point in points)
    assert mf.sobolev_distance(first, second) == pytest.approx(np.sqrt(terms.sum()), rel=1e-13)


def test_rotations_change_nothing():
    """Orders of one degree would count differently."""
    rng = np.random.default_rng(5)
    turn = Rotation.random(rng=rng).as_matrix()
    x, y = SPHERE.random_points(30, rng), SPHERE.random_points(40, rng)
    before = mf.sobolev_distance(mf.Measure(SPHERE, x), mf.Measure(SPHERE, y))
    after = mf.sobolev_distance(mf.Measure(SPHERE, x @ turn), mf.Measure(SPHERE, y @ turn))
    assert after == pytest.approx(before, rel=1e-13)


HIGH, FLAT = mf.Measure(mf.Sphere(6), np.eye(6)), mf.Measure(mf.Euclidean(3), np.eye(3))
KINDS = "second must be weighted points, .* or a density, "


@together("first, second, degree, kind, message", [
    (UNIFORM, UNIFORM, 0, ValueError, "max_degree must be at least 1, got 0"),
    (UNIFORM, np.zeros(3), 4, TypeError, KINDS),
    (UNIFORM, None, 4, TypeError, KINDS),
    (UNIFORM, mf.Density(mf.Circle(), np.array([1.0])), 4, ValueError,
     "first lives on the sphere, second on the circle"),
    (HIGH, HIGH, 4, ValueError,
     r"moments of tokens on Sphere\(6\) end at degree 1. Tokens .* mf.maximum_mean_discrepancy"),
    (FLAT, FLAT, 4, ValueError, r"moments of tokens on Euclidean\(3\) end at degree 1\.$"),
])  # fmt: skip
def test_what_has_no_distance_is_refused(first, second, degree, kind, message):
    """Degree 0 makes all measures the same; other manifolds have other coefficients."""
    refused(message, mf.sobolev_distance, first, second, degree, error=kind)
