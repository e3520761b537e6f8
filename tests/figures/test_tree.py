"""The tree of clusters as a figure: widths, joints, order, what is written and refused."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from parameters import refused

import meanfield as mf
from meanfield.events import Event
from meanfield.figures.data.series import node_heights, time_limits
from meanfield.figures.draw import plot
from meanfield.observables.cluster_tree import cluster_tree


def branches_of(axes):
    _, branches = [c for c in axes.collections if isinstance(c, LineCollection)]
    return branches


def dust(count, seed=0):
    rng = np.random.default_rng(seed)
    mass = np.append([0.45, 0.3], rng.dirichlet(np.ones(count)) * 0.25)
    events = [Event(0.0, "cluster", "", (i, -1), (m, np.nan)) for i, m in enumerate(mass)]
    times = np.sort(10.0 ** rng.uniform(0, 8, count))
    events += [Event(t, "merge", "", (k % 2, k + 2)) for k, t in enumerate(times)]
    return tuple(events)


@pytest.mark.parametrize("seed", range(3))
def test_no_branch_runs_through_a_joint(seed):
    """Branches would cross: a joint passes only what begins or ends there."""
    tree = cluster_tree(dust(40, seed))
    heights = node_heights(tree)
    for i, (one, other) in enumerate(tree.children):
        time = tree.merge_times[i]
        low, high = sorted([heights[one], heights[other]])
        there = (tree.begin < time) & (time < tree.end)
        assert not (there & (heights > low) & (heights < high)).any()
    assert np.all((heights > 0.0) & (heights < 1.0))


def test_light_leaves_are_thin_and_have_no_number(mixed_circle):
    """Sixty numbers on one another would be a black bar."""
    axes = plot(replace(mixed_circle, events=dust(60)), "tree").axes[0]
    assert np.sum(np.array(branches_of(axes).get_linewidths()) < 1.5) >= 50
    left = [text for text in axes.texts if text.get_ha() == "right"]
    assert {"0.45", "0.3"} <= {text.get_text() for text in left}
    assert all(float(text.get_text()) >= 0.01 for text in left)
    heights = np.sort([text.xy[1] for text in left])
    # A line of text of 7.5 points in 3.9 inches.
    assert np.all(np.diff(heights) > 7.5 / 72 / 3.9)


def test_clusters_that_remain_are_a_forest(mixed_circle):
    """Clusters that have not met would be joined at the end."""
    axes = plot(replace(mixed_circle, events=dust(20)), "tree").axes[0]
    ends = [path[-1, 0] for path in branches_of(axes).get_segments()]
    assert ends.count(axes.get_xlim()[1]) == 2


def test_axis_begins_with_the_atoms(mixed_circle):
    """The tree would hang at the right edge of an empty figure."""
    tree = cluster_tree(mixed_circle.events)
    assert time_limits(mixed_circle, tree) == (95.0, 1e60)
    # From time 0 on: somewhat before the first merge.
    run = replace(mixed_circle, events=dust(20))
    tree = cluster_tree(run.events)
    low, _ = time_limits(run, tree)
    assert 0 < low < 0.5 * tree.merge_times[0]


@pytest.mark.parametrize(
    ("merge", "first"), [(1e60, 0.01), (1.0, 0.01), (0.015, 0.0075), (None, 0.01)]
)
def test_axis_of_atoms_from_the_start_begins_with_the_run(mixed_circle, merge, first):
    """And before the first merge, if any: an axis from there would have no branches, or length."""
    events = tuple(Event(0.0, "cluster", "", (i, -1), (0.5, np.nan)) for i in range(2))
    events += (Event(merge, "merge", "", (0, 1)),) if merge else ()
    axes = plot(replace(mixed_circle, events=events), "tree").axes[0]
    assert mixed_circle.time[0] == pytest.approx(0.01)
    assert axes.get_xlim() == pytest.approx((first, 1e60))


def test_runs_without_a_tree_are_refused(mixed_circle):
    """An empty figure would be taken for a run in which nothing met, or an axis have no length."""
    run = mf.simulate(mf.Problem(mf.Circle(), mf.linear(), mf.USA), until=1.0, save=2)
    refused("the representation of this run was density", plot, run, "tree")
    start = replace(
        mixed_circle, scaled_time=np.zeros(1), measures=(None,), representation=("atoms",),
        events=(Event(0.0, "cluster", "", (0, -1), (1.0, np.nan)),),
    )  # fmt: skip
    refused("a tree needs a saved time after 0", plot, start, "tree")


def test_branches_are_as_thick_as_they_are_heavy_and_end_where_they_merge(mixed_circle):
    """The heaviest cluster would look light, or go on after it has merged."""
    branches = branches_of(plot(mixed_circle, "tree").axes[0])
    mass = cluster_tree(mixed_circle.events).mass
    assert branches.get_linewidths() / np.max(branches.get_linewidths()) == pytest.approx(mass)
    ends = [path[-1, 0] for path in branches.get_segments()]
    assert ends == [2e3, 2e3, 5e7, 5e7, 1e41, 1e41, 1e60]
