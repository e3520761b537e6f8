"""Checks of the motion: bounds of speed, and invariants of symmetric weights.

The second derivatives of the energy along geodesics lie between -L and C. So W_2 between two runs
grows and falls at most at these rates (`papers.contraction`). Along a run without normalisation
P = int |v|^2 dmu has dP/dt = 2 c Hess E(v, v), so that -2 L P <= dP/dt <= 2 C P.

Reference: Otto, Communications in PDE 26 (2001), 101-174 (gradient flows of measures, their
Hessians).
"""

from __future__ import annotations

import numpy as np

from meanfield.arrays import EPS
from meanfield.carriers.step_limits import contraction_rate
from meanfield.engines.sinkhorn import is_symmetric
from meanfield.measures import Measure
from meanfield.papers.contraction import contraction_rates
from meanfield.problem import Problem
from meanfield.runs import Run
from meanfield.verification.checked_run import (
    ROUNDING,
    Check,
    CheckedRun,
    NotApplicable,
    check,
    measured,
)

_TURN = 2.0 * np.pi


def mean_distances(checked: CheckedRun, first: int, last: int) -> float:
    """Lower bound of W_1 between the measures at two saves, from their moments alone.

    On the circle it is max_k |c_k(t) - c_k(s)| / k, elsewhere the displacement of the mean vector.
    """
    space = checked.space
    sizes = space.sizes_by_degree(checked.moments[last] - checked.moments[first])
    if space.is_circle:
        return float((sizes[1:] / np.arange(1, len(sizes))).max(initial=0.0))
    # In this unit the mean vector of one point has length 1.
    return float(sizes[1] / space.largest_sizes(1)[1])


@check("speed")
def speed(checked: CheckedRun) -> Check:
    """Neither moments nor tokens have moved further than the largest speed allows."""
    run = checked.run
    bounds = [largest_speed(problem) for problem in checked.problem.staged]
    if any(bound is None for bound in bounds):
        raise NotApplicable(_unbounded(checked.problem))
    worst = 0.0
    for save in range(1, len(run.scaled_time)):
        between = checked.problems_between(save - 1, save)
        fastest = max(largest_speed(problem) or 0.0 for problem in between)
        far = fastest * float(run.scaled_time[save] - run.scaled_time[save - 1])
        far += checked.grown(save)
        distance = max(mean_distances(checked, save - 1, save), _farthest(checked, save))
        worst = max(worst, distance / far) if np.isfinite(distance) else np.inf
    return measured(
        worst, 1.0,
        "farthest that tokens and moments have moved between saves, over the largest speed of "
        "attention times the time",
    )  # fmt: skip


def _farthest(checked: CheckedRun, save: int) -> float:
    """Largest displacement of a token since the previous save, 0 for other carriers."""
    run = checked.run
    if run.representation[save - 1 : save + 1] != ("particles", "particles"):
        return 0.0
    old, new = run.measures[save - 1 : save + 1]
    if not (isinstance(old, Measure) and isinstance(new, Measure)):
        return 0.0
    if old.points.shape != new.points.shape:
        return 0.0
    return float(checked.space.distance(old.points, new.points).max())


def _unbounded(problem: Problem) -> str:
    if problem.flow.diffusivity:
        return "noise has no largest speed"
    if not problem.manifold.is_sphere:
        return "in R^d weights have no bound"
    if problem.layers is not None:
        return "layers move tokens, no flow"
    return "fixed fields or frequencies move tokens too"


def not_balanced(problem: Problem) -> str | None:
    """Why int x ^ v dmu may differ from 0; None if weights are symmetric and V = c I."""
    if problem.has_labels:
        return "tokens have labels, and do not see each other alike"
    if problem.terms:
        return "fixed fields turn tokens too"
    if problem.layers is not None:
        return "layers move tokens, no flow"
    if not problem.manifold.is_sphere:
        return "in R^d nothing of the kind is conserved"
    if problem.normalization == "softmax":
        linear = problem.kernel.log_slope == 0.0
        return None if linear else "softmax weights are not symmetric"
    d = problem.manifold.ambient
    for head in problem.kernel.matrices(d):
        c = float(np.trace(head.value)) / d
        if np.abs(head.value - c * np.eye(d)).max() > ROUNDING * max(abs(c), 1e-300):
            return "a value of a head is no multiple of 1"
        if head.value.any() and not is_symmetric(head.score):
            return "a score of a head is not symmetric"
    return None


