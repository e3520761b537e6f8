"""Hardmax attention: the limit beta -> infinity of softmax attention.

Tokens form a set with convex hull K. A token at x attends to the token y* with the largest score
x^T B y. If there is one, y*(x) = grad h_K(B^T x) with the support function h_K of K, and

    v(x) = P_x V y*(x)  (spheres),    v(x) = V (y*(x) - x)  (R^d).              (1)

The second is (9.5)-(9.6) of Geshkovski, Letrouit, Polyanskiy, Rigollet, arXiv:2312.10794. For a
measure with mass everywhere on a sphere h_K(z) = |z|, so v does not depend on the measure.

On a ridge several tokens T tie for the largest score. There v is a set: (1) for all
y = sum_j w_j x_j in the convex hull of T (Filippov). A solution keeps the scores of all its own
tokens largest. With the rate r_j(w) of the score of token j,

    w_j > 0  only if  r_j(w) = max_{k in T} r_k(w),                                           (2)

a linear complementarity problem. For two tokens, a path crosses the ridge if both sides move the
same way. It slides along the ridge if both sides move towards it, with the w that keeps the tie. If
both move away there are three solutions: two leave the ridge, and one stays.

`averages` computes y for given supports, with weights that keep their ties. `solutions` finds
supports that satisfy (2), and `chosen` takes one of several. `papers.hardmax_paths` moves tokens.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations, product
from typing import Any, Literal, NamedTuple

import numpy as np

from meanfield.arguments import at_least, checked
from meanfield.arrays import FloatArray
from meanfield.spaces.manifold import Manifold
from meanfield.terms.kernels.exponential import bessel_ratio
from meanfield.terms.matrices import matrix, plain

# Weight of the condition sum_j w_j = 1 in least squares with lengths of about 1.
_SUM = 1e4


def score_and_value(space: Manifold, score: Any, value: Any) -> tuple[FloatArray, FloatArray]:
    """Matrices B and V (d, d) from the user's numbers, diagonals, or rows."""
    if space.has_rings:
        raise ValueError(
            f"tokens are on mf.Circle(), mf.Sphere(d) or mf.Euclidean(d), got {space!r}."
        )
    matrices = {"score": score, "value": value}
    score, value = (
        matrix(name, plain(name, each), space.ambient, square=True)
        for name, each in matrices.items()
    )
    return score, value


@checked
def full_support_velocity(
    space: Manifold, points: FloatArray, *, score: Any = 1.0, value: Any = 1.0
) -> FloatArray:
    """Velocity P_x V m, m = B^T x / |B^T x|, for measures with mass everywhere on a sphere.

    It does not depend on the measure: transport is linear. It is zero for B = V = 1. Points and
    velocities are as the space stores them; B and V as for `mf.Head`. ValueError in R^d, and if
    B^T x = 0, where all scores are equal.

    >>> import meanfield as mf
    >>> full_support_velocity(mf.Circle(), [0.1, 0.7], score=[1.0, -1.0]).round(6)  # -sin 2 theta
    array([-0.198669, -0.98545 ])
    """
    m, _, value = _effective_points(space, points, score, value)
    return space.project(space.check_points(points), m @ value.T)


@checked
def uniform_velocity(
    space: Manifold, points: FloatArray, beta: float, *, score: Any = 1.0, value: Any = 1.0
) -> FloatArray:
    """Velocity of softmax attention to the uniform measure on a sphere, for any beta > 0.

        v(x) = A_d(kappa) P_x V m,    kappa = beta |B^T x|,  m = B^T x / |B^T x|,
        A_d = I_{d/2} / I_{d/2-1} = 1 - (d - 1) / (2 kappa) + O(kappa^-2)      (NIST DLMF 10.32.2)

    Parameters, result and errors as for `full_support_velocity`.
    """
    if not beta > 0.0:
        raise ValueError(f"beta must be positive, got {beta:g}.")
    m, lengths, value = _effective_points(space, points, score, value)
    share = np.array([float(bessel_ratio(0.5 * space.ambient, beta * each)) for each in lengths])
    return space.project(space.check_points(points), share[:, None] * (m @ value.T))


