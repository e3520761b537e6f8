"""The bracket of a distance: plans from coarse to fine, each with its certificate.

The certificate bounds the cost whatever the masses do inside their cells.

Above. Mass that goes from cell i to cell k is spread over both, independently. With the variance
s^2 about the direction of the barycentre, and rho its largest distance from there,

    E d^2 <= d_ik^2 + s_i^2 + s_k^2 + 2 (d_ik + rho_k) e_i + 2 d_ik e_k,    e = s^2 rho / 6,

by Toponogov's comparison: squared distances on the sphere grow no faster than in the plane. e
bounds the mean of the logarithm, that of the tangential part being 0. E d <= (E d^2)^(1/2). For the
chord E |x - y|^2 = |b_i - b_k|^2 + (1 - |b_i|^2) + (1 - |b_k|^2), exactly.

Below. Potentials f_i + <u_i, x - b_i> on cell i and g_k + <v_k, y - b_k> on cell k have the means
f_i and g_k: b is the barycentre. `tangents` finds the largest f that is feasible with g.
"""

from __future__ import annotations

import numpy as np

from meanfield.arrays import EPS, FloatArray, IntArray
from meanfield.transport.bracket import Bracket
from meanfield.transport.sphere.cells import DEPTH, Cells, grouped, level_starts
from meanfield.transport.sphere.plans import (
    Plan,
    divided,
    farthest_chord,
    first_plan,
    optimal,
    pair_costs,
    sites,
    split,
    transposed,
)
from meanfield.transport.sphere.search import LARGEST_CHORD, Sites, nearest
from meanfield.transport.sphere.tangents import Tangents, transform

_FIRST = 400
_FACTOR = 4
_CONES = 0.75  # W_1 from below by cones, relative to its upper bound, that is enough
_ROOT_NOISE = 2 * EPS  # of the last root and sum
_GAP = 2e-3  # how far from optimal plans may be, relative to their cost


def bracket(
    first: Cells,
    second: Cells,
    geodesic: bool,
    p: int,
    *,
    tolerance: float,
    largest: int,
    exact: bool = False,
) -> Bracket:
    """Bracket of W_p, finer and finer until it is narrower than tolerance x upper.

    If one of the measures has no reach, it is the first. largest: cells of a family between which
    plans are optimised, at most; exact: go on to the optimum over all pairs.
    """
    size = _FIRST
    families = (first, second)
    ladders = [_ladder(cells) for cells in families]
    before: list[IntArray] = []
    plan = None
    value = np.pi**p
    while True:
        starts = [_fitting(ladder, size) for ladder in ladders]
        x, y = (grouped(cells, start) for cells, start in zip(families, starts, strict=True))
        finest = len(x) == len(first) and len(y) == len(second)
        if plan is None:
            plan = first_plan(x, y)
        else:
            owners = (np.searchsorted(new, old) for new, old in zip(starts, before, strict=True))
            plan = divided(plan, x, y, *owners)
        # Only a plan of bounded relative width will be asked for.
        gap = 0.0 if finest and exact else _GAP * value
        at = sites(x, geodesic), sites(y, geodesic)
        plan = optimal(plan, *at, geodesic, p, gap)
        costs = pair_costs(*at, plan.source, plan.sink, geodesic, p)
        value = float(costs @ plan.flow) / float(plan.flow.sum())
        if finest or size >= largest:
            fine = plan
            if len(y) < len(second):
                fine = split(
                    fine, at[0], sites(second, geodesic), second.masses, starts[1], geodesic, p, gap
                )
            if len(x) < len(first):
                fine = transposed(
                    split(
                        transposed(fine),
                        sites(second, geodesic),
                        sites(first, geodesic),
                        first.masses,
                        starts[0],
                        geodesic,
                        p,
                        gap,
                    )
                )
            above = upper_bound(fine, first, second, geodesic, p)
            below = -np.inf
            if p == 1 and not first.reaches.any():
                below = cone_bound(plan.g, at[1], first, second, geodesic)
            # Where W_1 is large against the cells the cones are nearly as good as the transform
            # over all pairs, which then has whole rays of equally good pairs to look at.
            if p == 2 or exact or len(first) == 1 or below < _CONES * above:
                # Potentials end on the finer family, where most of what they can gain is.
                if len(first) < len(second):
                    other = lower_bound(plan.g, at[1], first, second, geodesic, p)
                elif p == 2 or exact or below < 0.0:
                    other = lower_bound(plan.f, at[0], second, first, geodesic, p)
                else:
                    other = below
                below = max(below, other)
            upper = above ** (1.0 / p)
            lower = max(below, 0.0) ** (1.0 / p)
            lower = min(lower, upper)  # equal but for rounding
            margin = _rounding(fine, first, second) if geodesic else 0.0
            margin += _ROOT_NOISE * upper
            return Bracket(max(lower - margin, 0.0), upper + margin)
        before = starts
        size *= _FACTOR


def _rounding(plan: Plan, first: Cells, second: Cells) -> float:
    """How far rounding may put an angle: d(s^2) / (s sqrt(4 - s^2)), 6e-8 near the antipode."""
    moves = first.directions[plan.source] - second.directions[plan.sink]
    square = np.minimum(np.sum(moves**2, axis=1), 4.0)
    slack = 2.0 * _ROOT_NOISE * square
    near = 2.0 * np.sqrt(slack)
    far = slack / np.maximum(np.sqrt(square * (4.0 - square)), 1e-300)
    return float(np.minimum(near, far).max())


