"""Energies of attention with matrices, where the flow is that of a gradient.

With S_h = beta B_h symmetric and V_h = gamma_h S_h, which is V_h = c_h B_h for gamma = c / beta:

    E   = sum_h gamma_h / 2 iint e^{x^T S_h y} dmu dmu          "none"; "softmax" with one head
    E_S = -gamma int log u dmu,   u(x) int e^{x^T S y} u dmu = 1    "sinkhorn" with one head

Then dE/dt = int |v|^2 dmu without normalisation and for E_S, int Z |v|^2 dmu for softmax, and
int (Z + c e^s) |v|^2 dmu with a sink c. Several heads that are normalised climb no sum of theirs:
each has a Z of its own. Fixed fields grad U add int U dmu without normalisation.

References: Geshkovski, Letrouit, Polyanskiy, Rigollet, arXiv:2312.10794 (E); Sander, Ablin,
Blondel, Peyre, arXiv:2110.11773 (E_S, half the entropic cost of moving mu to itself).
"""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np

from meanfield.arrays import EPS, ModalArray
from meanfield.engines.sinkhorn import is_symmetric
from meanfield.fields.balanced import MOST_PAIRS, density_scaling, point_scaling
from meanfield.fields.head_pairs import tilted
from meanfield.fields.heads import head_table, side
from meanfield.measures import Density, Measure
from meanfield.problem import Problem
from meanfield.spaces.manifold import Manifold
from meanfield.terms.attention import Attention, HeadMatrices
from meanfield.terms.masks import EVERYONE

# Rounding of a value that is a multiple of a score.
_ROUNDING = 64 * EPS


def energy_note(problem: Problem) -> str | None:
    """Why a problem has no energy, one line; None if it has one."""
    d, of = problem.manifold.ambient, problem.attention
    if problem.terms:
        linear = of is None and problem.own_kernel.log_slope == 0.0
        if problem.normalization != "none" and not linear:
            return "no energy: Z divides attention, and not the fixed fields beside it."
        reasons = [term.no_potential(d) for term in problem.terms]
        for reason in reasons:
            if reason is not None:
                return f"no energy: {reason}."
    return None if of is None else _climbed(of, d)[1]


@lru_cache(maxsize=64)
def _climbed(
    attention: Attention, d: int
) -> tuple[tuple[tuple[HeadMatrices, float], ...], str | None]:
    """Heads with their numbers gamma; or none, and why."""
    heads, name = attention.matrices(d), attention.normalization
    if attention.masking != EVERYONE:
        return (), "no energy: positions attend to each other by a mask, and not all alike."
    if name != "none" and len(heads) > 1:
        return (), f"no energy: several heads with {name} are no gradient flow together."
    pairs = []
    for number, head in enumerate(heads, 1):
        score, value = head
        if not value.any():
            continue
        whose = f"no energy: of head {number} "
        if not is_symmetric(score):
            return (), f"{whose}the score Q^T K is not symmetric."
        if not score.any():
            return (), f"{whose}the score is 0, of which the value is no multiple."
        multiple = float((value * score).sum() / (score * score).sum())
        if np.abs(value - multiple * score).max() > _ROUNDING * np.abs(value).max():
            return (), f"{whose}the value is no multiple of the score Q^T K."
        pairs.append((head, multiple))
    return tuple(pairs), None


def heads_energy(problem: Problem, moments: ModalArray, measure: Density | Measure | None) -> float:
    """Energy of heads in units in which that of one cluster is 1 for B = V = 1; NaN if none is.

        2 s e^{-s} E,    s = beta of the problem, the largest |S_h|_2;    2 E_S for "sinkhorn"

    One cluster along the largest direction of a head alone has |V|_2. Weights of E_S are found to
    1e-13, see `sinkhorn.scaling`.

    measure: where it is known: few points are summed over pairs. E_S needs it.
    """
    attention, space = problem.attention, problem.manifold
    if attention is None:
        raise ValueError("the problem has a kernel, no heads: its energy is interaction_energy.")
    heads, reason = _climbed(attention, space.ambient)
    if reason is not None:
        return float("nan")
    if attention.normalization == "sinkhorn":
        if measure is None:
            raise ValueError("doubly stochastic attention has the energy of a measure: give it.")
        return sum((-2.0 * gamma * _log_weight(space, head, measure) for head, gamma in heads), 0.0)
    s, points = problem.beta, measure if isinstance(measure, Measure) else None
    total = 0.0
    for head, gamma in heads:
        if points is not None and len(points.points) <= MOST_PAIRS:
            x = space.vectors(points.points)
            log_partition = tilted(x @ head.score, x, points.mass).log_partition
            total += gamma * s * float(points.mass @ np.exp(log_partition - s))
            continue
        series = head_table(space, head, False, s).partition(moments)
        log_partition = space.resize(moments, space.degree_of(series))
        total += gamma * s * space.inner(series, log_partition)
    return total


def _log_weight(space: Manifold, head: HeadMatrices, measure: Density | Measure) -> float:
    """Integral of log u over a measure, u = w: of two that differ by a constant the mean."""
    rows, columns = (partial(side, space, each) for each in (head.score, head.score.T))
    if isinstance(measure, Measure):
        masses = measure.mass
        scaling = point_scaling(space, head.score, measure.points, masses, rows, columns)
    else:
        coefficients = measure.coefficients
        _, masses, scaling = density_scaling(space, head.score, coefficients, rows, columns)
    logs = 0.5 * (scaling.log_u + scaling.log_w)
    return float(masses @ np.where(masses > 0.0, logs, 0.0))
