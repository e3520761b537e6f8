"""Multipliers by quadrature: the oracle, judged first by polynomials with known multipliers."""

import numpy as np
import pytest
from parameters import refused, together
from scipy.special import comb, eval_gegenbauer

from meanfield.terms.kernels.quadrature import zonal_multipliers

DIMENSIONS = [1, 2, 3, 7, 63]


def harmonics(dimension: int, degree: int) -> float:
    """Number of linearly independent harmonics of one degree on S^dimension."""
    d = dimension + 1
    # comb is 0 where it would choose more than there are.
    return float(comb(d + degree - 1, d - 1) - comb(d + degree - 3, d - 1))


def gegenbauer(dimension: int, degree: int, s: np.ndarray) -> np.ndarray:
    """Zonal polynomial of one degree with value 1 at s = 1, SciPy's recurrence and not ours."""
    if dimension == 1:
        return np.cos(degree * np.arccos(s))
    order = (dimension - 1) / 2
    return eval_gegenbauer(degree, order, s) / eval_gegenbauer(degree, order, 1.0)


@pytest.mark.parametrize("degree", [0, 1, 2, 3, 5, 12])
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_zonal_polynomial_has_one_multiplier(dimension, degree):
    """By the addition theorem it is 1 / N_l at its own degree and 0 elsewhere."""
    multipliers = zonal_multipliers(lambda s: gegenbauer(dimension, degree, s), dimension, 16)
    expected = np.zeros(17)
    expected[degree] = 1.0 / harmonics(dimension, degree)
    # Rounding of two recurrences of 16 steps.
    np.testing.assert_allclose(multipliers, expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_multipliers_of_a_series_converge_to_full_precision(dimension):
    """A rule that stops too early would miss a(1) = sum_l N_l a_l; 1 / (1.1 - s) needs many."""
    multipliers = zonal_multipliers(lambda s: 1.0 / (1.1 - s), dimension, 200)
    total = sum(harmonics(dimension, l) * multipliers[l] for l in range(201))
    # 1 / (1.1 - 1) carries the rounding of 1.1, and N_200 amplifies that of the multipliers.
    assert total == pytest.approx(10.0, rel=1e-14 * harmonics(dimension, 200) + 1e-13)


NOT_FINITE = r"values that are not finite on \[-1, 1\]"


@together("kernel, message", [
    # A scalar function would be broadcast into a wrong kernel, NaN spread to all multipliers.
    (lambda s: 1.0, r"the kernel gave shape \(\) for \(64,\) similarities"),
    (lambda s: np.where(s > 0.9, np.nan, s), NOT_FINITE),
    (lambda s: np.where(s > 0.9, np.inf, s), NOT_FINITE),
    # A jump converges like 1 / nodes: digits would be missing without a word.
    (lambda s: np.where(s > 0.3, 1.0, 0.0),
     "not smooth enough: quadrature of its multipliers stalls"),
])  # fmt: skip
def test_quadrature_refuses_what_is_no_kernel(kernel, message):
    """One line, far from where it would show."""
    refused(message, zonal_multipliers, kernel, 1, 4)
