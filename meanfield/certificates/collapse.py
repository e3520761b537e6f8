"""Proofs that a measure becomes one cluster, with a time.

For attention with V = 1, a positive strength c and no noise, in scaled time:

- On the circle let beta >= 0, and all mass be in an arc l < pi. Then l' <= -c h(l), with
  h(l) = a(cos l) sin l, because e^{beta cos u} >= e^{beta cos l} and sin u + sin(l - u) >= sin l in
  the arc. So l is at most the distance of two clusters that begin at its ends.
- On any sphere let beta >= 0, r >= 0 be the least cosine of all pairs, m the least mass of a token
  and n = 1/m. Then r' >= (2 c / n) a(r) (1 - r) ((n - 1) r + 1). So r is at least the cosine of n
  equiangular tokens that begin with it.
- In an open hemisphere tokens come together for any beta, at an unknown rate (arXiv:2312.10794,
  Lemma 6.4).

Softmax is at least as fast: Z <= 1 in the unit in which a <= 1, and all terms in the first two
proofs have one sign.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from meanfield.arguments import checked
from meanfield.arrays import FloatArray
from meanfield.engines.pairs import PAIRS_AT_ONCE
from meanfield.laws.initial import uniform
from meanfield.measures import Density, Measure
from meanfield.observables.clusters import cluster_radius
from meanfield.papers.contraction import arc_rate
from meanfield.papers.equiangular import angular_path
from meanfield.papers.two_clusters import two_cluster_time
from meanfield.problem import Problem
from meanfield.runs import Run
from meanfield.terms.flows import Flow

# Largest number of tokens for sums over pairs, and for the linear programme.
_MOST_TOKENS = 10_000
# Largest n = 1/m; beyond it n no longer matters to the least cosine.
_MANY = 2**40
# Least height of tokens over the equator, above rounding.
_OPEN = 1e-9


@dataclass(frozen=True)
class Collapse:
    """A proof that a measure becomes one cluster.

    - reason: "arc", "cosine" or "hemisphere".
    - start: scaled time of the measure.
    - spread: largest angle between two of its points; for "hemisphere" twice the largest angle to
      the centre.
    - by: scaled time from which all angles are below `within`; infinite where no time is proved.
    - rate: from then on the largest chord falls at least like e^{-rate t}; 0 where none is proved.
    """

    reason: str
    start: float
    spread: float
    within: float
    by: float
    rate: float

    def __repr__(self) -> str:
        by = f"within {self.within:.4g} by t = {self.by:.4g}"
        when = by if math.isfinite(self.by) else "at a time that is not known"
        return f"Collapse({self.reason}, spread {self.spread:.4g} at t = {self.start:.4g}, {when})"


@checked
def certified_collapse(
    of: Run | Problem, measure: Measure | Density | None = None, *, within: float | None = None
) -> Collapse | None:
    """Proof that a measure becomes one cluster, with a time; None if no proof is known.

    Parameters
    ----------
    of : Run or Problem
        A run with its states: the result is its first proof with a time, else its first proof. Or a
        problem with `measure`. The kernel is exponential or linear, with a positive strength and
        without diffusion.
    measure : Measure, optional
        Tokens or clusters for a problem. A density has no proof, because its mass is everywhere.
    within : float, optional
        Angle in radians that counts as one cluster; by default the radius of the cluster rule.

    Raises
    ------
    ValueError
        If the problem repels, diffuses, or has matrices, labels or layers: nothing is proved then.

    References
    ----------
    Geshkovski, Letrouit, Polyanskiy, Rigollet, A mathematical perspective on Transformers,
    arXiv:2312.10794, Lemma 6.4 and (6.10).

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=3.0), mf.SA)
    >>> certified_collapse(problem, mf.Measure(mf.Circle(), [0.0, 0.7, 2.0]))
    Collapse(arc, spread 2 at t = 0, within 0.1443 by t = 27.02)
    >>> certified_collapse(problem, mf.Measure(mf.Circle(), [0.0, 2.1, 4.2])) is None
    True
    """
    problem = of.problem if isinstance(of, Run) else of
    check_attracts(problem)
    within = cluster_radius(problem.beta) if within is None else within
    if not 0.0 < within < 0.5 * math.pi:
        raise ValueError(f"within must lie between 0 and pi/2, got {within:g}.")
    if isinstance(of, Problem):
        if measure is None:
            raise ValueError(
                "of a problem a measure is needed: certified_collapse(problem, measure)."
            )
        return _of_measure(problem, measure, 0.0, within)
    if measure is not None:
        raise ValueError("of a run its own measures are taken: give the problem with a measure.")
    first = None
    for time, saved in zip(of.scaled_time, of.measures, strict=True):
        collapse = None if saved is None else _of_measure(problem, saved, float(time), within)
        if collapse is not None and math.isfinite(collapse.by):
            return collapse
        first = first or collapse
    return first


def check_attracts(problem: Problem) -> None:
    """ValueError with the reason, unless collapse is proved for the problem."""
    problem.check_own_clock("proofs of collapse")
    zonal = problem.zonal
    if zonal.kernel.log_slope is None:
        raise ValueError("collapse is proved for mf.exponential(beta) and mf.linear().")
    if not zonal.strength > 0.0:
        raise ValueError(f"collapse needs a positive strength, got {zonal.strength:g}.")
    if zonal.diffusivity:
        raise ValueError("with diffusion there are no clusters that are points.")


def _of_measure(
    problem: Problem, measure: Measure | Density, time: float, within: float
) -> Collapse | None:
    space = problem.manifold
    if measure.manifold != space:
        raise ValueError(f"the measure is on the {measure.manifold.name}, the problem on {space}.")
    if not isinstance(measure, Measure) or measure.cell_order or space.has_rings:
        # A density, its nodes, or rings: there are opposite points with mass.
        return None
    heavy = measure.mass > 0.0
    points, masses = measure.points[heavy], measure.mass[heavy]
    beta = problem.beta
    if space.is_circle and beta >= 0.0:
        length = arc_length(points)
        if length >= math.pi:
            return None
        # Without normalisation tokens are not faster (Z <= 1), and the time is known.
        flow = Flow("none", strength=problem.flow.strength)
        slower = replace(problem, flow=flow, initial=uniform())
        needed = two_cluster_time(slower, length, within) if length > within else 0.0
        rate = problem.flow.strength * arc_rate(beta, min(length, within))
        return Collapse("arc", time, length, within, time + needed, max(rate, 0.0))
    x = problem.manifold.vectors(points)
    if len(x) <= _MOST_TOKENS and beta >= 0.0:
        cosine = least_cosine(x)
        if cosine >= 0.0:
            return _by_cosine(problem, masses, cosine, time, within)
    margin = _hemisphere(x)
    if margin is None:
        return None
    return Collapse("hemisphere", time, 2.0 * math.acos(margin), within, math.inf, 0.0)


def arc_length(angles: FloatArray) -> float:
    """Length of the shortest arc that contains all angles."""
    at = np.sort(np.mod(angles, 2.0 * math.pi))
    gaps = np.diff(np.concatenate([at, at[:1] + 2.0 * math.pi]))
    return 2.0 * math.pi - float(gaps.max())


def least_cosine(x: FloatArray) -> float:
    """Least cosine of two of the unit vectors."""
    rows = max(1, PAIRS_AT_ONCE // len(x))
    least = min(float((x[i : i + rows] @ x.T).min()) for i in range(0, len(x), rows))
    return max(min(least, 1.0), -1.0)


def _by_cosine(
    problem: Problem, masses: FloatArray, cosine: float, time: float, within: float
) -> Collapse:
    """Proof by comparison with equiangular tokens of the least mass."""
    spread, aim = math.acos(cosine), math.cos(within)
    strength, beta = problem.flow.strength, problem.beta
    needed = 0.0
    if cosine < aim:
        count = min(math.ceil(1.0 / float(masses.min())), _MANY)
        path = angular_path(max(count, 2), problem.zonal.kernel.log_slope or 0.0, False, cosine)
        way = path.distance(np.array(1.0 - aim), np.array(aim - cosine))
        needed = float(path.time_at(np.atleast_1d(way))[0]) / strength
    # 1 - r falls at least like e^{-2 c r a(r) t}, at twice the rate of the angle.
    reached = max(aim, cosine)
    rate = strength * reached * math.exp(beta * (reached - 1.0))
    return Collapse("cosine", time, spread, within, time + needed, rate)


def _hemisphere(x: FloatArray) -> float | None:
    """Least cosine to the centre of an open hemisphere with all points; None if none is found."""
    centre = x.mean(axis=0)
    for attempt in (lambda: centre, lambda: _separating(x)):
        w = attempt()
        size = 0.0 if w is None else float(np.linalg.norm(w))
        if w is not None and size > 0.0:
            margin = float((x @ w).min()) / size
            # The proof, for any candidate w.
            if margin > _OPEN:
                return min(margin, 1.0)
    return None


def _separating(x: FloatArray) -> FloatArray | None:
    """Vector w with entries up to 1 that maximises the least <w, x_i>; None for many points."""
    if len(x) > _MOST_TOKENS:
        return None
    from scipy.optimize import linprog

    d = x.shape[1]
    upper = np.column_stack([-x, np.ones(len(x))])
    bounds = [(-1.0, 1.0)] * d + [(None, None)]
    solution = linprog(np.r_[np.zeros(d), -1.0], upper, np.zeros(len(x)), bounds=bounds)
    return np.asarray(solution.x[:d]) if solution.success else None
