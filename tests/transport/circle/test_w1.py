"""Inner parts of W_1 with densities: pieces, crossings, and the sampled window of the median."""

import numpy as np
import pytest
from parameters import each

import meanfield as mf
from meanfield.engines.fourier.cdf import local_polynomials
from meanfield.transport.circle.w1 import COLUMNS, _sort_out, integrate
from meanfield.transport.circle.wasserstein import wasserstein_circle

CIRCLE = mf.Circle()
TURN = 2.0 * np.pi


@each(
    "share",
    [-1.2, -1 + 1e-12, -1 + 1e-6, -0.99, 0.0, 0.4, 0.999, 1 - 1e-10],
    phase=[0.0, 0.3, 1.2],
    degree=[1, 3],
)
def test_integral_of_a_sine_above_a_level_is_exact(degree, phase, share):
    """A piece in which D turns back beyond the level and crosses it twice would be missed."""
    # int |a sin - s a| = a (4 sqrt(1 - s^2) + 4 s arcsin s), 2 pi a |s| for |s| > 1, and the level
    # lies above D on a length of 2 pi - 2 arccos s = pi + 2 arcsin s.
    coefficients = np.zeros(degree + 1, dtype=complex)
    coefficients[-1] = 0.2 * np.exp(1j * phase)
    amplitude = 0.2 / (degree * np.pi)
    rows, empty = local_polynomials(coefficients), np.empty(0)
    pieces = np.empty((len(rows), COLUMNS))
    count, aside = _sort_out(empty, empty, rows, 0.0, -np.inf, np.inf, pieces)
    assert count == len(rows)
    value, slope, _ = integrate(pieces, rows, share * amplitude, aside)
    inner = np.clip(share, -1.0, 1.0)
    expected = 4.0 * np.sqrt((1.0 - inner) * (1.0 + inner)) + 4.0 * inner * np.arcsin(inner)
    expected += TURN * (abs(share) - abs(inner))
    assert value == pytest.approx(expected * amplitude, abs=5e-16)
    # Near the top of the sine, 1e-16 in D is that over its derivative in the position. Lenses
    # with an area below 1e-18 are not resolved; they are up to 1e-6 wide.
    blur = 1e-15 / (amplitude * np.sqrt(abs(1.0 - share**2)))
    slack = 4e-6 if abs(share) > 1.0 - 1e-9 else 5e-15 + blur
    assert slope == pytest.approx(4.0 * np.arcsin(inner), abs=slack)


def test_curvature_is_the_derivative_of_the_slope():
    """Newton's step for the median would be wrong, and many needed."""
    rows = local_polynomials(np.array([1.0, 0.1 + 0.05j, 0.02]))
    points = np.array([0.5, 2.0, 2.1, 5.0])
    pieces = np.empty((len(rows) + 4, COLUMNS))
    count, aside = _sort_out(points, np.empty(0), rows, 1.0, -np.inf, np.inf, pieces)
    (_, before, _), (_, _, curvature), (_, after, _) = (
        integrate(pieces[:count], rows, level, aside) for level in (-1e-6, 0.0, 1e-6)
    )
    assert curvature == pytest.approx((after - before) / 2e-6, rel=1e-8)


@pytest.mark.parametrize("phase", [0.0, 1.0, np.pi / 2])
def test_w1_of_one_mode_is_right_where_samples_mislead(phase):
    """F - G = sin(2048 theta + phase) / (2048 pi) is constant at 1024 equispaced angles."""
    # Its median is 0, and W_1 = int |F - G| = 4 |c| / (pi k) with c_k = 1/2 at k = 2048.
    coefficients = np.zeros(2049, dtype=complex)
    coefficients[0], coefficients[-1] = 1.0, 0.5 * np.exp(1j * phase)
    distance = wasserstein_circle(mf.Density(CIRCLE, coefficients), mf.Density(CIRCLE, [1.0]), p=1)
    assert distance == pytest.approx(2.0 / (np.pi * 2048), rel=1e-12)


def test_w1_of_points_is_right_where_samples_mislead():
    """F - G is 1 / n on four fifths of the circle, and 0 at 1024 equispaced angles."""
    # Every point moves by the fifth that is left.
    n = 5 * 1024
    first = mf.Measure(CIRCLE, TURN * (np.arange(n) + 0.1) / n)
    second = mf.Measure(CIRCLE, TURN * (np.arange(n) + 0.9) / n)
    assert wasserstein_circle(first, second, p=1) == pytest.approx(0.2 * TURN / n, rel=1e-10)
