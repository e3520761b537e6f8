"""Wasserstein distances on the sphere, with certified bounds.

    W_p(mu, nu)^p = min over couplings of int d(x, y)^p,   d geodesic, or the chord |x - y|.

Measures become masses in small cells: tokens are cells of one point, densities are integrated over
cells (`partition`). A network simplex optimises plans between cells, from coarse to fine (`plans`).
A certificate bounds the cost for every distribution of the masses inside their cells.

Upper bound. Mass that goes from cell i to cell k is spread over both, independently. With the
variance s^2 about the direction of the barycentre b, and the largest distance rho from there,

    E d^2 <= d_ik^2 + s_i^2 + s_k^2 + 2 (d_ik + rho_k) e_i + 2 d_ik e_k,    e = s^2 rho / 6,

by Toponogov's comparison: squared distances on the sphere grow no faster than in the plane. e
bounds the mean of the logarithm, as the mean of the tangential part is 0. E d <= (E d^2)^(1/2). For
the chord E |x - y|^2 = |b_i - b_k|^2 + (1 - |b_i|^2) + (1 - |b_k|^2), exactly.

Lower bound. Potentials f_i + <u_i, x - b_i> on cell i and g_k + <v_k, y - b_k> on cell k have the
means f_i and g_k. `tangents` finds the largest f that is feasible with g.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from math import gcd, log, sqrt
from weakref import WeakKeyDictionary

import numpy as np

from meanfield.arrays import EPS, FloatArray, IntArray
from meanfield.measures import Density, Measure
from meanfield.transport.bracket import TOLERANCE, Bracket, check_power
from meanfield.transport.sphere.partition import (
    DEPTH,
    TOTAL,
    Cells,
    density_cells,
    difference_cells,
    grouped,
    integer_masses,
    level_starts,
    token_cells,
)
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

EXACT = 4000
"""Points against points are solved to the optimum up to this many on the larger side."""

# Stages: cells of a density, and most cells of a side between which plans are optimised.
_FEW = (6_000, 1_600)
# Tokens against their own law: so many cells for each token give a bracket of relative width 1.
_CELLS_OF_A_TOKEN = 0.25
_LEAST_SAMPLE = 10  # fewer points count as so many
_STAGES = ((24_000, 6_400), (96_000, 25_600), (384_000, 25_600))
_WIDE = 0.25  # the third stage runs if the relative width is larger
_WIDEST = 0.5  # the second stage is left out if the relative width is larger
_STAGES_OF_DENSITIES = (_FEW, _STAGES[0])
# Share of the width that the second of these leaves, in ten times the time: 0.78 to 0.82.
_LEFT = 0.8
_NOTHING = 1e-9  # a smaller distance is rounding
Stages = tuple[tuple[int, int], ...]
# Cells of densities still in use, by (number, p): many systems are compared with one density.
_partitions: WeakKeyDictionary[Density, dict[tuple[int, int], Cells]] = WeakKeyDictionary()
_COSTS = ("geodesic", "chordal")


def wasserstein_sphere(
    first: Measure | Density,
    second: Measure | Density,
    p: int = 1,
    *,
    cost: str = "geodesic",
    tolerance: float = TOLERANCE,
) -> Bracket:
    """Wasserstein distance W_p on the sphere, between certified bounds, p = 1 or 2.

    The distance d is the angle between x and y ("geodesic") or the chord |x - y| ("chordal"). The
    upper bound is the cost of a plan, the lower one the value of feasible potentials. Both include
    the error of replacing a density by masses in cells.

    Points against points, at most 4,000 each, are solved to the optimum: the bounds agree to
    rounding, 1e-13 of W_p^p. Unequal weights are rounded to multiples of 2^-60. The angle between
    a point and its antipode has an error of 6e-8 at most.

    Otherwise the work stops when the relative width is below `tolerance`, or after the finest
    cells: 96,000 for a density (384,000 where the bracket is still wider than 25 %), plans between
    25,600 cells a side. Two densities get 6,000 cells each, then 24,000, which takes ten times as
    long. Before that a warning gives the bounds, if the bracket will stay wide.

    Plans from coarse to fine: Schmitzer, J. Math. Imaging Vision 56 (2016), 238-259. Duality:
    Villani, Optimal Transport, Springer 2009, theorem 5.10.
    """
    check_power(p)
    if cost not in _COSTS:
        raise ValueError(f"cost = {cost!r} is not known. Known: geodesic, chordal.")
    geodesic = cost == "geodesic"
    if isinstance(first, Measure) and isinstance(second, Measure):
        x, y = _point_cells(first, second)
        if max(len(x), len(y)) <= EXACT:
            return bracket(x, y, geodesic, p, largest=EXACT, exact=True)

        def points(_: int, largest: int) -> Bracket:
            return bracket(x, y, geodesic, p, largest=largest)

        return _finer(points, _STAGES[:2], tolerance)
    names = ("first", "second")
    if isinstance(first, Density) and isinstance(second, Measure):
        first, second, names = second, first, ("second", "first")
    if _same(first, second):
        return Bracket(0.0, 0.0)

    def attempt(count: int, largest: int) -> Bracket:
        if p == 1 and isinstance(first, Density) and isinstance(second, Density):
            return _between_densities(first, second, count, largest, geodesic)
        x, y = _cells(first, count, p, names[0]), _cells(second, count, p, names[1])
        return bracket(x, y, geodesic, p, largest=largest)

    stages = _STAGES_OF_DENSITIES if isinstance(first, Density) else _STAGES
    # Few tokens are far from any density, so coarse cells give a narrow bracket.
    if isinstance(first, Measure) and (
        _CELLS_OF_A_TOKEN * max(len(first.points), _LEAST_SAMPLE) <= _FEW[0] * tolerance**2
    ):
        best = attempt(*_FEW)
        if best.width <= tolerance * best.upper:
            return best
    return _finer(attempt, stages, tolerance)


def _finer(attempt: Callable[[int, int], Bracket], stages: Stages, tolerance: float) -> Bracket:
    """Intersection of brackets until it is narrow enough; warns before the long stage."""
    lower, upper = 0.0, np.pi
    for number, stage in enumerate(stages):
        width = (upper - lower) / upper
        if number == 1 and len(stages) == 3 and width > _WIDEST:
            continue
        if number == 2 and width <= _WIDE:
            break
        if number == 1 and stages == _STAGES_OF_DENSITIES and width > _WIDE and upper > _NOTHING:
            warnings.warn(
                f"the distance of these densities lies between {lower:.3g} and {upper:.3g}; finer "
                f"cells take ten times as long and leave a bracket about {100 * _LEFT * width:.0f} "
                f"% wide. tolerance = {width + 0.01:.2f} is content with this one.",
                stacklevel=6,  # the caller of mf.wasserstein
            )
        bracket = attempt(*stage)
        lower, upper = max(lower, bracket.lower), min(upper, bracket.upper)
        if upper - lower <= tolerance * upper:
            break
    lower = min(lower, upper)
    return Bracket(lower, upper)


def sample_floor(tokens: int) -> float:
    """Mean W_1 (geodesic) between two independent uniform samples: ((2.5 + 1.38 ln n) / n)^(1/2).

    The form is that of the matching theorem in two dimensions: Ajtai, Komlos, Tusnady,
    Combinatorica 4 (1984), 259-264. Exact distances at n = 100 to 4,000 fit within 1 to 3 %.
    """
    if tokens < 1:
        raise ValueError(f"tokens = {tokens}, expected at least 1.")
    return sqrt((2.5 + 1.38 * log(tokens)) / tokens)


def _same(first: Measure | Density, second: Measure | Density) -> bool:
    if not (isinstance(first, Density) and isinstance(second, Density)):
        return False
    degree = max(first.max_degree, second.max_degree)
    return bool(np.array_equal(first.moments(degree), second.moments(degree)))


def _point_cells(first: Measure, second: Measure) -> tuple[Cells, Cells]:
    counts = len(first.points), len(second.points)
    equal = all(
        measure.weights is None or np.ptp(measure.weights) == 0 for measure in (first, second)
    )
    total = counts[0] * counts[1] // gcd(*counts) if equal else TOTAL
    families = []
    for measure, count in zip((first, second), counts, strict=True):
        masses = np.full(count, total // count) if equal else integer_masses(measure.mass)
        families.append(token_cells(measure.points, masses))
    return families[0], families[1]


def _cells(measure: Measure | Density, count: int, p: int, name: str) -> Cells:
    if isinstance(measure, Measure):
        return token_cells(measure.points, integer_masses(measure.mass))
    partitions = _partitions.setdefault(measure, {})
    if (count, p) not in partitions:
        evaluate, degree = _evaluation(measure)
        partitions[count, p] = density_cells(evaluate, degree, count, p, name)
    return partitions[count, p]


def _evaluation(density: Density) -> tuple[Callable[[FloatArray], FloatArray], int]:
    """Function of points, and the largest degree of the density."""
    manifold, coefficients = density.manifold, density.coefficients
    if np.any(coefficients[1:]):
        return lambda points: manifold.evaluate(coefficients, points), density.max_degree
    return lambda points: np.ones(len(points)), 0


def _between_densities(
    first: Density, second: Density, count: int, largest: int, geodesic: bool
) -> Bracket:
    """Bracket of W_1, from the positive and negative parts of the difference."""
    f, degree = _evaluation(first)
    g, other = _evaluation(second)
    parts = difference_cells(f, g, max(degree, other), count)
    if parts.mass <= parts.error:  # rounding is all there is
        return Bracket(0.0, np.pi * parts.mass + parts.error)
    answer = bracket(parts.positive, parts.negative, geodesic, 1, largest=largest)
    lower, upper = parts.mass * answer.lower, parts.mass * answer.upper
    return Bracket(max(lower - parts.error, 0.0), upper + parts.error)


_FIRST = 400
_FACTOR = 4
_CONES = 0.75  # a bound by cones is enough if it exceeds this share of the upper bound
_ROOT_NOISE = 2 * EPS  # of the last root and sum
_GAP = 2e-3  # allowed gap of a plan to the optimum, relative to its cost


def bracket(
    first: Cells,
    second: Cells,
    geodesic: bool,
    p: int,
    *,
    largest: int,
    exact: bool = False,
) -> Bracket:
    """Bracket of W_p; cells are refined until plans have `largest` cells a side, or all.

    A family of points must come first. exact: go on to the optimum over all pairs.
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
        # A gap is enough, unless the optimum is wanted.
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
            # Where W_1 is large beside the cells, cones are nearly as good as the transform, which
            # then has whole rays of equally good pairs to search.
            if p == 2 or exact or len(first) == 1 or below < _CONES * above:
                # The last transform is on the finer family, where potentials gain most.
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
    """Largest rounding error of an angle: d(s^2) / (s sqrt(4 - s^2)), 6e-8 near the antipode."""
    moves = first.directions[plan.source] - second.directions[plan.sink]
    square = np.minimum(np.sum(moves**2, axis=1), 4.0)
    slack = 2.0 * _ROOT_NOISE * square
    near = 2.0 * np.sqrt(slack)
    far = slack / np.maximum(np.sqrt(square * (4.0 - square)), 1e-300)
    return float(np.minimum(near, far).max())


