"""Studies of many runs: their plan, order and random numbers.

A study has runs of several numbers of tokens. Each run draws from a generator seeded by (seed,
tokens, number of the run) alone. So results do not depend on the order or place of the runs. A
study that is resumed, or grows, equals the study that runs at once.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar, cast

import numpy as np
import numpy.typing as npt

from meanfield.arguments import at_least, check_returned
from meanfield.arrays import FloatArray
from meanfield.carriers.options import Options
from meanfield.files import OutputError
from meanfield.measures import MOST_TOKENS, Density, LabelledDensity, Measure
from meanfield.names import VIEWS
from meanfield.problem import Problem
from meanfield.progress import followed, wants_bar
from meanfield.studies.executors import finished

# All measured values are in memory.
_MOST_RUNS = 1_000_000

Table = TypeVar("Table")
Results = TypeVar("Results")


@dataclass(frozen=True)
class Runs:
    """Runs of one size, equally spaced."""

    size: Any  # number of tokens, or another label of a row
    numbers: range  # numbers of the runs of this size


@dataclass(frozen=True)
class Execution:
    """Where a call in Python runs a study, and its file."""

    output: str | os.PathLike[str] | None = None  # None keeps the study in memory
    resume: bool = False
    overwrite: bool = False
    workers: int | None = None  # processes; None and 1 mean this one
    executor: Executor | None = None  # replaces workers
    progress: bool | None = None  # bar; None shows one in notebooks

    def __post_init__(self) -> None:
        if self.workers is not None:
            at_least(1, workers=self.workers)
            if self.executor is not None:
                raise ValueError("workers and executor both say where runs are made: give one.")
        if self.resume and self.overwrite:
            raise ValueError("resume goes on with the file and overwrite replaces it: give one.")
        if self.output is None and (self.resume or self.overwrite):
            raise ValueError("resume and overwrite need output=, the file that they speak of.")


class Study(ABC, Generic[Table, Results]):
    """Plan of many runs: base of frozen dataclasses, plain data that processes can share."""

    options: Any  # fields tokens (sizes, increasing), seed and others
    unit: ClassVar[str]  # plural name of its runs
    overhead: ClassVar[int]  # cost of a run beyond its tokens, in tokens

    @property
    def sizes(self) -> Sequence[Any]:
        """Labels of the rows of a table: by default numbers of tokens."""
        return cast(Sequence[int], self.options.tokens)

    def name(self, size: Any) -> str:
        """Name of a size beside a progress bar."""
        return f"n = {size}"

    @abstractmethod
    def empty(self) -> Table:
        """Table before any run."""

    @abstractmethod
    def lacking(self, table: Table) -> npt.NDArray[np.bool_]:
        """True for runs that are not in a table, shape (n_sizes, runs)."""

    @abstractmethod
    def run(self, runs: Runs) -> Table:
        """Results of some runs."""

    @abstractmethod
    def placed(self, table: Table, runs: Runs, part: Table) -> Table:
        """Table with the results of some runs in their places; may be filled in place."""

    @abstractmethod
    def resumed(self, stored: Results) -> Table:
        """Table with stored results, which have no other sizes or times and no more runs."""

    @abstractmethod
    def results(self, table: Table) -> Results:
        """Results of a table, finished or not."""

    def block_length(self, size: Any) -> int:
        """Number of runs of a size in one task."""
        return 1

    def missing(self, table: Table) -> list[Runs]:
        """Runs that a table lacks, by number of the run, then large sizes first.

        So interrupted studies have about equally many runs of each size, and the last are short.
        """
        parts = [
            Runs(size, numbers)
            for size, row in zip(self.sizes, self.lacking(table), strict=True)
            for numbers in _consecutive(np.flatnonzero(row), self.block_length(size))
        ]
        return sorted(parts, key=lambda runs: (runs.numbers.start, -runs.size))

    def parts(
        self, missing: Sequence[Runs], executor: Executor | None, output: Any
    ) -> Iterator[tuple[Runs, Table]]:
        """Results of runs as they finish, for the file `output` (an `OutputFile`)."""
        return finished(self.run, missing, executor)

    def check_resumes(self, stored: Results, path: Path, label: str) -> None:
        """Refuse a stored study that this one does not continue; errors begin with `label`."""

    def completed(self, executor: Executor | None = None, progress: bool | None = None) -> Results:
        """Results of all runs, made here or by an executor, with a bar of the finished work."""
        table = self.empty()
        missing = self.missing(table)
        done = finished(self.run, missing, executor)
        if wants_bar(progress):
            share = self.share(missing)
            done = followed(done, 100, self.unit, weight=lambda pair: share(pair[0]))
        for runs, part in done:
            table = self.placed(table, runs, part)
        return self.results(table)

    def share(self, missing: Sequence[Runs]) -> Callable[[Runs], float]:
        """Function of runs: their share of the work of the missing ones, in hundredths."""
        work = sum(map(self.work, missing)) / 100.0
        return lambda runs: self.work(runs) / work

    def index(self, runs: Runs) -> tuple[int, slice]:
        row = self.sizes.index(runs.size)
        return row, slice(runs.numbers.start, runs.numbers.stop, runs.numbers.step)

    def progress(self, table: Table) -> str:
        """Finished and total number of runs."""
        lacking = self.lacking(table)
        return f"{(~lacking).sum()} of {lacking.size} {self.unit}"

    def work(self, runs: Runs) -> float:
        """Work of some runs, in tokens."""
        return float(len(runs.numbers) * (runs.size + self.overhead))


class ArrayStudy(Study[FloatArray, Results]):
    """Study of runs that measure arrays: tables have (n_sizes, runs, *shape, n_measured)."""

    # Names of the arrays of its results; missing runs are NaN in the first.
    measured: ClassVar[tuple[str, ...]]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one measured array of a run."""
        return ()

    def empty(self) -> FloatArray:
        sizes = (len(self.sizes), self.options.runs, *self.shape, len(self.measured))
        return np.full(sizes, np.nan)

    def lacking(self, table: FloatArray) -> npt.NDArray[np.bool_]:
        """True where the first array has a NaN."""
        return np.asarray(np.isnan(table[..., 0]).any(axis=tuple(range(2, table.ndim - 1))))

    def placed(self, table: FloatArray, runs: Runs, part: FloatArray) -> FloatArray:
        table[self.index(runs)] = part
        return table

    def resumed(self, stored: Any) -> FloatArray:
        table = self.empty()
        values = np.stack([getattr(stored, name) for name in self.measured], axis=-1)
        for size, row in zip(stored.tokens.tolist(), values, strict=True):
            table[self.sizes.index(size), : len(row)] = row
        return table


