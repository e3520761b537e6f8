"""Network simplex for sparse transport problems that start from a plan.

    minimise sum_a cost_a flow_a,   flow >= 0,
    sum of flows out of source i = supply_i,   sum of flows into sink k = demand_k,

over a list of arcs a = (source, sink). A basis is a spanning tree of sources, sinks and one
root; the duals f of the sources and g of the sinks are determined by f_i + g_k = cost on the
arcs of the tree. An arc with f_i + g_k > cost enters, flow is sent round the cycle it closes, and
the arc that is emptied first leaves; among several, the last of the cycle (a strongly feasible
tree cannot cycle) [1]_. Flows are integers: nothing is rounded, ties are ties.

Where the plan falls into several trees, each hangs from the root by an arc that can never carry
flow, at the dual that was given for it.

.. [1] Ahuja, Magnanti, Orlin, Network Flows, Prentice Hall 1993, chapter 11.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray, IntArray
from meanfield.engines.compiled import njit

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

    source, sink, cost (A,): arcs; duals (n + m,): to hang the trees of that forest by.
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
    """Change the basis until f_i + g_k <= cost + tolerance on all arcs; returns the pivots."""
    dual = basis.dual
    arcs = len(source)
    block = max(64, int(np.sqrt(arcs)))
    pivots = 0
    position = 0
    scanned = 0
    while scanned < arcs:
        # The most violated arc of a block; the next block if it has none.
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
    """Send flow round the cycle that the arc from i to k closes, and change the tree."""
    parent, arc, flow, depth, child, after, _, dual = basis
    # Flow goes out of sources: it falls on arcs above sources on the side of i, and on arcs above
    # sinks on the side of k.
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
    # What hangs below the leaving arc is hung up by the entering one: the path between them is
    # turned round.
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
    """Duals of the tree afresh: shifts were added up along the way."""
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
