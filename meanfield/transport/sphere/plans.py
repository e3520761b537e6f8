"""Optimal plans between cells, from coarse to fine.

The north-west rule divides a plan between large cells among their parts, along the path that sorts
them. The result is a forest, from which the network simplex starts. Its first arcs are the best by
the duals of the large cells. Then a search prices all pairs, adds those that improve the plan, and
the simplex goes on: column generation, which ends at the optimum over all pairs.

The network simplex solves

    minimise sum_a cost_a flow_a,   flow >= 0,
    sum of flows out of source i = supply_i,   sum of flows into sink k = demand_k,

over a list of arcs a = (source, sink). A basis is a spanning tree of sources, sinks and one
root; f_i + g_k = cost on its arcs determines the duals f of the sources and g of the sinks. An arc
with f_i + g_k > cost enters, flow is sent round the cycle it closes, and the arc that empties first
leaves; among several, the last of the cycle (a strongly feasible tree cannot cycle) [1]_. Flows are
integers, so ties are exact.

A plan of several trees hangs each from the root, by an arc without flow, at its given dual.

.. [1] Ahuja, Magnanti, Orlin, Network Flows, Prentice Hall 1993, chapter 11.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray, IntArray
from meanfield.engines.compiled import njit
from meanfield.transport.sphere.partition import Cells
from meanfield.transport.sphere.search import Sites, nearest, pair_cost

_CANDIDATES = 6
_ADDED = 4  # arcs a round for every cell
_EFFORT = 48  # leaves searched for candidates
_COST_NOISE = 1e-14  # rounding of reduced costs, relative to pi^p


class Plan(NamedTuple):
    """Flows between two families of cells, and duals f_i + g_k <= c_ik, equal where mass flows."""

    source: IntArray  # (S,)
    sink: IntArray
    flow: IntArray
    f: FloatArray  # (n,)
    g: FloatArray  # (m,)


def sites(cells: Cells, geodesic: bool) -> Sites:
    """Positions and variances of cells, whose costs are upper bounds to first order.

    For the chord the mean of |x - y|^2 is exactly |b_i - b_k|^2 + v_i + v_k with v = 1 - |b|^2.
    Geodesic distances start at the direction of b: with chords c <= h to it,
    v = (rho(h) / h)^2 (2 - 2 |b|), where 2 - 2 |b| is the mean of c^2.
    """
    lengths = cells.lengths
    if not geodesic:
        return Sites(cells.barycentres, (1.0 - lengths) * (1.0 + lengths))
    chords = farthest_chord(cells)
    ratio = np.ones(len(cells))
    wide = chords > 1e-9
    ratio[wide] = 2.0 * np.arcsin(0.5 * chords[wide]) / chords[wide]
    return Sites(cells.directions, ratio**2 * 2.0 * (1.0 - lengths))


def farthest_chord(cells: Cells) -> FloatArray:
    """Bound of the chords from the direction of the barycentre to the points of the cell."""
    return np.minimum(cells.reaches + (1.0 - cells.lengths), 2.0)


def first_plan(first: Cells, second: Cells) -> Plan:
    """Plan by the north-west rule, with duals 0."""
    source, sink, flow = _north_west(first.masses, second.masses)
    return Plan(source, sink, flow, np.zeros(len(first)), np.zeros(len(second)))


def divided(
    plan: Plan, first: Cells, second: Cells, first_starts: IntArray, second_starts: IntArray
) -> Plan:
    """Plan between the parts of cells, with their duals; part j has the last start <= j."""
    order = np.lexsort((plan.sink, plan.source))
    source, piece, flow = _north_west(first.masses, plan.flow[order])
    target = plan.sink[order][piece]
    order = np.lexsort((source, target))
    piece, sink, flow = _north_west(flow[order], second.masses)
    f = np.repeat(plan.f, np.diff(np.append(first_starts, len(first))))
    g = np.repeat(plan.g, np.diff(np.append(second_starts, len(second))))
    return Plan(source[order][piece], sink, flow, f, g)


def optimal(plan: Plan, first: Sites, second: Sites, geodesic: bool, p: int, gap: float) -> Plan:
    """Plan that is optimal over all pairs up to about `gap`; with 0, up to rounding."""
    n, m = len(first.points), len(second.points)
    effort = _EFFORT
    thorough = gap <= 0.0
    gap = max(gap, _COST_NOISE * np.pi**p)
    # One transform fits the duals of the larger cells to these.
    rows, values = nearest(first, second, plan.g, _CANDIDATES, None, geodesic, p, effort)
    f = values[:, 0].copy()
    columns, _ = nearest(second, first, f, _CANDIDATES, None, geodesic, p, effort)
    pairs = np.unique(np.concatenate((_pairs(rows, m), _pairs(columns, m, True))))
    pairs = np.concatenate((plan.source * m + plan.sink, pairs))
    source, sink = pairs // m, pairs % m
    cost = pair_costs(first, second, source, sink, geodesic, p)
    basis = hang(n, m, source, sink, cost, plan.flow, np.concatenate((f, plan.g)))
    weights = np.bincount(plan.source, plan.flow, n) / float(plan.flow.sum())
    while True:
        improve(basis, n, source, sink, cost, gap)
        f, g = basis.dual[:n].copy(), basis.dual[n:-1].copy()
        rows, values = nearest(first, second, g, _ADDED, f - gap, geodesic, p, effort)
        excess = np.where(rows[:, 0] >= 0, f - values[:, 0], 0.0)
        if excess @ weights <= gap:
            if thorough and effort == _EFFORT:
                effort = 2**62
                continue
            break
        columns, _ = nearest(second, first, f, _ADDED, g - gap, geodesic, p, effort)
        added = np.unique(np.concatenate((_pairs(rows, m), _pairs(columns, m, True))))
        source = np.concatenate((source, added // m))
        sink = np.concatenate((sink, added % m))
        cost = np.append(cost, pair_costs(first, second, added // m, added % m, geodesic, p))
    carrying = np.flatnonzero(basis.flow[:-1])
    arcs = basis.arc[carrying]
    return Plan(source[arcs], sink[arcs], basis.flow[carrying], f, g)


def transposed(plan: Plan) -> Plan:
    """Plan with sources and sinks exchanged."""
    return Plan(plan.sink, plan.source, plan.flow, plan.g, plan.f)


def split(
    plan: Plan,
    first: Sites,
    parts: Sites,
    masses: IntArray,
    starts: IntArray,
    geodesic: bool,
    p: int,
    gap: float,
) -> Plan:
    """Divide the sinks of a plan into parts, at the least cost that keeps its flows.

    Sink K has the parts from starts[K] on; one simplex solves many small problems side by side.
    """
    order = np.lexsort((plan.source, plan.sink))
    source, flow = plan.source[order], plan.flow[order]
    edges = np.searchsorted(plan.sink[order], np.arange(len(starts) + 1))
    ends = np.append(starts, len(masses))
    edge, part, start = _north_west(flow, masses)
    all_edges, all_parts = _products(edges, ends)
    edge, part = np.concatenate((edge, all_edges)), np.concatenate((part, all_parts))
    cost = pair_costs(first, parts, source[edge], part, geodesic, p)
    basis = hang(len(flow), len(masses), edge, part, cost, start, np.zeros(len(flow) + len(masses)))
    improve(basis, len(flow), edge, part, cost, gap)
    carrying = np.flatnonzero(basis.flow[:-1])
    arcs = basis.arc[carrying]
    return Plan(source[edge[arcs]], part[arcs], basis.flow[carrying], plan.f, np.zeros(len(masses)))


@njit
def _products(edges: IntArray, ends: IntArray) -> tuple[IntArray, IntArray]:
    """All pairs of an edge and a part of its sink."""
    size = 0
    for k in range(len(edges) - 1):
        size += (edges[k + 1] - edges[k]) * (ends[k + 1] - ends[k])
    edge = np.empty(size, np.int64)
    part = np.empty(size, np.int64)
    count = 0
    for k in range(len(edges) - 1):
        for e in range(edges[k], edges[k + 1]):
            for l in range(ends[k], ends[k + 1]):
                edge[count] = e
                part[count] = l
                count += 1
    return edge, part


def _pairs(neighbours: IntArray, sinks: int, swapped: bool = False) -> IntArray:
    """Numbers i `sinks` + k of the pairs (i, k) in a table of neighbours."""
    owner = np.repeat(np.arange(len(neighbours)), neighbours.shape[1])
    other = neighbours.ravel()
    owner, other = owner[other >= 0], other[other >= 0]
    return other * sinks + owner if swapped else owner * sinks + other


@njit
def pair_costs(
    first: Sites, second: Sites, source: IntArray, sink: IntArray, geodesic: bool, p: int
) -> FloatArray:
    """Price of every pair, shape (A,)."""
    costs = np.empty(len(source))
    for a in range(len(source)):
        i, k = source[a], sink[a]
        chord2 = 0.0
        for c in range(3):
            chord2 += (first.points[i, c] - second.points[k, c]) ** 2
        costs[a] = pair_cost(chord2, first.variances[i] + second.variances[k], geodesic, p)
    return costs


@njit
def _north_west(first: IntArray, second: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Couple two lists of positive masses of the same sum, in their order."""
    size = len(first) + len(second)
    source = np.empty(size, np.int64)
    sink = np.empty(size, np.int64)
    flow = np.empty(size, np.int64)
    i = k = count = 0
    left, right = first[0], second[0]
    while True:
        amount = min(left, right)
        source[count], sink[count], flow[count] = i, k, amount
        count += 1
        left -= amount
        right -= amount
        if left == 0:
            i += 1
            if i == len(first):
                break
            left = first[i]
        if right == 0:
            k += 1
            right = second[k]
    return source[:count], sink[:count], flow[:count]