@dataclass(frozen=True)
class Request(Generic[Results]):
    """A requested study, and the data that its file must share to be resumed."""

    kind: str  # kind of its file, see `names.RESULT_KINDS`
    plan: Callable[[], Study[Any, Results]]
    options: Any  # sizes, `runs` and other keys of its section; `facts()` without a problem
    label: str  # beginning of errors: the run file, or the function
    problem: Problem | None = None  # None: tokens in any dimension
    # Calls with a problem have these, which make their run file.
    settings: Options = Options()
    time: Mapping[str, Any] = field(default_factory=dict)
    # Commands have these: the run file, or a replacement.
    text: str = ""
    title: str = ""
    tables: dict[str, Any] | None = None  # the parsed run file; None without a problem
    idle: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # keys without effect
    # Number of runs that a stored study lacks, if the plan takes long and should come later.
    left: Callable[[Any], int] | None = None
    kernels: bool = True  # True if its runs call compiled kernels
    part: Any = None  # the `parts.Part` of a task of a job array

    def compile(self) -> None:
        """Compile the kernels of the runs, before many processes do so at once."""
        if self.kernels:
            VIEWS["Request.compile"](self.problem)

    def results(self, execution: Execution) -> Results:
        """Results of a call in Python, see `studies.complete`."""
        results: Results = VIEWS["Request.results"](self, execution)
        return results


def as_problem(problem: Problem | Callable[[], Problem]) -> Problem:
    """The problem itself, or the one that the function returns."""
    if isinstance(problem, Problem):
        return problem
    return cast(Problem, check_returned("problem()", problem(), Problem))


def initial_density(problem: Problem) -> Density:
    """Initial density of a problem, from which tokens are drawn; refuse other laws."""
    law = problem.initial_measure()
    if problem.frequencies is not None or isinstance(law, LabelledDensity):
        raise ValueError(
            "studies draw tokens that differ in their places alone, and these have labels, "
            "frequencies or laws of their positions: mf.simulate has single runs."
        )
    if isinstance(law, Measure):
        raise TypeError(
            f"initial law {problem.initial.name!r} gives points, but tokens are drawn from a "
            "density. Use an initial law that is a density."
        )
    return law


def rng_of(seed: int, *key: int) -> np.random.Generator:
    """Random numbers of one run, which depend on these arguments alone.

    >>> rng_of(0, 100, 3).random() == rng_of(0, 100, 3).random() != rng_of(0, 100, 4).random()
    True
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def check_runs(tokens: Sequence[int], name: str, count: int, least: int, seed: int) -> None:
    """Check the options that all studies have; `name` is the option of the `count` of runs."""
    if len(tokens) == 0 or min(tokens) < 2:
        raise ValueError(f"tokens must all be at least 2, got {list(tokens)}.")
    if max(tokens) > MOST_TOKENS:
        raise ValueError(f"tokens must all be at most {MOST_TOKENS}, got {max(tokens)}.")
    if list(tokens) != sorted(set(tokens)):
        raise ValueError(f"tokens must be increasing, got {list(tokens)}.")
    if not least <= count <= _MOST_RUNS:
        raise ValueError(f"{name} must lie between {least} and {_MOST_RUNS}, got {count}.")
    if seed < 0:
        raise ValueError(f"seed must not be negative, got {seed}.")


def check_only_runs_grow(options: Any, stored: Any, path: Path) -> None:
    """Refuse to resume a study without a run file if its file has other facts, or more runs."""
    before = json.loads(stored.attributes["config"])
    # Through JSON, which turns tuples into lists.
    for name, wanted in json.loads(json.dumps(options.facts())).items():
        if before.get(name) != wanted:
            raise OutputError(
                f"{path} has another {name}: --resume may only add runs. Use --overwrite to start "
                "again."
            )
    if stored.runs > options.runs:
        raise OutputError(
            f"--runs {options.runs} is fewer than the {stored.runs} of {path}: --resume may only "
            "add. Use --overwrite to start again."
        )


def _consecutive(numbers: npt.NDArray[np.int64], longest: int) -> list[range]:
    """Increasing numbers as ranges within equal blocks of `longest`."""
    parts: list[range] = []
    for number in numbers.tolist():
        if parts and parts[-1].stop == number and number % longest:
            parts[-1] = range(parts[-1].start, number + 1)
        else:
            parts.append(range(number, number + 1))
    return parts
