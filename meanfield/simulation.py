"""One evolution: problem, options, times and observables, and its stream of snapshots.

`mf.simulate` and run files make an `Evolution`; `evolve` yields its snapshots to callers that
collect, record or draw them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from meanfield.arguments import describe
from meanfield.arrays import FloatArray, ModalArray
from meanfield.carriers import (
    Options,
    Representation,
    hand_over_rule,
    represent,
    with_problem,
)
from meanfield.carriers.label_counts import TooFewLabels
from meanfield.carriers.labelled import LabelledRepresentation
from meanfield.carriers.symmetry import Symmetry, symmetry_of
from meanfield.errors import Final, SimulationError
from meanfield.measures import Density, Measure
from meanfield.observables import USUAL_OBSERVABLES, Observable, chosen_observables
from meanfield.observables.clusters import cluster_radius, clusters
from meanfield.problem import Problem
from meanfield.problem_facts import problem_attributes
from meanfield.runs import observed
from meanfield.snapshot import Checkpoint, Snapshot
from meanfield.spectrum.time_units import time_unit
from meanfield.status import ended_by
from meanfield.trajectory import MOST_STEPS, Timeline, trajectory
from meanfield.version import __version__

MOST_SAVES = 1_000_000
LATEST = 1e300
"""Latest time of a run, in scaled time: sums of times and steps stay below 1.8e308."""

Stop = str | Callable[[float, Density | Measure], bool]
"""Rule that ends a run early: "one_cluster", or a function of time (in its unit) and measure."""


@dataclass(frozen=True)
class Evolution:
    """Plan of a run: problem, options, times and stop rule."""

    problem: Problem
    options: Options
    times: FloatArray  # (n_saves,): times to save, in scaled time
    unit: str = "scaled"  # unit of the user's times, see `spectrum.time_units`
    stop: Stop | None = None  # ends the run after the first saved time at which it holds
    # See `chosen_observables`; by default those of densities.
    observables: tuple[Observable, ...] = chosen_observables(USUAL_OBSERVABLES)

    @cached_property
    def unit_length(self) -> float:
        return time_unit(self.problem, self.unit)

    @cached_property
    def symmetry(self) -> Symmetry | None:
        """Symmetry of the start that the run keeps, see `symmetry_of`."""
        return symmetry_of(self.problem, self.options)

    @property
    def timeline(self) -> Timeline:
        """End and problem of each stage, in scaled time."""
        return tuple((end * self.unit_length, stage) for end, stage in self.problem.timeline)

    def problem_at(self, time: float) -> Problem:
        return self.problem.at(time, self.unit_length)

    def problem_after(self, time: float) -> Problem:
        """Problem of the stage that goes on from a scaled time; at the end of a stage, the next."""
        return self.timeline[bisect_right([end for end, _ in self.timeline], time)][1]

    @property
    def origin(self) -> dict[str, Any]:
        """Attributes of the problem and of its origin, for files and runs in memory."""
        symmetry = {} if self.symmetry is None else {"symmetry": self.symmetry.summary}
        making = {
            "meanfield_version": __version__,
            "seed": self.options.seed,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "requested_time_unit": self.unit,
        }
        return problem_attributes(self.problem) | symmetry | making

    def observe(self, snapshot: Snapshot) -> dict[str, FloatArray]:
        return observed(self.problem_at(snapshot.time), snapshot, self.observables)

    def stops(self, time: float, measure: Density | Measure, moments: ModalArray) -> bool:
        """True if the run ends after a saved time, in scaled time."""
        if self.stop is None:
            return False
        if not callable(self.stop):
            problem = self.problem_at(time)
            count = clusters(measure, problem.beta).count
            return is_one_cluster(problem, moments, count, measure)
        ends = self.stop(time / self.unit_length, measure)
        if not isinstance(ends, bool | np.bool_):
            raise TypeError(f"stop(time, measure) must give True or False, got {describe(ends)}.")
        return bool(ends)


@dataclass(frozen=True, eq=False)
class Record:
    """File of a run, and the run file that describes it."""

    path: Path
    state: str  # states to keep: "all", "last" or "none"
    label: str  # beginning of error messages: the name of a run file, or "simulate"
    tables: dict[str, Any]  # the document of a run file, also of a call
    # Section -> keys without effect on this run, which older files may have.
    idle: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def attributes(self) -> dict[str, Any]:
        import tomli_w

        return {"config": tomli_w.dumps(self.tables), "title": self.tables.get("title", "")}


def evolve(
    evolution: Evolution,
    *,
    start: Checkpoint | None = None,
    representation: Representation | None = None,
    times: FloatArray | None = None,
    watch: Callable[[], None] | None = None,
    observing: Callable[[], AbstractContextManager[None]] = nullcontext,
    ended: Callable[[str], object] | None = None,
) -> Iterator[Snapshot]:
    """Snapshots of an evolution at its times, until its stop rule holds.

    It begins at `start` with `representation`, by default at time 0. `watch` is called before every
    right-hand side; an exception from it ends the run. `observing` is a context for the stop rule;
    `ended` gets the status if that rule ends the run.
    """
    problem, options = evolution.problem, evolution.options
    carrier = represent(problem, options) if representation is None else representation
    times = evolution.times if times is None else times
    happened, again = 0 if start is None else start.events, 0
    while True:
        stream = trajectory(
            problem,
            carrier,
            times,
            tolerance=options.step_tolerance,
            start=start,
            watch=watch,
            hand_over=hand_over_rule(problem, options),
            timeline=evolution.timeline,
            enter=lambda stage, carrier, state: with_problem(stage, options, carrier, state),
            symmetry=evolution.symmetry,
        )
        try:
            for snapshot in stream:
                events = snapshot.events[again:]
                times, again = times[1:], max(again - len(snapshot.events), 0)
                happened += len(events)
                yield replace(snapshot, events=events)
                with observing():
                    ends = evolution.stops(snapshot.time, snapshot.measure, snapshot.moments)
                if ends:
                    if ended is not None:
                        ended(ended_by(evolution.stop))
                    return
            return
        except SimulationError as error:
            # Too few labels: begin again with more, and yield only the times and events that are
            # left.
            more = None
            if isinstance(carrier, LabelledRepresentation) and isinstance(error.reason, Final):
                first = replace(carrier, problem=problem.staged[0])
                more = first.with_more_labels()
            if more is None:
                if isinstance(error.reason, TooFewLabels):
                    reason = f"{error.reason}: {first.advice(float(evolution.times[-1]))}"
                    raise SimulationError(error.time, error.step, reason) from None
                raise
            carrier, again = more, happened
            start = Checkpoint(0.0, more.state, evaluations=error.evaluations, fixed=more.fixed)


def is_one_cluster(
    problem: Problem, moments: ModalArray, count: float, measure: Density | Measure | None
) -> bool:
    """True if the count is 1 and |int x dmu| is at least the cosine of the cluster radius r.

    In R^d int |x - int y dmu|^2 dmu is at most r^2; a state that was not kept counts as apart.
    """
    radius = cluster_radius(problem.beta)
    if problem.manifold.is_sphere:
        return count == 1 and problem.manifold.order_parameter(moments) >= np.cos(radius)
    if count != 1 or not isinstance(measure, Measure):
        return False
    apart = measure.points - measure.mass @ measure.points
    return bool(measure.mass @ np.square(apart).sum(axis=1) <= radius**2)


def timing(
    problem: Problem,
    until: float | None,
    save: int | Sequence[float] | None,
    *,
    unit: str = "scaled",
    spacing: str = "linear",
    first: float | None = None,
    step: float | None = None,
    called: str = "until",
) -> tuple[FloatArray, float | None]:
    """Times to save and step of noisy particles in scaled time, from arguments in `unit`.

    By default a run of discrete layers ends with the last layer and saves each.
    """
    until, save = _usual_times(problem, until, save, unit, called)
    length = time_unit(problem, unit)
    times = length * save_times(until, save, spacing=spacing, first=first, called=called)
    times = _layers_at(problem, times, save)
    if not times[-1] <= LATEST:
        raise ValueError(
            f"{called} = {until:g} must be at most {LATEST:g} in scaled time, got {times[-1]:.3g}."
        )
    if step is None:
        return times, None
    if not 0.0 < step <= until:
        raise ValueError(f"step = {step:g} must be positive, and at most {called} = {until:g}.")
    if until > MOST_STEPS * step:
        raise ValueError(
            f"step = {step:g} makes {until / step:.3g} steps until {called} = {until:g}, at most "
            f"{MOST_STEPS:g}: nobody could wait for more."
        )
    return times, length * step


USUAL_SAVES = 61
"""Times that a run saves by default."""


def _usual_times(
    problem: Problem, until: float | None, save: Any, unit: str, called: str
) -> tuple[float, int | Sequence[float]]:
    """End and times to save, with their defaults; refuses what layers or random values exclude."""
    layers, random = problem.layering, problem.random
    if random is not None:
        last = float(random.count) if not layers.is_flow else float(random.depth or 0.0)
        if unit != "scaled":
            raise ValueError(f'unit = "{unit}": random values are drawn in scaled time, take that.')
        until = last if until is None else until
        if until > last:
            raise ValueError(
                f"{called} = {until:g} must be at most {last:g}, where random values end."
            )
    if layers.is_flow:
        if until is None:
            raise ValueError(f"{called} is missing: the end time of the run.")
        return until, USUAL_SAVES if save is None else save
    if until is None:
        if layers.count is None:
            raise ValueError(f"{called} is missing: give it, or count to the layers.")
        until = float(layers.count)
    if layers.count is not None and until > layers.count:
        raise ValueError(f"{called} = {until:g} must be at most {layers.count}, the layers' count.")
    if unit != "scaled":
        raise ValueError(f'unit = "{unit}" is for flows: of layers time is their number.')
    if not until == round(until):
        raise ValueError(f"{called} = {until:g} must be a whole number of layers.")
    return until, int(until) + 1 if save is None else save


def _layers_at(problem: Problem, times: FloatArray, save: Any) -> FloatArray:
    """Whole numbers of layers; times from a count are rounded, given ones must be whole."""
    if problem.layering.is_flow:
        return times
    whole = np.unique(np.rint(times))
    if not isinstance(save, int | np.integer) and not np.array_equal(whole, times):
        wrong = times[times != np.rint(times)][0]
        raise ValueError(f"save holds {wrong:g}, expected whole numbers of layers.")
    return whole


def save_times(
    until: float,
    save: int | Sequence[float],
    *,
    spacing: str = "linear",
    first: float | None = None,
    called: str = "until",
) -> FloatArray:
    """Increasing times to save: the given ones, or a number of them from 0, "log" from `first`.

    >>> save_times(100.0, 3, spacing="log", first=1.0).tolist()
    [1.0, 10.0, 100.0]
    """
    if not np.isfinite(until) or until <= 0:
        raise ValueError(f"{called} must be positive and finite, got {until:g}.")
    count = save if isinstance(save, int | np.integer) else len(np.atleast_1d(save))
    if count > MOST_SAVES:
        raise ValueError(f"save must be at most {MOST_SAVES} times, got {count}.")
    if spacing == "log":
        return _logarithmic(until, save, first, called)
    if spacing != "linear":
        raise ValueError(f'spacing must be "linear" or "log", got {spacing!r}.')
    if first is not None:
        raise ValueError('first needs spacing = "log".')
    if isinstance(save, int | np.integer):
        if save < 2:
            raise ValueError(f"save must be at least 2 times, got {save}.")
        return np.linspace(0.0, until, save)
    times = np.asarray(save, dtype=np.float64)
    if times.ndim != 1 or len(times) == 0 or not np.all(np.isfinite(times)):
        raise ValueError("save must be a number of times or a list of finite times.")
    if np.any(np.diff(times) <= 0) or times[0] < 0:
        raise ValueError(
            f"save times must be increasing and not negative, got {describe(times.tolist())}."
        )
    if times[-1] > until:
        raise ValueError(f"save holds {times[-1]:g}, later than {called} = {until:g}.")
    return times


def _logarithmic(until: float, save: object, first: float | None, called: str) -> FloatArray:
    if not isinstance(save, int) or save < 2 or first is None or not 0 < first < until:
        raise ValueError(
            'spacing = "log" needs save = COUNT of at least 2 and first between 0 and '
            f"{called} = {until:g}."
        )
    times = np.geomspace(first, until, save)
    times[0], times[-1] = first, until
    return times
