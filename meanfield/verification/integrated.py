"""Check of the evolution: stored states are integrated to the next saved time again.

Nodes of characteristics move as weighted tokens. Errors of steps may grow like any disturbance. If
the first comparison fails, the interval is integrated once more from a disturbed state, and the
growth of the disturbance widens the bound.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from meanfield.carriers import REPRESENTATIONS, Representation, represent, resumed
from meanfield.errors import SimulationError
from meanfield.measures import Density, LabelledDensity, Measure
from meanfield.problem import Problem
from meanfield.simulation import Evolution, evolve
from meanfield.snapshot import Checkpoint, Snapshot
from meanfield.verification.checked_run import (
    Check,
    CheckedRun,
    NotApplicable,
    check,
    measured,
    spread_over,
)

# Most operations of all right-hand sides together: some seconds.
_WORK = 5e8
# Least operations of a right-hand side, and right-hand sides of a first step.
_LEAST_WORK, _FIRST_STEP = 1e5, 40.0
# Most right-hand sides of an interval, relative to the run's diagnostics.
_PATIENCE = 4.0
_DISTURBANCE = 1e-6
# If rounding moves a save into a step, sqrt(eps) of the step's noise is drawn anew.
_NOISE = 1e-6


class _TooLongError(Exception):
    """An interval takes many times the right-hand sides of the run."""


@check("integrated again")
def integrated(checked: CheckedRun) -> Check:
    """Stored states evolve into the next stored states."""
    problem, run = checked.problem, checked.run
    if "config" not in run.attributes:
        raise NotApplicable("the run does not hold its run file")
    saves = set(checked.saves)
    intervals = [save for save in range(len(run.scaled_time) - 1) if {save, save + 1} <= saves]
    if not intervals:
        raise NotApplicable("no two saves beside each other hold states")
    worst, done, reason = 0.0, [], ""
    for save in _sample(checked, intervals):
        try:
            excess = _excess(checked, problem, save)
        except (ValueError, SimulationError, _TooLongError) as error:
            reason = str(error).removesuffix(".")
            continue
        done.append(save)
        worst = max(worst, excess)
    if not done:
        raise NotApplicable(reason or "each interval takes long: save more often")
    which = f"all {len(done)} intervals"
    if len(done) < len(run.scaled_time) - 1:
        some = ", ".join(f"{run.time[save]:.6g}" for save in sorted(done)[:6])
        more = ", ..." if len(done) > 6 else ""
        which = f"{len(done)} of {len(run.scaled_time) - 1} intervals, from t = {some}{more}"
    return measured(
        worst, 1.0,
        f"stored states integrated to the next saved time, against those stored there: {which}; in "
        "units of 100 tolerances, times what the flow makes of a disturbance",
    )  # fmt: skip


def _size(checked: CheckedRun, save: int) -> float:
    """Operations of a right-hand side."""
    measure = checked.run.measures[save]
    numbers = 0
    if isinstance(measure, LabelledDensity):
        numbers = measure.parts.size
    elif isinstance(measure, Density):
        numbers = measure.coefficients.size
    elif isinstance(measure, Measure):
        numbers = len(measure.points)
    return _LEAST_WORK + numbers * min(numbers, 2000.0)


def _steps(checked: CheckedRun, save: int) -> float:
    """Number of right-hand sides of an interval, as the run counted them."""
    counts = checked.run.diagnostics.get("evaluations", np.zeros(save + 2))
    return float(max(counts[save + 1] - counts[save], 0.0)) + _FIRST_STEP


def _sample(checked: CheckedRun, intervals: list[int]) -> list[int]:
    """Intervals spread over the run, as many as take some seconds."""
    work = [_steps(checked, save) * _size(checked, save) for save in intervals]
    return spread_over(intervals, work, _WORK)


def _excess(checked: CheckedRun, problem: Problem, save: int) -> float:
    """Distance between the next stored state and the integrated one, over its bound."""
    run, there, measure = checked.run, save + 1, checked.run.measures[save]
    evolution = Evolution(problem, checked.options, run.scaled_time[[there]], run.unit)
    most = _PATIENCE * _steps(checked, save)

    def reached(measure: Density | Measure | None) -> Snapshot:
        start, carrier = _begin(checked, evolution, save, measure)
        calls = 0

        def watch() -> None:
            nonlocal calls
            calls += 1
            if calls > most:
                raise _TooLongError("intervals take more steps than the run took")

        (snapshot,) = evolve(evolution, start=start, representation=carrier, watch=watch)
        return snapshot

    here = reached(measure)
    # Nodes that replace a density within the interval are not the run's: moments are compared.
    nodes = run.measures[there] if isinstance(measure, Measure) else None
    far = _distance(checked, here, nodes, checked.moments[there])
    allowed = checked.grown(there)
    if run.representation[save] == "particles" and problem.flow.diffusivity:
        allowed = max(allowed, _NOISE)
    if not far <= allowed:
        other = reached(_disturbed(checked, measure))
        allowed *= max(1.0, _distance(checked, here, other.measure, other.moments) / _DISTURBANCE)
    return far / allowed


def _disturbed(checked: CheckedRun, measure: Density | Measure | None) -> Density | Measure | None:
    """State near a state, without its symmetries."""
    space = checked.space
    if isinstance(measure, Density):
        low = space.resize(measure.coefficients, 4)
        low = _DISTURBANCE * np.cos(1.7 * np.arange(len(low))) * (1.0 + 0.0 * low)
        low[0] = 0.0
        change = space.resize(low, measure.max_degree)
        if isinstance(measure, LabelledDensity):
            return replace(measure, parts=measure.parts + change)
        return replace(measure, coefficients=measure.coefficients + change)
    if isinstance(measure, Measure):
        signs = np.cos(1.7 * np.arange(measure.points.size)).reshape(measure.points.shape)
        points, _ = space.retract(measure.points + _DISTURBANCE * signs)
        return replace(measure, points=points)
    return None


def _begin(
    checked: CheckedRun, evolution: Evolution, save: int, measure: Density | Measure | None
) -> tuple[Checkpoint, Representation]:
    """State at a save as the start of a step, and its carrier."""
    run, options = checked.run, evolution.options
    time, name, number = float(run.scaled_time[save]), run.representation[save], 0
    problem = evolution.problem_after(time)
    if isinstance(measure, LabelledDensity):
        labels = problem.labels(options.labels)
        if not np.array_equal(labels.values, measure.labels):
            raise ValueError("the labels in the file differ from the labels of the problem")
        if run.diagnostics["labels"][-1] != len(labels.values) or np.isfinite(labels.band):
            raise ValueError("means over labels need more densities than are stored")
        # The last number of the state is the turn of the labels' frames.
        state = np.append(measure.parts.ravel(), 0.0)
        fixed = {"refinement": np.asarray(1), "band": np.asarray(np.inf)}
        carrier = resumed(problem, options, name, state, fixed)
    elif isinstance(measure, Density):
        carrier = resumed(problem, options, name, measure.coefficients, {})
    elif name == "atoms" and measure is not None:
        carrier = REPRESENTATIONS[name].begin(problem, measure, options)
    elif isinstance(measure, Measure):
        other = run.measures[save + 1]
        same = isinstance(other, Measure) and len(other.points) == len(measure.points)
        if name == "characteristics" and not same:
            raise ValueError("cells of characteristics are refined in the interval")
        if problem.flow.diffusivity:
            number = round(time / options.step) if options.step else -1
            if number < 0 or number * (options.step or 0.0) != time:
                raise ValueError("noise is drawn for whole steps, and the state lies in one")
        carrier = _tokens(evolution, problem, measure, time)
    else:
        raise ValueError(checked.no_states)
    return Checkpoint(time, carrier.state, steps=number, fixed=carrier.fixed), carrier


def _tokens(
    evolution: Evolution, problem: Problem, measure: Measure, time: float
) -> Representation:
    """Carrier of tokens, or of nodes as weighted tokens, with lengths and frequencies."""
    points, layers = measure.points, problem.layering
    fixed = {} if measure.weights is None else {"weights": measure.weights}
    if not layers.moves_densities:
        points = problem.manifold.vectors(points)
        if layers.has_radius:
            if time > 0.0:
                raise ValueError("lengths of tokens are not stored")
            points = layers.radius * points
    if problem.frequencies is not None:
        fixed["frequencies"] = represent(evolution.problem, evolution.options).fixed["frequencies"]
    return resumed(problem, evolution.options, "particles", np.ravel(points), fixed)


def _distance(checked: CheckedRun, reached: Snapshot, measure: Any, moments: Any) -> float:
    """Larger of the differences of moments over their slopes and the mean distance of tokens."""
    space, degree = checked.space, checked.space.degree_of(moments)
    sizes = space.sizes_by_degree(reached.moments - moments)
    if space.is_sphere:
        sizes = sizes / (space.largest_sizes(degree) * np.maximum(np.arange(len(sizes)), 1))
    else:
        sizes = sizes / max(1.0, float(np.abs(measure.points).max()) if measure else 1.0)
    far = float(sizes.max())
    here = reached.measure
    if isinstance(measure, Measure) and isinstance(here, Measure) and space.is_sphere:
        alike = here.points.shape == measure.points.shape
        apart = space.distance(here.points, measure.points) if alike else np.zeros(1)
        far = max(far, float((measure.mass * apart).sum()))
    return far
