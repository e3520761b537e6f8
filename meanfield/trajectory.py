"""The only time loop: `trajectory` yields snapshots.

It knows a representation's right-hand side, `adapt` and `failure`, and nothing of
their reasons. Storing, progress and figures are consumers of the stream.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from meanfield.arrays import FloatArray, State
from meanfield.compute.threads import one_blas_thread
from meanfield.errors import SimulationError
from meanfield.events import Event
from meanfield.events import hand_over as hand_over_event
from meanfield.integrators import RightHandSide, Start, Stepper
from meanfield.observables.ascent import ascent
from meanfield.problem import Problem
from meanfield.representations import HandOver, Representation, never
from meanfield.representations.step_limits import GROWN, contraction_rate
from meanfield.snapshot import Checkpoint, Snapshot

# Shorter steps lose digits beside the clock, which therefore starts again.
_SHORT_STEP = 1e-6
# Velocities at which positions move in steps longer than this are small for SciPy's error norm.
_LONG_STEP = 1e90
# No velocity exceeds the rate at which all mass falls together: nothing moves in a step this short
# in its units, whatever the clock says.
_VANISHED = 1e-16
# A step that nothing resolves is halved this often: the end of a run is then known to a
# thousandth of a step.
_HALVINGS = 10
MOST_STEPS = 1e12
"""Steps for which nobody waits: at ten microseconds each, the fastest, four months."""

# So many steps of a representation tell how long the next ones will be.
_PACE_STEPS = 100_000


def trajectory(
    problem: Problem,
    representation: Representation,
    times: Sequence[float] | FloatArray,
    *,
    tolerance: float,
    start: Checkpoint | None = None,
    watch: Callable[[], None] | None = None,
    hand_over: HandOver = never,
) -> Iterator[Snapshot]:
    """Evolve a representation and yield a snapshot at each time.

    Parameters
    ----------
    problem : Problem
        What is solved.
    representation : Representation
        What carries the measure; its state is the initial one, or that of `start`.
    times : sequence of float
        Scaled times, increasing, none before the start.
    tolerance : float
        Relative and absolute tolerance of a step.
    start : Checkpoint, optional
        Where to go on from; time 0 by default.
    watch : callable, optional
        Called before every right-hand side; what it raises ends the run. Long steps of many
        tokens can then be interrupted where nothing is half done.

    hand_over : callable, optional
        Who takes over from a representation, and why; see `HandOver`.

    Yields
    ------
    Snapshot
        In the order of `times`. Each is a step of its own from the last accepted one: saving
        never changes the steps.

    Raises
    ------
    SimulationError
        If the state is under-resolved, not finite, the step vanishes, or the energy moves against
        the flow. What was yielded before is valid.
    """
    stream = _evolved(
        problem,
        representation,
        times,
        tolerance=tolerance,
        start=start,
        watch=watch,
        hand_over=hand_over,
    )
    with one_blas_thread():
        climbed, highest, allowed = ascent(problem), -math.inf, tolerance
    while True:
        # The last bits of a sum by BLAS depend on its threads, and of steps two make no faster.
        with one_blas_thread():
            found = next(stream, None)
            if found is None:
                return
            snapshot, left = found
            height = climbed(snapshot.measure, snapshot.moments)
        # What a carrier may leave unresolved it also hands over.
        allowed = max(allowed, left)
        if height < highest - GROWN * allowed:
            reason = (
                f"energy moved against the flow by {highest - height:.1e} of a single cluster's, "
                "which no measure can: reduce tolerance"
            )
            raise SimulationError(snapshot.time, snapshot.checkpoint.steps, reason)
        highest = max(highest, height)
        yield snapshot


def _evolved(
    problem: Problem,
    representation: Representation,
    times: Sequence[float] | FloatArray,
    *,
    tolerance: float,
    start: Checkpoint | None,
    watch: Callable[[], None] | None,
    hand_over: HandOver,
) -> Iterator[tuple[Snapshot, float]]:
    """Snapshots, each with the tolerance of what carries it."""
    here = start or Checkpoint(0.0, representation.state, fixed=representation.fixed)
    pending = list(times)
    happened: list[Event] = []
    stepper: Stepper | None = None

    def watched(rhs: RightHandSide) -> RightHandSide:
        def watched_rhs(time: float, state: State) -> State:
            if watch is not None:
                watch()
            return rhs(time, state)

        return watched_rhs

    def moving(step: float) -> bool:
        return step * contraction_rate(problem) > _VANISHED

    def snapshot(time: float, state: Any) -> Snapshot:
        diagnostics = representation.diagnostics(state)
        counts = {"steps": here.steps, "rejected": here.rejected, "evaluations": here.evaluations}
        passed = [event for event in happened if event.time <= time]
        del happened[: len(passed)]
        return Snapshot(
            time=float(time),
            measure=representation.measure(state),
            moments=representation.moments(state, problem.moment_degree),
            representation=representation.name,
            diagnostics=diagnostics | {name: float(count) for name, count in counts.items()},
            checkpoint=here,
            events=tuple(passed),
        )

    def on_the_way(events: Sequence[Event]) -> int:
        happened.extend(replace(event, time=here.epoch + event.time) for event in events)
        return len(events)

    def take_over(new: Representation, reason: str | None = None) -> None:
        nonlocal representation, here, stepper
        count = 0
        if reason is not None:
            events = [hand_over_event(here.clock, representation.name, new.name, reason)]
            events += [replace(event, time=here.clock) for event in new.arrival()]
            count = on_the_way(events)
        representation, stepper = new, None
        here = replace(
            here,
            state=new.state,
            fixed=new.fixed,
            events=here.events + count,
            unit=_unit(new.largest_step(new.state)),
        )

    if start is None:
        unit = _unit(representation.largest_step(here.state))
        here = replace(here, events=on_the_way(representation.arrival()), unit=unit)
    while (reason := representation.failure(here.state)) is not None:
        following = _following(representation, here.state, hand_over, failed=True)
        if following is None:
            raise SimulationError(here.time, here.steps, reason)
        take_over(*following)
    while pending and pending[0] <= here.time:
        yield snapshot(pending.pop(0), here.state), representation.tolerance
    halvings = 0
    mark = here
    while pending:
        if stepper is None:
            begin = Start(here.clock, here.state, here.step, here.unit, here.steps)
            stepper = representation.stepper(begin, tolerance, watched)
            here = replace(here, step=stepper.step_size)
        alive = stepper.step(representation.largest_step(here.state))
        if alive and not moving(stepper.step_size):
            # A first step may be chosen far too short; then steps grow.
            alive = stepper.step_size > stepper.time - stepper.previous_time
        if not alive or not np.all(np.isfinite(stepper.state)):
            raise SimulationError(here.time, here.steps, _advice(stepper, representation))
        reason = representation.failure(stepper.state)
        if reason is not None:
            # The step left what this representation resolves: take it again, with the next one
            # or refined, or shorter where nothing else is left, to come close to the limit.
            here = replace(here, rejected=here.rejected + 1)
            following = _following(representation, here.state, hand_over, failed=True)
            if following is not None:
                take_over(*following)
            elif halvings < _HALVINGS and moving(shorter := 0.5 * (stepper.time - here.clock)):
                halvings += 1
                here, stepper = replace(here, step=shorter), None
            else:
                raise SimulationError(here.time, here.steps, reason)
            continue
        halvings = 0
        count = on_the_way(representation.events(stepper))
        while pending and pending[0] <= here.epoch + stepper.time:
            # Beside a large epoch the difference may round beyond the step.
            clock = min(max(pending[0] - here.epoch, stepper.previous_time), stepper.time)
            yield snapshot(pending.pop(0), stepper.inside(clock)), representation.tolerance
        here = replace(
            here,
            clock=stepper.time,
            state=stepper.state,
            step=stepper.step_size,
            steps=here.steps + 1,
            rejected=here.rejected + stepper.attempts - 1,
            evaluations=here.evaluations + stepper.evaluations,
            events=here.events + count,
        )
        if stepper.step_size < _SHORT_STEP * here.clock:
            unit = _unit(representation.largest_step(here.state))
            here, stepper = replace(here, epoch=here.time, clock=0.0, unit=unit), None
        if here.steps - mark.steps >= _PACE_STEPS:
            _check_pace(mark, here, times[-1])
            mark = here
        following = _following(representation, here.state, hand_over, failed=False)
        if following is not None:
            take_over(*following)
            mark = here


def _check_pace(before: Checkpoint, now: Checkpoint, end: float) -> None:
    """Give up where the steps since a checkpoint say that the end is out of reach."""
    step = (now.time - before.time) / (now.steps - before.steps)
    left = end - now.time
    if left > MOST_STEPS * step:
        raise SimulationError(
            now.time,
            now.steps,
            f"steps of {step:.2g} would not come to t = {end:g} in {MOST_STEPS:g} steps: lower "
            "end or strength",
        )


def _following(
    representation: Representation, state: State, hand_over: HandOver, *, failed: bool
) -> tuple[Representation, str | None] | None:
    """Who goes on from a state: another representation, and why, or the same one, adapted."""
    successor = hand_over(representation, state, failed)
    if successor is not None:
        return successor
    adapted = representation.refined(state) if failed else representation.adapt(state)
    return None if adapted is None else (adapted, None)


def _advice(stepper: Stepper, representation: Representation) -> str:
    if np.all(np.isfinite(representation.rhs(stepper.time, stepper.state))):
        return "the step became too small: the tolerance cannot be reached, raise it"
    tail = representation.diagnostics(stepper.state).get("tail")
    if tail is None:
        return "state became non-finite: reduce strength or beta"
    return f"state became non-finite (last spectral tail {tail:.1g}): raise max_degree"


def _unit(step: float) -> float:
    """Unit of time for steps of this size: 1, unless they are longer than 1e90."""
    return 2.0 ** round(math.log2(step)) if _LONG_STEP < step < math.inf else 1.0
