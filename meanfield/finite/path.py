"""A density run as steps that can be repeated, for tangents and adjoints along it.

The run has a fixed degree. At most `MOST_STATES` of its states are kept; states in between are
computed again. Every step is one of DOP853,

    Y_i = y + h sum_j a_ij F(Y_j),    y_next = y + h sum_i b_i F(Y_i).

Its derivative maps a perturbation g forwards; the transpose maps a field psi backwards:

    G_i = g + h sum_j a_ij F'(Y_j) G_j,        g_next = g + h sum_i b_i F'(Y_i) G_i
    P_i = F'(Y_i)* (h b_i psi_next + h sum_j a_ji P_j),    psi = psi_next + sum_i P_i.

So int psi g is equal before and after a step, to rounding: the backward sweep gives the exact
derivative of the computed run.

Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.5 (DOP853).
Sanz-Serna, Symplectic Runge-Kutta schemes for adjoint equations, SIAM Review 58 (2016), 3-33.

The degree rises until the run and its fields are resolved. The tail of the density measures the
truncation of the run. The truncation of tangents and adjoints reaches an observable only through
its influence functions: a change of degree l changes the observable by their coefficients of degree
l. So their largest coefficients near the last degree bound the error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Generic, TypeVar

import numpy as np

from meanfield.arrays import FloatArray, ModalArray
from meanfield.bases.coordinates import Coordinates, coordinates
from meanfield.bases.grid import Grid
from meanfield.carriers.density import DensityRepresentation
from meanfield.carriers.options import Options
from meanfield.errors import SimulationError
from meanfield.fields.interactions import AnyInteraction, attended, interaction_of
from meanfield.fields.linearised import LinearisedFlow
from meanfield.measures import Density
from meanfield.problem import Problem
from meanfield.schemes import Start, dop853
from meanfield.simulation import Evolution
from meanfield.spaces.manifold import Manifold, laplacian_eigenvalues
from meanfield.trajectory import Timeline

MOST_STATES = 512
"""Most states of a run that are kept."""

SAME_TIME = 1e-12
"""Relative rounding of times that steps must meet exactly."""

# Largest step times damping of the highest degree; DOP853 is stable up to 6.4.
_DAMPED = 4.5
# A run with noise has at least so many steps: splines through their ends integrate the noise.
_LEAST_NOISY_STEPS = 64


@lru_cache
def _tableau() -> tuple[FloatArray, FloatArray]:
    from scipy.integrate import DOP853

    return np.asarray(DOP853.A), np.asarray(DOP853.B)


@dataclass(frozen=True)
class Step:
    """One step of a run, from `time` to `end`, with the problem of an interval."""

    time: float
    length: float
    interval: int

    @property
    def end(self) -> float:
        return self.time + self.length


@dataclass(frozen=True, eq=False)
class Path:
    """A density run, step by step."""

    problems: tuple[Problem, ...]  # one for each interval
    degree: int  # degree of the density and of perturbations
    steps: tuple[Step, ...]
    saves: tuple[int, ...]  # number of steps to each saved time
    stride: int  # states are kept before every `stride`-th step
    states: tuple[ModalArray, ...]  # the kept states
    last: ModalArray  # the final state

    @property
    def space(self) -> Manifold:
        return self.problems[0].manifold

    @property
    def grid(self) -> Grid:
        return self.space.grid(self.degree)

    @property
    def coordinates(self) -> Coordinates:
        return coordinates(self.space.dimension, self.degree)

    @cached_property
    def _mean_fields(self) -> tuple[AnyInteraction, ...]:
        return tuple(interaction_of(problem) for problem in self.problems)

    @property
    def ended_in(self) -> Problem:
        """Problem of the last step's stage, also where that stage ends with the step."""
        return self.problems[self.steps[-1].interval if self.steps else 0]

    @property
    def memory(self) -> int:
        """Bytes of the kept states, and of the states between two of them."""
        return (len(self.states) + self.stride) * self.last.nbytes

    def until(self, save: int) -> Path:
        """Part of the path up to the saved time of an index."""
        count = self.saves[save]
        count_of_checkpoints = max(-(-count // self.stride), 1)
        state = self.states[count_of_checkpoints - 1]
        for step in self.steps[(count_of_checkpoints - 1) * self.stride : count]:
            _, state = self.stages(step, state)
        return replace(
            self,
            steps=self.steps[:count],
            saves=self.saves[: save + 1],
            states=self.states[:count_of_checkpoints],
            last=state,
        )

    def flow(self, interval: int, state: ModalArray) -> LinearisedFlow:
        diffusivity = self.problems[interval].flow.diffusivity
        return LinearisedFlow(self._mean_fields[interval], self.grid, state, diffusivity)

    def stages(self, step: Step, state: ModalArray) -> tuple[list[LinearisedFlow], ModalArray]:
        """Linearised flows at the stages of a step, and the state at its end."""
        a, b = _tableau()
        flows: list[LinearisedFlow] = []
        slopes = np.zeros((len(b), len(state)), dtype=np.complex128)
        for i in range(len(b)):
            at = state + step.length * (a[i, :i] @ slopes[:i])
            flows.append(self.flow(step.interval, at))
            slopes[i] = flows[-1].transport
        return flows, state + step.length * (b @ slopes)

    def forward(self) -> Iterator[tuple[Step, list[LinearisedFlow], ModalArray]]:
        """Steps in order, with their stages and the state at the end of each."""
        state = self.states[0]
        for step in self.steps:
            flows, state = self.stages(step, state)
            yield step, flows, state

    def backward(self) -> Iterator[tuple[Step, list[LinearisedFlow], ModalArray]]:
        """Steps from the last to the first, with their stages and the state at the start."""
        for first in reversed(range(0, len(self.steps), self.stride)):
            part = self.steps[first : first + self.stride]
            starts = [self.states[first // self.stride]]
            for step in part[:-1]:
                starts.append(self.stages(step, starts[-1])[1])
            for step, start in zip(reversed(part), reversed(starts), strict=True):
                yield step, self.stages(step, start)[0], start


def tangent(step: Step, flows: Sequence[LinearisedFlow], perturbations: ModalArray) -> ModalArray:
    """Perturbations (..., coefficients) after a step."""
    a, b = _tableau()
    slopes: list[ModalArray] = []
    for i, flow in enumerate(flows):
        at = perturbations + step.length * _combined(a[i, :i], slopes)
        slopes.append(flow.derivative(at))
    return np.asarray(perturbations + step.length * _combined(b, slopes))


def adjoint(
    step: Step,
    flows: Sequence[LinearisedFlow],
    fields: ModalArray,
    visit: Callable[[LinearisedFlow, ModalArray], None] | None = None,
) -> ModalArray:
    """Fields psi (..., coefficients) before a step, from fields after it.

    `visit(flow, w)` receives each stage: a change dF at the stage changes int psi f by int w dF.
    """
    a, b = _tableau()
    pulled: list[ModalArray] = [np.zeros(0)] * len(b)
    for i in reversed(range(len(b))):
        later = _combined(a[i + 1 :, i], pulled[i + 1 :])
        weight = step.length * (b[i] * fields + later)
        if visit is not None:
            visit(flows[i], weight)
        pulled[i] = flows[i].adjoint(weight)
    return np.asarray(fields + sum(pulled))


def _combined(weights: FloatArray, rows: Sequence[ModalArray]) -> ModalArray | float:
    total: ModalArray | float = 0.0
    for weight, row in zip(weights, rows, strict=True):
        if weight:
            total = total + weight * row
    return total


def path(
    timeline: Timeline,
    initial: ModalArray,
    times: Sequence[float] | FloatArray,
    degree: int,
    tolerance: float,
    allowed: float,
) -> tuple[Path, SimulationError | None]:
    """Run a density at a fixed degree through scaled times, as far as it is resolved.

    allowed: largest tail of the density. Returns the path, and the reason of an early end.
    """
    problems = tuple(problem for _, problem in timeline)
    space = problems[0].manifold
    state = space.resize(initial, degree)
    ends = sorted({*map(float, times), *(end for end, _ in timeline if end < times[-1])})
    checkpoints, stride = [state], 1
    steps: list[Step] = []
    now, step = 0.0, None
    reason: str | None = None
    for end in ends:
        interval = next(n for n, (last, _) in enumerate(timeline) if end <= last)
        carrier = DensityRepresentation(problems[interval], state, allowed, degree)
        longest = _longest(problems[interval], degree, times[-1])
        begin = Start(now, state, step)
        stepper = None
        while now < end and (reason := carrier.failure(now, state)) is None:
            if stepper is None:
                stepper = dop853(carrier.rhs, begin, tolerance)
            largest = min(carrier.largest_step(now, state), longest, end - now)
            if not stepper.step(largest) or not np.all(np.isfinite(stepper.state)):
                reason = "the step became too small"
                break
            reached = stepper.time
            if end - reached < SAME_TIME * end:
                reached = end
            steps.append(Step(now, reached - now, interval))
            now, state = reached, stepper.state
            if len(steps) % stride == 0:
                checkpoints.append(state)
            if len(checkpoints) > MOST_STATES:
                checkpoints, stride = checkpoints[::2], 2 * stride
        step = None if stepper is None else stepper.step_size
        reason = reason or carrier.failure(now, state)
        if reason is not None:
            break
    failure = None if reason is None else SimulationError(now, len(steps), reason)
    met = [t for t in times if failure is None or t < now]
    at = np.array([0.0, *(each.end for each in steps)])
    saves = tuple(int(np.abs(at - t).argmin()) for t in met)
    wanted = max(-(-len(steps) // stride), 1)
    whole = Path(problems, degree, tuple(steps), saves, stride, tuple(checkpoints[:wanted]), state)
    return (whole.until(len(saves) - 1) if failure and saves else whole), failure


def _longest(problem: Problem, degree: int, end: float) -> float:
    """Longest step that is stable under diffusion and resolves the covariance that noise adds."""
    diffusivity = problem.flow.diffusivity
    if not diffusivity:
        return np.inf
    damping = diffusivity * laplacian_eigenvalues(problem.manifold.dimension, degree)[-1]
    return float(min(_DAMPED / damping, end / _LEAST_NOISY_STEPS))


def density_of(problem: Problem) -> Density:
    """Initial density of a problem; TypeError if its initial law gives points."""
    measure = problem.initial_measure()
    if not isinstance(measure, Density):
        raise TypeError(
            "what is linearised is the flow of a density, and the initial law gives points: take "
            "the density that they are drawn from."
        )
    return measure


# First and largest degree to try, by the dimension.
_FIRST = {1: 48, 2: 16}
_LARGEST = {1: 768, 2: 96}
# Largest tail in units of the tolerance; tails are relative to the largest coefficient.
_ALLOWED = 100.0
# Largest tail at any tolerance: it was measured to cost 1e-3 of variances.
LARGEST_TAIL = 1e-2


R = TypeVar("R")


class Unresolved(ValueError):
    """Fields along a run have too large coefficients near the last degree."""


@dataclass(frozen=True, eq=False)
class Settings:
    """A run to linearise."""

    problem: Problem
    times: tuple[float, ...] | FloatArray  # scaled times, increasing
    degree: int | None  # the only degree to try
    tolerance: float  # tolerance of steps and of truncation
    largest: int | None = None  # largest degree to try
    observed_degree: int = 0  # largest degree of the observed moments
    unit: str = "scaled"  # unit of the ends of stages

    def __post_init__(self) -> None:
        check_linearised(self.problem)
        Options(tolerance=self.tolerance)
        if not 0.0 < self.times[-1] < np.inf:
            raise ValueError(f"until must be positive and finite, got {self.times[-1]:g}.")
        if self.degree is not None and self.degree < self.least:
            raise ValueError(
                f"degree = {self.degree} must be at least {self.least}, the degree of the kernel "
                "or of the initial density."
            )
        if self.largest is not None and self.largest < self.least:
            raise ValueError(
                f"max_degree = {self.largest} must be at least {self.least}, the degree of the "
                "kernel, the observed moments or the initial density."
            )

    @property
    def least(self) -> int:
        """Largest of the degrees of the kernel, the observed moments and the initial density."""
        carried = density_of(self.problem).max_degree
        degrees_attended = (attended(each).degree for each in self.problem.staged)
        return max(carried, self.observed_degree, *degrees_attended)

    @property
    def most(self) -> int:
        """Largest degree to try."""
        if self.degree is not None:
            return self.degree
        usual = _LARGEST[self.problem.manifold.dimension]
        return max(usual if self.largest is None else self.largest, self.least)

    @property
    def allowed(self) -> float:
        """Largest tail of the density and of influence functions."""
        return min(_ALLOWED * self.tolerance, LARGEST_TAIL)

    def degrees(self) -> Iterator[int]:
        """Degrees to try, each half as large again as the one before."""
        if self.degree is not None:
            yield self.degree
            return
        degree = max(_FIRST[self.problem.manifold.dimension], self.least)
        while degree < self.most:
            yield degree
            degree += degree // 2
        yield self.most


def resolved(settings: Settings, compute: Callable[[Path], R]) -> R:
    """Value of `compute` along a run, at the first degree that resolves it."""
    part = resolved_part(settings, compute, whole=True)
    assert part.value is not None
    return part.value


@dataclass(frozen=True, eq=False)
class ResolvedPart(Generic[R]):
    """The resolved part of a run."""

    path: Path  # to the last resolved time; `saves` is empty if there is none
    value: R | None  # computed along the path; None if no time is resolved
    note: str  # reason of an early end, else empty


def resolved_part(
    settings: Settings, compute: Callable[[Path], R], *, whole: bool = False
) -> ResolvedPart[R]:
    """Value of `compute` along a run, or along its longest part that some degree resolves."""
    times = np.asarray(settings.times)
    timeline = Evolution(settings.problem, Options(), times, settings.unit).timeline
    initial = density_of(settings.problem).coefficients
    for degree in settings.degrees():
        along, failure = path(
            timeline, initial, settings.times, degree, settings.tolerance, settings.allowed
        )
        if failure is None:
            try:
                return ResolvedPart(along, compute(along), "")
            except Unresolved as error:
                failure = SimulationError(float(settings.times[-1]), len(along.steps), str(error))
                along = along.until(len(along.saves) - 2) if len(along.saves) > 1 else along
    assert failure is not None
    # Other runs may change their representation; a linearised one cannot.
    reason, other, _ = failure.reason.partition("; raise max_degree")
    if whole and other:
        remedy = "end earlier, or raise degrees or tolerance"
        raise SimulationError(failure.time, failure.step, f"{reason}; {remedy}")
    if whole:
        raise failure
    return _bisected(along, compute, reason)


def _bisected(along: Path, compute: Callable[[Path], R], reason: str) -> ResolvedPart[R]:
    good, bad, best = -1, len(along.saves), None
    middle = bad - 1  # the whole path may be resolved
    while bad - good > 1:
        try:
            best = compute(along.until(middle))
            good = middle
        except Unresolved as error:
            bad, reason = middle, str(error)
        middle = (good + bad) // 2
    part = along.until(good) if good >= 0 else replace(along, steps=(), saves=())
    return ResolvedPart(part, best, reason)


def check_linearised(problem: Problem) -> None:
    """Refuse flows that have no linearisation here."""
    space, what = problem.manifold, None
    if space.has_rings or not space.has_series:
        what = f"densities on {problem.manifold.name}"
    elif problem.is_time_dependent:
        what = "terms of your own, or functions of time"
    elif problem.layers is not None:
        what = "layers"
    elif problem.has_labels:
        what = "masks and frequencies"
    elif any(each.normalization == "sinkhorn" for each in problem.staged):
        what = "doubly stochastic attention"
    if what is not None:
        raise ValueError(
            f"fluctuations, influence functions and gradients are known for flows of densities on "
            f'the circle and the sphere, with normalization "none" or "softmax": not for {what}. '
            "Moments of N tokens are in ensembles of runs."
        )
