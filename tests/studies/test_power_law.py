"""The fit of a power law and its confidence interval."""

from __future__ import annotations

import numpy as np
import pytest

from meanfield.studies.convergence_results import fit_power_law

SIZES = np.array([100.0, 1000.0, 10000.0])


def test_exact_law_is_recovered() -> None:
    """Slope or intercept would be wrong: a law without scatter leaves only rounding."""
    law = fit_power_law(SIZES, 3.0 * SIZES[:, None] ** -0.7 * np.ones(4))
    assert abs(law.exponent + 0.7) < 1e-14
    assert abs(law.prefactor - 3.0) < 1e-13
    assert np.ptp(law.interval) < 1e-14


def test_interval_of_two_sizes_is_that_of_welch() -> None:
    """Variance, freedom or quantile would be wrong.

    For two sizes the exponent is a difference of means, for which SciPy has Welch's interval; with
    scatter 1e-6 the logarithm is linear, and the two agree to that order.
    """
    from scipy.stats import ttest_ind

    rng = np.random.default_rng(1)
    sizes = np.array([10.0, 1000.0])
    samples = np.array([[2.0], [0.3]]) * (1.0 + 1e-6 * rng.standard_normal((2, 7)) * [[1.0], [3.0]])
    law = fit_power_law(sizes, samples)
    logs = np.log(samples)
    welch = ttest_ind(logs[1], logs[0], equal_var=False).confidence_interval(0.95)
    expected = np.array([welch.low, welch.high]) / np.log(100.0)
    width = np.ptp(expected)
    np.testing.assert_allclose(law.interval, expected, rtol=0, atol=1e-4 * width)


def test_interval_covers_the_truth_in_95_per_cent() -> None:
    """The stated confidence would not be the real one.

    2000 studies of skewed samples (the shape of W_1): standard error 0.5 %, four of them allowed.
    """
    rng = np.random.default_rng(2)
    truth = -0.5
    hits = 0
    for _ in range(2000):
        samples = SIZES[:, None] ** truth * rng.gamma(6.0, size=(3, 20))
        low, high = fit_power_law(SIZES, samples).interval
        hits += low <= truth <= high
    assert abs(hits / 2000 - 0.95) < 0.02


def test_missing_samples_are_left_out() -> None:
    """An unfinished study would have a wrong fit: NaN must act as if it had not been there."""
    rng = np.random.default_rng(3)
    samples = SIZES[:, None] ** -0.5 * rng.gamma(6.0, size=(3, 6))
    holed = samples.copy()
    holed[:, 4:] = np.nan
    assert fit_power_law(SIZES, holed) == fit_power_law(SIZES, samples[:, :4])


def test_size_with_one_sample_is_left_out() -> None:
    """A size without a variance would make the interval NaN."""
    rng = np.random.default_rng(4)
    samples = SIZES[:, None] ** -0.5 * rng.gamma(6.0, size=(3, 6))
    holed = samples.copy()
    holed[1, 1:] = np.nan
    assert fit_power_law(SIZES, holed) == fit_power_law(SIZES[[0, 2]], samples[[0, 2]])


@pytest.mark.parametrize("sizes", [SIZES[:1], SIZES[:0]])
def test_fewer_than_two_sizes_have_no_exponent(sizes: np.ndarray) -> None:
    """One point would be given a slope."""
    law = fit_power_law(sizes, np.ones((len(sizes), 3)))
    assert np.isnan([law.exponent, *law.interval, law.prefactor]).all()
