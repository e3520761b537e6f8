"""Optimal plans between cells, from coarse to fine.

A plan between large cells is divided among their parts (north-west rule, along the path that sorts
them), which leaves a forest to start the network simplex from. The arcs it may use are the most
promising by the duals of the large cells; then all pairs are priced by a search, those that would
improve the plan are added, and the simplex goes on: column generation, which ends at the
optimum over all pairs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meanfield.arrays import FloatArray, IntArray
from meanfield.engines.compiled import njit
from meanfield.transport.sphere.cells import Cells
from meanfield.transport.sphere.costs import pair_cost
from meanfield.transport.sphere.search import Sites, nearest
from meanfield.transport.sphere.simplex import hang, improve

_CANDIDATES = 6
_ADDED = 4  # arcs a round for every set
_EFFORT = 48  # runs searched for candidates
_COST_NOISE = 1e-14  # of reduced costs, which are differences of numbers up to pi^2


class Plan(NamedTuple):
    """Flows between two families of cells, and duals: f_i + g_k <= c_ik, = where flow is."""

    source: IntArray  # (S,)
    sink: IntArray
    flow: IntArray
    f: FloatArray  # (n,)
    g: FloatArray  # (m,)


def sites(cells: Cells, geodesic: bool) -> Sites:
    """Positions and variances by which moving the cells is priced: an upper bound to first order.

    For the chord the mean of |x - y|^2 over x and y is exact: |b_i - b_k|^2 + v_i + v_k with
    v = 1 - |b|^2. Geodesic distances are to the direction of b: with chords c <= h to it,
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
    """Any plan, with no duals."""
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
    """Improve a plan until it is optimal over all pairs but for about `gap`: 0 is to rounding."""
    n, m = len(first.points), len(second.points)
    effort = _EFFORT
    thorough = gap <= 0.0
    gap = max(gap, _COST_NOISE * np.pi**p)
    # One transform makes duals that were handed down fit their places.
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
    """Seen from the other side."""
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

    Sink K has the parts from starts[K] on; the simplex couples many small problems side by side.
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
    """Numbers i m + k of the pairs (i, k) in a table of neighbours."""
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
    """Couple two lists of positive masses with the same sum in the order they come in."""
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
