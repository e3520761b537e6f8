"""Maxima on the circle against roots of the algebraic polynomial of the derivative."""

import numpy as np
import pytest
from scipy.fft import next_fast_len
from scipy.optimize import brentq

import meanfield as mf
from meanfield.spaces.circle.maxima import basins, count_maxima, gaussian_fields, maxima

CIRCLE = mf.Circle()


def critical_angles(field: np.ndarray) -> np.ndarray:
    """Zeros of Phi', z^K Phi'(z) = 0 on the unit circle, by the companion matrix."""
    k = np.arange(1, len(field))
    slopes = 1j * k * field[1:]
    roots = np.roots(np.concatenate([slopes[::-1], [0.0], np.conj(slopes)]))
    # Simple zeros of a random field of degree 30 are found to 1e-9; pairs off the circle are not
    # that near in these draws, or the test of the count would fail.
    return np.sort(np.angle(roots[np.abs(np.abs(roots) - 1.0) < 1e-7]))


def curvature(field: np.ndarray, angles: np.ndarray) -> np.ndarray:
    k = np.arange(len(field))
    return -2.0 * (np.exp(1j * np.outer(angles, k)) @ (k**2 * field)).real


def random_fields(degree: int, count: int, seed: int = 0) -> np.ndarray:
    variances = np.append(0.0, np.ones(degree))
    return gaussian_fields(variances, count, np.random.default_rng(seed))


@pytest.mark.slow
@pytest.mark.parametrize("degree", [1, 2, 3, 7, 30])
def test_count_is_that_of_companion_matrix_roots(degree):
    """A maximum would be missed or doubled."""
    fields = random_fields(degree, 200)
    expected = [int((curvature(f, critical_angles(f)) < 0).sum()) for f in fields]
    np.testing.assert_array_equal(count_maxima(fields), expected)


def test_mean_count_is_that_of_rice():
    """The law sqrt(sum k^4 v / sum k^2 v) would not be that of these fields."""
    counts = count_maxima(random_fields(20, 4000))
    k = np.arange(21.0)
    expected = np.sqrt((k**4).sum() / (k**2).sum())
    assert abs(counts.mean() - expected) < 4.0 * counts.std() / np.sqrt(len(counts))


def test_variances_are_those_of_the_coefficients():
    """Fields would be larger or smaller than the law says."""
    variances = np.array([0.0, 1.0, 4.0])
    fields = gaussian_fields(variances, 20_000, np.random.default_rng(1))
    # |c|^2 is exponential: its mean has a relative standard error of 1 / sqrt(count).
    np.testing.assert_allclose((np.abs(fields) ** 2).mean(axis=0), variances, rtol=0.03)
    assert np.abs((fields**2).mean(axis=0)).max() < 0.12


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
def test_count_does_not_depend_on_the_scale(scale):
    """Bounds would overflow or underflow."""
    fields = random_fields(10, 20)
    np.testing.assert_array_equal(count_maxima(scale * fields), count_maxima(fields))


def test_negligible_degrees_change_nothing():
    """Zeros or rounding in high degrees would be counted."""
    fields = random_fields(10, 20)
    padded = np.pad(fields, ((0, 0), (0, 400)), constant_values=1e-30)
    np.testing.assert_array_equal(count_maxima(padded), count_maxima(fields))


@pytest.mark.parametrize("split, expected", [(-1e-6, 1), (1e-6, 2)])
def test_nearly_merged_maxima_are_separated(split, expected):
    """A grid cannot: cos t + a cos 2t has a second maximum, at pi, only for a > 1/4."""
    field = np.array([0.0, 1.0, 0.25 + split])
    assert count_maxima(field[None])[0] == expected
    assert len(maxima(field)) == expected


def test_constant_has_no_maxima():
    """Rounding, or nothing at all, would be counted."""
    np.testing.assert_array_equal(count_maxima(np.zeros((2, 5))), 0)
    np.testing.assert_array_equal(count_maxima(np.ones((2, 1))), 0)
    assert len(maxima(np.zeros(5))) == 0
    np.testing.assert_array_equal(basins(np.zeros(5), np.array([0.0, 1.0])), -1)


