"""Measures and densities as values."""

import numpy as np
import pytest
from parameters import refused, together

import meanfield as mf

CIRCLE = mf.Circle()


def test_weights_are_normalised():
    """A sum of 1 + 5e-10 is rounding of a file: accepted and repaired, in an array of its own."""
    weights = np.array([0.25, 0.75 + 5e-10])
    measure = mf.Measure(CIRCLE, [0.0, 3.0], weights)
    weights[0] = 0.0
    assert measure.mass.sum() == pytest.approx(1.0, abs=1e-16)
    assert measure.mass[0] == pytest.approx(0.25, abs=2e-10)


def test_equal_weights_have_mass_one_over_n():
    """No weights means 1/n each, without an array of them in the measure."""
    measure = mf.Measure(CIRCLE, np.zeros(4))
    assert measure.weights is None
    assert np.array_equal(measure.mass, np.full(4, 0.25))


def test_moments_of_a_measure_are_plain_sums():
    """c_k = sum_j w_j e^{-ik theta_j}, conjugation included."""
    x, w = np.array([0.3, 2.0, -1.0]), np.array([0.2, 0.5, 0.3])
    expected = np.exp(-1j * np.outer(np.arange(5), x)) @ w
    moments = mf.Measure(CIRCLE, x, w).moments(4)
    np.testing.assert_allclose(moments, expected, rtol=0, atol=4e-16)


def test_moments_of_a_density_are_its_coefficients():
    """Cut or filled with zeros."""
    density = mf.Density(CIRCLE, [1.0, 0.1j, 0.2])
    assert density.max_degree == 2
    assert np.array_equal(density.moments(1), [1.0, 0.1j])
    assert np.array_equal(density.moments(4), [1.0, 0.1j, 0.2, 0.0, 0.0])


SHAPE = r"weights have shape .*, expected \(2,\), one a point"
NEGATIVE = "weights must be finite and not negative"


@together(
    "weights, message",
    [
        *[(weights, SHAPE) for weights in ([0.5], [[0.5, 0.5]], [0.2, 0.3, 0.5])],
        *[(weights, NEGATIVE) for weights in ([-0.5, 1.5], [np.nan, 1.0], [np.inf, 0.0])],
        # Beyond 1e-9 it is a mistake, not rounding; the sum is named.
        ([0.5, 0.50000001], "weights sum to 1.00000001, expected 1 within 1e-9"),
    ],
)
def test_weights_of_no_measure_are_refused(weights, message):
    """Negative mass has no mean field that means anything."""
    refused(message, mf.Measure, CIRCLE, [0.0, 1.0], weights)


@pytest.mark.parametrize("space", [mf.Circle(), mf.Sphere()])
def test_measure_and_density_answer_alike(space):
    """A loop over the measures of a run would have to ask of which class each is."""
    points = space.random_points(5, np.random.default_rng(0))
    tokens = mf.Measure(space, points)
    smooth = tokens.smoothed(0.3)
    for measure in (tokens, smooth):
        moments = measure.moments(2)
        assert measure.manifold == space
        assert moments.shape == space.packed(space.unpacked(moments)).shape
        assert measure(points, width=0.3).shape == (5,)
        assert measure(points[0], width=0.3).shape == ()
        assert 0.0 < measure.order_parameter < 1.0
    np.testing.assert_array_equal(tokens(points, width=0.3), smooth(points))
    # Heat spreads on: squares of widths add.
    np.testing.assert_allclose(smooth(points, width=0.4), tokens(points, width=0.5), rtol=1e-12)


def test_smoothed_point_is_a_wrapped_normal():
    """A width would be something else than the standard deviation of an angle."""
    point, at = mf.Measure(mf.Circle(), [1.0]), np.linspace(-3.0, 3.0, 50)
    turns = 2 * np.pi * np.arange(-3, 4)[:, None]
    normal = np.exp(-0.5 * ((at - 1.0 + turns) / 0.7) ** 2).sum(axis=0) / 0.7 * np.sqrt(2 * np.pi)
    np.testing.assert_allclose(point(at, width=0.7), normal, rtol=0, atol=1e-14)


def test_points_have_no_density_without_a_width():
    """A histogram, or zero, would be taken for a density."""
    tokens = mf.Measure(mf.Circle(), [0.0, 1.0])
    refused("2 points have no density. Give width=, the angle", tokens, 0.0)
    for width in (0.0, 1e-9):
        refused(r"width must be an angle in radians, .*got", tokens, 0.0, width=width)
    refused("width must be a finite number, got", tokens, 0.0, width=np.nan)
    sphere = mf.uniform().build(mf.Sphere())
    for places in (0.0, ["a", "b", "c"], [[1.0, 2.0]]):
        refused(r"points on the sphere must be vectors .* got", sphere, places)
    # A density has as many degrees as it has, whatever the width.
    assert mf.Density(mf.Circle(), [1.0, 0.25])(0.0, width=1e-9) == pytest.approx(1.5)