@check("torque")
def torque(checked: CheckedRun) -> Check:
    """The mean rotation int x ^ v dmu vanishes at every saved state."""
    if checked.still:
        raise NotApplicable(checked.still)
    reasons = [not_balanced(problem) for problem in checked.problem.staged]
    reason = next((each for each in reasons if each), None)
    if reason:
        raise NotApplicable(reason)
    motions = {save: each for save, each in checked.motions.items() if np.isfinite(each.torque)}
    if not motions:
        raise NotApplicable("measures with an axis have none")
    worst = allowed = 0.0
    for save, each in motions.items():
        unit = ROUNDING * _speed_unit(checked, save)
        worst, allowed = max(worst, each.torque), max(allowed, unit)
    return measured(
        worst, allowed,
        "|int x ^ v dmu| of saved states: 0 for symmetric weights; rounding of velocities"
        f"{checked.sample_note}",
    )  # fmt: skip


def _speed_unit(checked: CheckedRun, save: int) -> float:
    bound = largest_speed(checked.problem_at(save))
    return max(1.0 if bound is None else bound, checked.motions[save].fastest)


def _saved_tokens(run: Run) -> list[tuple[int, Measure]]:
    """Saves at which particles carried the run, with their measures."""
    return [
        (save, each)
        for save, each in enumerate(run.measures)
        if isinstance(each, Measure) and run.representation[save] == "particles"
    ]


@check("mean angle")
def mean_angle(checked: CheckedRun) -> Check:
    """The mean of unwrapped angles of tokens is constant."""
    run, problem = checked.run, checked.problem
    if not checked.space.is_circle:
        raise NotApplicable("only angles have a mean that is conserved")
    reason = next((each for each in map(not_balanced, checked.problem.staged) if each), None)
    if problem.flow.diffusivity:
        reason = reason or "noise moves it"
    if reason:
        raise NotApplicable(reason)
    tokens = _saved_tokens(run)
    if len(tokens) < 2:
        raise NotApplicable("densities and atoms do not store how often they went round")
    begin, start = tokens[0]
    first = float(start.mass @ start.points)
    worst = largest = 0.0
    for _, each in tokens[1:]:
        worst = max(worst, abs(float(each.mass @ each.points) - first))
        largest = max(largest, float(np.abs(each.points).max()))
    last = tokens[-1][0]
    elapsed = float(run.scaled_time[last] - run.scaled_time[begin])
    steps = float(run.diagnostics.get("steps", np.zeros(last + 1))[last])
    speed_ = max((largest_speed(each) or 0.0 for each in checked.problem.staged), default=0.0)
    # Runge-Kutta methods keep linear invariants up to rounding: of velocities over the whole time,
    # and of positions in each step.
    allowed = ROUNDING * speed_ * elapsed + 4 * EPS * (1.0 + largest) * (1.0 + steps)
    return measured(
        worst, allowed,
        "drift of the mean of unwrapped angles: conserved by symmetric weights, and by every "
        "Runge-Kutta step but for rounding",
    )  # fmt: skip