NodeArray = npt.NDArray[np.int32]

_NONE = -1
_UNBOUNDED = np.int64(2**62)


class Basis(NamedTuple):
    """Spanning tree of sources 0 to n - 1, sinks n to n + m - 1 and the root n + m.

    `arc` and `flow` belong to the arc from a node to its parent.
    """

    parent: NodeArray
    arc: IntArray
    flow: IntArray
    depth: NodeArray
    child: NodeArray
    after: NodeArray
    before: NodeArray
    dual: FloatArray


@njit
def hang(
    sources: int,
    sinks: int,
    source: IntArray,
    sink: IntArray,
    cost: FloatArray,
    start: IntArray,
    duals: FloatArray,
) -> Basis:
    """Basis of a plan: positive flows start (S,) on the first S arcs, which form a forest.

    source, sink, cost (A,): arcs. duals (n + m,): a tree hangs at the dual of its first source.
    """
    nodes = sources + sinks
    basis = Basis(
        np.full(nodes + 1, _NONE, np.int32),
        np.full(nodes + 1, _NONE, np.int64),
        np.zeros(nodes + 1, np.int64),
        np.zeros(nodes + 1, np.int32),
        np.full(nodes + 1, _NONE, np.int32),
        np.full(nodes + 1, _NONE, np.int32),
        np.full(nodes + 1, _NONE, np.int32),
        np.append(duals, 0.0),
    )
    parent, depth, dual = basis.parent, basis.depth, basis.dual
    first = np.zeros(nodes + 2, np.int64)  # incident arcs, node by node
    for a in range(len(start)):
        first[source[a] + 2] += 1
        first[sources + sink[a] + 2] += 1
    first = np.cumsum(first)
    incident = np.empty(2 * len(start), np.int64)
    for a in range(len(start)):
        for u in (source[a], sources + sink[a]):
            incident[first[u + 1]] = a
            first[u + 1] += 1
    queue = np.empty(nodes, np.int64)
    for top in range(sources):
        if parent[top] != _NONE:
            continue
        parent[top] = nodes
        depth[top] = 1
        _attach(top, nodes, basis)
        queue[0] = top
        at, count = 0, 1
        while at < count:
            u = queue[at]
            at += 1
            for position in range(first[u], first[u + 1]):
                a = incident[position]
                v = sources + sink[a] if u < sources else source[a]
                if parent[v] == _NONE:
                    parent[v] = u
                    basis.arc[v] = a
                    basis.flow[v] = start[a]
                    depth[v] = depth[u] + 1
                    dual[v] = cost[a] - dual[u]
                    _attach(v, u, basis)
                    queue[count] = v
                    count += 1
    return basis


