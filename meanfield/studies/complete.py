"""The driver of studies: make the missing runs, and record them in a file.

A command or a call in Python makes a `Request`. `complete` reads the file of a resumed study,
refuses the file of another study, and makes the missing runs in this process or by an executor.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import fields, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from meanfield.api import python_words
from meanfield.engines.threads import threads
from meanfield.files import OutputError
from meanfield.progress import followed, wants_bar
from meanfield.runfile import ConfigError
from meanfield.runfile.config import check_continues
from meanfield.runfile.output import check_path
from meanfield.runfile.written import written
from meanfield.status import COMPLETED
from meanfield.store.locks import OutputFile, output_lock
from meanfield.store.provenance import origin_attributes
from meanfield.store.study_file import STUDY_COMMANDS, read_result, record_study, write_result
from meanfield.store.wall_time import WallTime, seconds_by_phase
from meanfield.studies.executors import worker_pool
from meanfield.studies.parts import PartStudy, missing_parts, parts_in, request_of_part
from meanfield.studies.study import Execution, Request, Runs, Study

AnyStudy = Study[Any, Any]
Write = Callable[[Path | OutputFile, Any], None]
Follow = Callable[[Iterable[Runs], AnyStudy, Sequence[Runs]], Iterable[Runs]]
"""Passes finished runs through and shows progress: (finished, study, missing runs)."""

# Relative difference of equal growth rates, far above changes between versions of libraries.
_SAME_RATES = 1e-9


def complete(
    request: Request[Any],
    output: OutputFile,
    *,
    resume: bool,
    pool: Callable[[int], AbstractContextManager[Executor | None]],
    follow: Follow,
) -> bool:
    """Complete the study of a file; False if nothing is missing.

    output: locked by the caller. pool: number of tasks -> executor, or None for this process.
    """
    spent, path = WallTime(), output.path

    @cache
    def plan() -> AnyStudy:
        # A study without a problem needs no setup.
        with spent.during("setup") if request.tables is not None else nullcontext():
            return request.plan()

    if request.left is None:
        plan()
    stored = read_result(path, request.kind) if resume and path.exists() else None
    if stored is not None:
        _check_document(request, stored, path)
    if request.left is None:
        _check_plan(request, plan(), stored, path)
        left = len(plan().missing(_table(plan(), stored)))
    else:
        left = request.left(stored)
    if stored is not None and not left and stored.attributes.get("status") == COMPLETED:
        return False
    # The pool comes first, so that its errors do not wait for a long plan.
    with pool(left) as executor:
        _check_plan(request, plan(), stored, path)
        origin = request.text, request.title
        run_missing(plan(), stored, write_result, output, origin, executor, follow, spent)
    return True


def run_missing(
    study: AnyStudy,
    stored: Any,
    write: Write,
    output: OutputFile,
    origin: tuple[str, str],
    executor: Executor | None,
    follow: Follow,
    spent: WallTime,
) -> None:
    """Make and record the runs that a stored study lacks, all if None; origin: text and title."""
    attributes = None if stored is None else stored.attributes
    spent.add(seconds_by_phase(attributes or {}))
    table = _table(study, stored)
    missing = study.missing(table)
    facts = origin_attributes(*origin, attributes)
    parts = study.parts(missing, executor, output)
    try:
        with closing(record_study(output, write, study, table, parts, facts, spent)) as done:
            for _ in follow(done, study, missing):
                pass
    except KeyboardInterrupt:
        kept = "stays as it was" if output.earlier else "keeps what was finished, --resume goes on"
        there = f"; {output.path} {kept}" if output.path.exists() else ""
        raise KeyboardInterrupt(f"interrupted{there}") from None


def collect(request: Request[Any], output: OutputFile, folder: Path, *, overwrite: bool) -> str:
    """Put the parts of a study into one file; return a message of missing parts, else empty.

    output: locked by the caller. Without `overwrite` it is not replaced if it has members that the
    parts lack.
    """
    plan, path, spent = request.plan(), output.path, WallTime()
    table, attributes, count = plan.empty(), None, 0
    for part, file in parts_in(folder, path.suffix):
        mine = request_of_part(request, part)
        stored = read_result(file, request.kind)
        _check_document(mine, stored, file)
        study = PartStudy(plan, part)
        _check_plan(request, study, stored, file)
        table = study.put_into(table, study.resumed(stored))
        spent.add(seconds_by_phase(stored.attributes))
        attributes, count = attributes or stored.attributes, part.count
    lacking = plan.lacking(table)
    if path.exists() and not overwrite:
        before = read_result(path, request.kind)
        _check_document(request, before, path)
        _check_plan(request, plan, before, path)
        lost = int((lacking & ~plan.lacking(plan.resumed(before))).sum())
        if lost:
            raise OutputError(
                f"{path} holds {lost} {plan.unit} that the parts lack: use --overwrite to replace "
                "it, or collect into another -o."
            )
    missing = f"interrupted with {plan.progress(table)} finished" if lacking.any() else ""
    results = plan.results(table)
    facts = origin_attributes(request.text, request.title, attributes) | spent.attributes()
    facts |= {"status": missing or COMPLETED}
    write_result(output, replace(results, attributes=results.attributes | facts))
    return missing_parts(lacking, count, plan.unit)


def complete_call(request: Request[Any], execution: Execution) -> Any:
    """Results of a study that a call in Python requests."""

    def follow(done: Iterable[Runs], study: AnyStudy, missing: Sequence[Runs]) -> Iterable[Runs]:
        if not wants_bar(execution.progress):
            return done
        return followed(done, 100, study.unit, weight=study.share(missing))

    if execution.output is None:
        study = request.plan()
        left = len(study.missing(study.empty()))
        with study_pool(execution, left, request.compile) as executor:
            return study.completed(executor, execution.progress)
    if request.problem is None:
        request = replace(request, text=json.dumps(request.options.facts()))
    else:
        tables = written(request.problem, request.settings, request.time)
        tables[STUDY_COMMANDS.get(request.kind, request.kind)] = _changed(request.options)
        request = replace(request, text=tomli_w.dumps(tables), tables=tables)
    path, resume = Path(execution.output), execution.resume
    with python_call():
        check_path(f"output={path}", path, ())
        with output_lock(path, resume=resume, overwrite=execution.overwrite) as output:
            pool = partial(study_pool, execution, compile_first=request.compile)
            complete(request, output, resume=resume, pool=pool, follow=follow)
        return read_result(path, request.kind)


@contextmanager
def python_call() -> Iterator[None]:
    """Errors and interrupts name arguments of a call instead of options of the command."""
    try:
        with python_words():
            yield
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt(str(error).replace("--resume", "resume=True")) from None


def _check_document(request: Request[Any], stored: Any, path: Path) -> None:
    """Refuse to resume another part, a study of another run file, or one that would shrink."""
    here, there = ("" if request.part is None else str(request.part),
                   stored.attributes.get("part", ""))  # fmt: skip
    if here != there:
        names = [f"part {each}" if each else "a study that is no part" for each in (there, here)]
        raise ConfigError(f"{path} is {names[0]}, expected {names[1]}. Choose another -o.")
    if request.tables is None:
        return
    section, wanted = STUDY_COMMANDS.get(request.kind, request.kind), request.options
    # Keys that may differ: a study may grow, and sections of other studies have no effect.
    free: dict[str, tuple[str, ...] | None] = {"compare": None, "ensemble": None, "output": None}
    # Studies in parts do not grow.
    free |= {section: () if request.part else ("tokens", "runs")}
    free |= {"time": None} if section == "ensemble" else {}
    check_continues(request.label, request.tables, request.idle, stored.attributes, path, free)
    lost = sorted(set(stored.tokens.tolist()) - set(wanted.tokens))
    if lost or (request.part is None and stored.runs > wanted.runs):
        what = f"tokens lacks {lost[0]}, which" if lost else f"runs = {wanted.runs} is fewer than"
        raise ConfigError(
            f"{request.label}: [{section}] {what} {path} holds: --resume may only add. "
            "Use --overwrite to start again."
        )


def _check_plan(request: Request[Any], study: AnyStudy, stored: Any, path: Path) -> None:
    """Refuse a stored study whose plan differs, though its document may be equal."""
    if stored is None:
        return
    study.check_resumes(stored, path, request.label)
    # A user's kernel function may have changed. NaN rates compare as equal.
    facts = study.results(study.empty()).attributes, stored.attributes
    mine, theirs = (float(each.get("growth_rate_max", np.nan)) for each in facts)
    if abs(mine - theirs) > _SAME_RATES * abs(mine):
        raise ConfigError(
            f"{request.label}: [problem] attention is another function than that of {path}, which "
            "--resume continues. Use --overwrite to start again."
        )


def _table(study: AnyStudy, stored: Any) -> Any:
    """Table of a study, with the stored results."""
    return study.empty() if stored is None else study.resumed(stored)


def _changed(options: Any) -> dict[str, Any]:
    """Options that differ from their defaults, as a section of a run file."""
    values = {each.name: (getattr(options, each.name), each.default) for each in fields(options)}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, (value, default) in values.items()
        if value != default
    }


@contextmanager
def study_pool(
    execution: Execution, left: int, compile_first: Callable[[], None]
) -> Iterator[Executor | None]:
    """Executor of a call, or a pool of its workers, at most one for each task.

    compile_first: compiles the kernels once, before each process does.
    """
    if execution.executor is not None:
        yield execution.executor
        return
    workers = max(1, min(execution.workers or 1, left))
    if workers > 1:
        compile_first()
    with worker_pool(workers, max(1, threads() // workers)) as local:
        yield local
