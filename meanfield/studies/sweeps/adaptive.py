"""Adaptive sweeps: of a product, only the members near a jump or a level of an observable.

The product is cut into boxes of members. A box whose corners have run, and in which values differ,
is halved along every parameter. So boundaries are found to one step of the product, and plains
cost a few runs. What is chosen depends on values only, neither on order nor on the executor.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, fields
from itertools import product

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray, IntArray
from meanfield.errors import list_names
from meanfield.runfile import Config
from meanfield.runs import Run
from meanfield.status import LEFT_OUT
from meanfield.store.locks import OutputFile
from meanfield.studies.study import Runs
from meanfield.studies.sweep_results import Member, Sweep, last_value
from meanfield.studies.sweeps.plan import SweepPlan

# Intervals of each parameter at first: narrower islands may be missed.
_COARSE = 8
_USUAL_JUMP = 0.5

Box = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class AdaptiveSweep(SweepPlan):
    """Plan of a sweep of which only the members are run that decide where an observable jumps."""

    observable: str = ""
    jump: float = _USUAL_JUMP  # values in a box that differ by more are refined
    level: float | None = None  # values count by the side on which they are

    def parts(
        self, missing: Sequence[Runs], executor: Executor | None, output: OutputFile
    ) -> Iterator[tuple[Runs, list[Member]]]:
        """How members ended: those that were chosen, round after round; then those left out."""
        left = {runs.size.number: runs for runs in missing}
        sweep = Sweep(self.folder, self.parameters, ())
        values, done = np.full(sweep.shape, np.nan), np.ones(sweep.shape, dtype=bool)
        done.flat[list(left)] = False
        for task in self.tasks:
            if task.number not in left:
                member = Member(task.file, {}, "")
                values.flat[task.number] = self._value(sweep.read(member, "none"))
        spread = [parameter.is_numeric for parameter in self.parameters]
        while (chosen := wanted(values, done, spread, self.jump)).size:
            round_of = [left.pop(number) for number in chosen.tolist()]
            for runs, part in super().parts(round_of, executor, output):
                number = runs.size.number
                done.flat[number] = True
                if part[0].result_hash is not None:
                    values.flat[number] = self._value(sweep.read(part[0], "none"))
                yield runs, part
        for runs in left.values():
            yield runs, [Member(runs.size.file, {}, LEFT_OUT)]

    def _value(self, run: Run) -> float:
        value = last_value(run, self.observable)
        return value if self.level is None or np.isnan(value) else float(value > self.level)


def adaptive_plan(plan: SweepPlan, first: Config, goal: str) -> SweepPlan:
    """The same sweep, run where an observable jumps or crosses a level.

    first: the run file of its first member.
    goal: "clusters", or "energy:0.01" with the jump, or "energy@0.5" with the level.
    """
    observable, sign, text = (*re.split("([:@])", goal, maxsplit=1), "", "")[:3]
    try:
        number = float(text) if sign else _USUAL_JUMP
    except ValueError:
        number = np.nan
    if not (observable and np.isfinite(number) and (sign == "@" or number > 0.0)):
        raise ValueError(
            "adaptive takes an observable with its jump or level, such as clusters, energy:0.01 "
            f"or energy@0.5, got {goal!r}."
        )
    level = number if sign == "@" else None
    jump = number if level is None else _USUAL_JUMP
    if plan.part is not None:
        raise ValueError("an adaptive sweep chooses as it goes: leave out --part and --collect.")
    names = [each if isinstance(each, str) else each.name for each in first.output.observables]
    if observable not in (*names, "time"):
        remedy = list_names(observable, (*names, "time"))
        raise ValueError(f"{observable} is no observable of these runs. {remedy}")
    own = {each.name: getattr(plan, each.name) for each in fields(plan)}
    return AdaptiveSweep(**own, observable=observable, jump=jump, level=level)


def wanted(
    values: FloatArray, done: npt.NDArray[np.bool_], spread: Sequence[bool], jump: float
) -> IntArray:
    """Numbers of the members to run next, none once all boundaries are found to one step.

    values: shape of the product, NaN where an observable has none.
    done: whether a member was run.
    spread: whether each parameter has an order; each value of others is a sweep of its own.

    >>> step = (np.arange(33) > 20) * 1.0
    >>> done, rounds = np.zeros(33, dtype=bool), 0
    >>> while (chosen := wanted(step, done, [True], 0.5)).size:
    ...     done[chosen], rounds = True, rounds + 1
    >>> int(done.sum()), rounds, bool(done[[20, 21]].all())
    (11, 3, True)
    """
    asked = np.zeros(values.shape, dtype=bool)
    boxes: list[Box] = [*product(*map(_intervals, values.shape, spread))]
    while boxes:
        box = boxes.pop()
        corners = np.ix_(*(sorted({low, high}) for low, high in box))
        asked[corners] = True
        inside = tuple(slice(low, high + 1) for low, high in box)
        if done[corners].all() and _differ(values[inside][done[inside]], jump):
            halves = [*product(*map(_halves, box))]
            boxes += halves if len(halves) > 1 else []
    return np.flatnonzero(asked & ~done)


def _intervals(count: int, spread: bool) -> list[tuple[int, int]]:
    """Coarse intervals of one parameter."""
    if not spread or count == 1:
        return [(i, i) for i in range(count)]
    ends = np.unique(np.linspace(0, count - 1, _COARSE + 1).round().astype(int)).tolist()
    return [*zip(ends[:-1], ends[1:], strict=True)]


def _halves(interval: tuple[int, int]) -> list[tuple[int, int]]:
    low, high = interval
    middle = (low + high) // 2
    return [(low, middle), (middle, high)] if middle > low else [interval]


def _differ(values: FloatArray, jump: float) -> bool:
    """True if values differ by more than a jump, or if only some are NaN."""
    there = values[~np.isnan(values)]
    return there.size > 0 and (there.size < values.size or bool(np.ptp(there) > jump))
