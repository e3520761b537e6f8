"""Cumulative distributions of densities on the circle as local polynomials."""

import numpy as np
import pytest
from parameters import refused

from meanfield.engines.fourier import cdf


def rough_coefficients(degree: int) -> np.ndarray:
    """Coefficients of modulus 1 at every degree, the worst that a measure can have."""
    coefficients = np.exp(1j * np.random.default_rng(0).uniform(0.0, 2.0 * np.pi, degree + 1))
    coefficients[0] = 1.0
    return coefficients


def series(coefficients: np.ndarray, theta: float) -> tuple[float, float]:
    k = np.arange(1, len(coefficients))
    terms = coefficients[1:] * np.exp(1j * k * theta)
    distribution = theta / (2.0 * np.pi) + np.sum(terms / (1j * k)).real / np.pi
    return distribution, 1.0 + 2.0 * np.sum(terms).real


@pytest.mark.parametrize("degree", [0, 1, 2, 7, 64, 1000])
def test_cumulative_equals_the_fourier_series(degree):
    """A wrong Taylor coefficient, or too few of them, in any cell or any lap."""
    coefficients = rough_coefficients(degree)
    rows = cdf.local_polynomials(coefficients)
    for theta in np.random.default_rng(1).uniform(-7.0, 14.0, 50):
        distribution, density = cdf.cumulative(rows, theta)
        expected, expected_density = series(coefficients, theta)
        # The angle itself is rounded by 1e-15, which moves F by f times that, f' likewise.
        slack = 2e-15 * (1 + degree)
        assert distribution == pytest.approx(expected, abs=slack)
        assert density == pytest.approx(expected_density, abs=slack * 4 * (1 + degree))


@pytest.mark.parametrize("cell", [0, 11, 31])
def test_primitive_integrates_the_polynomial(cell):
    """Integrals of |F - G| over a gap are differences of this."""
    rows = cdf.local_polynomials(rough_coefficients(5))
    integral = np.polynomial.Polynomial(rows[cell]).integ()
    for end in (-1.0, 0.3, 1.0):
        assert cdf.primitive(rows, cell, end) == pytest.approx(integral(end), abs=1e-15)


def test_cell_edges_increase_by_one_even_if_the_density_is_slightly_negative():
    """Quantiles need a monotone distribution; a wiggle would lose or double a cell."""
    # 1 + 1.0001 cos: negative around pi, by 1e-4.
    edges = cdf.cell_edges(cdf.local_polynomials(np.array([1.0, 0.50005])))
    assert np.all(np.diff(edges) >= 0.0)
    assert edges[-1] == edges[0] + 1.0


def test_negligible_tail_does_not_cost_cells():
    """A smooth density given with many zeros would be evaluated as slowly as a rough one."""
    assert len(cdf.local_polynomials(np.append([1.0, 0.2, 0.1j], np.zeros(1997)))) == 8


def test_check_density_refuses_negative_densities_beyond_truncation():
    """A distance to what is no measure would be returned, or truncations of solvers refused."""
    cdf.check_density(np.array([1.0, 0.5 + 1e-4]), "first")
    for amplitude in (0.6, 5.0):
        message = "first density is negative: its negative part has mass"
        refused(message, cdf.check_density, np.array([1.0, amplitude]), "first")
