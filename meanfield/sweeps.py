"""Sweeps: a run file over a product of values, each member a run file of its own in one folder.

A sweep is a `Study` whose runs leave files: what comes back from a process or a cluster is how each
ended. The index of the folder is the file of the study.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from meanfield.checks import checked
from meanfield.config import Config, ConfigError, load_config
from meanfield.config.config import ALL_KEYS, check_continues
from meanfield.config.products import (
    members_of,
    parameters_of,
    toml_value,
)
from meanfield.config.python_file import Permission
from meanfield.config.written import written
from meanfield.errors import SimulationError, one_line
from meanfield.execute import complete_fluctuations, evolution_of, execute, record_of
from meanfield.files.replacing import OutputError, replace_bytes
from meanfield.front import python_words
from meanfield.kernels import KERNELS
from meanfield.outputs.locks import check_results, writer_lock
from meanfield.outputs.output_file import OutputFile
from meanfield.outputs.provenance import origin_attributes
from meanfield.outputs.reading import FormatError
from meanfield.outputs.run_file import load
from meanfield.outputs.study_file import record_study
from meanfield.outputs.sweep_file import INDEX, load_sweep, write_sweep
from meanfield.problem import Problem
from meanfield.progress import followed
from meanfield.representations import Options
from meanfield.status import COMPLETED, stopped
from meanfield.studies.executors import finished
from meanfield.studies.study import Runs, Study
from meanfield.studies.sweep_results import Member, Parameter, Sweep, value_words

RUN_FILE = "sweep.toml"
"""Run file of a sweep of a problem that was made in Python, in its folder."""

# How the status of a run begins that ends the same whenever it is made.
_UNRESOLVED = "under-resolved"
# Names are as wide as the largest number.
_LEAST_DIGITS = 3


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
        if _digest(config) != task.digest:
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
        """
        return [
            known
            if known.status is not None
            and known.status.startswith((COMPLETED, _UNRESOLVED))
            and (self.folder / known.file).exists()
            else member
            for known, member in zip(stored.members, self.empty(), strict=True)
        ]

    def results(self, table: list[Member]) -> Sweep:
        """Index of what has ended so far."""
        return Sweep(self.folder, self.parameters, tuple(table))


def planned(
    source: Path,
    parameters: Sequence[Parameter],
    fixed: Sequence[str],
    folder: Path,
    *,
    code: Permission = "inside",
    watch: Callable[[], None] | None = None,
    look: Callable[[Config], None] = lambda config: None,
) -> tuple[SweepPlan, Config]:
    """Plan of a sweep, and the run file of its first member; every member is checked.

    Parameters
    ----------
    source, folder : Path
        The run file, and where the runs are to go.
    parameters, fixed : sequences
        The product, and overrides of all members.
    code, watch
        As of a `SweepPlan`.
    look : callable (Config) -> None
        Called with the run file of each member.

    Raises
    ------
    ConfigError
        If the run file of a member is wrong, or two members are the same run.
    OutputError
        If the folder cannot be made, or holds something else.
    """
    tasks: list[Task] = []
    first: Config | None = None
    names: dict[str, str] = {}
    every = members_of(parameters)
    digits = max(_LEAST_DIGITS, len(str(len(every))))
    short = Sweep(folder, tuple(parameters), ()).names
    with _room(folder):
        for number, overrides in enumerate(every):
            given = tuple(f"{key}={toml_value(value)}" for key, value in overrides.items())
            file = f"{number + 1:0{digits}d}.h5"
            config = load_config(source, [*fixed, *given], folder / file, code=code)
            look(config)
            first = first or config
            pairs = zip(short, overrides.values(), strict=True)
            name = ", ".join(f"{key} = {value_words(value)}" for key, value in pairs)
            digest = _digest(config)
            if digest in names:
                raise ConfigError(
                    f"{source}: {names[digest]} and {name} are the same run: one key takes the "
                    "place of another."
                )
            names[digest] = name
            tasks.append(Task(number, file, given, name, digest))
    assert first is not None
    plan = SweepPlan(source, folder, tuple(fixed), code, watch, tuple(parameters), tuple(tasks))
    return plan, first