def _ladder(cells: Cells) -> list[IntArray]:
    """Starts of the runs of each level, from coarse runs to single cells."""
    ladder = []
    for level in range(1, DEPTH + 1):
        ladder.append(level_starts(cells, level))
        if len(ladder[-1]) == len(cells):
            return ladder
    return [*ladder, np.arange(len(cells))]


def _fitting(ladder: list[IntArray], size: int) -> IntArray:
    """Finest level of a ladder with at most `size` runs."""
    return next((starts for starts in reversed(ladder) if len(starts) <= size), ladder[0])


def upper_bound(plan: Plan, first: Cells, second: Cells, geodesic: bool, p: int) -> float:
    """Upper bound of W_p^p: the cost of a plan."""
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
    """Lower bound of W_p^p: the value of feasible potentials.

    The duals g belong to the sites `at`. Their transform is f on the first family. The transform
    of f, with c_ik in place of c, is g on the second family, whose reaches may be larger.
    """
    x, y = _places(first, geodesic), _places(second, geodesic)
    index, values = nearest(x, at, duals, 1, None, geodesic, p)
    f = values[:, 0].copy()
    x_normals, x_offsets = _tangents(x.points - at.points[index[:, 0]], geodesic, p)
    index, values = nearest(y, x, f, 2, None, geodesic, p)
    g = values[:, 0].copy()
    if np.any(first.reaches) or np.any(second.reaches):
        y_normals, y_offsets = _tangents(x.points[index[:, 0]] - y.points, geodesic, p)
        # Where two x compete, a slope in between loses least: the first tangent loses
        # r |T_1 - T_2| share, the second r |T_1 - T_2| (1 - share) less the gap of their values.
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
    """Lower bound of W_1 if the first family are points, by a smaller search than `lower_bound`.

    F(x) = min_K (d(x, z_K)^2 + v_K)^(1/2) - g_K has the Lipschitz constant 1 for all z, v and g. So
    W_1 >= int F dmu - int F dnu. Any K bounds the mean of F over a cell of the second family from
    above, as in `upper_bound`; d e / (E d^2)^(1/2) <= e.
    """
    places = Sites(first.directions, np.zeros(len(first)))
    f = nearest(places, at, duals, 1, None, geodesic, 1)[1][:, 0]
    means = nearest(sites(second, geodesic), at, duals, 1, None, geodesic, 1)[1][:, 0]
    if geodesic:
        means = means + third_order(second)
    total = float(first.masses.sum())
    return float(first.masses @ f) / total - float(second.masses @ means) / total


def third_order(cells: Cells) -> FloatArray:
    """Bound e = s^2 rho / 6 on the mean of the logarithm about the direction of b."""
    rho = 2.0 * np.arcsin(0.5 * farthest_chord(cells))
    e: FloatArray = sites(cells, True).variances * rho / 6.0
    return e


def _places(cells: Cells, geodesic: bool) -> Sites:
    return Sites(cells.directions if geodesic else cells.barycentres, np.zeros(len(cells)))


def _tangents(differences: FloatArray, geodesic: bool, p: int) -> tuple[FloatArray, FloatArray]:
    """Slopes T and offsets C(|a|) - <T, a> of tangents of the cost at differences a."""
    chord = np.linalg.norm(differences, axis=1)
    base = np.minimum(chord, LARGEST_CHORD)
    distance = 2.0 * np.arcsin(0.5 * base) if geodesic else base
    steep = 1.0 / np.sqrt(1.0 - 0.25 * base**2) if geodesic else np.ones_like(base)
    cost = distance
    if p == 2:
        cost, steep = distance**2, 2.0 * distance * steep
    along = steep / np.where(chord > 0.0, chord, 1.0)
    return differences * along[:, None], cost - steep * base
