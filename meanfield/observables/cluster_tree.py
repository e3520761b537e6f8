"""The tree of mergers in a run: which clusters merge, and when.

Leaves are the clusters of atoms as they begin. A merge of two leaves joins the clusters that
contain them (union-find); a pair that is already in one cluster is ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from meanfield.arguments import checked
from meanfield.arrays import FloatArray, IntArray
from meanfield.events import Event


@dataclass(frozen=True, eq=False)
class ClusterTree:
    """A tree of clusters, or a forest if several remain.

    Nodes 0 ... n - 1 are the leaves; merge i makes node n + i.

    Attributes
    ----------
    numbers : ndarray of int, shape (n,)
        Cluster number of each leaf.
    mass : ndarray, shape (n + m,)
        Mass of each node, the sum over its leaves.
    begin, end : ndarray, shape (n + m,)
        Scaled times at which a node begins, and merges into another; inf if it never merges.
    children : ndarray of int, shape (m, 2)
        The two nodes of each merge, in order of time.

    Examples
    --------
    >>> masses = [0.5, 0.3, 0.2]
    >>> atoms = [Event(0.0, "cluster", "", (i, -1), (masses[i], np.nan)) for i in range(3)]
    >>> tree = cluster_tree([*atoms, Event(7.0, "merge", "", (0, 2), (0.5, 0.2))])
    >>> tree.mass.round(6), tree.children, tree.roots
    (array([0.5, 0.3, 0.2, 0.7]), array([[0, 2]]), array([1, 3]))
    """

    numbers: IntArray
    mass: FloatArray
    begin: FloatArray
    end: FloatArray
    children: IntArray

    @property
    def merge_times(self) -> FloatArray:
        """Scaled times of the merges, shape (m,)."""
        return self.begin[len(self.numbers) :]

    @property
    def roots(self) -> IntArray:
        """Nodes that never merge: the clusters that remain."""
        return np.flatnonzero(np.isinf(self.end))

    def masses_at(self, time: float) -> FloatArray:
        """Masses of the clusters at a time, largest first; empty before the first cluster."""
        here = (self.begin <= time) & (time < self.end)
        return np.sort(self.mass[here])[::-1]

    def leaf_order(self) -> IntArray:
        """Leaves in an order in which drawn branches do not cross.

        The branch with the smaller cluster number comes first.
        """
        count = len(self.numbers)
        first = np.concatenate([self.numbers, np.zeros(len(self.children), dtype=np.int64)])
        for i, (one, other) in enumerate(self.children):
            first[count + i] = min(first[one], first[other])
        order: list[int] = []
        waiting = sorted(self.roots.tolist(), key=lambda node: -first[node])
        while waiting:
            node = waiting.pop()
            if node < count:
                order.append(node)
            else:
                waiting += sorted(self.children[node - count].tolist(), key=lambda n: -first[n])
        return np.array(order, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Plateau:
    """Time interval between two changes of the clusters."""

    begin: float  # scaled time
    end: float  # scaled time; inf for the last
    mass: FloatArray  # (count,): masses of the clusters, largest first

    @property
    def level(self) -> float:
        """Energy E / E[Dirac] = sum_j m_j^2 of distant clusters at large beta."""
        return float(np.sum(self.mass**2))


@checked
def cluster_tree(events: Sequence[Event]) -> ClusterTree:
    """Tree of the clusters in the events of a run.

    Parameters
    ----------
    events : sequence of Event
        Only the kinds "cluster" and "merge" count; a repeated "cluster" has no effect.

    Returns
    -------
    ClusterTree
        Without leaves if there are no clusters.

    Raises
    ------
    ValueError
        If a merge names a cluster that no event begins.
    """
    merges = sorted((e for e in events if e.kind in ("cluster", "merge")), key=lambda e: e.time)
    starts: dict[int, Event] = {}
    for event in merges:
        if event.kind == "cluster":
            starts.setdefault(event.clusters[0], event)
    leaf = {number: i for i, number in enumerate(starts)}
    mass = [event.mass[0] for event in starts.values()]
    begin = [event.time for event in starts.values()]
    above = list(range(len(leaf)))  # parent of each node, itself for a root
    children: list[tuple[int, int]] = []

    for event in merges:
        if event.kind != "merge":
            continue
        for number in event.clusters:
            if number not in leaf:
                raise ValueError(
                    f"a merge at t = {event.time:g} names cluster {number}, expected one that an "
                    'event of kind "cluster" begins.'
                )
        one, other = (_root(above, leaf[number]) for number in event.clusters)
        if one == other:
            continue
        node = len(mass)
        above.append(node)
        above[one] = above[other] = node
        children.append((one, other))
        mass.append(mass[one] + mass[other])
        begin.append(event.time)
    end = np.full(len(mass), np.inf)
    joined = np.array(children, dtype=np.int64).reshape(-1, 2)
    times = np.array(begin, dtype=np.float64)
    end[joined.ravel()] = np.repeat(times[len(leaf) :], 2)
    return ClusterTree(
        np.array(list(leaf), dtype=np.int64), np.array(mass, dtype=np.float64), times, end, joined
    )


def plateaus(tree: ClusterTree, lasting: float = 1.0) -> tuple[Plateau, ...]:
    """Intervals between merges or beginnings of clusters, in order.

    lasting: smallest ratio end / begin to include; 1 includes all.

    >>> begun = [Event(0.0, "cluster", "", (i, -1), (0.25 + 0.5 * i, np.nan)) for i in (0, 1)]
    >>> tree = cluster_tree([*begun, Event(3.0, "merge", "", (0, 1))])
    >>> [(p.begin, p.end, p.level) for p in plateaus(tree)]
    [(0.0, 3.0, 0.625), (3.0, inf, 1.0)]
    """
    changes = np.unique(tree.begin)
    ends = np.append(changes[1:], np.inf)
    return tuple(
        Plateau(float(begin), float(end), tree.masses_at(begin))
        for begin, end in zip(changes, ends[: len(changes)], strict=True)
        if end >= lasting * begin
    )


def _root(above: list[int], node: int) -> int:
    """Root above a node; halves the path to it."""
    while above[node] != node:
        above[node] = above[above[node]]
        node = above[node]
    return node