def _effective_points(
    space: Manifold, points: FloatArray, score: Any, value: Any
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Directions m of B^T x, lengths |B^T x|, and V."""
    if not space.is_sphere:
        raise ValueError(
            f"a measure with mass everywhere has no largest score in {space!r}: take mf.Circle() "
            "or mf.Sphere(d)."
        )
    score, value = score_and_value(space, score, value)
    directions = space.vectors(space.check_points(points)) @ score
    lengths = np.sqrt((directions**2).sum(axis=1))
    if not lengths.all():
        i = int(np.argmin(lengths))
        raise ValueError(f"score^T x is 0 at point {i}: every token has the largest score there.")
    return directions / lengths[:, None], lengths, value


@checked
def two_pole_moments(max_degree: int, time: float, beta: float = math.inf) -> FloatArray:
    """Moments c_0 ... c_max_degree on the circle from uniform, B = diag(1, -1), V = 1.

    At large beta, to first order and in the papers' time t,

        c_{2k} = tanh^k t - (k^2 tanh^k t - k t tanh^{k-1} t / (2 cosh^2 t)) / beta + O(beta^-2)

    and odd moments are 0. With kappa = beta, as |B^T x| = 1, softmax has the velocity
    (1 - 1/(2 beta)) v, plus the gradient of log f at m over beta (Laplace's method), so

        c_{2k}' = k (1 - 1/(2 beta)) (c_{2k-2} - c_{2k+2})
                  - (k / beta) ((2k - 2) c_{2k-2} + (2k + 2) c_{2k+2}) + O(beta^-2).

    >>> two_pole_moments(4, 0.5, beta=80.0).round(4)  # softmax: 0.4589 and 0.2057
    array([1.    , 0.    , 0.4588, 0.    , 0.2051])
    """
    at_least(0.0, max_degree=max_degree, time=time)
    if not beta > 0.0:
        raise ValueError(f"beta must be positive, got {beta:g}.")
    moments = np.zeros(max_degree + 1)
    k = np.arange(len(moments[::2]))
    power = np.tanh(time) ** k
    # k tanh^{k-1} t is 0 for k = 0, also at t = 0.
    lower = np.concatenate([[0.0], k[1:] * power[:-1]])
    moments[::2] = power - (k**2 * power - 0.5 * time * lower / np.cosh(time) ** 2) / beta
    return moments


@checked
def inclusion_distance(
    space: Manifold,
    tokens: FloatArray,
    velocities: FloatArray,
    *,
    score: Any = 1.0,
    value: Any = 1.0,
    tolerance: float = 1e-9,
) -> FloatArray:
    """Distance of velocities of tokens from the set (1), (n,); zero for every solution.

    It is the least |v_i - P_x V y|, in R^d |v_i - V (y - x_i)|, over y in the convex hull of the
    tokens whose score with token i is the largest.

    - tokens: as the space stores points.
    - velocities (n, d): as vectors, also on the circle.
    - tolerance: scores tie if they differ by less than this times |B| times the largest |x_j|^2.

    On the ridge x_1 = 0 between two corners three velocities are solutions (Example 9.3):

    >>> import meanfield as mf
    >>> tokens = np.array([[1.0, 1.0], [-1.0, 1.0], [0.0, 0.5]])
    >>> for y in ([1.0, 1.0], [-1.0, 1.0], [0.0, 1.0], [1.0, 0.0]):
    ...     v = np.array([[0.0, 0.0], [0.0, 0.0], np.subtract(y, tokens[2])])
    ...     print(y, inclusion_distance(mf.Euclidean(2), tokens, v)[2].round(6))
    [1.0, 1.0] 0.0
    [-1.0, 1.0] 0.0
    [0.0, 1.0] 0.0
    [1.0, 0.0] 1.0
    """
    from scipy.optimize import nnls

    score, value = score_and_value(space, score, value)
    x = space.vectors(space.check_points(tokens))
    if velocities.shape != x.shape:
        raise ValueError(f"velocities have shape {velocities.shape}, expected {x.shape}.")
    scores = x @ score @ x.T
    near = tolerance * np.linalg.norm(score) * (x**2).sum(axis=1).max()
    distances = np.zeros(len(x))
    for i in range(len(x)):
        among = np.flatnonzero(scores[i] >= scores[i].max() - near)
        allowed = velocity_toward(space, x[i], x[among], value)
        unit = max(float(np.abs(allowed).max()), float(np.abs(velocities[i]).max()), 1e-300)
        sums = np.full((1, len(among)), _SUM)
        weights, _ = nnls(
            np.vstack([allowed.T / unit, sums]), np.append(velocities[i] / unit, _SUM)
        )
        distances[i] = np.linalg.norm(velocities[i] - weights / weights.sum() @ allowed)
    return distances


def velocity_toward(space: Manifold, x: FloatArray, y: FloatArray, value: FloatArray) -> FloatArray:
    """Velocities (1) of tokens at x that attend to y; shapes broadcast."""
    if not space.is_sphere:
        return np.asarray((y - x) @ value.T)
    toward = y @ value.T
    return np.asarray(toward - (toward * x).sum(axis=-1, keepdims=True) * x)


Support = tuple[int, ...]
Ridge = Literal["corner", "midpoint"]

# Combinations of supports that are tried in less than a second.
MOST_CHOICES = 3000
# Relative difference below which rates are equal.
_SAME_RATE = 1e-8
# Rounding of velocities, relative to the largest possible speed; it matters if all tokens rest.
_AT_REST = 1e-13
# Weights below it are 0; means nearer than this are equal, relative to the largest token.
_NO_WEIGHT = 1e-9
_SAME_PLACE = 1e-8


class HardmaxHead(NamedTuple):
    """Space, B and V."""

    space: Manifold
    score: FloatArray
    value: FloatArray


class Solution(NamedTuple):
    """Supports of k tokens, their weighted means (k, d), and the rates of largest scores (k,)."""

    supports: tuple[Support, ...]
    means: FloatArray
    rates: FloatArray

    @property
    def size(self) -> int:
        """Total size of the supports."""
        return sum(map(len, self.supports))


def averages(
    head: HardmaxHead, x: FloatArray, supports: list[Support]
) -> tuple[FloatArray, FloatArray, list[FloatArray]]:
    """Means y (n, d) of the supports, velocities (n, d), and weights of each support.

    Weights keep ties: scores of all tokens of a support change at one rate. They solve linear
    equations, by least squares from equal weights.
    """
    y = x[[support[0] for support in supports]]
    several = [(i, support) for i, support in enumerate(supports) if len(support) > 1]
    weights = [np.ones(1) for _ in supports]
    for i, support in several:
        y[i] = x[list(support)].mean(axis=0)
    v = velocity_toward(head.space, x, y, head.value)
    if not several:
        return y, v, weights
    # Unknowns: weight that moves from the first token of a support to each of the others.
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
    """Solution (2) for tokens on ridges with these supports of all tokens; else None."""
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
    """Solutions (2) for tokens on ridges (token -> tied tokens), over all supports of `free`."""
    # A mean of many tokens of R^d is also a mean of d + 1 of them (Caratheodory).
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
    """True if the means of two solutions agree, relative to the size of the largest token."""
    return bool(np.abs(first.means - second.means).max() <= _SAME_PLACE * size)


def _subsets(tied: Support, most: int) -> list[Support]:
    return [each for count in range(1, most + 1) for each in combinations(tied, count)]


def in_order(ridges: Mapping[int, Support]) -> list[dict[int, Support]]:
    """Tokens on ridges in groups that depend on each other, and only on earlier groups."""
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
    """Fastest solution with the smallest ("corner") or largest ("midpoint") supports."""
    wanted = (min if ridge == "corner" else max)(each.size for each in candidates)
    of_size = [each for each in candidates if each.size == wanted]
    totals = [float(each.rates.sum()) for each in of_size]
    unit = _SAME_RATE * max(map(abs, totals))
    best = next(k for k, total in enumerate(totals) if total >= max(totals) - unit)
    return of_size[best]
