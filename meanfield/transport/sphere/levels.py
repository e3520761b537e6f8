"""The bracket of a distance: plans from coarse to fine, each with its certificate."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meanfield.transport.bracket import Bracket
from meanfield.transport.sphere.cells import Cells, grouped, level_starts
from meanfield.transport.sphere.certificate import lower_bound, upper_bound
from meanfield.transport.sphere.keys import DEPTH
from meanfield.transport.sphere.plans import divided, first_plan, optimal, sites

IntArray = npt.NDArray[np.int64]

_FIRST = 400
_FACTOR = 4
_GAP = 1e-3  # how far from optimal a plan may be that is only divided further


def bracket(
    first: Cells, second: Cells, geodesic: bool, p: int, tolerance: float, exact: bool
) -> Bracket:
    """Bracket of W_p, finer and finer until it is narrower than tolerance x upper.

    If `exact`, the finest level is solved to the optimum over all pairs.
    """
    lower, upper = 0.0, np.inf
    size = _FIRST
    families = (first, second)
    ladders = [_ladder(cells) for cells in families]
    before: list[IntArray] = []
    plan = None
    while True:
        starts = [_fitting(ladder, size) for ladder in ladders]
        x, y = (grouped(cells, start) for cells, start in zip(families, starts, strict=True))
        finest = len(x) == len(first) and len(y) == len(second)
        if plan is None:
            plan = first_plan(x, y)
        else:
            owners = (np.searchsorted(new, old) for new, old in zip(starts, before, strict=True))
            plan = divided(plan, x, y, *owners)
        gap = 0.0 if finest and exact else _GAP
        plan, _ = optimal(plan, sites(x, geodesic), sites(y, geodesic), geodesic, p, gap)
        if finest or not exact:
            upper = min(upper, max(upper_bound(plan, x, y, geodesic, p), 0.0) ** (1.0 / p))
            lower = max(lower, max(lower_bound(plan, x, y, geodesic, p), 0.0) ** (1.0 / p))
        if finest or upper - lower <= tolerance * upper:
            lower = min(lower, upper)  # equal but for rounding
            return Bracket(lower, 0.5 * (lower + upper), upper)
        before = starts
        size *= _FACTOR


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
