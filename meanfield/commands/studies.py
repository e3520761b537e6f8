"""Common parts of commands of many runs: output, resuming, executors, progress."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from meanfield.commands.progress import with_progress
from meanfield.commands.streams import Forgiving, say
from meanfield.engines.threads import threads
from meanfield.problem import Problem
from meanfield.runfile import Config, ConfigError
from meanfield.runfile.config import check_continues
from meanfield.runfile.output import check_path
from meanfield.status import COMPLETED
from meanfield.store.locks import check_welcome, output_lock
from meanfield.store.output_file import OutputFile
from meanfield.store.provenance import origin_attributes
from meanfield.store.study_file import record_study
from meanfield.store.wall_time import WallTime, seconds_by_phase
from meanfield.studies.convergence_results import ConvergenceStudy
from meanfield.studies.ensemble_results import Ensemble
from meanfield.studies.study import Study

Table = TypeVar("Table")


class StudyOrigin(NamedTuple):
    """Origin of a study.

    title, name: title of the study, may be empty; what a bar calls it without one.
    """

    text: str  # the run file, or what stands for it
    title: str
    name: str


def study_origin(config: Config) -> StudyOrigin:
    """Origin of a study in a run file."""
    return StudyOrigin(config.text, config.title, config.source.stem)


@contextmanager
def study_file(options: argparse.Namespace, config: Config, name: str) -> Iterator[OutputFile]:
    """Hold the right to write a study, where nothing is replaced unasked.

    Yields the file as it was found.
    """
    path = Path(options.output or config.source.with_name(f"{config.source.stem}-{name}.h5"))
    with output_file(options, path, config.inputs) as output:
        yield output


@contextmanager
def output_file(
    options: argparse.Namespace, path: Path, inputs: Sequence[Path] = ()
) -> Iterator[OutputFile]:
    """Hold the right to write a file, as `study_file` does."""
    check_path(f"-o {path}", path, inputs)
    check_welcome(path, resume=options.resume, overwrite=options.overwrite)
    if options.plot is not None:
        from meanfield.figures.draw.figures import check_figure

        check_figure(options.plot)
    # Another process may have made it meanwhile.
    with output_lock(path, resume=options.resume, overwrite=options.overwrite) as output:
        yield output


def check_resumes(
    config: Config,
    section: str,
    stored: ConvergenceStudy | Ensemble,
    path: Path,
    free: Mapping[str, tuple[str, ...] | None],
) -> None:
    """Refuse to resume a study of another run file, or one that would shrink.

    free: as in `check_continues`; of the section the sizes, and the key of the runs of each.
    """
    check_continues(str(config.source), config.tables, config.idle, stored.attributes, path, free)
    wanted, key = getattr(config, section), (free[section] or ())[-1]
    lost = sorted(set(stored.tokens.tolist()) - set(wanted.tokens))
    wanted_value = getattr(wanted, key)
    if lost or runs_of_each(stored) > wanted_value:
        what = f"tokens lacks {lost[0]}, which" if lost else f"{key} = {wanted_value} is fewer than"
        raise ConfigError(
            f"{config.source}: [{section}] {what} {path} holds: --resume may only add. "
            "Use --overwrite to start again."
        )


def runs_of_each(study: ConvergenceStudy | Ensemble) -> int:
    """How many runs of each size a study has, or asks for."""
    return int((study.counts if isinstance(study, Ensemble) else study.distances).shape[1])


def is_complete(config: Config, section: str, stored: ConvergenceStudy | Ensemble) -> bool:
    """True if a stored study has all runs."""
    wanted = getattr(config, section)
    sizes = (len(stored.tokens), runs_of_each(stored))
    return stored.attributes.get("status") == COMPLETED and sizes == (
        len(wanted.tokens),
        wanted.runs,
    )


def run_missing(
    study: Study[Table, Any],
    stored: Any,
    write: Callable[[Path | OutputFile, Any], None],
    output: OutputFile,
    origin: StudyOrigin,
    options: argparse.Namespace,
    spent: WallTime,
    executor: Executor | None,
) -> None:
    """Run what a study lacks, record it, show how far that is, and say where the results are."""
    stored_attributes: Mapping[str, Any] | None = None
    table = study.empty()
    if stored is not None:
        stored_attributes, table = stored.attributes, study.resumed(stored)
        spent.add(seconds_by_phase(stored_attributes))
    attributes = origin_attributes(origin.text, origin.title, stored_attributes)
    missing = study.missing(table)
    total = sum(map(study.work, study.missing(study.empty())))
    parts = study.parts(missing, executor, output)
    path = output.path
    try:
        with closing(record_study(output, write, study, table, parts, attributes, spent)) as done:
            for _ in with_progress(
                done,
                total,
                origin.title or origin.name,
                quiet=options.quiet,
                note=lambda runs: study.name(runs.size),
                weight=study.work,
                before=lambda runs: total - sum(map(study.work, missing)),
            ):
                pass
    except KeyboardInterrupt:
        outcome = (
            "stays as it was" if output.earlier else "keeps what was finished, --resume goes on"
        )
        raise KeyboardInterrupt(f"interrupted; {path} {outcome}") from None
    if not options.quiet:
        say(f"{path} holds the results.")


def worker_count(options: argparse.Namespace, count: int) -> int:
    """How many local processes the options ask for, 1 for this one; no more than tasks."""
    return max(1, min(options.workers or threads(), count))


@contextmanager
def pool(
    options: argparse.Namespace, count: int, problem: Problem | None = None
) -> Iterator[Executor | None]:
    """Executor that --workers or --scheduler asks for; None means this process.

    options: with `add_pool_arguments`.
    count: number of tasks, the largest useful number of processes.
    problem: what the processes work on: its kernels are compiled here, not by each of them.
    """
    if options.scheduler is not None:
        from meanfield.studies.executors.dask_cluster import scheduler_pool

        with scheduler_pool(options.scheduler, _say_above_bar) as executor:
            yield executor
        return
    from meanfield.studies.executors.processes import worker_pool

    workers = worker_count(options, count)
    if workers > 1 and problem is not None:
        from meanfield.commands.compile import compile_for_workers

        compile_for_workers(problem)
    with worker_pool(workers, max(1, threads() // workers)) as local:
        yield local


def _say_above_bar(text: str) -> None:
    if sys.stderr.isatty():
        from tqdm import tqdm

        tqdm.write(f"meanfield: {text}", file=Forgiving(sys.stderr))
    else:
        say(f"meanfield: {text}")
