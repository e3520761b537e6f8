"""Ridges of hardmax attention: tokens whose largest score several tokens share.

There the field is the set of all v = P_x V y (in R^d V (y - x)), y = sum_j w_j x_j in the convex
hull of the tied tokens T (Filippov). A solution takes one that leaves none of its own tokens
behind. With r_j(w) the rate of the score of token j,

    w_j > 0  only where  r_j(w) = max_{k in T} r_k(w),                                        (1)

a linear complementarity problem. Two tokens: the ridge is crossed, if both sides move the same way;
slid along, if both move towards it, and w is then the one that keeps the tie; and left towards
either side, or not at all, if both move away from it: three solutions.

`averages` has the y of given supports, with weights that keep their ties; `solutions` the supports
that satisfy (1). What lies on a ridge with several solutions chooses by a rule, `chosen`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations, product
from typing import Literal, NamedTuple

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.papers.hardmax import velocity_toward
from meanfield.spaces.manifold import Manifold

Support = tuple[int, ...]
Ridge = Literal["corner", "midpoint"]

# Less than a second.
MOST_CHOICES = 3000
# Rates are equal, and weights 0, within these shares; y of two solutions are one.
_SAME_RATE = 1e-8
# Velocities are known to this share of the fastest that there could be: where all tokens rest.
_AT_REST = 1e-13
_NO_WEIGHT = 1e-9
_SAME_PLACE = 1e-8


class HardmaxHead(NamedTuple):
    """Space, B and V."""

    space: Manifold
    score: FloatArray
    value: FloatArray


class Solution(NamedTuple):
    """Tokens that some tokens attend to, weighted means (k, d), and rates of largest scores."""

    supports: tuple[Support, ...]
    means: FloatArray
    rates: FloatArray

    @property
    def size(self) -> int:
        """How many tokens are attended to."""
        return sum(map(len, self.supports))


def averages(
    head: HardmaxHead, x: FloatArray, supports: list[Support]
) -> tuple[FloatArray, FloatArray, list[FloatArray]]:
    """Means y (n, d) of the supports, velocities (n, d), and weights of each support.

    Weights keep ties: all tokens of a support have scores of one rate. They are found together from
    linear equations; where these say nothing, weights are equal.
    """
    y = x[[support[0] for support in supports]]
    several = [(i, support) for i, support in enumerate(supports) if len(support) > 1]
    weights = [np.ones(1) for _ in supports]
    for i, support in several:
        y[i] = x[list(support)].mean(axis=0)
    v = velocity_toward(head.space, x, y, head.value)
    if not several:
        return y, v, weights
    # Unknowns: what is taken from the first token of a support and given to each of the others.
    base = np.array([support[0] for _, support in several for _ in support[1:]])
    other = np.array([k for _, support in several for k in support[1:]])
    owner = np.array([i for i, support in several for _ in support[1:]])
    along = x[other] - x[base]
    turned = along @ head.value.T
    if head.space.is_sphere:
        turned -= (turned * x[owner]).sum(axis=1)[:, None] * x[owner]
    scores = x @ head.score
    scored = turned @ head.score
    rates = ((v @ head.score)[owner] * along).sum(axis=1)
    rates += (scores[owner] * (v[other] - v[base])).sum(axis=1)
    matrix = (owner[:, None] == owner) * (along @ scored.T)
    matrix += ((other[:, None] == owner) * 1.0 - (base[:, None] == owner)) * (
        scores[owner] @ turned.T
    )
    change = np.linalg.lstsq(matrix, -rates, rcond=1e-12)[0]
    v = v.copy()
    for i, support in several:
        mine = owner == i
        taken = change[mine]
        weights[i] = np.append(-taken.sum(), taken) + 1.0 / len(support)
        y[i] += taken @ along[mine]
        v[i] += taken @ turned[mine]
    return y, v, weights


def solves(
    head: HardmaxHead, x: FloatArray, supports: list[Support], ridges: Mapping[int, Support]
) -> Solution | None:
    """The solution (1) of tokens on ridges with these supports of all tokens, if it is one."""
    y, v, weights = averages(head, x, supports)
    size = float(np.abs(x).max())
    fast = _SAME_RATE * float(np.abs(v).max())
    slow = _AT_REST * float(np.linalg.norm(head.value)) * size
    unit = float(np.linalg.norm(head.score)) * size * max(fast, slow)
    rates = np.zeros(len(ridges))
    for place, (i, tied) in enumerate(ridges.items()):
        several = len(supports[i]) > 1
        if float(weights[i].min()) < (_NO_WEIGHT if several else 0.0):
            return None
        query, turning = x[i] @ head.score, v[i] @ head.score
        rising = x[list(tied)] @ turning + v[list(tied)] @ query
        own = rising[[tied.index(j) for j in supports[i]]]
        if np.ptp(own) > unit or rising.max() > own.max() + unit:
            return None
        rates[place] = own.max()
    return Solution(tuple(supports[i] for i in ridges), y[list(ridges)], rates)


def solutions(
    head: HardmaxHead,
    x: FloatArray,
    supports: list[Support],
    ridges: Mapping[int, Support],
    free: Mapping[int, Support],
) -> list[Solution]:
    """Solutions (1) of tokens on ridges, given as token: tied ones, for all supports of `free`."""
    # A mean of many tokens of R^d is one of d + 1 of them.
    most = head.space.ambient + 1
    choices = math.prod(
        sum(math.comb(len(tied), count) for count in range(1, most + 1)) for tied in free.values()
    )
    if choices > MOST_CHOICES:
        raise ValueError(
            f"token {next(iter(free))} has one score with {max(map(len, free.values()))} "
            f"tokens, {len(free)} tokens are on ridges that depend on each other, and "
            f"{choices:.3g} choices are too many: move a token a little."
        )
    solved: list[Solution] = []
    others, size = list(supports), float(np.abs(x).max())
    for choice in product(*(_subsets(tied, most) for tied in free.values())):
        for i, support in zip(free, choice, strict=True):
            others[i] = support
        new = solves(head, x, others, ridges)
        if new is not None and not any(same(new, each, size) for each in solved):
            solved.append(new)
    return solved


def same(first: Solution, second: Solution, size: float) -> bool:
    """True if the means of two solutions agree, in units of the largest token."""
    return bool(np.abs(first.means - second.means).max() <= _SAME_PLACE * size)


def _subsets(tied: Support, most: int) -> list[Support]:
    return [each for count in range(1, most + 1) for each in combinations(tied, count)]


def in_order(ridges: Mapping[int, Support]) -> list[dict[int, Support]]:
    """Tokens on ridges in groups that depend on each other, and on groups before them alone."""
    reach = {i: {i} for i in ridges}
    for _ in ridges:
        for i, tied in ridges.items():
            for j in tied:
                reach[i] |= reach.get(j, set())
    groups: list[dict[int, Support]] = []
    for i in sorted(ridges, key=lambda i: len(reach[i])):
        if not any(i in group for group in groups):
            mutual = sorted(j for j in reach[i] if i in reach[j])
            groups.append({j: ridges[j] for j in mutual})
    return groups


def chosen(candidates: list[Solution], ridge: Ridge) -> Solution:
    """The solution that a rule takes: "corner" one token, "midpoint" as many as possible."""
    wanted = (min if ridge == "corner" else max)(each.size for each in candidates)
    of_size = [each for each in candidates if each.size == wanted]
    totals = [float(each.rates.sum()) for each in of_size]
    unit = _SAME_RATE * max(map(abs, totals))
    best = next(k for k, total in enumerate(totals) if total >= max(totals) - unit)
    return of_size[best]
