"""The front door from Python: units, times to save."""

import numpy as np
import pytest
from parameters import refused, together

import meanfield as mf
from meanfield.simulation import save_times


@pytest.mark.slow
def test_simulate_converts_units_at_the_boundary():
    """Paper time is scaled time e^-beta; a run tells both, and knows what was asked for."""
    law = mf.perturbed_uniform([[1, 0.1, 0.05], [2, 0.0, 0.15], [3, -0.12, 0.05]])
    problem = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.USA, law)
    paper = mf.simulate(problem, until=0.1, unit="paper", save=3)
    scaled = mf.simulate(problem, until=0.1 * np.exp(5.0), save=3)
    np.testing.assert_allclose(paper.time, [0.0, 0.05, 0.1], rtol=1e-15)
    np.testing.assert_allclose(paper.scaled_time, scaled.time, rtol=1e-15)
    growth = mf.growth_rate_max(problem) * paper.scaled_time
    # Printed to fifteen digits.
    np.testing.assert_allclose(paper.time_in("growth"), growth, rtol=5e-15)
    grown = mf.simulate(problem, until=3.0, unit="growth", save=2, tolerance=1e-4)
    assert grown.time[-1] == 3.0
    assert (paper.unit, scaled.unit) == ("paper", "scaled")
    assert repr(paper) == "Run(circle, 3 saved times from t = 0 to 0.1 paper time, completed)"
    refused("unit 'years' is not known. Known: growth, paper, scaled", paper.time_in, "years")
    np.testing.assert_allclose(paper.moments, scaled.moments, rtol=0, atol=1e-12)


LIST = "save must be a number of times or a list of finite times"


@together(
    "until, save, message",
    [
        *[(end, 3, "until must be positive and finite") for end in (0.0, -1.0, np.nan, np.inf)],
        (2.0, 1, "save must be at least 2 times, got 1"),
        *[(2.0, save, LIST) for save in ([], [0.0, np.nan], [[0.0, 1.0]])],
        (2.0, [0.0, 1.0, 1.0], "save times must be increasing and not negative"),
        (2.0, [-1.0, 1.0], r"must be increasing and not negative, got \[-1.0, 1.0\]"),
        (2.0, [0.0, 2.5], "save holds 2.5, later than until = 2"),
    ],
)
def test_impossible_save_times_are_refused(until, save, message):
    """A run would never end, or save at times that it does not reach."""
    refused(message, save_times, until, save)


def test_save_times_count_start_and_end():
    """A number means equally spaced, 0 and the end included; a list stays as it is."""
    assert np.array_equal(save_times(2.0, 3), [0.0, 1.0, 2.0])
    assert np.array_equal(save_times(2.0, [0.5, 1.5]), [0.5, 1.5])
