"""When points count as one."""

import numpy as np
import pytest
from scipy.optimize import brentq

import meanfield as mf
from meanfield.carriers.meeting import gathered, groups_of, narrow_groups, reach


def problem_of(beta: float) -> mf.Problem:
    return mf.Problem(mf.Circle(), mf.exponential(beta), mf.USA)


def test_reach_stays_within_the_radius_of_a_cluster():
    """At loose tolerances atoms would become one that had not met."""
    assert reach(problem_of(1e4), 1e-2) < 0.25e-2


def test_groups_that_have_met_are_replaced_by_their_mass_at_their_mean():
    """The rest stays to the bit."""
    angles = np.array([1.0, 3.0, 1.0 + 1e-8, 0.1 + 0.2])
    weights = np.array([0.1, 0.4, 0.3, 0.2])
    measure = mf.Measure(mf.Circle(), angles, weights)
    found = groups_of(problem_of(25.0), measure, 1e-6)
    points, mass, source = gathered(measure, found)
    assert source.tolist() == [1, 2, 3]
    assert points[[0, 2]].tolist() == angles[[1, 3]].tolist()
    assert points[1] == pytest.approx(1.0 + 0.75e-8, abs=1e-15)
    assert mass == pytest.approx([0.4, 0.4, 0.2], abs=1e-16)


@pytest.mark.parametrize(("share", "together"), [(0.3, True), (0.7, False)])
def test_points_meet_by_at_least_half_of_their_own_attraction(share, together):
    """Two light points between two heavy ones, which pull them apart by a share of that."""

    def pull(distance: float) -> float:
        attention = np.exp(9.0 * (np.cos(distance) - 1.0))
        return 0.98 * attention * (9.0 * np.sin(distance) ** 2 - np.cos(distance)) - share * 0.02

    place = brentq(pull, 1.0, 2.0)
    extent = 0.5 * reach(problem_of(9.0), 1e-10)
    weights = np.array([0.49, 0.49, 0.01, 0.01])
    measure = mf.Measure(mf.Circle(), [-place, place, -0.5 * extent, 0.5 * extent], weights)
    assert groups_of(problem_of(9.0), measure, 2.0 * extent).met.any() == together


@pytest.mark.parametrize(
    ("share", "width", "met"),
    [(0.5, 0.4, True), (0.5, 0.6, False), (2.0, 0.4, False)],
    ids=["met", "wide", "heavy curve"],
)
def test_clusters_on_the_sphere_meet_while_a_thin_curve_links_them(share, width, met):
    """A run would wait, at hundreds of thousands of nodes, for the last of them to arrive."""
    # `share` is the mass of the curve in tolerances, `width` that of the clusters in reaches; each
    # cluster is linked to a light point that makes it longer than a reach.
    problem, tolerance = mf.Problem(mf.Sphere(), mf.exponential(6.0), mf.SA), 1e-4
    extent = reach(problem, tolerance)
    # Half of the mass of a cluster lies at each side of its centre, next to nothing further out.
    across = np.array([1.2 * extent, width * extent, -width * extent])
    angles = np.concatenate([across, 1.5 + across, np.linspace(0.15, 1.35, 200)])
    light = share * tolerance / 200
    each = 0.25 * (1.0 - 200 * light - 2e-5)
    weights = np.concatenate([[1e-5, each, each], [1e-5, each, each], np.full(200, light)])
    points = np.stack([np.cos(angles), np.sin(angles), np.zeros(len(angles))], axis=1)
    measure = mf.Measure(mf.Sphere(), points, weights)
    found = narrow_groups(problem, measure, tolerance)
    assert (found.met.sum() == 2) == met
    assert found.mass.sum() == pytest.approx(1.0, abs=1e-14)
    if met:
        assert found.mass[found.met].sum() > 1.0 - tolerance
        assert not groups_of(problem, measure, extent).met.any()
