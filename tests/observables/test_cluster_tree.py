"""The tree of clusters, built from events."""

from collections.abc import Iterable

import numpy as np
import pytest

from meanfield.events import Event
from meanfield.observables.cluster_tree import ClusterTree, cluster_tree, plateaus


def atoms(masses: list[float], time: float = 0.0) -> list[Event]:
    """Atoms 0, 1, ... that begin at one time."""
    return [Event(time, "cluster", "", (i, -1), (m, np.nan)) for i, m in enumerate(masses)]


def merge(time: float, one: int, other: int) -> Event:
    return Event(time, "merge", "", (one, other))


def random_tree(seed: int, count: int) -> tuple[ClusterTree, list[Event]]:
    """Atoms in random order that merge with neighbours of theirs, down to three clusters."""
    rng = np.random.default_rng(seed)
    pairs = rng.permutation(count - 1)[: count - 3]
    events = atoms(list(rng.dirichlet(np.ones(count))))
    events += [merge(float(10.0**k), int(i), int(i) + 1) for k, i in enumerate(pairs)]
    return cluster_tree(events), events


def atoms_below(tree: ClusterTree, numbers: Iterable[int]) -> list[set[int]]:
    """Numbers of the atoms in each cluster."""
    below = [{number} for number in numbers]
    for one, other in tree.children:
        below.append(below[one] | below[other])
    return below


def test_masses_add_up():
    """A cluster would weigh more or less than its atoms."""
    tree, _ = random_tree(0, 40)
    below = atoms_below(tree, range(40))
    assert tree.mass == pytest.approx([tree.mass[list(each)].sum() for each in below])
    assert len(tree.roots) == 3
    assert tree.mass[tree.roots].sum() == pytest.approx(1.0, abs=1e-14)


def test_merges_join_the_clusters_of_their_atoms():
    """The merge of a cluster would be taken for one of the atom that names it."""
    tree = cluster_tree([*atoms([0.4, 0.3, 0.2, 0.1]), merge(1.0, 0, 1), merge(5.0, 3, 1)])
    assert tree.children.tolist() == [[0, 1], [3, 4]]
    assert tree.merge_times.tolist() == [1.0, 5.0]
    assert tree.end.tolist() == [1.0, 1.0, np.inf, 5.0, 5.0, np.inf]
    assert tree.roots.tolist() == [2, 5]


def test_pair_that_meets_again_merges_once():
    """Mass would be counted twice."""
    merges = [merge(1.0, 0, 1), merge(2.0, 1, 0), merge(3.0, 2, 2)]
    tree = cluster_tree([*atoms([0.4, 0.3, 0.3]), *merges])
    assert tree.children.tolist() == [[0, 1]] and tree.mass[-1] == pytest.approx(0.7)


def test_order_of_events_does_not_matter():
    """Events of one step may come in another order than that of their times."""
    tree, events = random_tree(1, 12)
    shuffled = cluster_tree([*events[:12], *events[:11:-1]])
    assert np.array_equal(tree.children, shuffled.children)
    assert np.array_equal(tree.begin, shuffled.begin)


@pytest.mark.parametrize("seed", range(4))
def test_leaves_of_every_cluster_are_neighbours(seed):
    """Branches would cross."""
    tree, _ = random_tree(seed, 30)
    place = np.empty(30, dtype=int)
    place[tree.leaf_order()] = np.arange(30)
    assert all(np.ptp([*each]) == len(each) - 1 for each in atoms_below(tree, place))


def test_atoms_that_merge_with_neighbours_keep_their_order():
    """On the circle the tree would not stand as the clusters do."""
    tree, _ = random_tree(2, 25)
    assert tree.leaf_order().tolist() == list(range(25))


def test_plateaus_are_the_levels_of_the_staircase():
    """The five tokens of the staircase figure: 0.2, 0.28, 0.44, 0.52, 1."""
    merges = [merge(1e2, 0, 1), merge(1e17, 1, 2), merge(1e54, 3, 4), merge(1e132, 2, 3)]
    result = plateaus(cluster_tree([*atoms([0.2] * 5), *merges]))
    assert [plateau.level for plateau in result] == pytest.approx([0.2, 0.28, 0.44, 0.52, 1.0])
    assert [plateau.begin for plateau in result] == [0.0, 1e2, 1e17, 1e54, 1e132]
    assert result[2].mass == pytest.approx([0.6, 0.2, 0.2]) and result[-1].end == np.inf


def test_short_plateaus_are_left_out():
    """A thousand tokens that meet would be a thousand names on one another."""
    tree = cluster_tree([*atoms([0.5, 0.3, 0.2], 1.0), merge(10.0, 0, 1), merge(11.0, 0, 2)])
    assert [p.begin for p in plateaus(tree, lasting=2.0)] == [1.0, 11.0]
    assert [p.begin for p in plateaus(tree)] == [1.0, 10.0, 11.0]


def test_atoms_begin_when_they_do():
    """Tokens that become atoms later would be there from the start."""
    late = Event(5.0, "cluster", "", (7, -1), (0.5, np.nan))
    tree = cluster_tree([Event(2.0, "cluster", "", (3, -1), (0.5, np.nan)), late, merge(9.0, 7, 3)])
    assert tree.numbers.tolist() == [3, 7]
    masses = [tree.masses_at(time).tolist() for time in (0.0, 3.0, 5.0, 9.0)]
    assert masses == [[], [0.5], [0.5, 0.5], [1.0]]


def test_run_without_atoms_has_an_empty_tree():
    """A density run could not be asked."""
    tree = cluster_tree([Event(1.0, "note", "nothing")])
    assert len(tree.numbers) == len(tree.roots) == len(tree.leaf_order()) == 0
    assert plateaus(tree) == ()


def test_merge_of_an_unknown_atom_is_refused():
    """A tree would be drawn that lacks mass."""
    with pytest.raises(ValueError, match="a merge at t = 3 names cluster 5, expected one that"):
        cluster_tree([*atoms([1.0]), merge(3.0, 0, 5)])


@pytest.mark.slow
def test_ten_thousand_atoms_in_a_row_are_no_trouble():
    """Each cluster swallows the next atom: a recursion would be too deep."""
    count = 10_000
    merges = [merge(float(i), 0, i) for i in range(1, count)]
    tree = cluster_tree([*atoms([1 / count] * count), *merges])
    assert tree.leaf_order().tolist() == list(range(count)) and len(tree.roots) == 1
