"""Clusters of many runs as arrays: parts go where they belong and nothing is cut off."""

import numpy as np

from meanfield.observables.clusters import Clusters
from meanfield.studies.ensemble_results import empty_table, put, table_of


def clusters_of(*mass):
    return Clusters(np.array(mass), np.tile([0.0, 0.0, 1.0], (len(mass), 1)))


def part():
    return table_of(
        [[clusters_of(0.5, 0.4), clusters_of(1.0)], [clusters_of(), clusters_of(0.5, 0.3, 0.2)]],
        (3,),
    )


def test_table_holds_clusters_and_nan():
    """Masses would be missing, or rests of others would be taken for clusters."""
    table = part()
    assert table.counts.tolist() == [[2, 1], [0, 3]]
    np.testing.assert_array_equal(table.mass[0, 0], [0.5, 0.4, np.nan])
    np.testing.assert_array_equal(np.isfinite(table.centre).all(axis=-1), np.isfinite(table.mass))


def test_put_widens_without_loss():
    """A run of many clusters would cut others off, or be cut off itself."""
    narrow = table_of([[clusters_of(0.9), clusters_of(0.8)]], (3,))
    table = put(empty_table((2, 4, 2), (3,)), (1, slice(0, 1)), narrow)
    table = put(table, (1, slice(2, 4)), part())
    assert table.width == 3
    np.testing.assert_array_equal(table.mass[1, 0, :, 0], [0.9, 0.8])
    np.testing.assert_array_equal(table.mass[1, 2:4], part().mass)
    np.testing.assert_array_equal(table.centre[1, 2:4], part().centre)
    assert (table.counts[0] == -1).all()
    assert table.counts[1].tolist() == [[1, 1], [-1, -1], [2, 1], [0, 3]]


def test_put_leaves_nothing_of_what_was_there():
    """Clusters of an earlier result would stay behind a new one's."""
    table = put(empty_table((2, 2), (3,)), slice(0, 2), part())
    table = put(table, slice(1, 2), table_of([[clusters_of(1.0), clusters_of(1.0)]], (3,)))
    np.testing.assert_array_equal(table.mass[1, 1], [1.0, np.nan, np.nan])
    assert np.isnan(table.centre[1, 1, 1:]).all()
