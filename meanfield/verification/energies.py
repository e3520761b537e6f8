"""Checks of energies: their values, their direction, their rates, and bounds of distances.

A flow that climbs an energy E has dE/dt = int Z |v|^2 dmu / strength. Every flow has

    W_2(mu_s, mu_t)^2 <= (t - s) int_s^t int |v|^2 dmu.

Without normalisation the kernel bounds the rates at which P = int |v|^2 dmu grows and falls
(`motions.power_rates`). So two saved rates bracket the difference of energies between them.

Reference: Ambrosio, Gigli, Savare, Gradient Flows, chapters 8 and 11 (speed and energy).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from meanfield.arrays import FloatArray, ModalArray
from meanfield.certificates.action import action_bound
from meanfield.certificates.partition import TOLERANCE
from meanfield.measures import Measure
from meanfield.observables.energies import energy_note, energy_unit, interaction_energy
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
from meanfield.verification.motions import (
    largest_speed,
    mean_distances,
    mean_inverse_partition,
    power_rates,
)

# Most points on the sphere: their distances take about a millisecond.
_FEW_POINTS = 64
# Most pairs of axial densities: each distance takes some tenths of a second.
_FEW_PAIRS = 6
# Rounding of sums over pairs; doubly stochastic weights are right to 1e-13.
_SAME = 1e-11


def no_gradient(problem: Problem) -> str | None:
    """Why a flow climbs no energy; None if it does."""
    if problem.has_labels:
        return "tokens have labels, and do not see each other alike"
    if not problem.layering.keeps_time:
        return "a layer may be too long to climb"
    reason = energy_note(problem)
    if reason is not None:
        return reason.removesuffix(".")
    if not problem.manifold.is_sphere and problem.attention is None:
        return "no energy is defined in R^d"
    return None


def _strength(problem: Problem) -> float:
    """Strength that divides a rate; the energy of heads contains it already."""
    return 1.0 if problem.attention is not None else problem.flow.strength


@check("energy")
def value(checked: CheckedRun) -> Check:
    """Stored energies equal the energies of the stored moments or states."""
    run, staged = checked.run, checked.problem.staged
    stored = run.observables.get("energy")
    if stored is None or not np.any(np.isfinite(stored)):
        raise NotApplicable(no_gradient(staged[0]) or "no energy was stored")
    worst, count, allowed = 0.0, 0, _SAME
    for save, energy in enumerate(stored):
        problem = checked.problem_at(save)
        measure = run.measures[save] if save in checked.sample else None
        if not np.isfinite(energy):
            continue
        try:
            computed = interaction_energy(
                problem, _moments_to_degree(checked, problem, save), measure
            )
        except ValueError:
            # The energy needs a state that was not stored.
            continue
        if np.isfinite(computed):
            count += 1
            allowed = max(allowed, _SAME * abs(energy))
            worst = max(worst, abs(computed - energy))
    if not count:
        raise NotApplicable(checked.no_states)
    return measured(
        worst, allowed,
        f"stored against computed again, {count} of {len(stored)} saves; rounding of sums"
        f"{checked.sample_note}",
    )  # fmt: skip


def _moments_to_degree(checked: CheckedRun, problem: Problem, save: int) -> ModalArray:
    space = problem.manifold
    moments: ModalArray = checked.moments[save]
    if not space.has_series:
        return moments
    return space.resize(moments, max(space.degree_of(moments), problem.kernel_degree))


def _heights(checked: CheckedRun) -> tuple[FloatArray, str]:
    """Values that never fall, and their name: energy in the climbing direction, or -free energy."""
    run, problem = checked.run, checked.problem
    if len(run.scaled_time) < 2:
        raise NotApplicable("one saved time")
    if len(problem.staged) > 1:
        raise NotApplicable("each stage climbs an energy of its own")
    reason = no_gradient(problem)
    if reason:
        raise NotApplicable(reason)
    if problem.flow.diffusivity:
        free = run.observables.get("free_energy")
        if not problem.has_free_energy or free is None or not np.all(np.isfinite(free)):
            raise NotApplicable("with noise a free energy is needed: of a density, without softmax")
        return -free, "minus the free energy"
    stored = run.observables.get("energy")
    if stored is None or not np.all(np.isfinite(stored)):
        raise NotApplicable("no energy was stored")
    return energy_unit(problem) * stored, "energy"


@check("energy direction")
def direction(checked: CheckedRun) -> Check:
    """The energy never goes the wrong way."""
    (heights, what), problem = _heights(checked), checked.problem
    size = _size(problem)
    wrong = float(np.max(np.maximum.accumulate(heights) - heights)) / size
    way = "rise" if _strength(problem) > 0 else "fall"
    allowed = max(checked.grown(save) for save in range(len(heights)))
    message = f"{what} must {way if what == 'energy' else 'rise'}: largest step back"
    return measured(wrong, allowed, f"{message}; errors of steps, in tolerances, may grow to 100")


def _size(problem: Problem) -> float:
    """Scale of heights, with which errors are compared: energy of one cluster."""
    return abs(energy_unit(problem)) + problem.flow.diffusivity


@check("dissipation")
def dissipation(checked: CheckedRun) -> Check:
    """Stored rates of energy equal the rates of the stored states."""
    run, _ = checked.run, checked.problem
    stored = run.diagnostics.get("energy_dissipation")
    if stored is None or not np.any(np.isfinite(stored)):
        raise NotApplicable("none was stored: it is of kernels alone")
    rates = run.diagnostics.get("energy_rate", np.full(len(stored), np.nan))
    worst = count = 0
    for save in range(len(stored)):
        problem, motion = checked.problem_at(save), checked.motions.get(save)
        unit = _rate_unit(checked, problem, save)
        both = [abs(stored[save] - rates[save])]
        if motion is not None and not problem.flow.diffusivity and not problem.terms:
            rate = motion.dissipation / problem.flow.strength
            both += [abs(stored[save] - rate), abs(rates[save] - rate)]
        differences = [each for each in both if np.isfinite(each)]
        if differences:
            count += 1
            worst = max(worst, max(differences) / unit)
    if not count:
        raise NotApplicable(checked.still or "noise adds to it")
    return measured(
        worst, 1.0,
        f"stored dE/dt, by moments and by int Z |v|^2 dmu, against that of the stored states, "
        f"{count} of {len(stored)} saves; in units of tolerance times the largest rate"
        f"{checked.sample_note}",
    )  # fmt: skip


def _rate_unit(checked: CheckedRun, problem: Problem, save: int) -> float:
    """Error of a rate of energy: velocities err by the tolerance times the largest speed."""
    fastest = largest_speed(problem.undriven) or 1.0
    error = max(checked.tolerance_at(save), ROUNDING)
    # |v|^2 has twice the relative error of v, Z |v|^2 up to four times.
    return 4.0 * error * fastest**2 / abs(_strength(problem))


@check("energy balance")
def balance(checked: CheckedRun) -> Check:
    """Differences of energy lie within the bounds that the rates at both ends give."""
    (heights, _), problem, t = _heights(checked), checked.problem, checked.run.scaled_time
    rates = None if problem.terms else power_rates(problem)
    if rates is None:
        raise NotApplicable("no bound of a rate between saves is known")
    power, errors = _power(checked, problem)
    falls, grows = rates
    worst, tightest = -np.inf, np.inf
    for k in range(len(t) - 1):
        h, gained = float(t[k + 1] - t[k]), float(heights[k + 1] - heights[k])
        ends = np.array([power[k], power[k + 1]])
        if not np.all(np.isfinite(ends)):
            continue
        # e^700 is near the largest number.
        up = [_integral(min(rate * h, 700.0), h) for rate in (grows, falls)]
        down = [_integral(-min(rate * h, 700.0), h) for rate in (falls, grows)]
        margin = np.array([errors[k], errors[k + 1]])
        highest = float(((ends + margin) * up).min())
        lowest = float(((ends - margin) * down).max())
        slack = _size(problem) * checked.grown(k + 1)
        worst = max(worst, (gained - highest) / slack, (lowest - gained) / slack)
        if gained > slack:
            tightest = min(tightest, highest / max(lowest, 1e-300))
    if not np.isfinite(worst):
        raise NotApplicable("no rates of energy were stored, and no states")
    width = f", narrowest by a factor of {tightest:.3g}" if tightest < 100 else ""
    return measured(
        max(worst, 0.0), 1.0,
        "differences of energy between saves beyond what the rates at both ends leave open"
        f"{width}; in units of 100 tolerances",
    )  # fmt: skip


def _integral(exponent: float, duration: float) -> float:
    """Integral of e^{exponent t / duration} over the duration."""
    if abs(exponent) < 1e-12:
        return duration
    return duration * float(np.expm1(exponent)) / exponent


def _power(checked: CheckedRun, problem: Problem) -> tuple[FloatArray, FloatArray]:
    """P = int |v|^2 dmu at every save, from the state where it is stored, and its errors."""
    run = checked.run
    power = np.full(len(run.scaled_time), np.nan)
    stored = run.diagnostics.get("energy_dissipation")
    if stored is not None:
        power = _strength(problem) * stored
    for save, motion in checked.motions.items():
        power[save] = motion.power
    errors = [_rate_unit(checked, problem, save) for save in range(len(power))]
    return power, abs(_strength(problem)) * np.array(errors)


@check("path of moments")
def path(checked: CheckedRun) -> Check:
    """Moments have moved no further than the gained energy allows."""
    (heights, _), problem, t = _heights(checked), checked.problem, checked.run.scaled_time
    factor = mean_inverse_partition(problem)
    if factor is None:
        raise NotApplicable("no bound of 1/Z is known")
    if not checked.space.is_sphere:
        raise NotApplicable("moments have no bound in R^d")
    worst = 0.0
    for first in range(len(t) - 1):
        for last in _partners(first, len(t)):
            gained = float(heights[last] - heights[first]) + _size(problem) * checked.grown(last)
            far = np.sqrt(factor * abs(float(t[last] - t[first])) * max(gained, 0.0))
            distance = mean_distances(checked, first, last)
            worst = max(worst, distance / (far + checked.grown(last)))
    return measured(
        worst, 1.0,
        "farthest that moments have moved, no more than W_2(mu_s, mu_t), over the root of (t - s) "
        "times the energy gained; pairs of saves",
    )  # fmt: skip


@check("action bound")
def action(checked: CheckedRun) -> Check:
    """W_2(mu_s, mu_t)^2 <= (t - s) (E_t - E_s) / min Z, of the stored states."""
    problem = checked.problem
    if problem.flow.diffusivity and any(isinstance(e, Measure) for e in checked.run.measures):
        raise NotApplicable("points with noise have no free energy")
    stretches = [each for each in _stretches(checked) if len(each) > 1]
    if not stretches:
        raise NotApplicable(
            "no two saves beside each other whose distance is known: nodes stand for a "
            f"density, more than {_FEW_POINTS} points on the sphere take long"
            if checked.saves else checked.no_states
        )  # fmt: skip
    worst, count = 0.0, 0
    for saves in stretches:
        off = max(max(checked.grown(save) for save in saves), TOLERANCE)
        try:
            bound = action_bound(_part(checked, problem, saves), tolerance=off)
        except ValueError as error:
            reason = str(error).removeprefix("no bound: ").removesuffix(".")
            raise NotApplicable(reason) from error
        moved = bound.squared_distance > 0.0
        share = (bound.squared_distance / (bound.bound + bound.allowance))[moved]
        # NaN counts as the worst.
        worst = max([worst, *np.nan_to_num(share, nan=np.inf)])
        count += len(bound.times)
    if not count:
        raise NotApplicable("a stage ends between any two saves")
    return measured(
        worst, 1.0,
        f"W_2(mu_s, mu_t)^2 over (t - s) times the energy gained, over min Z; {count} pairs of "
        f"saves of densities or points{checked.sample_note}",
    )  # fmt: skip


def _stretches(checked: CheckedRun) -> list[list[int]]:
    """Runs of consecutive saves whose distances can be computed in a short time."""
    stretches: list[list[int]] = [[]]
    for save, measure in enumerate(checked.run.measures):
        usable = measure is not None and checked.run.representation[save] != "characteristics"
        if usable and checked.space.has_series and checked.space.point_shape:
            usable = isinstance(measure, Measure) and len(measure.points) <= _FEW_POINTS
        if usable:
            stretches[-1].append(save)
        elif stretches[-1]:
            stretches.append([])
    axial = checked.space.has_rings
    if not axial and len(checked.sample) == len(checked.saves):
        return stretches
    # A few separate pairs: each takes the time of two states.
    pairs = [[first, last] for each in stretches for first, last in pairwise(each)]
    step = max(1, -(-len(pairs) // (_FEW_PAIRS if axial else max(1, len(checked.sample) // 2))))
    return pairs[::step]


def _part(checked: CheckedRun, problem: Problem, saves: list[int]) -> Run:
    """Run restricted to some saves."""
    run = checked.run
    return replace(
        run,
        scaled_time=run.scaled_time[saves],
        measures=tuple(run.measures[save] for save in saves),
        source_problem=problem,
    )


# Saves fewer steps apart than this are compared, and saves 8, 16, 32, ... steps apart.
_NEAR = 8


def _partners(first: int, count: int) -> list[int]:
    """Later saves with which a save is compared."""
    steps = [*range(1, _NEAR), *(2**k for k in range(3, 31))]
    return [first + step for step in steps if first + step < count]
