"""Common parts of commands with many runs: output, resuming, executors, progress."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from meanfield.commands.options import answer, check_plot
from meanfield.commands.progress import Forgiving, say, with_progress
from meanfield.engines.threads import threads
from meanfield.results.report import Report
from meanfield.results.study_reports import full_report
from meanfield.runfile import Config
from meanfield.runfile.output import check_path
from meanfield.store.locks import check_results, check_welcome, output_lock, writer_lock
from meanfield.store.study_file import STUDY_COMMANDS, read_result
from meanfield.studies.complete import AnyStudy, Follow, collect, complete, study_pool
from meanfield.studies.parts import Part, part_of, request_of_part
from meanfield.studies.study import Execution, Request, Runs

Answered = Callable[[Any], tuple[Report, Any]] | None


def study_request(
    config: Config,
    kind: Literal["comparison", "ensemble"],
    plan: Callable[[], AnyStudy],
    left: Any = None,
) -> Request[Any]:
    """Request for the study of a run file; `left` as in `Request`."""
    return Request(
        kind,
        plan,
        getattr(config, STUDY_COMMANDS[kind]),
        str(config.source),
        config.problem,
        text=config.text,
        title=config.title,
        tables=config.tables,
        idle=config.idle,
        left=left,
    )


def execute_study(
    request: Request[Any],
    options: argparse.Namespace,
    config: Config | None = None,
    things: str = "runs",
    answered: Answered = None,
) -> int:
    """Complete a study in the file of a command, draw it and print its report.

    config: run file of the study, if it has one; things: name of its runs in messages;
    answered: study -> report and result to draw, instead of the usual ones.
    """
    command = label = STUDY_COMMANDS[request.kind]
    path = options.output
    inputs: Sequence[Path] = ()
    if config is not None:
        label = request.title or config.source.stem
        path = path or config.source.with_name(f"{config.source.stem}-{command}.h5")
        inputs = config.inputs
    path = Path(path)
    check_path(f"-o {path}", path, inputs)
    folder = path.with_suffix(".parts")
    if options.collect:
        return _collect(request, options, path, folder, answered)
    part = chosen_part(options)
    if part is not None:
        request, path = request_of_part(request, part), folder / part.file(path.suffix)
        folder.mkdir(exist_ok=True)
    check_welcome(path, resume=options.resume, overwrite=options.overwrite)
    check_plot(options)
    # This checks again: another process may have made the file meanwhile.
    with output_lock(path, resume=options.resume, overwrite=options.overwrite) as output:
        begun = complete(
            request,
            output,
            resume=options.resume,
            pool=lambda left: pool(options, left, request.compile),
            follow=with_bar(options, label),
        )
    if not options.quiet:
        done = "the results." if begun else f"all the {things} asked for: nothing to do."
        say(f"{path} holds {done}")
    return 0 if part is not None else _answer(request, options, path, answered)


def _collect(
    request: Request[Any], options: argparse.Namespace, path: Path, folder: Path, answered: Answered
) -> int:
    """Collect the parts of a study in its file; exit status 1 if some are missing."""
    check_plot(options)
    with writer_lock(path) as output:
        check_results(path)
        missing = collect(request, output, folder, overwrite=options.overwrite)
    if missing:
        say(f"meanfield: {path}: {missing}.")
        return 1
    return _answer(request, options, path, answered)


def _answer(
    request: Request[Any], options: argparse.Namespace, path: Path, answered: Answered
) -> int:
    """Print the study of a file, and draw it; exit status 0."""
    study = read_result(path, request.kind)
    answer(options, *((full_report(study, path), study) if answered is None else answered(study)))
    return 0


def check_needs_output(options: argparse.Namespace, *others: str) -> None:
    """Refuse options that need an output file, without one."""
    for name in ("resume", "overwrite", "part", "collect", *others):
        if getattr(options, name):
            raise ValueError(f"--{name} is for what a file keeps: give -o OUT.h5.")


def chosen_part(options: argparse.Namespace) -> Part | None:
    """Part that --part names; it resumes a file that exists."""
    if options.part is None:
        return None
    for name in ("overwrite", "plot", "json"):
        if getattr(options, name):
            again = ", and delete the folder of parts to start again" * (name == "overwrite")
            raise ValueError(f"--part makes one part of the results: leave out --{name}{again}.")
    options.resume = True
    return part_of(options.part)


def with_bar(options: argparse.Namespace, label: str) -> Follow:
    """Progress of a study on standard error."""

    def follow(done: Iterable[Runs], study: AnyStudy, missing: Sequence[Runs]) -> Iterable[Runs]:
        total = sum(map(study.work, study.missing(study.empty())))
        return with_progress(
            done,
            total,
            label,
            quiet=options.quiet,
            note=lambda runs: study.name(runs.size),
            weight=study.work,
            before=lambda runs: total - sum(map(study.work, missing)),
        )

    return follow


def worker_count(options: argparse.Namespace, count: int) -> int:
    """Number of local processes, at most `count`, the number of tasks; 1 is this process."""
    return max(1, min(options.workers or threads(), count))


@contextmanager
def pool(
    options: argparse.Namespace, count: int, compile_first: Callable[[], None]
) -> Iterator[Executor | None]:
    """Executor that --workers or --scheduler asks for; None means this process.

    count: number of tasks, the largest useful number of processes.
    compile_first: compiles the kernels here, before each process does.
    """
    if options.scheduler is not None:
        from meanfield.studies.executors.dask_cluster import scheduler_pool

        with scheduler_pool(options.scheduler, _say_above_bar) as executor:
            yield executor
        return
    execution = Execution(workers=worker_count(options, count))
    with study_pool(execution, count, compile_first) as local:
        yield local


def _say_above_bar(text: str) -> None:
    if sys.stderr.isatty():
        from tqdm import tqdm

        tqdm.write(f"meanfield: {text}", file=Forgiving(sys.stderr))
    else:
        say(f"meanfield: {text}")