def _ladder(cells: Cells) -> list[IntArray]:
    """Runs that share a cell of each level, from coarse to single."""
    ladder = []
    for level in range(1, DEPTH + 1):
        ladder.append(level_starts(cells, level))
        if len(ladder[-1]) == len(cells):
            return ladder
    return [*ladder, np.arange(len(cells))]


def _fitting(ladder: list[IntArray], size: int) -> IntArray:
    """Finest of the ladder with at most this many runs."""
    return next((starts for starts in reversed(ladder) if len(starts) <= size), ladder[0])


def upper_bound(plan: Plan, first: Cells, second: Cells, geodesic: bool, p: int) -> float:
    """Cost of the plan, W_p^p from above."""
    x, y = sites(first, geodesic), sites(second, geodesic)
    i, k = plan.source, plan.sink
    variance = x.variances[i] + y.variances[k]
    chord2 = np.sum((x.points[i] - y.points[k]) ** 2, axis=1)
    if geodesic:
        distance = 2.0 * np.arcsin(np.minimum(0.5 * np.sqrt(chord2), 1.0))
        rho = 2.0 * np.arcsin(0.5 * farthest_chord(second))
        square = distance**2 + variance
        square += 2.0 * (distance + rho[k]) * third_order(first)[i]
        square += 2.0 * distance * third_order(second)[k]
    else:
        square = chord2 + variance
    cost = square if p == 2 else np.sqrt(square)
    return float(cost @ plan.flow) / float(plan.flow.sum())


def lower_bound(
    duals: FloatArray, at: Sites, first: Cells, second: Cells, geodesic: bool, p: int
) -> float:
    """Value of feasible potentials, W_p^p from below.

    Duals g belong to the places `at`. Their transform is f on the first family, and the transform
    of that, c_ik in place of c, is g on the second, whose reaches may be larger.
    """
    x, y = _places(first, geodesic), _places(second, geodesic)
    index, values = nearest(x, at, duals, 1, None, geodesic, p)
    f = values[:, 0].copy()
    x_normals, x_offsets = _tangents(x.points - at.points[index[:, 0]], geodesic, p)
    index, values = nearest(y, x, f, 2, None, geodesic, p)
    g = values[:, 0].copy()
    if np.any(first.reaches) or np.any(second.reaches):
        y_normals, y_offsets = _tangents(x.points[index[:, 0]] - y.points, geodesic, p)
        # Where two x compete, a slope in between loses least: r |T_1 - T_2| (1 - share) to the one,
        # r |T_1 - T_2| share, less what the other is behind, to the other.
        others = np.maximum(index[:, 1], 0)
        jump = _tangents(x.points[others] - y.points, geodesic, p)[0] - y_normals
        size = second.reaches * np.linalg.norm(jump, axis=1)
        size[index[:, 1] < 0] = 0.0
        share = np.zeros(len(second))
        close = values[:, 1] - g < size
        share[close] = 0.5 - 0.5 * (values[close, 1] - g[close]) / size[close]
        g = transform(
            Tangents(
                second.barycentres,
                second.reaches,
                -(y_normals + share[:, None] * jump),
                -y_normals,
                y_offsets,
            ),
            Tangents(first.barycentres, first.reaches, -x_normals, -x_normals, x_offsets),
            f,
            geodesic,
            p,
        )
    total = float(first.masses.sum())
    return float(first.masses @ f) / total + float(second.masses @ g) / total


def cone_bound(duals: FloatArray, at: Sites, first: Cells, second: Cells, geodesic: bool) -> float:
    """W_1 from below, where the first family are points, by a smaller search than `lower_bound`.

    F(x) = min_K (d(x, z_K)^2 + v_K)^(1/2) - g_K grows no faster than the distance, for all z, v and
    g. So W_1 >= int F dmu - int F dnu. Any K bounds the mean of F over a cell of the second family
    from above, as in `upper_bound`; d e / (E d^2)^(1/2) <= e.
    """
    places = Sites(first.directions, np.zeros(len(first)))
    f = nearest(places, at, duals, 1, None, geodesic, 1)[1][:, 0]
    means = nearest(sites(second, geodesic), at, duals, 1, None, geodesic, 1)[1][:, 0]
    if geodesic:
        means = means + third_order(second)
    total = float(first.masses.sum())
    return float(first.masses @ f) / total - float(second.masses @ means) / total


def third_order(cells: Cells) -> FloatArray:
    """E = s^2 rho / 6, the bound on the mean of the logarithm about the direction of b."""
    rho = 2.0 * np.arcsin(0.5 * farthest_chord(cells))
    e: FloatArray = sites(cells, True).variances * rho / 6.0
    return e


def _places(cells: Cells, geodesic: bool) -> Sites:
    return Sites(cells.directions if geodesic else cells.barycentres, np.zeros(len(cells)))


def _tangents(differences: FloatArray, geodesic: bool, p: int) -> tuple[FloatArray, FloatArray]:
    """Slopes T and offsets C(|a|) - <T, a> of the cost at differences a."""
    chord = np.linalg.norm(differences, axis=1)
    base = np.minimum(chord, LARGEST_CHORD)
    distance = 2.0 * np.arcsin(0.5 * base) if geodesic else base
    steep = 1.0 / np.sqrt(1.0 - 0.25 * base**2) if geodesic else np.ones_like(base)
    cost = distance
    if p == 2:
        cost, steep = distance**2, 2.0 * distance * steep
    along = steep / np.where(chord > 0.0, chord, 1.0)
    return differences * along[:, None], cost - steep * base