@njit
def improve(
    basis: Basis,
    sources: int,
    source: IntArray,
    sink: IntArray,
    cost: FloatArray,
    tolerance: float,
) -> int:
    """Pivot until f_i + g_k <= cost + tolerance on all arcs; return the number of pivots."""
    dual = basis.dual
    arcs = len(source)
    block = max(64, int(np.sqrt(arcs)))
    pivots = 0
    position = 0
    scanned = 0
    while scanned < arcs:
        # Most violated arc of a block; if there is none, the next block.
        best = -tolerance
        entering = _NONE
        stop = min(block, arcs - scanned)
        for _ in range(stop):
            reduced = cost[position] - dual[source[position]] - dual[sources + sink[position]]
            if reduced < best:
                best = reduced
                entering = position
            position += 1
            if position == arcs:
                position = 0
        scanned += stop
        if entering != _NONE:
            scanned = 0
            pivots += 1
            i, k = source[entering], sources + sink[entering]
            _pivot(basis, sources, entering, i, k, best)
    _refresh(basis, sources, cost)
    return pivots


@njit
def _attach(u: int, to: int, basis: Basis) -> None:
    following = basis.child[to]
    basis.child[to] = u
    basis.after[u] = following
    basis.before[u] = _NONE
    if following != _NONE:
        basis.before[following] = u