@check("order")
def order(checked: CheckedRun) -> Check:
    """Tokens of one field do not pass each other on the circle."""
    run, problem = checked.run, checked.problem
    reason = _may_pass(checked, problem)
    if reason:
        raise NotApplicable(reason)
    tokens = _saved_tokens(run)
    if len({len(each.points) for _, each in tokens}) != 1 or len(tokens) < 2:
        raise NotApplicable("two saves of the same tokens are needed")
    begin, start = tokens[0]
    within = np.mod(start.points, _TURN)
    ranks, turns = np.argsort(within, kind="stable"), start.points - within
    worst, allowed, at = 0.0, checked.grown(begin), begin
    for save, each in tokens[1:]:
        angles = (each.points - turns)[ranks]
        # Largest angle of the tokens that began behind each one, up to a turn back.
        ahead = np.maximum.accumulate(np.concatenate([angles - _TURN, angles]))[len(angles) :]
        passed = float(each.mass[ranks] @ (ahead - angles))
        if not passed <= worst:
            worst, allowed, at = passed, checked.grown(save), save
    return measured(
        worst, allowed,
        f"how far tokens are past others once ahead, in the mean, at t = {run.time[at]:.6g}: all "
        "move in one field; errors of steps, in tolerances, may grow to 100",
    )  # fmt: skip


def _may_pass(checked: CheckedRun, problem: Problem) -> str:
    """Why tokens may pass each other; empty where they cannot."""
    if not checked.space.is_circle:
        return "only on the circle tokens have an order"
    if problem.has_labels or problem.frequencies is not None:
        return "tokens have labels, and do not move in one field"
    if not problem.layering.keeps_time:
        return "a layer may carry tokens past each other"
    if any(each.flow.diffusivity for each in checked.problem.staged):
        return "noise carries tokens past each other"
    return ""


def power_rates(problem: Problem) -> tuple[float, float] | None:
    """Rates (A, B) with -A P <= dP/dt <= B P, P = int |v|^2 dmu; None if no bound is known."""
    if problem.flow.diffusivity:
        return None
    try:
        rates = contraction_rates(problem, 2)
    except ValueError:
        return None
    return 2.0 * rates.lower, 2.0 * rates.upper


def largest_speed(problem: Problem) -> float | None:
    """Bound of all speeds; None off the sphere, with noise, and if more than attention moves.

    It is |strength| max |a| for a kernel, |strength| for a normalised one; for heads the sum of
    |V|_2, each times its largest weight.
    """
    others = problem.terms or problem.frequencies is not None or problem.layers is not None
    if others or problem.flow.diffusivity or not problem.manifold.is_sphere:
        return None
    return contraction_rate(problem)


def mean_inverse_partition(problem: Problem) -> float | None:
    """Bound of int dmu / Z over all measures; None for heads and kernels of a user's own.

    Let N sets of diameter w cover the sphere. In each, Z is at least its mass times
    min_{s >= cos w} a, so the bound is N over this minimum. N = 2 pi / w arcs suffice, or
    N <= 1 over the mass of a ball of radius w / 4. 1 / min a is a bound too. 1 if Z = 1.
    """
    if not _divided(problem):
        return 1.0
    if problem.kernel.log_slope is None:
        return None
    from scipy.special import betainc

    kernel, m = problem.own_kernel, problem.manifold.dimension
    if m == 1:
        counts = np.arange(2, 2000)
        widths = np.minimum(2.0 * np.pi / counts, np.pi)
    else:
        widths = np.linspace(0.01, np.pi, 500)
        # Share of the sphere S^m within an angle r: I_{sin^2 r}(m / 2, 1 / 2) / 2.
        counts = 2.0 / np.maximum(betainc(0.5 * m, 0.5, np.sin(0.25 * widths) ** 2), 1e-300)
    # Built-in kernels are monotone: the least value is at an end.
    ends = np.minimum(kernel.attention(np.cos(widths)), kernel.attention(np.ones(1)))
    with np.errstate(all="ignore"):
        covered = float((counts / ends).min())
        everywhere = float(1.0 / np.asarray(kernel.attention(np.array([-1.0, 1.0]))).min())
    bound = min(covered, everywhere)
    return bound if np.isfinite(bound) else None


def _divided(problem: Problem) -> bool:
    """True if Z may differ from 1; the energy of doubly stochastic weights has no Z."""
    return problem.normalization == "softmax" and problem.kernel.log_slope != 0.0
