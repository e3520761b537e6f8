"""Before a sweep runs: every member is checked, its folder made, held, cleared or gone on with."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from meanfield.files import OutputError
from meanfield.runfile import Config, ConfigError, load_config
from meanfield.runfile.config import check_continues
from meanfield.runfile.products import members_of, toml_value
from meanfield.runfile.python_file import Permission
from meanfield.status import COMPLETED
from meanfield.store.layout import FormatError
from meanfield.store.locks import OutputFile, check_own, check_results, writer_lock
from meanfield.store.provenance import origin_attributes
from meanfield.store.result_hash import WallTime, seconds_by_phase
from meanfield.store.sweep_file import INDEX, INDEX_BEGINNING, PARTS, read_index, write_sweep
from meanfield.studies.parts import Part, missing_parts, parts_in
from meanfield.studies.sweep_results import Member, Parameter, Sweep, value_words
from meanfield.studies.sweeps.adaptive import adaptive_plan
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
    part: Part | None = None,
    adaptive: str | None = None,
) -> tuple[SweepPlan, Config]:
    """Plan of a sweep, and the run file of its first member; every member is checked.

    source, folder: the run file, and where the runs are to go.
    parameters, fixed: the product, and overrides of all members.
    code, watch: as of a `SweepPlan`.
    look: called with the run file of each member.
    part: whose members are checked and run; all by default.
    adaptive: the goal of an adaptive sweep.
    """
    tasks: list[Task] = []
    first: Config | None = None
    names: dict[str, str] = {}
    every = members_of(parameters)
    own = (part or Part(0, 1)).members(len(every))
    short = Sweep(folder, tuple(parameters), ()).names
    with room(folder):
        # The first one stands for all in the index.
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
    """Make the index of the parts in a folder; it, and the parts that are missing, else empty.

    Members that the parts lack stay as an index has them that is there, without overwrite.
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
def held(
    plan: SweepPlan, first: Config, *, resume: bool, overwrite: bool
) -> Iterator[tuple[OutputFile, Sweep | None]]:
    """Hold the right to write the folder of a sweep."""
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