@contextmanager
def held(
    plan: SweepPlan, first: Config, *, resume: bool, overwrite: bool
) -> Iterator[tuple[OutputFile, Sweep | None]]:
    """Hold the right to write the folder of a sweep.

    Yields
    ------
    OutputFile, Sweep or None
        The index, and what it holds if the sweep goes on.

    Raises
    ------
    OutputError
        If another process writes it, or it holds a sweep that is neither to be replaced nor
        continued.
    ConfigError
        If the sweep that it holds is of another product, or run file.
    """
    folder, index = plan.folder, plan.folder / INDEX
    with writer_lock(index) as output:
        stored = None
        if index.exists():
            if not (resume or overwrite):
                raise OutputError(
                    f"{folder} holds a sweep: use --overwrite to replace it or --resume to go on."
                )
            try:
                stored = load_sweep(folder)
            except FormatError:
                if resume:
                    raise
        if overwrite:
            _clear(plan, stored)
        if not resume:
            stored = None
        if stored is not None:
            _check_resumes(plan, first, stored)
        yield output, stored


@contextmanager
def _room(folder: Path) -> Iterator[None]:
    """Make a folder, and take it away again if the block fails and nothing is in it.

    Raises
    ------
    OutputError
        If something else is there, or in it, or it cannot be made.
    """
    there = folder.exists()
    if there and not folder.is_dir():
        raise OutputError(f"-o {folder} is a file, expected a folder.")
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise OutputError(f"-o {folder} cannot be made: {error.strerror}.") from None
    others = [
        each.name
        for each in folder.iterdir()
        if not each.name.startswith(".") and each.name != RUN_FILE
    ]
    if others and INDEX not in others:
        raise OutputError(
            f"-o {folder} holds {min(others)} and no sweep: choose a folder that is new or empty."
        )
    try:
        yield
    except BaseException:
        if not there:
            with suppress(OSError):
                folder.rmdir()
        raise


def _clear(plan: SweepPlan, stored: Sweep | None) -> None:
    """Remove the runs of an earlier sweep, which must be results."""
    earlier = () if stored is None else (member.file for member in stored.members)
    paths = [plan.folder / file for file in {*earlier, *(task.file for task in plan.tasks)}]
    for path in paths:
        check_results(path)
    for path in paths:
        path.unlink(missing_ok=True)


def _check_resumes(plan: SweepPlan, first: Config, stored: Sweep) -> None:
    """Refuse to go on with another product, or another run file.

    Raises
    ------
    ConfigError
        With the first difference.
    """
    mine, theirs = plan.parameters, stored.parameters
    advice = f"{stored.folder}, which --resume continues. Use --overwrite, or another folder."
    if [parameter.key for parameter in mine] != [parameter.key for parameter in theirs]:
        told = [", ".join(p.key for p in parameters) for parameters in (mine, theirs)]
        raise ConfigError(f"{plan.source}: --over {told[0]} is not {told[1]}, as in {advice}")
    for one, other in zip(mine, theirs, strict=True):
        if one.values != other.values:
            raise ConfigError(
                f"{plan.source}: --over {one.key} has other values than that of {advice}"
            )
    check_continues(
        str(plan.source),
        first.tables,
        first.idle,
        str(stored.attributes.get("config", "")),
        stored.folder,
        {"output": ("path",)},
    )


def _digest(config: Config) -> str:
    return hashlib.sha256(config.text.encode()).hexdigest()


