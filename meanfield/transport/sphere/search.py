"""Smallest c(x_i, y_k) - g_k over all k, for many i: the hard c-transform and its candidates.

Cells are sorted along a path over the sphere, so runs of neighbours are compact. A binary tree of
runs, each with the ball around it and its largest g, excludes runs that are too far away. The
minimum is exact, over all k.

The cost C of moving a unit of mass is a function of the chord s = |x - y|:

    chordal   C_1 = s,                C_2 = s^2,
    geodesic  C_1 = 2 arcsin(s / 2),  C_2 = (2 arcsin(s / 2))^2.

All four are increasing and convex in s, hence convex in (x, y) jointly, as the lower bounds of
`wasserstein` need.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meanfield.arrays import FloatArray, IntArray
from meanfield.engines.compiled import njit
from meanfield.engines.threads import map_chunks

LEAF = 8
_CHUNK = 2048
LARGEST_CHORD = 1.99  # largest chord at which tangents of the geodesic cost are taken


@njit
def squared_distance(chord2: float, geodesic: bool) -> float:
    """Squared distance of two points from their squared chord."""
    if not geodesic:
        return chord2
    if chord2 >= 4.0:
        return np.pi * np.pi
    if chord2 < 1e-8:  # two terms of the series, right to 1e-17
        return chord2 * (1.0 + chord2 / 12.0)
    distance: float = 2.0 * np.arcsin(0.5 * np.sqrt(chord2))
    return distance * distance


@njit
def pair_cost(chord2: float, variance: float, geodesic: bool, p: int) -> float:
    """Root mean square cost (d^2 + variance)^(p/2)."""
    square: float = squared_distance(chord2, geodesic) + variance
    cost: float = square if p == 2 else np.sqrt(square)
    return cost


@njit
def pair_slope(chord: float, variance: float, geodesic: bool, p: int) -> float:
    """Derivative in s of (C_1(s)^2 + variance)^(p/2)."""
    base = min(chord, LARGEST_CHORD) if geodesic else chord
    slope: float = slope_of_chord(base, geodesic, 2)
    if p == 2:
        return slope
    cost = pair_cost(base * base, variance, geodesic, 1)
    return 0.5 * slope / cost if cost > 0.0 else 0.0


@njit
def cost_of_chord(chord: float, geodesic: bool, p: int) -> float:
    """Cost C(s) of a chord s."""
    cost: float = pair_cost(chord * chord, 0.0, geodesic, p)
    return cost


@njit
def slope_of_chord(chord: float, geodesic: bool, p: int) -> float:
    """Derivative C'(s); s < 2 if the cost is geodesic."""
    rate = 1.0
    distance = chord
    if geodesic:
        rate = 1.0 / np.sqrt(1.0 - 0.25 * chord * chord)
        distance = 2.0 * np.arcsin(0.5 * chord)
    return 2.0 * distance * rate if p == 2 else rate


@njit
def slope_variation(near: float, far: float, geodesic: bool, p: int) -> float:
    """Lipschitz constant of the gradient of C(|a|) for near <= |a| <= far < 2: C'' or C' / s."""
    rate = 1.0
    bend = 0.0
    distance = far
    if geodesic:
        rate = 1.0 / np.sqrt(1.0 - 0.25 * far * far)
        bend = 0.25 * far * rate**3
        distance = 2.0 * np.arcsin(0.5 * far)
    if p == 2:
        return 2.0 * (rate * rate + distance * bend)
    return max(rate / near, bend) if near > 0.0 else np.inf


class Tree(NamedTuple):
    """Runs of neighbours: run j has the halves 2 j and 2 j + 1; the last half are leaves."""

    centres: FloatArray  # (2 leaves, 3)
    reaches: FloatArray  # radius of the balls
    least: FloatArray  # smallest variance
    largest: FloatArray  # largest dual
    slopes: FloatArray  # (2 leaves, 3), slopes s of linear fits of the duals
    residuals: FloatArray  # largest g_k - <s, y_k - centre>


