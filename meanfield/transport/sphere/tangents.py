"""Potentials that are feasible on whole cells: the hard c-transform, with slopes.

Potentials are f_i + <u_i, x - b_i> on cell i and g_k + <v_k, y - b_k> on cell k. The cost
c = C(|x - y|) is convex in (x, y), so it lies above its tangent at any difference a:

    c(x, y) - <u_i, x - b_i> - <v_k, y - b_k>
        >= C(|a|) + <T, b_i - b_k - a> - r_i |T - u_i| - r_k |T + v_k| =: c_ik,

with T = C'(|a|) a / |a| and the reaches r. So the potentials are feasible if f_i + g_k <= c_ik, and
the largest feasible f_i is min_k (c_ik - g_k) over all k. c_ik is the best of three tangents: at
a = b_i - b_k, and at the differences to the nearest partners of i and of k.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.engines.compiled import njit
from meanfield.engines.threads import map_chunks
from meanfield.transport.sphere.search import (
    LARGEST_CHORD,
    LEAF,
    Sites,
    Tree,
    bound_below,
    build_tree,
    cost_of_chord,
    slope_of_chord,
    slope_variation,
)

_CHUNK = 2048


class Tangents(NamedTuple):
    """One family of cells, with slopes and tangents for the lower bound."""

    points: FloatArray  # (n, 3), barycentres
    reaches: FloatArray  # (n,)
    slopes: FloatArray  # (n, 3), u_i of queries or -v_k of targets
    normals: FloatArray  # (n, 3), slope T of another tangent
    offsets: FloatArray  # (n,), C(|a|) - <T, a> of that tangent


def transform(
    queries: Tangents, targets: Tangents, duals: FloatArray, geodesic: bool, p: int
) -> FloatArray:
    """Largest potentials of the queries that are feasible with `duals` of the targets."""
    tree = build_tree(Sites(targets.points, np.zeros(len(duals))), duals)
    # A tree over the slopes: a ball around the slopes of a run, and its largest reach.
    bends = build_tree(Sites(targets.slopes, np.zeros(len(duals))), targets.reaches)
    steepest = float(np.sqrt((targets.slopes**2).sum(axis=1).max()))
    n = len(queries.points)
    values = np.empty(n)

    def work(chunk: int) -> None:
        part = slice(chunk * _CHUNK, min((chunk + 1) * _CHUNK, n))
        _transform(
            *(array[part] for array in queries),
            *targets,
            duals,
            tree,
            bends,
            steepest,
            geodesic,
            p,
            values[part],
        )

    map_chunks(work, -(-n // _CHUNK))
    return values


@njit
def _bound(
    dx: float,
    dy: float,
    dz: float,
    reach: float,
    slope: FloatArray,
    other_reach: float,
    other_slope: FloatArray,
    normal: FloatArray,
    offset: float,
    other_normal: FloatArray,
    other_offset: float,
    geodesic: bool,
    p: int,
) -> float:
    """Value of c_ik: the best of three tangents."""
    chord = np.sqrt(dx * dx + dy * dy + dz * dz)
    if reach == 0.0 and other_reach == 0.0:
        exact: float = cost_of_chord(chord, geodesic, p)
        return exact
    base = min(chord, LARGEST_CHORD)
    steep = slope_of_chord(base, geodesic, p)
    along = steep / chord if chord > 0.0 else 0.0
    best: float = cost_of_chord(base, geodesic, p) + steep * (chord - base)
    best -= _misfit(along * dx, along * dy, along * dz, reach, slope, other_reach, other_slope)
    value = offset + normal[0] * dx + normal[1] * dy + normal[2] * dz
    if value > best:
        value -= _misfit(normal[0], normal[1], normal[2], reach, slope, other_reach, other_slope)
        best = max(best, value)
    value = other_offset + other_normal[0] * dx + other_normal[1] * dy + other_normal[2] * dz
    if value > best:
        value -= _misfit(
            other_normal[0],
            other_normal[1],
            other_normal[2],
            reach,
            slope,
            other_reach,
            other_slope,
        )
        best = max(best, value)
    return best


@njit
def _misfit(
    tx: float,
    ty: float,
    tz: float,
    reach: float,
    slope: FloatArray,
    other_reach: float,
    other_slope: FloatArray,
) -> float:
    """r_i |T - u_i| + r_k |T + v_k|."""
    total = 0.0
    if reach > 0.0:
        total += reach * _length(tx - slope[0], ty - slope[1], tz - slope[2])
    if other_reach > 0.0:
        total += other_reach * _length(
            tx - other_slope[0], ty - other_slope[1], tz - other_slope[2]
        )
    return total


@njit
def _length(x: float, y: float, z: float) -> float:
    length: float = np.sqrt(x * x + y * y + z * z)
    return length


@njit
def _transform(
    points: FloatArray,
    reaches: FloatArray,
    slopes: FloatArray,
    normals: FloatArray,
    offsets: FloatArray,
    targets: FloatArray,
    target_reaches: FloatArray,
    target_slopes: FloatArray,
    target_normals: FloatArray,
    target_offsets: FloatArray,
    duals: FloatArray,
    tree: Tree,
    bends: Tree,
    steepest: float,
    geodesic: bool,
    p: int,
    values: FloatArray,
) -> None:
    leaves = len(tree.reaches) // 2
    stack = np.empty(128, np.int64)
    bounds = np.empty(128)
    pair = np.empty(2)
    for i in range(len(points)):
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        reach, slope, normal, offset = reaches[i], slopes[i], normals[i], offsets[i]
        own = _length(slope[0], slope[1], slope[2])
        own_misfit = reach * _length(
            normal[0] - slope[0], normal[1] - slope[1], normal[2] - slope[2]
        )
        limit = np.inf
        stack[0] = 1
        bounds[0] = -np.inf
        height = 1
        while height > 0:
            height -= 1
            node = stack[height]
            if bounds[height] >= limit:
                continue
            if node >= leaves:
                start = (node - leaves) * LEAF
                for k in range(start, min(start + LEAF, len(duals))):
                    value = _bound(
                        x - targets[k, 0],
                        y - targets[k, 1],
                        z - targets[k, 2],
                        reaches[i],
                        slopes[i],
                        target_reaches[k],
                        target_slopes[k],
                        normals[i],
                        offsets[i],
                        target_normals[k],
                        target_offsets[k],
                        geodesic,
                        p,
                    )
                    limit = min(limit, value - duals[k])
                continue
            for half in range(2):
                son = 2 * node + half
                if tree.largest[son] == -np.inf:
                    pair[half] = np.inf
                    continue
                bound = bound_below(x, y, z, 0.0, son, tree, geodesic, p)
                wide = bends.largest[son]
                if wide > 0.0 or reach > 0.0:
                    dx = x - tree.centres[son, 0]
                    dy = y - tree.centres[son, 1]
                    dz = z - tree.centres[son, 2]
                    ball = tree.reaches[son]
                    away = _length(dx, dy, dz)
                    near = away - ball
                    far = min(away + ball, LARGEST_CHORD)
                    steep = slope_of_chord(far, geodesic, p)
                    misfit, others = steep + own, steep + steepest
                    if near > 0.0 and away < LARGEST_CHORD:
                        # Slope at the centre of the run, and its largest change in the ball.
                        along = slope_of_chord(away, geodesic, p) / away
                        tx, ty, tz = along * dx, along * dy, along * dz
                        change = ball * slope_variation(near, far, geodesic, p)
                        aside = _length(tx - slope[0], ty - slope[1], tz - slope[2])
                        misfit = min(misfit, aside + change)
                        aside = bends.reaches[son] + _length(
                            tx - bends.centres[son, 0],
                            ty - bends.centres[son, 1],
                            tz - bends.centres[son, 2],
                        )
                        others = min(others, aside + change)
                    bound -= reach * misfit + wide * others
                    if wide == 0.0:  # the query's own tangent has hardly a misfit
                        linear = offset + normal[0] * dx + normal[1] * dy + normal[2] * dz
                        linear -= tree.residuals[son] + ball * _length(
                            normal[0] + tree.slopes[son, 0],
                            normal[1] + tree.slopes[son, 1],
                            normal[2] + tree.slopes[son, 2],
                        )
                        bound = max(bound, linear - own_misfit)
                pair[half] = bound
            near_son = 0 if pair[0] <= pair[1] else 1
            for half in (1 - near_son, near_son):
                if pair[half] < limit:
                    stack[height] = 2 * node + half
                    bounds[height] = pair[half]
                    height += 1
        values[i] = limit
