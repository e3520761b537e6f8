"""The only time loop: `trajectory` yields snapshots, `simulate` collects them.

The loop knows a representation's right-hand side, `adapt` and `failure`, and nothing of
their reasons. Storing, progress and figures are consumers of the stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from meanfield.arrays import FloatArray, State
from meanfield.integrators import Stepper, runge_kutta
from meanfield.problem import Problem
from meanfield.representations import Options, Representation, represent
from meanfield.snapshot import Checkpoint, Snapshot

if TYPE_CHECKING:
    from meanfield.run import Run


# A step that nothing resolves is halved this often: the end of a run is then known to a
# thousandth of a step.
_HALVINGS = 10


class SimulationError(RuntimeError):
    """A run that cannot go on.

    Attributes
    ----------
    time : float
        Scaled time up to which the run is valid.
    step : int
        Accepted steps until then.
    reason : str
        What happened and what to do, one line.
    """

    def __init__(self, time: float, step: int, reason: str) -> None:
        """Keep the facts and make one line of them."""
        super().__init__(f"{reason.rstrip('.')} (stopped at t = {time:.6g}, step {step}).")
        self.time, self.step, self.reason = time, step, reason

    def __reduce__(self) -> tuple[type, tuple[float, int, str]]:
        """Survive the way from a worker process."""
        return type(self), (self.time, self.step, self.reason)


def trajectory(
    problem: Problem,
    representation: Representation,
    times: Sequence[float] | FloatArray,
    *,
    tolerance: float,
    start: Checkpoint | None = None,
    method: str = "DOP853",
    watch: Callable[[], None] | None = None,
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
    method : str
        SciPy stepper class.
    watch : callable, optional
        Called before every right-hand side; what it raises ends the run. Long steps of many
        tokens can then be interrupted where nothing is half done.

    Yields
    ------
    Snapshot
        In the order of `times`. Each is a step of its own from the last accepted one: saving
        never changes the steps.

    Raises
    ------
    SimulationError
        If the state is under-resolved, not finite, or the step vanishes. What was yielded
        before is valid.
    """
    here = start or Checkpoint(0.0, representation.state)
    pending = list(times)

    def rhs(time: float, state: State) -> State:
        if watch is not None:
            watch()
        return representation.rhs(time, state)

    def snapshot(time: float, state: Any) -> Snapshot:
        diagnostics = representation.diagnostics(state)
        counts = {"steps": here.steps, "rejected": here.rejected, "evaluations": here.evaluations}
        return Snapshot(
            time=float(time),
            measure=representation.measure(state),
            moments=representation.moments(state, problem.moment_degree),
            representation=representation.name,
            diagnostics=diagnostics | {name: float(count) for name, count in counts.items()},
            checkpoint=here,
        )

    reason = representation.failure(here.state)
    if reason is not None:
        raise SimulationError(here.time, here.steps, reason)
    while pending and pending[0] <= here.time:
        yield snapshot(pending.pop(0), here.state)
    stepper: Stepper | None = None
    halvings = 0
    while pending:
        if stepper is None:
            stepper = runge_kutta(
                rhs,
                here.time,
                here.state,
                tolerance=tolerance,
                step=here.step,
                method=method,
            )
            here = replace(here, step=stepper.step_size)
        alive = stepper.step(representation.largest_step(here.state))
        if not alive or not np.all(np.isfinite(stepper.state)):
            raise SimulationError(here.time, here.steps, _advice(stepper, representation))
        reason = representation.failure(stepper.state)
        if reason is not None:
            # The step left what this representation resolves: take it again, refined,
            # or shorter where nothing finer is left, to come close to the limit.
            refined = representation.refined(here.state)
            if refined is not None:
                representation = refined
                here = replace(here, state=refined.state)
            elif halvings < _HALVINGS:
                halvings += 1
                here = replace(here, step=0.5 * (stepper.time - here.time))
            else:
                raise SimulationError(here.time, here.steps, reason)
            here, stepper = replace(here, rejected=here.rejected + 1), None
            continue
        halvings = 0
        while pending and pending[0] <= stepper.time:
            yield snapshot(pending[0], stepper.inside(pending.pop(0)))
        here = Checkpoint(
            time=stepper.time,
            state=stepper.state,
            step=stepper.step_size,
            steps=here.steps + 1,
            rejected=here.rejected + stepper.attempts - 1,
            evaluations=here.evaluations + stepper.evaluations,
        )
        adapted = representation.adapt(stepper.state)
        if adapted is not None:
            representation, stepper = adapted, None
            here = replace(here, state=adapted.state)


def simulate(
    problem: Problem,
    until: float,
    *,
    save: int | Sequence[float] = 61,
    representation: str = "auto",
    unit: str = "scaled",
    **options: Any,
) -> Run:
    """Evolve a problem and collect the run.

    Parameters
    ----------
    problem : Problem
        What is solved, with its initial law.
    until : float
        End time, in `unit`.
    save : int or sequence of float
        Number of equally spaced times, 0 and the end included, or the times themselves.
    representation : str
        "auto", "density" or "particles".
    unit : str
        "scaled", "paper" or "growth".
    **options
        tolerance, max_degree, tokens, seed: see `Options`.

    Returns
    -------
    Run

    Raises
    ------
    ValueError
        If a value is out of range.
    SimulationError
        If the run cannot go on.

    Examples
    --------
    >>> import meanfield as mf
    >>> law = mf.perturbed_uniform([[3, 0.1, 0.0]])
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA, law)
    >>> run = mf.simulate(problem, until=0.05, unit="paper", save=2)
    >>> run.moments[-1, 3].real.round(9)
    np.float64(0.126185441)
    """
    from meanfield.run import collect
    from meanfield.theory.time_units import time_unit

    chosen = Options(name=representation, **options)
    times = time_unit(problem, unit) * save_times(until, save)
    stream = trajectory(problem, represent(problem, chosen), times, tolerance=chosen.tolerance)
    return collect(problem, stream)


def save_times(until: float, save: int | Sequence[float]) -> FloatArray:
    """Increasing times at which to save.

    Raises
    ------
    ValueError
        If the end is not positive, or a time is negative, later than the end, or out of order.
    """
    if not np.isfinite(until) or until <= 0:
        raise ValueError(f"end must be positive and finite, got {until:g}.")
    if isinstance(save, int | np.integer):
        if save < 2:
            raise ValueError(f"save must be at least 2 times, got {save}.")
        return np.linspace(0.0, until, save)
    times = np.asarray(save, dtype=np.float64)
    if times.ndim != 1 or len(times) == 0 or not np.all(np.isfinite(times)):
        raise ValueError("save must be a number of times or a list of finite times.")
    if np.any(np.diff(times) <= 0) or times[0] < 0:
        raise ValueError("save times must be increasing and not negative.")
    if times[-1] > until:
        raise ValueError(f"save holds {times[-1]:g}, later than end = {until:g}.")
    return times


def _advice(stepper: Stepper, representation: Representation) -> str:
    if np.all(np.isfinite(representation.rhs(stepper.time, stepper.state))):
        return "the step became too small: the tolerance cannot be reached, raise it"
    tail = representation.diagnostics(stepper.state).get("tail")
    if tail is None:
        return "state became non-finite: reduce strength or beta"
    return f"state became non-finite (last spectral tail {tail:.1g}): raise max_degree"
