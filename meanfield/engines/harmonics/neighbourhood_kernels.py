"""Compiled walks through a tree of boxes: mass within a chord of every point, linked groups.

A pair of boxes is decided at once if all pairs of their points are within the chord, or none;
otherwise the larger box is split. Squared distances of boxes and points are summed in the same
order, and rounding is monotone, so boxes always decide as their points would.
"""

from __future__ import annotations

import numpy as np

from meanfield.arrays import FloatArray, IntArray
from meanfield.engines.compiled import njit
from meanfield.engines.harmonics.box_tree import Tree
from meanfield.engines.threads import map_chunks

# Largest number of points in a subtree that one thread walks.
_POINTS_PER_CHUNK = 16384
# Bound on the depth of the tree: at most 63 nested cubes, and then halves of equal keys.
_DEPTH = 128


def mass_within(tree: Tree, square: float, enough: float) -> FloatArray:
    """Mass within a squared chord of every point; sums stop once >= `enough` is decided."""
    within = np.empty(len(tree.points))
    roots = _subtrees(tree.first, tree.last, tree.child)

    def walk(chunk: int) -> None:
        _mass_within(tree, roots[chunk], square, float(enough), within)

    map_chunks(walk, len(roots))
    return within


def linked_groups(tree: Tree, square: float) -> IntArray:
    """First point of the group of every point; points nearer than the squared chord are linked."""
    leader = np.arange(len(tree.points))
    clump = _clumps(tree, square, leader)
    _link(tree, square, clump, leader)
    return _leaders(leader)  # type: ignore[no-any-return]


@njit
def _subtrees(first, last, child):  # type: ignore[no-untyped-def]
    """Nodes of few points, or leaves, that together contain every point once."""
    roots, count = np.zeros(len(first), np.int64), 0
    stack = [0]
    while stack:
        node = stack.pop()
        if child[node] and last[node] - first[node] > _POINTS_PER_CHUNK:
            stack.append(child[node])
            stack.append(child[node] + 1)
        else:
            roots[count] = node
            count += 1
    return roots[:count].copy()


@njit
def _nearest(box, a, b):  # type: ignore[no-untyped-def]
    x = max(box[a, 0] - box[b, 3], box[b, 0] - box[a, 3], 0.0)
    y = max(box[a, 1] - box[b, 4], box[b, 1] - box[a, 4], 0.0)
    z = max(box[a, 2] - box[b, 5], box[b, 2] - box[a, 5], 0.0)
    return x * x + y * y + z * z


@njit
def _farthest(box, a, b):  # type: ignore[no-untyped-def]
    """Largest squared distance between points of two boxes."""
    x = max(box[a, 3] - box[b, 0], box[b, 3] - box[a, 0])
    y = max(box[a, 4] - box[b, 1], box[b, 4] - box[a, 1])
    z = max(box[a, 5] - box[b, 2], box[b, 5] - box[a, 2])
    return x * x + y * y + z * z


@njit
def _distance(points, i, j):  # type: ignore[no-untyped-def]
    x, y, z = points[i, 0] - points[j, 0], points[i, 1] - points[j, 1], points[i, 2] - points[j, 2]
    return x * x + y * y + z * z


@njit
def _mass_within(tree, root, square, enough, within):  # type: ignore[no-untyped-def]
    """Write the mass within a squared chord of the points of one subtree, node by node."""
    first, last, child, box, total = tree.first, tree.last, tree.child, tree.box, tree.total
    pile, split = np.zeros(1024, np.int64), np.zeros(_DEPTH, np.int64)
    stack = [(root, 0, 1, 0.0)]  # the pile begins with the tree's root
    while stack:
        node, begin, end, certain = stack.pop()
        size, possible, top = _farthest(box, node, node), 0.0, end
        for entry in range(begin, end):
            if certain >= enough:
                break
            split[0], depth = pile[entry], 1
            while depth:
                depth -= 1
                other = split[depth]
                if _nearest(box, node, other) > square:
                    continue
                if _farthest(box, node, other) <= square:
                    certain += total[other]
                elif child[other] and _farthest(box, other, other) > size:
                    split[depth], split[depth + 1] = child[other], child[other] + 1
                    depth += 2
                else:
                    if top == len(pile):
                        pile = np.concatenate((pile, np.zeros(top, np.int64)))
                    pile[top] = other
                    top += 1
                    possible += total[other]
        if certain >= enough or top == end or certain + possible < enough < np.inf:
            within[first[node] : last[node]] = certain
        elif child[node]:
            stack.append((child[node], end, top, certain))
            stack.append((child[node] + 1, end, top, certain))
        else:
            for i in range(first[node], last[node]):
                within[i] = _mass_around(tree, i, pile[end:top], split, square, certain, enough)


