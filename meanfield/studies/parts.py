"""Parts of a study: each task of a job array makes its share, and a last one collects them.

The members of a study are its runs, numbered size after size. Task I of M makes the members
I, I + M, I + 2M, ... and writes its own file. Random numbers belong to members, so the collected
study equals the study of one process, to the bit.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from meanfield.files import OutputError
from meanfield.studies.study import Request, Results, Runs, Study, Table

MOST_PARTS = 1_000_000

# Variables of job arrays: the number of the task, the number of tasks or None, and the endings of
# variables for first number, last and step (Slurm, Grid Engine).
_VARIABLES = (
    ("SLURM_ARRAY_TASK_ID", None, ("MIN", "MAX", "STEP")),
    ("SGE_TASK_ID", None, ("FIRST", "LAST", "STEPSIZE")),
    ("PBS_ARRAY_INDEX", None, ()),
    ("LSB_JOBINDEX", None, ()),
    ("AWS_BATCH_JOB_ARRAY_INDEX", "AWS_BATCH_JOB_ARRAY_SIZE", ()),
    ("BATCH_TASK_INDEX", "BATCH_TASK_COUNT", ()),
    ("CLOUD_RUN_TASK_INDEX", "CLOUD_RUN_TASK_COUNT", ()),
    ("JOB_COMPLETION_INDEX", None, ()),
)


@dataclass(frozen=True)
class Part:
    """Members `index`, index + count, ... of a study.

    >>> Part(1, 4).members(10), Part(3, 4).file(".h5")
    (range(1, 10, 4), '3-of-4.h5')
    """

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def members(self, total: int) -> range:
        """Numbers of its members in a study of `total` members."""
        return range(self.index, total, self.count)

    def file(self, ending: str) -> str:
        """Name of its file in the folder of parts."""
        return f"{self.index:0{len(str(self.count - 1))}d}-of-{self.count}{ending}"


def part_of(text: str, environment: dict[str, str] | None = None) -> Part:
    """Part of the text "I/M", "auto" or "auto/M".

    >>> part_of("3/10"), part_of("auto/10", {"PBS_ARRAY_INDEX": "10"})
    (Part(index=3, count=10), Part(index=0, count=10))
    """
    found = re.fullmatch(r"(\d{1,9}|auto)(?:/(\d{1,9}))?", text)
    if found is None or (found[1] != "auto" and found[2] is None):
        raise ValueError(f"--part takes I/M, auto or auto/M, got {text!r}.")
    if found[1] == "auto":
        index, count = _array(dict(os.environ) if environment is None else environment, found[2])
        index %= max(count, 1)
    else:
        index, count = int(found[1]), int(found[2])
    if not (1 <= count <= MOST_PARTS and index < count):
        raise ValueError(
            f"--part I/M needs M from 1 to {MOST_PARTS} and I from 0 to M - 1, got {index}/{count}."
        )
    return Part(index, count)


def _array(environment: dict[str, str], count: str | None) -> tuple[int, int]:
    """Number of a task in its job array, and the number of tasks."""
    for name, size, ends in _VARIABLES:
        if not environment.get(name, "").isdigit():
            continue
        index = int(environment[name])
        if count is not None:
            return index, int(count)
        if size in environment:
            return index, int(environment[size])
        # SLURM_ARRAY_TASK_MIN, SGE_TASK_FIRST, ...
        stem = name.removesuffix("ID")
        limits = [environment.get(stem + end, "") for end in ends]
        if ends and all(map(str.isdigit, limits)):
            first, last, step = map(int, limits)
            tasks = (last - first) // max(step, 1) + 1
            if environment.get(stem + "COUNT", str(tasks)) == str(tasks):
                return (index - first) // max(step, 1), tasks
        raise ValueError(f"--part auto: {name} does not say how many tasks there are: auto/M does.")
    raise ValueError("--part auto: there is no job array here, no SLURM_ARRAY_TASK_ID or its like.")


@dataclass(frozen=True, eq=False)
class PartStudy(Study[Table, Results]):
    """Members of one part of a study, as a study that numbers its runs anew for each size."""

    whole: Study[Table, Results]
    part: Part

    def __post_init__(self) -> None:
        # Most runs of a size; studies need at least two.
        most = max(2, -(-self.whole.options.runs // self.part.count))
        inner = replace(self.whole, options=replace(self.whole.options, runs=most))  # type: ignore[type-var]
        object.__setattr__(self, "_inner", inner)

    @property
    def inner(self) -> Study[Table, Results]:
        """Study with the part's number of runs, which makes its tables."""
        inner: Study[Table, Results] = self._inner  # type: ignore[attr-defined]
        return inner

    @property
    def unit(self) -> str:  # type: ignore[override]
        return self.whole.unit

    @property
    def sizes(self) -> Sequence[Any]:
        return self.whole.sizes

    @property
    def layout(self) -> str:
        """Numbers of sizes and runs of the whole study."""
        return f"{len(self.sizes)} x {self.whole.options.runs}"

    def numbers(self, row: int) -> range:
        """Numbers of the part's runs of a size in the whole study."""
        runs, count = self.whole.options.runs, self.part.count
        return range((self.part.index - row * runs) % count, runs, count)

    def name(self, size: Any) -> str:
        return self.whole.name(size)

    def empty(self) -> Table:
        return self.inner.empty()

    def lacking(self, table: Table) -> npt.NDArray[np.bool_]:
        lacking = self.inner.lacking(table).copy()
        for row, mine in enumerate(lacking):
            mine[len(self.numbers(row)) :] = False
        return lacking

    def run(self, runs: Runs) -> Table:
        numbers = self.numbers(self.sizes.index(runs.size))
        return self.whole.run(Runs(runs.size, numbers[runs.numbers.start : runs.numbers.stop]))

    def placed(self, table: Table, runs: Runs, part: Table) -> Table:
        return self.inner.placed(table, runs, part)

    def block_length(self, size: Any) -> int:
        return self.inner.block_length(size)

    def work(self, runs: Runs) -> float:
        return self.inner.work(runs)

    def progress(self, table: Table) -> str:
        total = sum(len(self.numbers(row)) for row in range(len(self.sizes)))
        return f"{total - self.lacking(table).sum()} of {total} {self.unit}"

    def resumed(self, stored: Results) -> Table:
        return self.inner.resumed(stored)

    def check_resumes(self, stored: Any, path: Path, label: str) -> None:
        self.inner.check_resumes(stored, path, label)
        before = stored.attributes.get("part_members")
        if before != self.layout:
            raise OutputError(
                f"{path} is of {before} members, and the study has {self.layout}: a study in parts "
                "does not grow. Choose another -o."
            )

    def results(self, table: Table) -> Results:
        results: Any = self.inner.results(table)
        facts = {"part": str(self.part), "part_members": self.layout}
        mine: Results = replace(results, attributes=results.attributes | facts)
        return mine

    def put_into(self, table: Table, mine: Any) -> Table:
        """Table of the whole study with the finished members of this part."""
        for row, size in enumerate(self.sizes):
            numbers = self.numbers(row)
            if numbers:
                runs = Runs(size, numbers)
                table = self.whole.placed(table, runs, mine[row, : len(numbers)])
        return table


