"""The only time loop: `trajectory` yields snapshots.

It calls a representation's `adapt` and `failure`, and the scheme that steps its right-hand side.
Storage, progress and figures consume the stream. Each stage ends exactly at its end: the step that
leads beyond is cut there.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from meanfield.arrays import FloatArray, State
from meanfield.carriers import HandOver, Representation, never
from meanfield.carriers.schemes import Scheme, usual_scheme
from meanfield.carriers.step_limits import GROWN, contraction_rate
from meanfield.carriers.symmetry import Symmetry
from meanfield.engines.sinkhorn import NotBalanced
from meanfield.engines.threads import one_blas_thread
from meanfield.errors import Final, SimulationError
from meanfield.events import Event
from meanfield.events import hand_over as hand_over_event
from meanfield.observables.energies import ascent
from meanfield.problem import Problem
from meanfield.schemes import RightHandSide, Start, Stepper, StepTooLong
from meanfield.snapshot import Checkpoint, Snapshot
from meanfield.spectrum.stability import growth_rate_max

# Relative to the clock: shorter steps lose digits, so the clock starts again.
_SHORT_STEP = 1e-6
# For longer steps velocities are too small for SciPy's error norm: the unit of time changes.
_LONG_STEP = 1e90
# In units of 1 / `contraction_rate`, which bounds all velocities: no position changes in a shorter
# step.
_VANISHED = 1e-16
# Halvings of a step that nothing resolves; they locate the end of the run to 1/1000 of a step.
_HALVINGS = 10
MOST_STEPS = 1e12
"""Largest number of steps: at ten microseconds each, the fastest, four months."""

# Accepted steps after which their mean length is compared with the remaining time. More where
# clusters may form, because atoms take longer steps.
_PACE_STEPS = 100_000
_STEADY_PACE_STEPS = 1000


Timeline = Sequence[tuple[float, Problem]]
"""(end, problem) of consecutive stages; ends in scaled time, the last one infinite."""

Enter = Callable[[Problem, Representation, State], Representation]
"""(problem, representation, state) -> the representation for that problem in that state."""


def trajectory(
    problem: Problem,
    representation: Representation,
    times: Sequence[float] | FloatArray,
    *,
    tolerance: float,
    start: Checkpoint | None = None,
    watch: Callable[[], None] | None = None,
    hand_over: HandOver = never,
    scheme: Callable[[Problem, Representation], Scheme] = usual_scheme,
    timeline: Timeline = (),
    enter: Enter | None = None,
    symmetry: Symmetry | None = None,
) -> Iterator[Snapshot]:
    """Evolve a representation and yield a snapshot at each time.

    - representation: its state is the initial one, or that of `start`.
    - times: scaled times, increasing, none before the start.
    - tolerance: relative and absolute tolerance of a step.
    - start: checkpoint to go on from; time 0 by default.
    - watch: called before every right-hand side; an exception from it ends the run. Long steps of
      many tokens can then be interrupted in a consistent state.
    - hand_over: successor of a representation; see `HandOver`.
    - scheme: scheme that steps a representation of a problem; see `schemes`.
    - timeline: stages in place of `problem`; the representation is that of the stage in which the
      start lies.
    - enter: makes the representation of the next stage; see `Enter`.
    - symmetry: symmetry of the start and of all stages, which every carrier keeps.

    SimulationError if the state is under-resolved or not finite, the step vanishes, or the energy
    moves against the flow. Snapshots before the error are valid.
    """
    if not timeline:
        problem.check_one_stage()
    evolution = _Evolution(
        timeline or ((math.inf, problem),),
        problem.moment_degree,
        representation,
        tolerance,
        watch,
        hand_over,
        scheme,
        enter,
        symmetry,
        problem.random is None,
    )
    stream = _evolved(evolution, times, start)
    stage = None
    while True:
        # The last bits of a sum by BLAS depend on its threads, and two make no step faster.
        with one_blas_thread():
            snapshot = next(stream, None)
            if snapshot is None:
                return
            if stage is not evolution.problem:
                stage = evolution.problem
                climbed, highest, allowed = ascent(stage), -math.inf, tolerance
            height = climbed(snapshot.measure, snapshot.moments)
        # A successor inherits the unresolved part of an earlier carrier.
        allowed = max(allowed, evolution.representation.tolerance)
        if height < highest - GROWN * allowed:
            reason = (
                f"energy moved against the flow by {highest - height:.1e} of a single cluster's, "
                "which no measure can: reduce tolerance"
            )
            raise SimulationError(snapshot.time, snapshot.checkpoint.steps, reason)
        highest = max(highest, height)
        yield snapshot


def _evolved(
    evolution: _Evolution, times: Sequence[float] | FloatArray, start: Checkpoint | None
) -> Iterator[Snapshot]:
    try:
        evolution.begin(start, times[-1])
        pending = deque(times)
        while pending and pending[0] <= evolution.here.time:
            yield evolution.saved(pending.popleft(), evolution.here.state)
        while pending:
            try:
                if not evolution.step():
                    continue
                while pending and pending[0] <= evolution.ahead:
                    yield evolution.interpolated(pending[0])
                    pending.popleft()
                evolution.accept()
            except StepTooLong as error:
                evolution.retake(error.step)
    except NotBalanced as error:
        raise evolution.ended(str(error)) from None
    finally:
        evolution.release()


@dataclass(eq=False)
class _Evolution:
    """State of the loop: the current representation, `here`, the last checkpoint, and a step."""

    _timeline: Timeline
    _moment_degree: int
    representation: Representation
    _tolerance: float
    _watch: Callable[[], None] | None
    _hand_over: HandOver
    _scheme: Callable[[Problem, Representation], Scheme]
    _enter: Enter | None
    _symmetry: Symmetry | None
    _tells_stages: bool  # the beginning of a stage is an event
    _stepper: Stepper | None = None
    _events: list[Event] = field(default_factory=list)
    _halvings: int = 0
    _evaluations: int = 0
    _number: int = 0  # of the stage
    _repeats: bool = False

    def __post_init__(self) -> None:
        self.representation = self._symmetric(self.representation)

    def release(self) -> None:
        """Drop the stepper: its callback is a reference cycle that keeps all its arrays."""
        self._stepper = None
        vars(self).pop("_taken", None)

    def begin(self, start: Checkpoint | None, last: float) -> None:
        """Begin at a checkpoint, or at the representation's initial state; `last` is the end."""
        carrier, self._last = self.representation, float(last)
        if start is None:
            self.here = Checkpoint(0.0, carrier.state, fixed=carrier.fixed)
            self.here = replace(
                self.here, events=self._happened(carrier.arrival()), unit=self._unit()
            )
        else:
            self.here, self._evaluations = start, start.evaluations
            # A checkpoint inside a step has counted that step, which is repeated now.
            self._repeats = start.step is not None
        # A checkpoint at the end of a stage belongs to the next one.
        self._number = bisect_right([end for end, _ in self._timeline], self.here.time)
        self._begin_stage()

    def _begin_stage(self) -> None:
        while (reason := self._failure()) is not None:
            if isinstance(reason, Final) or not self._followed(self.here.state):
                raise self.ended(reason)
        self._mark = self.here

    @property
    def problem(self) -> Problem:
        return self._timeline[self._number][1]

    @property
    def _stage_end(self) -> float:
        return self._timeline[self._number][0]

    @property
    def ahead(self) -> float:
        """Time that the step reaches, at most the end of the stage."""
        reached = self.here.epoch + self._taken.time
        return min(self._last if self._taken.time >= self._end else reached, self._stage_end)

    @property
    def _end(self) -> float:
        """Time on the stepper's clock beyond which nothing is evaluated."""
        return self._last - self.here.epoch if self.problem.is_time_dependent else math.inf

    def step(self) -> bool:
        """Take a step; False if it must be repeated, shorter, refined or by a successor."""
        here, carrier = self.here, self.representation
        if self._stepper is None:
            begin = Start(here.clock, here.state, here.step, here.unit, here.steps, self._end)
            scheme = self._scheme(self.problem, carrier)
            self._stepper = scheme(carrier, begin, self._tolerance, self._watched)
            self.here = here = replace(here, step=self._stepper.step_size)
        stepper = self._stepper
        alive = stepper.step(carrier.largest_step(here.time, here.state))
        if alive and not self._moves(stepper.step_size):
            # A first step may be far too short, and grow.
            alive = stepper.step_size > stepper.time - stepper.previous_time
        if not alive or not np.all(np.isfinite(stepper.state)):
            raise self.ended(self._advice(stepper))
        time = here.epoch + min(stepper.time, self._end)
        reason = carrier.failure(time, stepper.state)
        if reason is None:
            self._halvings, self._taken = 0, stepper
            events, last = carrier.events(stepper), self._stage_end - here.epoch
            self._new_events = self._happened([each for each in events if each.time <= last])
            return True
        # This representation does not resolve the step. Repeat it with the successor, or refined;
        # otherwise shorter, to come close to the limit.
        self.here = replace(here, rejected=here.rejected + 1)
        if isinstance(reason, Final):
            raise self.ended(reason)
        if not self._followed(stepper.state):
            shorter = 0.5 * (stepper.time - here.clock)
            close = self._halvings >= _HALVINGS or here.time + shorter == here.time
            if close or not self._moves(shorter):
                raise self.ended(reason)
            self._halvings += 1
            self.here, self._stepper = replace(self.here, step=shorter), None
        return False

    def interpolated(self, time: float) -> Snapshot:
        return self.saved(time, self._dense_state(time))

    def _dense_state(self, time: float) -> State:
        stepper = self._taken
        stepper.interpolate()
        # From here on a resumed run does new work, which counts.
        self._repeats = False
        # Beside a large epoch the difference may round beyond the step.
        clock = min(max(time - self.here.epoch, stepper.previous_time), stepper.time)
        return stepper.dense_output(clock)

    def retake(self, step: float) -> None:
        """Repeat the step with another first attempt."""
        self._events = [event for event in self._events if event.time <= self.here.time]
        self.here = replace(self.here, step=step, rejected=self.here.rejected + 1)
        self._stepper = None

    def accept(self) -> None:
        """Accept the step; enter the next stage if it reaches the end of this one."""
        stepper, here = self._taken, self.here
        cut = self.ahead >= self._stage_end
        state = self._dense_state(self._stage_end) if cut else stepper.state
        self._repeats = False
        self.here = here = replace(
            here,
            clock=stepper.time,
            state=state,
            step=stepper.step_size,
            steps=here.steps + 1,
            rejected=here.rejected + stepper.attempts - 1,
            events=here.events + self._new_events,
        )
        if cut:
            self._enter_next_stage()
            return
        if stepper.step_size < _SHORT_STEP * here.clock:
            self.here = replace(here, epoch=here.time, clock=0.0, unit=self._unit())
            self._stepper = None
        taken = here.steps - self._mark.steps
        if taken == _STEADY_PACE_STEPS and self._is_steady() or taken >= _PACE_STEPS:
            _check_pace(self._mark, self.here, self._last)
            self._mark = self.here
        if self._followed():
            self._mark = self.here

    def _is_steady(self) -> bool:
        """True if steps stay as short as they are: tokens, or a problem in which nothing grows."""
        if self.representation.name == "particles":
            return True
        return self.problem.is_isotropic and growth_rate_max(self.problem) <= 0.0

    def _enter_next_stage(self) -> None:
        here, end = self.here, self._stage_end
        self._number += 1
        enter = cast(Enter, self._enter)
        new = self._symmetric(enter(self.problem, self.representation, here.state))
        self.representation, self._stepper = new, None
        self.here = here = replace(
            here, epoch=end, clock=0.0, step=None, state=new.state, fixed=new.fixed
        )
        note = Event(0.0, "note", f"stage {self._number + 1} begins")
        count = self._happened([note] if self._tells_stages else [])
        self.here = replace(here, events=here.events + count, unit=self._unit())
        self._begin_stage()

    def saved(self, time: float, state: State) -> Snapshot:
        carrier, here = self.representation, replace(self.here, evaluations=self._evaluations)
        counts = {"steps": here.steps, "rejected": here.rejected, "evaluations": here.evaluations}
        passed = [event for event in self._events if event.time <= time]
        del self._events[: len(passed)]
        measure, moments, facts = carrier.at_saved_time(time, state, self._moment_degree)
        # Sums over atoms round; coefficients are symmetric, and nodes only as good as their cells.
        if self._symmetry is not None and carrier.name == "atoms":
            moments = self._symmetry.project(moments)
        return Snapshot(
            time=float(time),
            measure=measure,
            moments=moments,
            representation=carrier.name,
            diagnostics=facts | {name: float(count) for name, count in counts.items()},
            checkpoint=here,
            events=tuple(passed),
        )

    def _symmetric(self, carrier: Representation) -> Representation:
        return carrier if self._symmetry is None else self._symmetry.carried(carrier)

    def _followed(self, rejected: State | None = None) -> bool:
        """True if a successor, or the same representation adapted, goes on from here.

        `rejected` is the state after the next step, if that failed.
        """
        carrier, time, state = self.representation, self.here.time, self.here.state
        successor = self._hand_over(carrier, time, state, rejected is not None)
        if successor is not None:
            new, reason = successor
            events = [hand_over_event(self.here.clock, carrier.name, new.name, reason)]
            if self._symmetry is not None and self._symmetry.lost(new):
                text = "rounding has broken the symmetry of the start: what follows is its choice"
                events.append(Event(self.here.clock, "note", text))
            new = self._symmetric(new)
            events += [replace(event, time=self.here.clock) for event in new.arrival()]
            count = self._happened(events)
        else:
            if rejected is None:
                adapted = carrier.adapt(time, state)
            else:
                adapted = carrier.refined(state, rejected)
            if adapted is not None and self._symmetry is not None:
                adapted = self._symmetry.adapted(carrier, adapted)
            if adapted is None:
                return False
            new, count = adapted, 0
        self.representation, self._stepper = new, None
        self.here = replace(
            self.here, state=new.state, fixed=new.fixed, events=self.here.events + count
        )
        self.here = replace(self.here, unit=self._unit())
        return True

    def _failure(self) -> str | None:
        return self.representation.failure(self.here.time, self.here.state)

    def _happened(self, events: Sequence[Event]) -> int:
        """Store events, given on the stepper's clock, and return their number."""
        self._events.extend(replace(event, time=self.here.epoch + event.time) for event in events)
        return len(events)

    def _moves(self, step: float) -> bool:
        layers = self.problem.layering
        # Layers and normalised outputs move tokens, however small the weights are.
        if not layers.is_flow or layers.norm.of_output:
            return True
        problem, begin = self.problem, self.here.time
        rate = contraction_rate(problem)
        if problem.time_functions:
            ends = (begin, min(begin + step, self._last))
            rate = max(contraction_rate(problem.now(time)) for time in ends)
        # Without a velocity (heads without value) steps belong to noise alone.
        return rate == 0.0 or step * rate > _VANISHED

    def _watched(self, rhs: RightHandSide) -> RightHandSide:
        """Right-hand side as a function of the stepper's clock, which counts its evaluations."""
        epoch = self.here.epoch
        keep = None if self._symmetry is None else self._symmetry.keep(self.representation)

        def watched_rhs(clock: float, state: State) -> State:
            if self._watch is not None:
                self._watch()
            self._evaluations += not self._repeats
            try:
                rate = rhs(epoch + clock, state)
                return rate if keep is None else keep(rate)
            except NotBalanced:
                # The step is too long: NaN makes the stepper take a shorter one.
                return np.full_like(state, np.nan)

        return watched_rhs

    def _unit(self) -> float:
        """Unit of time for the steps from here: 1, unless they are longer than 1e90."""
        if self.problem.is_time_dependent:
            return 1.0
        step = self.representation.largest_step(self.here.time, self.here.state)
        return 2.0 ** round(math.log2(step)) if _LONG_STEP < step < math.inf else 1.0

    def ended(self, reason: str) -> SimulationError:
        error = SimulationError(self.here.time, self.here.steps, reason)
        error.evaluations = self._evaluations
        return error

    def _advice(self, stepper: Stepper) -> str:
        carrier, time = self.representation, self.here.epoch + stepper.time
        try:
            carrier.rhs(self.here.time, self.here.state)
        except NotBalanced as error:
            return str(error)
        if np.all(np.isfinite(carrier.rhs(time, stepper.state))):
            if not self.problem.manifold.is_sphere:
                return (
                    "the step became too small: tokens of R^d may run off to infinity in finite "
                    "time, as without softmax; end before, or take a larger tolerance"
                )
            return "the step became too small: the tolerance cannot be reached, raise it"
        tail = carrier.diagnostics(time, stepper.state).get("tail")
        if tail is None:
            return "state became non-finite: reduce strength or beta"
        return f"state became non-finite (last spectral tail {tail:.1g}): raise max_degree"


def _check_pace(before: Checkpoint, now: Checkpoint, end: float) -> None:
    """SimulationError if steps as long as those since a checkpoint cannot reach the end."""
    step = (now.time - before.time) / (now.steps - before.steps)
    left = end - now.time
    if left > MOST_STEPS * step:
        raise SimulationError(
            now.time,
            now.steps,
            f"steps of {step:.2g} would not come to t = {end:g} in {MOST_STEPS:g} steps: lower "
            "the end time, or the strength",
        )
