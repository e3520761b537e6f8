"""Before a sweep runs: every member is checked, its folder made, held, cleared or gone on with."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from meanfield.files.replacing import OutputError
from meanfield.runfile import Config, ConfigError, load_config
from meanfield.runfile.config import check_continues
from meanfield.runfile.products import members_of, toml_value
from meanfield.runfile.python_file import Permission
from meanfield.store.locks import check_own, check_results, writer_lock
from meanfield.store.output_file import OutputFile
from meanfield.store.reading import FormatError
from meanfield.store.sweep_file import INDEX, INDEX_BEGINNING, load_sweep
from meanfield.studies.sweep_results import Parameter, Sweep, value_words
from meanfield.studies.sweeps.plan import SweepPlan, Task, digest_of

RUN_FILE = "sweep.toml"
"""Run file of a sweep of a problem that was made in Python, in its folder."""

# Names are as wide as the largest number.
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
) -> tuple[SweepPlan, Config]:
    """Plan of a sweep, and the run file of its first member; every member is checked.

    source, folder: the run file, and where the runs are to go.
    parameters, fixed: the product, and overrides of all members.
    code, watch: as of a `SweepPlan`.
    look: called with the run file of each member.
    """
    tasks: list[Task] = []
    first: Config | None = None
    names: dict[str, str] = {}
    every = members_of(parameters)
    digits = max(_LEAST_DIGITS, len(str(len(every))))
    short = Sweep(folder, tuple(parameters), ()).names
    with room(folder):
        for number, overrides in enumerate(every):
            settings = tuple(f"{key}={toml_value(value)}" for key, value in overrides.items())
            file = f"{number + 1:0{digits}d}.h5"
            config = load_config(source, [*fixed, *settings], folder / file, code=code)
            look(config)
            first = first or config
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
    plan = SweepPlan(source, folder, tuple(fixed), code, watch, tuple(parameters), tuple(tasks))
    return plan, first


@contextmanager
def held(
    plan: SweepPlan, first: Config, *, resume: bool, overwrite: bool
) -> Iterator[tuple[OutputFile, Sweep | None]]:
    """Hold the right to write the folder of a sweep."""
    folder, index = plan.folder, plan.folder / INDEX
    with writer_lock(index) as output:
        stored = None
        check_own(index, b"", "meanfield sweep")
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
    """Make a folder, and take it away again if the block fails and nothing is in it."""
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
    if others and INDEX not in others:
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
    """Refuse to go on with another product, or another run file."""
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
