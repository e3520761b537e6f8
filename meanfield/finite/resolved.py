"""How fine a linearised run is: the degree rises until the run and its fields are resolved.

What truncation leaves out of the run is its tail, as everywhere. What it leaves out of tangents
and adjoints reaches an observable through the influence functions alone: a change of degree l at
any time changes it by the coefficient of degree l of its influence function there. So the largest
coefficients next to the last degree bound what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.carriers.options import Options
from meanfield.errors import SimulationError
from meanfield.fields.interactions import attended
from meanfield.finite.path import Path, density_of, path
from meanfield.problem import Problem
from meanfield.simulation import Evolution

# First degree and largest one, by the dimension.
_FIRST = {1: 48, 2: 16}
_LARGEST = {1: 768, 2: 96}
# What is left out next to the last degree, in units of the tolerance, as a share of the largest.
_ALLOWED = 100.0
# Whatever the tolerance, a larger tail is no resolution: it was measured to cost 1e-3 of variances.
LARGEST_TAIL = 1e-2


R = TypeVar("R")


class Unresolved(ValueError):
    """Fields along a run whose coefficients next to the last degree are no rounding."""


@dataclass(frozen=True, eq=False)
class Settings:
    """A run to linearise."""

    problem: Problem
    times: tuple[float, ...] | FloatArray  # scaled times, increasing
    degree: int | None  # the only one to try
    tolerance: float  # of steps, and of what truncation may leave out
    largest: int | None = None  # the largest one to try
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
        """Degree of the kernel, of the observed moments and of the initial density."""
        carried = density_of(self.problem).max_degree
        degrees_attended = (attended(each).degree for each in self.problem.staged)
        return max(carried, self.observed_degree, *degrees_attended)

    @property
    def most(self) -> int:
        """Largest degree that is tried."""
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
class Part(Generic[R]):
    """As much of a run as is resolved."""

    path: Path  # to the last resolved time; its `saves` are those up to there, maybe none
    value: R | None  # computed along the path; None where no time is resolved
    note: str  # why it ends before the last time; empty where it does not


def resolved_part(
    settings: Settings, compute: Callable[[Path], R], *, whole: bool = False
) -> Part[R]:
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
                return Part(along, compute(along), "")
            except Unresolved as error:
                failure = SimulationError(float(settings.times[-1]), len(along.steps), str(error))
                along = along.until(len(along.saves) - 2) if len(along.saves) > 1 else along
    assert failure is not None
    # What helps other runs, another representation, does not help here.
    reason, other, _ = failure.reason.partition("; raise max_degree")
    if whole and other:
        remedy = "end earlier, or raise degrees or tolerance"
        raise SimulationError(failure.time, failure.step, f"{reason}; {remedy}")
    if whole:
        raise failure
    return _bisected(along, compute, reason)


def _bisected(along: Path, compute: Callable[[Path], R], reason: str) -> Part[R]:
    good, bad, best = -1, len(along.saves), None
    middle = bad - 1  # the whole of it may be resolved
    while bad - good > 1:
        try:
            best = compute(along.until(middle))
            good = middle
        except Unresolved as error:
            bad, reason = middle, str(error)
        middle = (good + bad) // 2
    part = along.until(good) if good >= 0 else replace(along, steps=(), saves=())
    return Part(part, best, reason)


def check_linearised(problem: Problem) -> None:
    """Refuse flows that are not linearised here."""
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