@njit
def _mass_around(tree, i, nodes, split, square, within, enough):  # type: ignore[no-untyped-def]
    """Add the mass of some nodes within a squared chord of one point, until it is enough."""
    points, mass, child, box = tree.points, tree.mass, tree.child, tree.box
    x, y, z = points[i, 0], points[i, 1], points[i, 2]
    for root in nodes:
        split[0], depth = root, 1
        while depth and within < enough:
            depth -= 1
            other = split[depth]
            a = max(box[other, 0] - x, x - box[other, 3], 0.0)
            b = max(box[other, 1] - y, y - box[other, 4], 0.0)
            c = max(box[other, 2] - z, z - box[other, 5], 0.0)
            if a * a + b * b + c * c > square:
                continue
            a = max(box[other, 3] - x, x - box[other, 0])
            b = max(box[other, 4] - y, y - box[other, 1])
            c = max(box[other, 5] - z, z - box[other, 2])
            if a * a + b * b + c * c <= square:
                within += tree.total[other]
            elif child[other]:
                split[depth], split[depth + 1] = child[other], child[other] + 1
                depth += 2
            else:
                for j in range(tree.first[other], tree.last[other]):
                    if _distance(points, i, j) <= square:
                        within += mass[j]
    return within


@njit
def _leader(leader, i):  # type: ignore[no-untyped-def]
    """First point of the group of i so far; shortens the path to it."""
    while leader[i] != i:
        leader[i] = leader[leader[i]]
        i = leader[i]
    return i


@njit
def _leaders(leader):  # type: ignore[no-untyped-def]
    for i in range(len(leader)):
        leader[i] = leader[leader[i]]  # a leader comes before those it leads
    return leader


@njit
def _join(leader, i, j):  # type: ignore[no-untyped-def]
    a, b = _leader(leader, i), _leader(leader, j)
    leader[max(a, b)] = min(a, b)


@njit
def _clumps(tree, square, leader):  # type: ignore[no-untyped-def]
    """Mask of nodes whose points are all closer than the chord; links the points of each."""
    clump = np.zeros(len(tree.first), np.bool_)
    stack = [0]
    while stack:
        node = stack.pop()
        clump[node] = _farthest(tree.box, node, node) < square
        if clump[node]:
            leader[tree.first[node] : tree.last[node]] = tree.first[node]
        elif tree.child[node]:
            stack.append(tree.child[node])
            stack.append(tree.child[node] + 1)
    return clump


@njit
def _link(tree, square, clump, leader):  # type: ignore[no-untyped-def]
    """Join points and clumps that are closer than the chord."""
    first, last, child, box = tree.first, tree.last, tree.child, tree.box
    stack, undecided = [(0, 0)], []
    while stack:
        a, b = stack.pop()
        if a == b and clump[a] or _nearest(box, a, b) >= square:
            continue
        if clump[a] and clump[b]:
            if _leader(leader, first[a]) != _leader(leader, first[b]):
                if _farthest(box, a, b) < square:
                    _join(leader, first[a], first[b])
                else:
                    undecided.append((a, b))
            continue
        split_a, split_b = child[a] != 0 and not clump[a], child[b] != 0 and not clump[b]
        if not (split_a or split_b):
            # A clump is split only where it meets a leaf that is no clump.
            split_a, split_b = child[a] != 0, child[b] != 0
        if a == b and split_a:
            stack.append((child[a], child[a] + 1))
            stack.append((child[a], child[a]))
            stack.append((child[a] + 1, child[a] + 1))
        elif split_a and (not split_b or _farthest(box, a, a) >= _farthest(box, b, b)):
            stack.append((child[a], b))
            stack.append((child[a] + 1, b))
        elif split_b:
            stack.append((a, child[b]))
            stack.append((a, child[b] + 1))
        else:
            for i in range(first[a], last[a]):
                for j in range(first[b], last[b]):
                    if _distance(tree.points, i, j) < square:
                        _join(leader, i, j)
    # Clumps that boxes link, directly or through others, need no search.
    for a, b in undecided:
        if _leader(leader, first[a]) != _leader(leader, first[b]) and _touch(tree, a, b, square):
            _join(leader, first[a], first[b])


@njit
def _touch(tree, a, b, square):  # type: ignore[no-untyped-def]
    """True if two points of two nodes are closer than the chord."""
    child, box = tree.child, tree.box
    stack = [(a, b)]
    while stack:
        a, b = stack.pop()
        if _nearest(box, a, b) >= square:
            continue
        if _farthest(box, a, b) < square:
            return True
        if child[a] and (not child[b] or _farthest(box, a, a) >= _farthest(box, b, b)):
            stack.append((child[a], b))
            stack.append((child[a] + 1, b))
        elif child[b]:
            stack.append((a, child[b]))
            stack.append((a, child[b] + 1))
        else:
            for i in range(tree.first[a], tree.last[a]):
                for j in range(tree.first[b], tree.last[b]):
                    if _distance(tree.points, i, j) < square:
                        return True
    return False


@njit
def numbered(leader):  # type: ignore[no-untyped-def]
    """Numbers 0, 1, ... for labels below n, in the order of their first occurrence."""
    number, group = np.full(len(leader), -1), np.empty_like(leader)
    count = 0
    for i in range(len(leader)):
        if number[leader[i]] < 0:
            number[leader[i]] = count
            count += 1
        group[i] = number[leader[i]]
    return group
