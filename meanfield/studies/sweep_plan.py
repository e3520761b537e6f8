"""A sweep as a `Study`: its members, and the run of each.

Runs write files; a process or a cluster returns only how a member ended. The index of the folder is
the file of the study.

An adaptive sweep runs only the members near a jump or a level of an observable. The product is cut
into boxes of members. A box whose corners have run, and in which values differ, is halved along
every parameter. So boundaries are found to one step of the product, and flat regions cost a few
runs. The choice depends on values only, not on the order of runs or the executor.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import closing, suppress
from dataclasses import dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray, IntArray
from meanfield.errors import SimulationError, list_names, one_line
from meanfield.files import OutputError
from meanfield.recording import complete_fluctuations, evolution_of, execute, record_of
from meanfield.runfile import Config, ConfigError, load_config
from meanfield.runfile.products import members_of
from meanfield.runfile.python_file import Permission
from meanfield.runs import Run
from meanfield.status import LEFT_OUT, stopped
from meanfield.store.layout import FormatError
from meanfield.store.locks import OutputFile, holds_results
from meanfield.store.run_file import load
from meanfield.store.sweep_file import INDEX, PARTS, load_sweep
from meanfield.studies.executors import finished
from meanfield.studies.parts import Part
from meanfield.studies.study import Runs, Study
from meanfield.studies.sweep_results import Member, Parameter, Sweep, last_value

# Beginning of the status of unresolved runs, which would end alike again.
_UNRESOLVED = "under-resolved"


@dataclass(frozen=True)
class Task:
    """A member to run."""

    number: int  # its place in the product
    file: str  # file of its run
    overrides: tuple[str, ...]  # "section.key=value"
    name: str  # values of its parameters, for messages
    digest: str  # digest of the run file with the overrides, which must not change
    overwrite: bool = False  # replace the file of an earlier sweep


@dataclass(frozen=True)
class SweepPlan(Study[list[Member], Sweep]):
    """Plan of a sweep; its table is the list of members.

    source, folder: the run file, and the folder of the runs.
    """

    source: Path
    folder: Path
    fixed: tuple[str, ...]  # overrides of all members
    code: Permission  # Python that may be executed, see `runfile.python_file.Permission`
    # Called at every right-hand side; its exceptions end the sweep.
    watch: Callable[[], None] | None = None
    parameters: tuple[Parameter, ...] = ()
    tasks: tuple[Task, ...] = ()  # in the order of the product; only those of the part
    part: Part | None = None  # part of a job array
    unit: ClassVar[str] = "runs"
    overhead: ClassVar[int] = 0

    def __reduce__(self) -> tuple[Any, ...]:
        source, folder = self.source.absolute(), self.folder.absolute()
        own = self.fixed, self.code, self.watch, (), (), self.part
        return type(self), (source, folder, *own)

    @property
    def sizes(self) -> tuple[Task, ...]:
        return self.tasks

    @property
    def index_path(self) -> Path:
        """File of the study: the index of the folder, or of a part."""
        if self.part is None:
            return self.folder / INDEX
        return self.folder / PARTS / self.part.file(".json")

    def name(self, size: Task) -> str:
        return size.name

    def empty(self) -> list[Member]:
        every = members_of(self.parameters)
        return [Member(task.file, every[task.number]) for task in self.tasks]

    def lacking(self, table: list[Member]) -> npt.NDArray[np.bool_]:
        return np.array([[member.status is None] for member in table])

    def missing(self, table: list[Member]) -> list[Runs]:
        return [Runs(self.tasks[i], range(1)) for i in np.flatnonzero(self.lacking(table))]

    def work(self, runs: Runs) -> float:
        return 1.0

    def run(self, runs: Runs) -> list[Member]:
        """Run a member into its file, or continue it; return how it ended."""
        task = runs.size
        path = self.folder / task.file
        if not self.index_path.exists():
            raise OutputError(
                f"{self.folder} cannot be seen from a worker, or is gone: a sweep needs a folder, "
                "and a run file, that all machines share."
            )
        try:
            with np.errstate(all="ignore"):
                ended = self._ended(task, path)
        except Exception as error:
            # An interrupt may have turned into another error.
            if self.watch is not None:
                self.watch()
            if isinstance(error, SimulationError):
                ended = stopped(error)
            else:
                expected = isinstance(error, OSError | ValueError | MemoryError)
                kind = "" if expected and str(error) else f"{type(error).__name__}: "
                ended = f"failed: {kind}{one_line(str(error))}".rstrip(": .")
        digest = None
        with suppress(FormatError):
            digest = load(path, states="none").attributes.get("result_hash")
        return [Member(task.file, {}, ended, digest)]

    def _ended(self, task: Task, path: Path) -> str:
        """Run a member to its end, and return its status."""
        config = load_config(self.source, [*self.fixed, *task.overrides], path, code=self.code)
        if digest_of(config) != task.digest:
            raise ConfigError(f"{self.source}, or a file that it reads, was changed meanwhile.")
        run = execute(config, resume=not task.overwrite, overwrite=task.overwrite, watch=self.watch)
        with closing(run) as stream:
            for _ in stream:
                pass
        if config.fluctuations is not None:
            complete_fluctuations(evolution_of(config), record_of(config), config.fluctuations)
        return load(path, states="none").status

    def parts(
        self, missing: Sequence[Runs], executor: Executor | None, output: OutputFile
    ) -> Iterator[tuple[Runs, list[Member]]]:
        """Members as they end.

        To replace an earlier sweep, they run one by one until one has a row beyond its start. Then
        the runs of the earlier sweep are removed.
        """
        waiting, ended = iter(missing), []
        while output.earlier and (runs := next(waiting, None)) is not None:
            path = self.folder / runs.size.file
            before = OutputFile(path)
            try:
                alone = replace(runs, size=replace(runs.size, overwrite=True))
                ((_, (member,)),) = finished(self.run, [alone], executor)
            finally:
                if not before.unchanged() and _is_started(path):
                    self._clear(path)
                    output.earlier = False
                elif before.size == 0:
                    path.unlink(missing_ok=True)
            # Its file, if any, still belongs to the earlier sweep.
            member = replace(member, result_hash=None) if output.earlier else member
            ended.append((runs, [member]))
        if output.earlier:
            first = ended[0][1][0]
            raise OutputError(
                f"{self.folder} stays as it was, for no run of the new sweep has begun: "
                f"{first.file} {first.status}."
            )
        yield from ended
        yield from finished(self.run, waiting, executor)

    def _clear(self, new: Path) -> None:
        """Remove the runs of an earlier sweep, except the file `new` of a new run."""
        files = {task.file for task in self.tasks}
        with suppress(FormatError):
            files.update(member.file for member in load_sweep(self.folder).members)
        for path in (self.folder / file for file in files):
            if path != new and holds_results(path):
                path.unlink()

    def placed(self, table: list[Member], runs: Runs, part: list[Member]) -> list[Member]:
        row = bisect_left(self.tasks, runs.size.number, key=lambda task: task.number)
        table[row] = replace(part[0], overrides=table[row].overrides)
        return table

    def resumed(self, stored: Sweep) -> list[Member]:
        """Members that need no new run: finished or unresolved ones with their files.

        Other errors may not return: a disk has room again, or a user's function was corrected.
        """
        members = self.empty()
        for i, member in enumerate(stored.members):
            ended = member.finished or (member.status or "").startswith(_UNRESOLVED)
            if ended and (self.folder / member.file).exists():
                stored.read(member, "none")
                members[i] = member
        return members

    def results(self, table: list[Member]) -> Sweep:
        facts = {} if self.part is None else {"part": str(self.part)}
        return Sweep(self.folder, self.parameters, tuple(table), facts)


def _is_started(path: Path) -> bool:
    """True if a run file has a row beyond its start."""
    try:
        times = load(path, states="none").scaled_time
    except FormatError:
        return False
    return len(times) > 0 and times[-1] > 0.0


def digest_of(config: Config) -> str:
    """Digest of a run file with its overrides."""
    return hashlib.sha256(config.text.encode()).hexdigest()


# First intervals of each parameter; narrower islands may be missed.
_COARSE = 8
_USUAL_JUMP = 0.5

Box = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class AdaptiveSweep(SweepPlan):
    """Plan of a sweep that runs only the members near jumps or a level of an observable."""

    observable: str = ""
    jump: float = _USUAL_JUMP  # a box is refined if its values differ by more
    level: float | None = None  # values are 1 above it and 0 below

    def parts(
        self, missing: Sequence[Runs], executor: Executor | None, output: OutputFile
    ) -> Iterator[tuple[Runs, list[Member]]]:
        """Chosen members as they end, round after round; then those that are left out."""
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
    """Adaptive sweep of a plan, whose first member has the run file `first`.

    goal: "clusters", or "energy:0.01" with a jump, or "energy@0.5" with a level.
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
    """Numbers of the members to run next; none if all boundaries are found to one step.

    values, done: of the shape of the product; values are NaN where the observable has none.
    spread: True for ordered parameters; each value of others has a sweep of its own.

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