@njit
def _detach(u: int, basis: Basis) -> None:
    preceding, following = basis.before[u], basis.after[u]
    if preceding == _NONE:
        basis.child[basis.parent[u]] = following
    else:
        basis.after[preceding] = following
    if following != _NONE:
        basis.before[following] = preceding


@njit
def _pivot(basis: Basis, sources: int, entering: int, i: int, k: int, reduced: float) -> None:
    """Send flow round the cycle that the arc from i to k closes; exchange arcs of the tree."""
    parent, arc, flow, depth, child, after, _, dual = basis
    # Flow leaves sources. So it decreases on arcs above sources on the side of i, and on arcs
    # above sinks on the side of k.
    least_i = least_k = _UNBOUNDED
    out_i = out_k = _NONE
    u, v = i, k
    while u != v:
        if depth[u] >= depth[v]:
            if u < sources and flow[u] < least_i:
                least_i = flow[u]
                out_i = u
            u = parent[u]
        else:
            if v >= sources and flow[v] <= least_k:
                least_k = flow[v]
                out_k = v
            v = parent[v]
    join = u
    amount = min(least_i, least_k)
    if amount > 0:
        u = i
        while u != join:
            flow[u] += -amount if u < sources else amount
            u = parent[u]
        v = k
        while v != join:
            flow[v] += amount if v < sources else -amount
            v = parent[v]
    if least_k <= least_i:
        last, top, v = out_k, k, i
    else:
        last, top, v = out_i, i, k
    # The subtree below the leaving arc now hangs from the entering one: reverse the path between.
    u = top
    new_arc, new_flow = entering, amount
    while True:
        old_parent, old_arc, old_flow = parent[u], arc[u], flow[u]
        _detach(u, basis)
        parent[u], arc[u], flow[u] = v, new_arc, new_flow
        _attach(u, v, basis)
        if u == last:
            break
        new_arc, new_flow = old_arc, old_flow
        u, v = old_parent, u
    shift = reduced if top < sources else -reduced
    u = top
    while True:
        depth[u] = depth[parent[u]] + 1
        dual[u] += shift if u < sources else -shift
        if child[u] != _NONE:
            u = child[u]
            continue
        while u != top and after[u] == _NONE:
            u = parent[u]
        if u == top:
            break
        u = after[u]


@njit
def _refresh(basis: Basis, sources: int, cost: FloatArray) -> None:
    """Compute the duals of the tree anew, without the rounding of added shifts."""
    parent, arc, _, _, child, after, _, dual = basis
    root = len(parent) - 1
    u = child[root]
    while True:
        if parent[u] != root:
            dual[u] = cost[arc[u]] - dual[parent[u]]
        if child[u] != _NONE:
            u = child[u]
            continue
        while u != root and after[u] == _NONE:
            u = parent[u]
        if u == root:
            break
        u = after[u]