class Sites(NamedTuple):
    """Points with variances: moving mass between them costs (d(x, y)^2 + v_x + v_y)^(p/2)."""

    points: FloatArray  # (n, 3)
    variances: FloatArray  # (n,)


def nearest(
    queries: Sites,
    targets: Sites,
    duals: FloatArray,
    count: int,
    limits: FloatArray | None,
    geodesic: bool,
    p: int,
    effort: int = 2**62,
) -> tuple[IntArray, FloatArray]:
    """The `count` targets of smallest cost minus dual, for every query; both sorted by key.

    limits (n,): only smaller values count. effort: leaves that are searched for every query, after
    which the answer may not be the smallest. Returns indices (n, count), -1 where there are no
    more, and values (n, count), or infinity.
    """
    tree = build_tree(targets, duals)
    n = len(queries.points)
    indices = np.full((n, count), -1, np.int64)
    values = np.full((n, count), np.inf)
    if limits is None:
        limits = np.full(n, np.inf)

    def work(chunk: int) -> None:
        part = slice(chunk * _CHUNK, min((chunk + 1) * _CHUNK, n))
        _nearest(
            queries.points[part],
            queries.variances[part],
            limits[part],
            targets.points,
            targets.variances,
            duals,
            tree,
            geodesic,
            p,
            effort,
            indices[part],
            values[part],
        )

    map_chunks(work, -(-n // _CHUNK))
    return indices, values


def build_tree(targets: Sites, duals: FloatArray) -> Tree:
    """Tree of runs over targets sorted by key."""
    leaves = 1
    while leaves * LEAF < len(duals):
        leaves *= 2
    tree = Tree(
        np.zeros((2 * leaves, 3)),
        np.zeros(2 * leaves),
        np.full(2 * leaves, np.inf),
        np.full(2 * leaves, -np.inf),
        np.zeros((2 * leaves, 3)),
        np.full(2 * leaves, -np.inf),
    )
    _fill(targets.points, targets.variances, duals, leaves, tree)
    return tree


@njit
def _fill(
    points: FloatArray, variances: FloatArray, duals: FloatArray, leaves: int, tree: Tree
) -> None:
    count = len(duals)
    size = leaves
    length = LEAF  # length of a run on this level
    while size >= 1:
        for j in range(size):
            start, stop = j * length, min((j + 1) * length, count)
            if start >= stop:
                continue
            node = size + j
            low, high = points[start].copy(), points[start].copy()
            for k in range(start, stop):
                for c in range(3):
                    low[c] = min(low[c], points[k, c])
                    high[c] = max(high[c], points[k, c])
                tree.least[node] = min(tree.least[node], variances[k])
                tree.largest[node] = max(tree.largest[node], duals[k])
            centre = 0.5 * (low + high)
            tree.centres[node] = centre
            tree.slopes[node] = _fit(points[start:stop], duals[start:stop])
            slope = tree.slopes[node]
            reach2 = 0.0
            for k in range(start, stop):
                far = 0.0
                linear = 0.0
                for c in range(3):
                    step = points[k, c] - centre[c]
                    far += step * step
                    linear += slope[c] * step
                reach2 = max(reach2, far)
                tree.residuals[node] = max(tree.residuals[node], duals[k] - linear)
            tree.reaches[node] = np.sqrt(reach2) * (1.0 + 1e-12)
        size //= 2
        length *= 2


@njit
def _fit(points: FloatArray, duals: FloatArray) -> FloatArray:
    """Slope of a linear fit; bounds hold with any slope."""
    n = len(duals)
    mean = np.zeros(4)
    for k in range(n):
        for c in range(3):
            mean[c] += points[k, c] / n
        mean[3] += duals[k] / n
    a = np.zeros((3, 4))  # second moments of points, and of points with duals
    step = np.empty(4)
    for k in range(n):
        for c in range(3):
            step[c] = points[k, c] - mean[c]
        step[3] = duals[k] - mean[3]
        for c in range(3):
            for d in range(4):
                a[c, d] += step[c] * step[d]
    ridge = 1e-3 * (a[0, 0] + a[1, 1] + a[2, 2])  # runs are flat: the fit lacks the normal
    slope = np.zeros(3)
    if ridge == 0.0:
        return slope
    for c in range(3):
        a[c, c] += ridge
    for c in range(3):  # elimination: the matrix is positive definite
        for d in range(c + 1, 3):
            factor = a[d, c] / a[c, c]
            for e in range(c, 4):
                a[d, e] -= factor * a[c, e]
    for c in range(2, -1, -1):
        value = a[c, 3]
        for d in range(c + 1, 3):
            value -= a[c, d] * slope[d]
        slope[c] = value / a[c, c]
    return slope


@njit
def bound_below(
    x: float, y: float, z: float, variance: float, node: int, tree: Tree, geodesic: bool, p: int
) -> float:
    """Lower bound of cost minus dual over a run, for a query at (x, y, z).

    With the distance s to the centre of the ball and its radius R, the cost is at least its value
    at max(s - R, 0), and at least its tangent at the centre, c - <T, y_k - centre>.
    """
    dx = x - tree.centres[node, 0]
    dy = y - tree.centres[node, 1]
    dz = z - tree.centres[node, 2]
    away = np.sqrt(dx * dx + dy * dy + dz * dz)
    reach = tree.reaches[node]
    variance += tree.least[node]
    near = max(0.0, (away - reach) * (1.0 - 1e-14))
    first = pair_cost(near * near, variance, geodesic, p) - tree.largest[node]
    base = min(away, LARGEST_CHORD)
    steep = pair_slope(base, variance, geodesic, p)
    along = steep / away if away > 0.0 else 0.0
    sx = along * dx + tree.slopes[node, 0]
    sy = along * dy + tree.slopes[node, 1]
    sz = along * dz + tree.slopes[node, 2]
    second = pair_cost(base * base, variance, geodesic, p) + steep * (away - base)
    second -= reach * np.sqrt(sx * sx + sy * sy + sz * sz) + tree.residuals[node]
    bound: float = max(first, second) - 1e-15
    return bound


@njit
def _nearest(
    points: FloatArray,
    variances: FloatArray,
    limits: FloatArray,
    targets: FloatArray,
    target_variances: FloatArray,
    duals: FloatArray,
    tree: Tree,
    geodesic: bool,
    p: int,
    effort: int,
    indices: IntArray,
    values: FloatArray,
) -> None:
    leaves = len(tree.reaches) // 2
    count = indices.shape[1]
    stack = np.empty(128, np.int64)
    bounds = np.empty(128)
    pair = np.empty(2)
    for i in range(len(points)):
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        limit = limits[i]
        stack[0] = 1
        bounds[0] = -np.inf
        height = 1
        left = effort
        while height > 0 and left > 0:
            height -= 1
            node = stack[height]
            if bounds[height] >= limit:
                continue
            if node >= leaves:
                left -= 1
                start = (node - leaves) * LEAF
                for k in range(start, min(start + LEAF, len(duals))):
                    chord2 = (
                        (x - targets[k, 0]) ** 2
                        + (y - targets[k, 1]) ** 2
                        + (z - targets[k, 2]) ** 2
                    )
                    value = pair_cost(chord2, variances[i] + target_variances[k], geodesic, p)
                    value -= duals[k]
                    if value < limit:
                        at = count - 1
                        while at > 0 and values[i, at - 1] > value:
                            values[i, at] = values[i, at - 1]
                            indices[i, at] = indices[i, at - 1]
                            at -= 1
                        values[i, at] = value
                        indices[i, at] = k
                        limit = min(limit, values[i, count - 1])
                continue
            for half in range(2):
                son = 2 * node + half
                if tree.largest[son] == -np.inf:
                    pair[half] = np.inf
                else:
                    pair[half] = bound_below(x, y, z, variances[i], son, tree, geodesic, p)
            near = 0 if pair[0] <= pair[1] else 1
            for half in (1 - near, near):
                if pair[half] < limit:
                    stack[height] = 2 * node + half
                    bounds[height] = pair[half]
                    height += 1
