"""Clusters of many runs as arrays; means, errors, distributions, distances between them."""

from dataclasses import replace

import numpy as np
import pytest
from parameters import refused

from meanfield.observables.clusters import Clusters
from meanfield.studies.ensemble_results import (
    Ensemble,
    empty_table,
    law_of,
    put,
    table_of,
    total_variation,
)


def ensemble_of(counts):
    sizes, _, times = counts.shape
    nothing = np.full((*counts.shape, 1), np.nan)
    tokens = 100 * np.arange(1, sizes + 1)
    return Ensemble(
        np.arange(1.0, times + 1), tokens, np.ones(sizes), counts, nothing, nothing, np.ones(sizes)
    )


def test_laws_are_those_of_samples():
    """Variance 1/4 of {2, 3, 3, 3}, over 4; in any order; and nothing has no mean."""
    assert law_of(np.array([2, 3, 3, 3])).standard_error == 0.25
    counts = np.random.default_rng(0).integers(1, 9, 1000)
    assert law_of(counts) == law_of(counts[::-1])
    refused("no counts", law_of, np.zeros(0, dtype=np.int64))


def test_mean_and_error_are_those_of_the_sample():
    """Error bars would be wrong."""
    counts = np.random.default_rng(0).integers(1, 9, (2, 30, 3))
    result = ensemble_of(counts)
    np.testing.assert_allclose(result.mean_count, counts.mean(axis=1), rtol=1e-14)
    expected = counts.std(axis=1, ddof=1) / np.sqrt(30)
    np.testing.assert_allclose(result.standard_error, expected, rtol=1e-13)


def test_prediction_stands_beside_separated_groups_alone():
    """Seven clusters would be predicted beside a group that has not separated."""
    counts = np.array([[[1], [1], [3]], [[1], [3], [3]], [[1], [1], [1]]])
    result = replace(ensemble_of(counts), predicted=np.array([7.0, 7.0, 1.0]))
    np.testing.assert_array_equal(result.comparable, [np.nan, 7.0, 1.0])
    assert str(result).splitlines()[1].endswith(" -")
    assert "standard error of the mean of 3 runs" in str(result)


def test_missing_runs_do_not_count():
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


def clusters_of(*mass):
    return Clusters(np.array(mass), np.tile([0.0, 0.0, 1.0], (len(mass), 1)))


PART = table_of(
    [[clusters_of(0.5, 0.4), clusters_of(1.0)], [clusters_of(), clusters_of(0.5, 0.3, 0.2)]], (3,)
)


def test_table_holds_clusters_and_nan():
    """Masses would be missing, or rests of others would be taken for clusters."""
    assert PART.counts.tolist() == [[2, 1], [0, 3]]
    np.testing.assert_array_equal(PART.mass[0, 0], [0.5, 0.4, np.nan])
    np.testing.assert_array_equal(np.isfinite(PART.centre).all(axis=-1), np.isfinite(PART.mass))


def test_put_widens_without_loss():
    """A run of many clusters would cut others off, or be cut off itself."""
    narrow = table_of([[clusters_of(0.9), clusters_of(0.8)]], (3,))
    table = put(empty_table((2, 4, 2), (3,)), (1, slice(0, 1)), narrow)
    table = put(table, (1, slice(2, 4)), PART)
    assert table.width == 3
    np.testing.assert_array_equal(table.mass[1, 0, :, 0], [0.9, 0.8])
    np.testing.assert_array_equal(table.mass[1, 2:4], PART.mass)
    np.testing.assert_array_equal(table.centre[1, 2:4], PART.centre)
    assert (table.counts[0] == -1).all()
    assert table.counts[1].tolist() == [[1, 1], [-1, -1], [2, 1], [0, 3]]


def test_put_leaves_nothing_of_what_was_there():
    """Clusters of an earlier result would stay behind a new one's."""
    table = put(empty_table((2, 2), (3,)), slice(0, 2), PART)
    table = put(table, slice(1, 2), table_of([[clusters_of(1.0), clusters_of(1.0)]], (3,)))
    np.testing.assert_array_equal(table.mass[1, 1], [1.0, np.nan, np.nan])
    assert np.isnan(table.centre[1, 1, 1:]).all()
