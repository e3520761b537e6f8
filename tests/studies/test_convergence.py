"""Convergence studies: what they measure, and what they do not depend on."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

import meanfield as mf
from meanfield.studies.convergence import convergence_study
from meanfield.studies.convergence_results import ConvergenceStudy

LAW = mf.perturbed_uniform([[1, 0.1, 0.05], [3, 0.0, 0.2]])
PROBLEM = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.USA, LAW)
REPULSIVE = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.Flow(strength=-1.0), LAW)


def small(problem: Any = PROBLEM, until: float = 2.0, **options: Any) -> ConvergenceStudy:
    """Study of a moment."""
    chosen = {"save": 3, "tokens": (10, 40), "repetitions": 3, "tolerance": 1e-6} | options
    return convergence_study(problem, until, **chosen)


def synthetic(distances: np.ndarray, onset: float = np.inf) -> ConvergenceStudy:
    """Study of given distances at times 0, 1, 2, ..."""
    tokens = 10 ** np.arange(1, 1 + len(distances))
    onsets = onset * np.arange(1, 1 + len(distances))
    return ConvergenceStudy(
        np.arange(distances.shape[2]) * 1.0, tokens, distances, "W1", 0.3, onsets
    )


def test_mean_distance_falls_like_the_root_of_the_size(verified: Callable) -> None:
    """Particles would not approach the density at the rate of independent tokens.

    40 systems a size: standard error of the exponent about 0.5 sqrt(2 / 40) / ln 100 = 0.024.
    """
    study = small(until=8.0, tokens=(30, 3000), repetitions=40)
    assert study.exponent_time == 8.0
    exponent = study.exponent
    what = "exponent of W1 from tokens to the density, circle"
    verified("statistics", what, exponent + 0.5, 3 * 0.024, found=exponent)
    low, high = study.exponent_interval
    assert low < study.exponent < high < low + 0.15


@pytest.mark.parametrize("tokens", [3, 50])
def test_mean_square_w2_of_uniform_tokens_is_exact(tokens: int, verified: Callable) -> None:
    """E W_2^2 = pi^2 / (3 n) for n uniform tokens: draws or distances would be biased.

    The standard deviation of W_2^2 is about 0.65 of its mean; 400 systems, four standard errors.
    """
    problem = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.USA, mf.uniform())
    study = small(problem, 1e-3, save=2, tokens=(tokens,), repetitions=400, metric="W2")
    squares = study.distances[0, :, 0] ** 2
    error = squares.std(ddof=1) / 20.0
    deviation = (squares.mean() - np.pi**2 / (3 * tokens)) / error
    what = "E W2^2 of uniform tokens, circle, in standard errors"
    verified("statistics", what, deviation, 4.0)


def test_systems_do_not_depend_on_what_else_is_asked() -> None:
    """A resumed or enlarged study would not be the one asked for."""
    study = small(repetitions=4)
    np.testing.assert_array_equal(
        small(tokens=(40,), repetitions=2).distances, study.distances[1:, :2]
    )


def test_seed_makes_the_study() -> None:
    """The seed would be ignored, or the study not be reproducible."""
    np.testing.assert_array_equal(small().distances, small().distances)
    assert np.all(small().distances != small(seed=1).distances)


def test_function_may_make_the_problem() -> None:
    """Scripts that pass a function instead of a Problem would stop working."""
    np.testing.assert_array_equal(small(lambda: PROBLEM).distances, small().distances)


def test_problem_reaches_other_processes() -> None:
    """The study would need one executor only, or depend on which it is."""
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        study = small(executor=executor)
    np.testing.assert_array_equal(study.distances, small().distances)


def test_lambda_is_kept_from_other_processes() -> None:
    """The user would read an error of pickle's, after the pool broke."""
    kernel = mf.zonal(lambda s: np.exp(5.0 * (s - 1.0)), beta=5.0)
    with (
        ProcessPoolExecutor(1) as executor,
        pytest.raises(TypeError, match=r"cannot be sent to other processes \(.*lambda"),
    ):
        small(mf.Problem(mf.Circle(), kernel, mf.USA, LAW), executor=executor)


def test_time_unit_is_converted() -> None:
    """Times in the papers' unit would be taken as scaled."""
    paper = small(until=2.0 * np.exp(-5.0), unit="paper")
    np.testing.assert_allclose(paper.times, small().times, rtol=1e-15)


def test_study_ends_with_the_density() -> None:
    """Distances to a density that left its grid would be reported."""
    study = small(until=40.0, save=41, max_degree=64, tokens=(10,))
    assert 2 < len(study.times) < 41
    assert study.distances.shape == (1, 3, len(study.times))
    assert "resolved up to" in study.note


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("tokens", (1, 10), r"tokens must all be at least 2, got \[1, 10\]"),
        ("repetitions", 1, "repetitions must lie between 2 and 1000000, got 1"),
        ("metric", "W3", "metric 'W3' is not known. Known: W1, W2"),
        ("tolerance", 1.0, "tolerance must lie between 1e-13 and 0.01, got 1"),
        ("max_degree", 0, "max_degree must be at least 1, got 0"),
    ],
)
def test_wrong_value_is_refused(option: str, value: Any, message: str) -> None:
    """A mistake would surface after the density run, or never."""
    with pytest.raises(ValueError, match=message):
        small(**{option: value})


def test_statistics_are_those_of_the_samples() -> None:
    """Mean, standard error or amplification would be wrong."""
    distances = np.random.default_rng(0).gamma(5.0, size=(2, 7, 3))
    study = synthetic(distances)
    np.testing.assert_allclose(study.mean_distance, distances.mean(axis=1), rtol=1e-14)
    expected = distances.std(axis=1, ddof=1) / np.sqrt(7)
    np.testing.assert_allclose(study.standard_error, expected, rtol=1e-13)
    ratio = distances.mean(axis=1) / distances.mean(axis=1)[:, :1]
    np.testing.assert_allclose(study.amplification, ratio, rtol=1e-14)
    np.testing.assert_allclose(study.linear_amplification, np.exp([0.0, 0.3, 0.6]), rtol=1e-14)


def test_statistics_leave_out_what_is_missing() -> None:
    """An unfinished study would have no mean."""
    distances = np.random.default_rng(0).gamma(5.0, size=(2, 7, 3))
    holed = distances.copy()
    holed[:, 4:] = np.nan
    np.testing.assert_allclose(
        synthetic(holed).standard_error, synthetic(distances[:, :4]).standard_error, rtol=1e-14
    )


@pytest.mark.parametrize(
    ("onset", "expected"), [(np.inf, 9), (8.0, 4), (2.2, 1), (0.9, 0), (30.0, 9)]
)
def test_headline_is_half_way_to_the_first_onset(onset: float, expected: int) -> None:
    """The headline exponent would be taken where small systems saturate."""
    study = synthetic(np.random.default_rng(0).gamma(5.0, size=(2, 3, 10)), onset)
    assert study.headline == expected
    assert study.exponent == study.exponents[expected]


def test_repulsion_has_no_onset() -> None:
    """Where nothing grows, ln n / (2 lambda) would be negative."""
    study = small(REPULSIVE)
    assert np.isinf(study.onset_times).all()
    assert study.growth_rate_max < 0
    assert study.headline == len(study.times) - 1


def test_study_says_what_it_is() -> None:
    """The last line of a notebook cell would show arrays."""
    assert repr(small()).startswith("ConvergenceStudy(W1, n = 10 to 40, 3 repetitions, exponent -0")
