"""The bracket of a distance: plans from coarse to fine, each with its certificate."""

from __future__ import annotations

import numpy as np

from meanfield.arrays import EPS, IntArray
from meanfield.transport.bracket import Bracket
from meanfield.transport.sphere.cells import Cells, grouped, level_starts
from meanfield.transport.sphere.certificate import cone_bound, lower_bound, upper_bound
from meanfield.transport.sphere.keys import DEPTH
from meanfield.transport.sphere.plans import (
    Plan,
    divided,
    first_plan,
    optimal,
    pair_costs,
    sites,
    split,
    transposed,
)

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
