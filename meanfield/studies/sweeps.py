"""`mf.sweep`: runs of a run file, or a problem, over a product of values."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from meanfield.arguments import checked
from meanfield.carriers import Options
from meanfield.files import OutputError, replace_bytes
from meanfield.problem import Problem
from meanfield.progress import followed, wants_bar
from meanfield.runfile import Config, ConfigError, load_config
from meanfield.runfile.config import ALL_KEYS, check_continues
from meanfield.runfile.products import members_of, parameters_of, toml_value
from meanfield.runfile.python_file import Permission
from meanfield.runfile.written import written
from meanfield.status import COMPLETED
from meanfield.store.layout import FormatError
from meanfield.store.locks import OutputFile, check_own, check_results, writer_lock
from meanfield.store.provenance import origin_attributes
from meanfield.store.sweep_file import (
    INDEX,
    INDEX_BEGINNING,
    PARTS,
    load_sweep,
    read_index,
    write_sweep,
)
from meanfield.store.wall_time import WallTime, seconds_by_phase
from meanfield.studies.complete import python_call, run_missing, study_pool
from meanfield.studies.parts import Part, missing_parts, parts_in
from meanfield.studies.study import Execution, Request, Runs
from meanfield.studies.sweep_plan import SweepPlan, Task, adaptive_plan, digest_of
from meanfield.studies.sweep_results import Member, Parameter, Sweep, value_words
from meanfield.terms.kernels import KERNELS

_MADE = b"# Made by mf.sweep\n"


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
    workers: int | None = None,
    executor: Executor | None = None,
    progress: bool | None = None,
    resume: bool = False,
    overwrite: bool = False,
    allow_code: bool = False,
    adaptive: str | None = None,
) -> Sweep:
    """Run a run file, or a problem, over a product of values; each run is a file of one folder.

    Parameters
    ----------
    of : path or Problem
        TOML file, as for `run`; or a problem that a run file can describe, which becomes
        `sweep.toml` in the folder.
    over : mapping
        "section.key" -> its values: a sequence, or a text as after --over of `meanfield sweep`,
        such as "1:20:39" or "0.01:100:9:log".
    folder : path
        Folder of the runs, and of the index `sweep.json`.
    problem, initial, representation, time : mapping, optional
        Keys of these sections for all runs, instead of the file's. For a problem `time` needs at
        least "end". An `initial` with a name replaces the whole law.
    observables : sequence of str, optional
        Instead of the file's.
    workers : int, optional
        Local processes; by default this process alone. A script with more needs
        `if __name__ == "__main__":`.
    executor : concurrent.futures.Executor, optional
        Where to run, instead of `workers`. Its processes need access to folder and run file.
    progress : bool, optional
        Show a bar of the runs; by default in notebooks.
    resume, overwrite : bool
        Complete the sweep in the folder, or replace it.
    allow_code : bool
        Whether the run file may name Python outside of its folder.
    adaptive : str, optional
        Run only the members near a jump of an observable, "clusters" or with the jump
        "energy:0.01", or near a level, "order_parameter@0.3". Others are "left out". Boundaries are
        found to one step of the product; islands narrower than an eighth of a parameter may be
        missed.

    Returns
    -------
    Sweep
        Runs that fail or end early have the reason as `status`; others continue.

    Raises
    ------
    TypeError
        If no run file can describe the problem.
    ValueError
        If a key or value is wrong, two runs are equal, or the folder has other content.

    Examples
    --------
    >>> import tempfile
    >>> import meanfield as mf
    >>> law = mf.perturbed_uniform([[2, 0.1, 0.0]])
    >>> uniform = mf.Problem(mf.Circle(), mf.exponential(beta=1.0), mf.USA, law)
    >>> with tempfile.TemporaryDirectory() as place:
    ...     made = sweep(uniform, {"problem.beta": [2, 4], "problem.normalization":
    ...         ["softmax", "none"]}, folder=f"{place}/x", time={"end": 5.0, "save": 2})
    ...     print(made.summary, made.values("order_parameter").shape)
    4 runs, 4 completed (2, 2)
    """
    place = Path(folder)

    def follow(done: Iterable[Runs], study: Any, missing: Sequence[Runs]) -> Iterable[Runs]:
        return followed(done, len(missing), "sweep") if wants_bar(progress) else done

    execution = Execution(folder, resume, overwrite, workers, executor, progress)
    sections = {
        "problem": problem,
        "initial": initial,
        "representation": representation,
        "time": time,
    }
    fixed = [
        each
        for name, keys in sections.items()
        if keys is not None
        for each in _overrides(name, keys)
    ]
    if observables is not None:
        fixed.append(f"output.observables={toml_value(list(observables))}")
    with python_call():
        parameters = _parameters(over, fixed)
        text = _text_of(of) if isinstance(of, Problem) else None
        code: Permission = "anywhere" if allow_code else "inside"
        with _source(of, text, place) as source:
            plan, first = planned(source, parameters, fixed, place, code=code, adaptive=adaptive)
        if text is not None:
            plan = replace(plan, source=place / RUN_FILE)
        with (
            lock(plan, first, resume=resume, overwrite=overwrite) as (output, stored),
            _run_file(plan.source, text, output),
        ):
            left = len(plan.missing(plan.empty() if stored is None else plan.resumed(stored)))
            if stored is None or left:
                kernels = Request("sweep", lambda: plan, None, "sweep", first.problem)
                with study_pool(execution, left, kernels.compile) as pool:
                    origin, spent = (first.text, first.title), WallTime()
                    run_missing(plan, stored, write_sweep, output, origin, pool, follow, spent)
    return load_sweep(place)


@contextmanager
def _run_file(path: Path, text: bytes | None, output: OutputFile) -> Iterator[None]:
    """Put the run file of a problem into its folder; restore the earlier one with its sweep."""
    if text is None:
        yield
        return
    earlier = path.read_bytes() if path.is_file() else None
    # Older versions wrote no first line.
    check_own(path, b"" if earlier == text[len(_MADE) :] else _MADE, "mf.sweep")
    replace_bytes(path, text)
    try:
        yield
    finally:
        if output.earlier and earlier is not None:
            replace_bytes(path, earlier)


def _overrides(section: str, keys: Mapping[str, Any]) -> list[str]:
    """Overrides for a section of a call."""
    if section == "initial" and "name" in keys:
        return [f"initial={toml_value(keys)}"]
    return [f"{section}.{key}={toml_value(value)}" for key, value in keys.items()]


def _parameters(over: Mapping[str, Any], fixed: Sequence[str]) -> tuple[Parameter, ...]:
    """Parameters of a call, whose values are sequences or texts."""
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


@contextmanager
def _source(of: Any, text: bytes | None, folder: Path) -> Iterator[Path]:
    """Run file of a sweep.

    The run file of a problem is temporary until the folder may be written: a refused sweep must not
    replace the run file of another, which may be running.
    """
    if text is None:
        yield Path(of)
        return
    with TemporaryDirectory() as place:
        source = Path(place) / RUN_FILE
        source.write_bytes(text)
        try:
            yield source
        except ConfigError as error:
            message = str(error).replace(str(source), str(folder / RUN_FILE))
            raise ConfigError(message) from None


def _text_of(problem: Problem) -> bytes:
    """Run file of a problem."""
    import tomli_w

    tables = written(problem, Options(), {})
    del tables["time"], tables["representation"]
    own = "digest" in tables["initial"] or "attention" in tables["problem"]
    if own or tables["problem"]["kernel"] not in (*KERNELS, "zonal"):
        raise TypeError(
            "a sweep is of a run file, and no run file can say this kernel or law: write one that "
            "names a Python file, or a .npy file, and sweep that."
        )
    return _MADE + tomli_w.dumps(tables).encode()


RUN_FILE = "sweep.toml"
"""Run file, in the folder, of a sweep of a problem from Python."""

# Least digits of file names, which are as wide as the largest number.
_LEAST_DIGITS = 3


def planned(
    source: Path,
    parameters: Sequence[Parameter],
    fixed: Sequence[str],
    folder: Path,
    *,
    code: Permission = "inside",
    watch: Callable[[], None] | None = None,
    look: Callable[[Config], None] = lambda config: None,
    part: Part | None = None,
    adaptive: str | None = None,
) -> tuple[SweepPlan, Config]:
    """Plan of a sweep, and the run file of its first member; every member is checked.

    source, parameters, fixed, folder, code, watch: as in `SweepPlan`.
    look: called with the run file of each member.
    part: only its members are checked and run; by default all.
    adaptive: the goal of an adaptive sweep.
    """
    tasks: list[Task] = []
    first: Config | None = None
    names: dict[str, str] = {}
    every = members_of(parameters)
    own = (part or Part(0, 1)).members(len(every))
    short = Sweep(folder, tuple(parameters), ()).names
    with room(folder):
        # The index has the run file of the first member.
        for number in sorted({0, *own}):
            overrides = every[number]
            settings = tuple(f"{key}={toml_value(value)}" for key, value in overrides.items())
            file = member_file(number, len(every))
            config = load_config(source, [*fixed, *settings], folder / file, code=code)
            look(config)
            first = first or config
            if number not in own:
                continue
            pairs = zip(short, overrides.values(), strict=True)
            name = ", ".join(f"{key} = {value_words(value)}" for key, value in pairs)
            digest = digest_of(config)
            if digest in names:
                raise ConfigError(
                    f"{source}: {names[digest]} and {name} are the same run: one key takes the "
                    "place of another."
                )
            names[digest] = name
            tasks.append(Task(number, file, settings, name, digest))
        assert first is not None
        plan = SweepPlan(
            source, folder, tuple(fixed), code, watch, tuple(parameters), tuple(tasks), part
        )
        return plan if adaptive is None else adaptive_plan(plan, first, adaptive), first


def collect_sweep(plan: SweepPlan, first: Config, *, overwrite: bool) -> tuple[Sweep, str]:
    """Write the index of the parts in a folder; return it, and a message of missing parts.

    Without `overwrite`, members that the parts lack stay as in an existing index.
    """
    every = members_of(plan.parameters)
    members = [
        Member(member_file(number, len(every)), overrides) for number, overrides in enumerate(every)
    ]
    index = plan.folder / INDEX
    with writer_lock(index) as output:
        check_own(index, INDEX_BEGINNING, "meanfield sweep")
        if index.exists() and not overwrite:
            stored = read_index(index, plan.folder, plan.folder)
            _check_resumes(plan, first, stored)
            members[:] = stored.members
        return _collected(plan, first, members, output)


def _collected(
    plan: SweepPlan, first: Config, members: list[Member], output: OutputFile
) -> tuple[Sweep, str]:
    attributes, count, spent = None, 1, WallTime()
    for part, path in parts_in(plan.folder / PARTS, ".json"):
        stored = read_index(path, path, plan.folder)
        _check_resumes(plan, first, stored)
        count = part.count
        if stored.attributes.get("part") != str(part):
            raise ConfigError(f"{path} is another part than its name says. Delete it.")
        for number, member in zip(part.members(len(members)), stored.members, strict=True):
            members[number] = members[number] if member.status is None else member
        spent.add(seconds_by_phase(stored.attributes))
        attributes = attributes or stored.attributes
    lacking = np.array([[member.status is None for member in members]])
    done = f"{(~lacking).sum()} of {lacking.size} runs"
    facts = origin_attributes(first.text, first.title, attributes) | spent.attributes()
    facts["status"] = f"interrupted with {done} finished" if lacking.any() else COMPLETED
    sweep = Sweep(plan.folder, plan.parameters, tuple(members), facts)
    write_sweep(output, sweep)
    return sweep, missing_parts(lacking, count, "runs")


def member_file(number: int, total: int) -> str:
    """Name of the run file of a member."""
    return f"{number + 1:0{max(_LEAST_DIGITS, len(str(total)))}d}.h5"


@contextmanager
def lock(
    plan: SweepPlan, first: Config, *, resume: bool, overwrite: bool
) -> Iterator[tuple[OutputFile, Sweep | None]]:
    """Lock and check the folder of a sweep; yield its index file, and the sweep to resume."""
    folder, index = plan.folder, plan.index_path
    index.parent.mkdir(exist_ok=True)
    with writer_lock(index) as output:
        stored = None
        check_own(index, b"", "meanfield sweep")
        if index.exists():
            if not (resume or overwrite):
                raise OutputError(
                    f"{folder} holds a sweep: use --overwrite to replace it or --resume to go on."
                )
            try:
                stored = read_index(index, folder, folder)
            except FormatError:
                if resume:
                    raise
                check_own(index, INDEX_BEGINNING, "meanfield sweep")
        files = {task.file for task in plan.tasks}
        files.update(member.file for member in (stored.members if stored else ()))
        for file in files.intersection(os.listdir(folder)):
            check_own(folder / file, b"", "meanfield sweep")
            if overwrite:
                check_results(folder / file)
        output.earlier = overwrite and index.exists()
        if not resume:
            stored = None
        if stored is not None:
            _check_resumes(plan, first, stored)
        yield output, stored


@contextmanager
def room(folder: Path) -> Iterator[None]:
    """Make a folder for a sweep; remove it if the block fails and leaves it empty."""
    there = folder.exists()
    if there and not folder.is_dir():
        raise OutputError(f"{folder} is a file, expected a folder.")
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder} cannot be made: {error.strerror}.") from None
    others = [
        each.name
        for each in folder.iterdir()
        if not each.name.startswith(".") and each.name != RUN_FILE
    ]
    if others and not {INDEX, PARTS} & {*others}:
        raise OutputError(
            f"{folder} holds {min(others)} and no sweep: choose a folder that is new or empty."
        )
    try:
        yield
    except BaseException:
        if not there:
            with suppress(OSError):
                folder.rmdir()
        raise


def _check_resumes(plan: SweepPlan, first: Config, stored: Sweep) -> None:
    """Refuse to resume another product, or another run file."""
    mine, theirs = plan.parameters, stored.parameters
    advice = f"{stored.folder}, which --resume continues. Use --overwrite, or another folder."
    if [parameter.key for parameter in mine] != [parameter.key for parameter in theirs]:
        names = [", ".join(p.key for p in parameters) for parameters in (mine, theirs)]
        raise ConfigError(f"{plan.source}: --over {names[0]} is not {names[1]}, as in {advice}")
    for one, other in zip(mine, theirs, strict=True):
        if one.values != other.values:
            raise ConfigError(
                f"{plan.source}: --over {one.key} has other values than that of {advice}"
            )
    check_continues(
        str(plan.source),
        first.tables,
        first.idle,
        stored.attributes,
        stored.folder,
        {"output": ("path",)},
    )
