"""A sweep as a `Study`: its members, and how each becomes a run file.

What comes back from a process or a cluster is how a member ended: runs leave files. The index of
the folder is the file of the study.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from meanfield.config import Config, ConfigError, load_config
from meanfield.config.products import members_of
from meanfield.config.python_file import Permission
from meanfield.errors import SimulationError, one_line
from meanfield.execute import complete_fluctuations, evolution_of, execute, record_of
from meanfield.files.replacing import OutputError
from meanfield.outputs.reading import FormatError
from meanfield.outputs.run_file import load
from meanfield.outputs.sweep_file import INDEX
from meanfield.status import COMPLETED, stopped
from meanfield.studies.study import Runs, Study
from meanfield.studies.sweep_results import Member, Parameter, Sweep

# How the status of a run begins that ends the same whenever it is made.
_UNRESOLVED = "under-resolved"


@dataclass(frozen=True)
class Task:
    """A member that is to be run.

    Attributes
    ----------
    number : int
        Given. Its place in the product.
    file : str
        Given. Its run file.
    overrides : tuple of str
        Given. "section.key=value".
    name : str
        Given. The values of its parameters, for people.
    digest : str
        Given. Of the run file with the overrides: another one is refused.
    """

    number: int
    file: str
    overrides: tuple[str, ...]
    name: str
    digest: str


@dataclass(frozen=True)
class SweepPlan(Study[list[Member], Sweep]):
    """What a sweep is to do; its table is the list of members.

    Attributes
    ----------
    source, folder : Path
        Given. The run file, and where the runs go.
    fixed : tuple of str
        Given. Overrides of all members.
    code : str
        Given. Whose Python may be executed, see `config.python_file.Permission`.
    watch : callable () -> None, optional
        Given. What it raises ends the sweep; called at every right-hand side.
    parameters : tuple of Parameter
        Given.
    tasks : tuple of Task
        Given. In the order of the product.
    """

    source: Path
    folder: Path
    fixed: tuple[str, ...]
    code: Permission
    watch: Callable[[], None] | None = None
    parameters: tuple[Parameter, ...] = ()
    tasks: tuple[Task, ...] = ()
    unit: ClassVar[str] = "runs"
    overhead: ClassVar[int] = 0

    def __reduce__(self) -> tuple[Any, ...]:
        """Go to workers without the tasks, of which each is sent one; paths as all see them."""
        source, folder = self.source.absolute(), self.folder.absolute()
        return type(self), (source, folder, self.fixed, self.code, self.watch)

    @property
    def sizes(self) -> tuple[Task, ...]:
        """Members."""
        return self.tasks

    def name(self, size: Task) -> str:
        """Beside a bar."""
        return size.name

    def empty(self) -> list[Member]:
        """No member has ended."""
        return [
            Member(task.file, overrides)
            for task, overrides in zip(self.tasks, members_of(self.parameters), strict=True)
        ]

    def lacking(self, table: list[Member]) -> npt.NDArray[np.bool_]:
        """Not ended."""
        return np.array([[member.status is None] for member in table])

    def missing(self, table: list[Member]) -> list[Runs]:
        """Members that have not ended, in the order of the product."""
        return [Runs(self.tasks[i], range(1)) for i in np.flatnonzero(self.lacking(table))]

    def work(self, runs: Runs) -> float:
        """Every member counts the same: how long it takes is not known."""
        return 1.0

    def run(self, runs: Runs) -> list[Member]:
        """Run a member into its file, or go on with it; how it ended.

        Raises
        ------
        OutputError
            If this machine does not see the folder.
        """
        task = runs.size
        path = self.folder / task.file
        if not (self.folder / INDEX).exists():
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
                known = isinstance(error, OSError | ValueError | MemoryError)
                kind = "" if known and str(error) else f"{type(error).__name__}: "
                ended = f"failed: {kind}{one_line(str(error))}".rstrip(": .")
        digest = None
        with suppress(FormatError):
            digest = load(path, states="none").attributes.get("result_hash")
        return [Member(task.file, {}, ended, digest)]

    def _ended(self, task: Task, path: Path) -> str:
        """Status of a member that was run to its end."""
        config = load_config(self.source, [*self.fixed, *task.overrides], path, code=self.code)
        if digest_of(config) != task.digest:
            raise ConfigError(f"{self.source}, or a file that it reads, was changed meanwhile.")
        with closing(execute(config, resume=True, watch=self.watch)) as stream:
            for _ in stream:
                pass
        if config.fluctuations is not None:
            complete_fluctuations(evolution_of(config), record_of(config), config.fluctuations)
        return load(path, states="none").status

    def placed(self, table: list[Member], runs: Runs, part: list[Member]) -> list[Member]:
        """The table itself, filled."""
        number = runs.size.number
        table[number] = replace(part[0], overrides=table[number].overrides)
        return table

    def resumed(self, stored: Sweep) -> list[Member]:
        """What need not be run again: what completed, or cannot be resolved, and has its file.

        Others may come out otherwise: a disk has room again, Python of the user's own was mended.

        Raises
        ------
        FormatError
            If a file is damaged.
        ValueError
            If one is of another run.
        """
        members = self.empty()
        for i, known in enumerate(stored.members):
            ended = (known.status or "").startswith((COMPLETED, _UNRESOLVED))
            if ended and (self.folder / known.file).exists():
                stored.read(known, "none")
                members[i] = known
        return members

    def results(self, table: list[Member]) -> Sweep:
        """Index of what has ended so far."""
        return Sweep(self.folder, self.parameters, tuple(table))


def digest_of(config: Config) -> str:
    """Digest of a run file with its overrides."""
    return hashlib.sha256(config.text.encode()).hexdigest()