@pytest.mark.parametrize("power, place", [(3, np.pi), (4, 1.0 - np.pi), (9, np.pi)])
def test_multiple_zero_counts_if_the_sign_changes(power, place):
    """Phi' = sin^p falls through zero at pi for odd p; for even p it only touches."""
    theta = np.arange(64) * (2.0 * np.pi / 64)
    # A derivative has no mean: for even p another factor sin(t - 1), which falls at 1 - pi.
    slope = np.sin(theta) ** power * (np.sin(theta - 1.0) if power % 2 == 0 else 1.0)
    k = np.arange(33)
    field = np.where(k > 0, np.fft.rfft(slope) / 64 / (1j * np.maximum(k, 1)), 0.0)
    result = maxima(field)
    assert len(result) == count_maxima(field[None])[0] == 1
    # Flat to rounding over 1e-15^(1/9) = 0.02.
    assert CIRCLE.distance(result, place)[0] < 0.03


@pytest.mark.slow
def test_narrow_bump_has_one_maximum():
    """Rounding where a concentrated potential has no tail left would be counted."""
    k = np.arange(500)
    field = np.exp(-(k**2) / 2e3 - 0.7j * k)
    assert count_maxima(field[None])[0] == 1
    assert maxima(field) == pytest.approx([0.7], abs=1e-13)


def test_maxima_are_the_roots_highest_first():
    """Angles would be wrong, or in another order."""
    for field in random_fields(30, 20, seed=2):
        angles = critical_angles(field)
        expected = angles[curvature(field, angles) < 0]
        result = maxima(field)
        # The oracle is good to 1e-9.
        np.testing.assert_allclose(np.sort(result), expected, rtol=0, atol=1e-8)
        assert np.all(np.diff(CIRCLE.evaluate(field, result)) <= 0)
        assert np.abs(CIRCLE.gradient(field, result) / curvature(field, result)).max() < 1e-12


def test_maxima_are_reduced_and_ties_in_order():
    """Angles would be outside of (-pi, pi], or equal heights in the order of their rounding."""
    third = 2 * np.pi / 3
    for field, expected in (([0.0, 0.0, 0.0, 1.0], [-third, 0.0, third]), ([0.0, -1.0], [np.pi])):
        assert maxima(np.array(field)) == pytest.approx(expected, abs=1e-13)


@pytest.mark.slow
def test_basins_are_where_gradient_ascent_ends():
    """Tokens would be counted for the wrong cluster."""
    field = random_fields(8, 1, seed=3)[0]
    points = np.random.default_rng(4).uniform(-10.0, 10.0, 500)
    index = basins(field, points)
    angles = points.copy()
    for _ in range(4000):
        angles += 2e-3 * CIRCLE.gradient(field, angles)
    summits = maxima(field)
    ends = np.argmin(CIRCLE.distance(angles[:, None], summits), axis=1)
    arrived = CIRCLE.distance(angles, summits[ends]) < 1e-6
    assert arrived.mean() > 0.98
    np.testing.assert_array_equal(index[arrived], ends[arrived])


def test_zeros_hidden_at_grid_points_are_detected():
    """Double zeros of the slope at two grid points, and a hill between them that no grid shows."""
    # Only the bound on derivatives tells that rounding at both ends is not rounding in between. The
    # field and its rotation, which no grid point meets, must have the same two maxima.
    degree, size = 7, 512
    spacing = 2 * np.pi / next_fast_len(5 * degree, real=True)
    theta = 2 * np.pi * np.arange(size) / size

    def slope(first: float, last: float) -> np.ndarray:
        zeros = [0.0, 0.0, spacing, spacing, 0.3 * spacing, 0.7 * spacing, first, last]
        bump = np.cos((theta - 0.5 * spacing) / 2) ** 6
        return bump * np.prod([np.sin((theta - zero) / 2) for zero in zeros], axis=0)

    # The last zero makes the mean of the slope vanish: it is the slope of a field.
    last = brentq(lambda e: slope(1.0, e).mean(), 3.5, 4.5)
    k = np.arange(1, degree + 1)
    field = np.concatenate([[0.0], np.fft.rfft(slope(1.0, last))[1 : degree + 1] / (1j * k * size)])
    turned = field * np.exp(0.111j * np.arange(degree + 1))
    assert count_maxima(np.array([field, turned])).tolist() == [2, 2]