@checked
def sweep(
    of: Problem | str | os.PathLike[str],
    over: Mapping[str, Any],
    *,
    folder: str | os.PathLike[str],
    problem: Mapping[str, Any] | None = None,
    initial: Mapping[str, Any] | None = None,
    representation: Mapping[str, Any] | None = None,
    time: Mapping[str, Any] | None = None,
    observables: Sequence[str] | None = None,
    executor: Executor | None = None,
    progress: bool = False,
    resume: bool = False,
    overwrite: bool = False,
    allow_code: bool = False,
) -> Sweep:
    """Run a run file, or a problem, over a product of values; each run is a file of one folder.

    Parameters
    ----------
    of : path or Problem
        TOML file, as for `run`; or a problem, which a run file must be able to say, and which then
        stands as `sweep.toml` in the folder.
    over : mapping
        "section.key" -> values that it takes in turn: a sequence, or a text as after --over of
        `meanfield sweep`, such as "1:20:39" or "0.01:100:9:log".
    folder : path
        Where the runs go, and the index `sweep.json`.
    problem, initial, representation, time : mapping, optional
        Keys of these sections for all runs, in place of those of the file; of a problem, `time` has
        at least "end". An `initial` with a name replaces the law as a whole.
    observables : sequence of str, optional
        In place of those of the file.
    executor : concurrent.futures.Executor, optional
        Where to run; here by default. Its processes must see the folder and the run file.
    progress : bool
        Show a bar of the runs.
    resume, overwrite : bool
        Go on with what is missing of a sweep that is there, or replace it.
    allow_code : bool
        Whether the run file may name Python outside of its folder.

    Returns
    -------
    Sweep
        Runs that fail, or end early, say so in their `status` and stop no others.

    Raises
    ------
    TypeError
        If no run file can say the problem.
    ValueError
        If a key or value is wrong, two runs are the same, or the folder holds something else.

    Examples
    --------
    >>> import tempfile
    >>> import meanfield as mf
    >>> law = mf.perturbed_uniform([[2, 0.1, 0.0]])
    >>> uniform = mf.Problem(mf.Circle(), mf.exponential(beta=1.0), mf.USA, law)
    >>> with tempfile.TemporaryDirectory() as place:
    ...     made = sweep(uniform, {"problem.beta": [2, 4], "problem.normalization":
    ...         ["softmax", "none"]}, folder=f"{place}/x", time={"end": 5.0, "save": 2})
    ...     print(made.told, made.values("order_parameter").shape)
    4 runs, 4 completed (2, 2)
    """
    place = Path(folder)
    if resume and overwrite:
        raise ValueError("resume goes on with the folder and overwrite replaces it: give one.")
    given = {"problem": problem, "initial": initial, "representation": representation, "time": time}
    fixed = [
        each for name, keys in given.items() if keys is not None for each in _overrides(name, keys)
    ]
    if observables is not None:
        fixed.append(f"output.observables={toml_value(list(observables))}")
    with python_words():
        parameters = _parameters(over, fixed)
        source = _written(of, place) if isinstance(of, Problem) else Path(of)
        code: Permission = "anywhere" if allow_code else "inside"
        plan, first = planned(source, parameters, fixed, place, code=code)
        with held(plan, first, resume=resume, overwrite=overwrite) as (output, stored):
            table = plan.empty() if stored is None else plan.resumed(stored)
            missing = plan.missing(table)
            if missing or stored is None:
                known = None if stored is None else stored.attributes
                parts = finished(plan.run, missing, executor)
                facts = origin_attributes(first.text, first.title, known)
                done = record_study(output, write_sweep, plan, table, parts, facts)
                with closing(done):
                    shown = followed(done, len(missing), "sweep") if progress else done
                    for _ in shown:
                        pass
    return load_sweep(place)


def _overrides(section: str, keys: Mapping[str, Any]) -> list[str]:
    """Overrides that a section of a call says."""
    if section == "initial" and "name" in keys:
        return [f"initial={toml_value(keys)}"]
    return [f"{section}.{key}={toml_value(value)}" for key, value in keys.items()]


def _parameters(over: Mapping[str, Any], fixed: Sequence[str]) -> tuple[Parameter, ...]:
    """Parameters of a call: values may be a sequence, or a text."""
    texts = []
    for key, values in over.items():
        if isinstance(values, str):
            texts.append(f"{key}={values}")
            continue
        if not isinstance(values, Sequence | np.ndarray):
            raise ConfigError(
                f"over[{key!r}] must be a sequence of values, or a text such as '1:20:39', got "
                f"{values!r}."
            )
        parts = [toml_value(value) for value in values]
        texts.append(f"{key}={','.join(parts)}")
    return parameters_of(texts, ALL_KEYS, fixed)


def _written(problem: Problem, folder: Path) -> Path:
    """Run file of a problem, in the folder of its sweep.

    Raises
    ------
    TypeError
        If no run file can say it.
    """
    import tomli_w

    tables = written(problem, Options(), {})
    del tables["time"], tables["representation"]
    own = "digest" in tables["initial"] or "attention" in tables["problem"]
    if own or tables["problem"]["kernel"] not in (*KERNELS, "zonal"):
        raise TypeError(
            "a sweep is of a run file, and no run file can say this kernel or law: write one that "
            "names a Python file, or a .npy file, and sweep that."
        )
    path = folder / RUN_FILE
    with _room(folder):
        replace_bytes(path, tomli_w.dumps(tables).encode())
    return path