def request_of_part(request: Request[Results], part: Part) -> Request[Results]:
    """Request of one part of a study."""
    return replace(request, plan=lambda: PartStudy(request.plan(), part), left=None, part=part)


def owners(lacking: npt.NDArray[np.bool_], count: int) -> list[int]:
    """Parts that have missing members.

    >>> owners(np.array([[False, True, False], [True, False, True]]), 4)
    [1, 3]
    """
    return sorted({int(member) % count for member in np.flatnonzero(lacking)})


def missing_parts(lacking: npt.NDArray[np.bool_], count: int, unit: str) -> str:
    """Message of the number of missing members and their parts, else empty."""
    if not lacking.any():
        return ""
    tasks = as_array(owners(lacking, count))
    return f"{lacking.sum()} of {lacking.size} {unit} are missing, of parts {tasks} of {count}"


def as_array(numbers: Sequence[int]) -> str:
    """Numbers of tasks in the form of Slurm's --array.

    >>> as_array([3, 17, 20, 21, 22])
    '3,17,20-22'
    """
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][-1] == number - 1:
            spans[-1][1:] = [number]
        else:
            spans.append([number])
    return ",".join("-".join(map(str, span)) for span in spans)


def parts_in(folder: Path, ending: str) -> Iterator[tuple[Part, Path]]:
    """Parts and their files in a folder; refuse a folder with two numbers of parts."""
    found: dict[Part, Path] = {}
    for path in folder.glob(f"*-of-*{ending}"):
        index, _, count = path.name.removesuffix(ending).partition("-of-")
        if index.isdigit() and count.isdigit() and int(index) < int(count):
            found[Part(int(index), int(count))] = path
    if not found:
        raise OutputError(f"{folder} holds no parts: --part I/M makes them.")
    counts = sorted({part.count for part in found})
    if len(counts) > 1:
        raise OutputError(
            f"{folder} holds parts of {counts[0]} and of {counts[1]}: delete those of one division."
        )
    for part in sorted(found, key=lambda part: part.index):
        yield part, found[part]
