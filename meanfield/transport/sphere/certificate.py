"""Bounds of the transport cost that hold whatever the masses do inside their cells.

Above. Mass that goes from cell i to cell k is spread over both, independently. With the variance s^2
about the direction of the barycentre, and rho its largest distance from there,

    E d^2 <= d_ik^2 + s_i^2 + s_k^2 + 2 (d_ik + rho_k) e_i + 2 d_ik e_k,    e = s^2 rho / 6,

by Toponogov's comparison (squared distances on the sphere grow no faster than in the plane; e bounds
the mean of the logarithm, that of the tangential part being 0), and E d <= (E d^2)^(1/2). For the
chord E |x - y|^2 = |b_i - b_k|^2 + (1 - |b_i|^2) + (1 - |b_k|^2), exactly.

Below. Potentials f_i + <u_i, x - b_i> on cell i and g_k + <v_k, y - b_k> on cell k have the integrals
f_i and g_k over unit masses, because b is the barycentre. As c = C(|x - y|) is convex in
(x, y), it lies above its tangent at any difference a, and a = b_i - b_k among others gives

    c(x, y) - <u_i, x - b_i> - <v_k, y - b_k>
        >= C(|a|) + <T, b_i - b_k - a> - r_i |T - u_i| - r_k |T + v_k| =: c_ik,    T = C'(|a|) a / |a|,

with reaches r. So the potentials are feasible if f_i + g_k <= c_ik, and f_i = min_k (c_ik - g_k) is
the largest that is: the hard c-transform, over all k. Slopes u, v are means of T over the plan.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray
from meanfield.compute.compiled import njit
from meanfield.compute.threads import map_chunks
from meanfield.transport.sphere.cells import Cells
from meanfield.transport.sphere.costs import (
    LARGEST_CHORD,
    cost_of_chord,
    slope_of_chord,
)
from meanfield.transport.sphere.plans import Plan, farthest_chord, sites
from meanfield.transport.sphere.search import LEAF, Sites, build_tree

IntArray = npt.NDArray[np.int64]

_CHUNK = 2048


class Tangents(NamedTuple):
    """One family of cells as the lower bound sees it.

    Signs are those of the first family: for the second, `slopes` holds -v_k.
    """

    points: FloatArray  # (n, 3), barycentres
    reaches: FloatArray  # (n,)
    slopes: FloatArray  # (n, 3), u_i or -v_k
    normals: FloatArray  # (n, 3), slope T of a tangent that may be used instead of the one at a
    offsets: FloatArray  # (n,), C(|a|) - <T, a> of that tangent


def upper_bound(plan: Plan, first: Cells, second: Cells, geodesic: bool, p: int) -> float:
    """Cost of the plan, W_p^p from above."""
    x, y = sites(first, geodesic), sites(second, geodesic)
    i, k = plan.source, plan.sink
    variance = x.variances[i] + y.variances[k]
    chord2 = np.sum((x.points[i] - y.points[k]) ** 2, axis=1)
    if geodesic:
        distance = 2.0 * np.arcsin(np.minimum(0.5 * np.sqrt(chord2), 1.0))
        rho = [2.0 * np.arcsin(0.5 * farthest_chord(cells)) for cells in (first, second)]
        e = [x.variances * rho[0] / 6.0, y.variances * rho[1] / 6.0]
        square = distance**2 + variance
        square += 2.0 * ((distance + rho[1][k]) * e[0][i] + distance * e[1][k])
    else:
        square = chord2 + variance
    cost = square if p == 2 else np.sqrt(square)
    return float(cost @ plan.flow) / float(plan.flow.sum())


def lower_bound(plan: Plan, first: Cells, second: Cells, geodesic: bool, p: int) -> float:
    """Value of feasible potentials made from the duals of the plan, W_p^p from below."""
    x, y = tangents(plan, first, second, geodesic, p)
    g = plan.g
    if p == 2:
        g = g - sites(second, geodesic).variances
    f = transform(x, y, g, geodesic, p)
    if np.any(first.reaches) or np.any(second.reaches):
        g = transform(_turned(y), _turned(x), f, geodesic, p)
        f = transform(x, y, g, geodesic, p)
    total = float(first.masses.sum())
    return float(first.masses @ f) / total + float(second.masses @ g) / total


def tangents(
    plan: Plan, first: Cells, second: Cells, geodesic: bool, p: int
) -> tuple[Tangents, Tangents]:
    """Slopes of the potentials, from the plan."""
    difference = first.barycentres[plan.source] - second.barycentres[plan.sink]
    if p == 1:
        chord = np.linalg.norm(difference, axis=1)
        away = chord > 0.0
        rate = np.ones_like(chord)
        if geodesic:
            rate = 1.0 / np.sqrt(1.0 - 0.25 * np.minimum(chord, LARGEST_CHORD) ** 2)
        difference[away] *= (rate[away] / chord[away])[:, None]
    sides = []
    for cells, index in ((first, plan.source), (second, plan.sink)):
        mean = np.empty((len(cells), 3))
        weight = np.bincount(index, plan.flow, len(cells))
        for c in range(3):
            mean[:, c] = np.bincount(index, plan.flow * difference[:, c], len(cells)) / weight
        length = np.linalg.norm(mean, axis=1)
        if p == 1:
            slopes = mean
            normals = mean / np.maximum(length, 1.0)[:, None]
            offsets = np.zeros(len(cells))
        else:
            base = np.minimum(length, LARGEST_CHORD)
            distance = 2.0 * np.arcsin(0.5 * base) if geodesic else base
            rate = 1.0 / np.sqrt(1.0 - 0.25 * base**2) if geodesic else np.ones_like(base)
            steep = 2.0 * distance * rate
            slopes = mean * (steep / np.where(length > 0.0, length, 1.0))[:, None]
            normals = slopes
            offsets = distance**2 - steep * base
        sides.append(Tangents(cells.barycentres, cells.reaches, slopes, normals, offsets))
    return sides[0], sides[1]


def transform(
    queries: Tangents, targets: Tangents, duals: FloatArray, geodesic: bool, p: int
) -> FloatArray:
    """Largest potential of the queries that is feasible with `duals` at the targets."""
    # The tree's smallest variance holds nothing here; reaches and slopes have their own bounds.
    tree = build_tree(Sites(targets.points, -targets.reaches), duals)
    steepest = float(np.sqrt((targets.slopes**2).sum(axis=1).max()))
    n = len(queries.points)
    values = np.empty(n)

    def work(chunk: int) -> None:
        part = slice(chunk * _CHUNK, min((chunk + 1) * _CHUNK, n))
        _transform(
            *(array[part] for array in queries),
            *targets,
            duals,
            *tree,
            steepest,
            geodesic,
            p,
            values[part],
        )

    map_chunks(work, -(-n // _CHUNK))
    return values


def _turned(tangents: Tangents) -> Tangents:
    """Seen from the other family: differences and slopes change their signs."""
    return tangents._replace(slopes=-tangents.slopes, normals=-tangents.normals)


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
        return cost_of_chord(chord, geodesic, p)
    base = min(chord, LARGEST_CHORD)
    steep = slope_of_chord(base, geodesic, p)
    along = steep / chord if chord > 0.0 else 0.0
    best = cost_of_chord(base, geodesic, p) + steep * (chord - base)
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
        total += reach * np.sqrt((tx - slope[0]) ** 2 + (ty - slope[1]) ** 2 + (tz - slope[2]) ** 2)
    if other_reach > 0.0:
        total += other_reach * np.sqrt(
            (tx - other_slope[0]) ** 2 + (ty - other_slope[1]) ** 2 + (tz - other_slope[2]) ** 2
        )
    return total


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
    centres: FloatArray,
    balls: FloatArray,
    least: FloatArray,
    largest: FloatArray,
    steepest: float,
    geodesic: bool,
    p: int,
    values: FloatArray,
) -> None:
    leaves = len(balls) // 2
    stack = np.empty(128, np.int64)
    bounds = np.empty(128)
    pair = np.empty(2)
    for i in range(len(points)):
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        own = np.sqrt(slopes[i, 0] ** 2 + slopes[i, 1] ** 2 + slopes[i, 2] ** 2)
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
                if largest[son] == -np.inf:
                    pair[half] = np.inf
                    continue
                away = np.sqrt(
                    (x - centres[son, 0]) ** 2
                    + (y - centres[son, 1]) ** 2
                    + (z - centres[son, 2]) ** 2
                )
                near = max(0.0, (away - balls[son]) * (1.0 - 1e-14))
                bound = cost_of_chord(min(near, LARGEST_CHORD), geodesic, p) - largest[son]
                wide = -least[son]  # largest reach below
                if wide > 0.0 or reaches[i] > 0.0:
                    far = min(away + balls[son], LARGEST_CHORD)
                    steep = slope_of_chord(far, geodesic, p)
                    bound -= reaches[i] * (steep + own) + wide * (steep + steepest)
                pair[half] = bound
            near_son = 0 if pair[0] <= pair[1] else 1
            for half in (1 - near_son, near_son):
                if pair[half] < limit:
                    stack[height] = 2 * node + half
                    bounds[height] = pair[half]
                    height += 1
        values[i] = limit
