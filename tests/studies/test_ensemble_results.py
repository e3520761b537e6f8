"""Summaries of an ensemble: means, errors, distributions, and distances between them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from meanfield.studies.ensemble_results import Ensemble, total_variation


def ensemble_of(counts):
    sizes, _, times = counts.shape
    nothing = np.full((*counts.shape, 1), np.nan)
    tokens = 100 * np.arange(1, sizes + 1)
    return Ensemble(
        np.arange(1.0, times + 1), tokens, np.ones(sizes), counts, nothing, nothing, np.ones(sizes)
    )


def test_mean_and_error_are_those_of_the_sample():
    """Error bars would be wrong."""
    counts = np.random.default_rng(0).integers(1, 9, (2, 30, 3))
    result = ensemble_of(counts)
    np.testing.assert_allclose(result.mean_count, counts.mean(axis=1), rtol=1e-14)
    expected = counts.std(axis=1, ddof=1) / np.sqrt(30)
    np.testing.assert_allclose(result.standard_error, expected, rtol=1e-13)


def test_prediction_stands_beside_separated_groups_alone() -> None:
    """Seven clusters would be predicted beside a group that has not separated."""
    counts = np.array([[[1], [1], [3]], [[1], [3], [3]], [[1], [1], [1]]])
    result = replace(ensemble_of(counts), predicted=np.array([7.0, 7.0, 1.0]))
    np.testing.assert_array_equal(result.comparable, [np.nan, 7.0, 1.0])
    report = str(result)
    assert (
        report.splitlines()[1].endswith(" -") and "standard error of the mean of 3 runs" in report
    )


def test_missing_runs_do_not_count() -> None:
    """An unfinished ensemble would be averaged with runs that are not there."""
    counts = np.array([[[3], [5], [-1]], [[-1], [-1], [-1]]])
    result = ensemble_of(counts)
    assert result.finished.tolist() == [2, 0]
    assert result.mean_count[0, 0] == 4.0
    assert result.standard_error[0, 0] == pytest.approx(1.0, rel=1e-14)
    assert np.isnan(result.mean_count[1, 0])
    assert result.distribution(0, 0) == {3: 0.5, 5: 0.5}
    assert result.distribution(1, 0) == {}


def test_distribution_has_the_mean():
    """Shares would belong to other counts, or not sum to one."""
    result = ensemble_of(np.random.default_rng(1).integers(0, 6, (1, 50, 2)))
    for j in range(2):
        counts, shares = zip(*result.distribution(0, j).items(), strict=True)
        assert sum(shares) == pytest.approx(1.0, rel=1e-14)
        assert np.dot(counts, shares) == pytest.approx(result.mean_count[0, j], rel=1e-14)


def test_total_variation_is_a_distance():
    """Distributions without a common count would not be 1 apart, or equal ones not 0."""
    p, q = {1: 0.2, 2: 0.8}, {3: 1.0}
    assert total_variation(p, q) == 1.0
    assert total_variation(p, p) == 0.0
    r = {2: 0.5, 3: 0.5}
    assert total_variation(p, r) == total_variation(r, p) == pytest.approx(0.5, rel=1e-14)


def test_repr_is_one_line():
    """A notebook would print arrays, or say nothing of the counts."""
    text = repr(ensemble_of(np.full((2, 3, 1), 4)))
    assert text == (
        "Ensemble(n = 100, 200, 3 runs, clusters at 1 onset times 4.000 +- 0.000, 4.000 +- 0.000)"
    )


def test_table_has_a_row_a_size_and_time():
    """A notebook would have to repeat sizes and tile times itself."""
    result = ensemble_of(np.random.default_rng(0).integers(1, 9, (2, 30, 3)))
    table = result.table()
    assert list(table) == ["tokens", "time", "mean_count", "standard_error"]
    row = table[(table["tokens"] == 200) & (table["time"] == 3.0)]
    assert row["mean_count"].tolist() == [result.mean_count[1, 2]]
