"""What commands of many runs have in common: output, resuming, where they run, progress."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from meanfield.commands.progress import shown
from meanfield.commands.streams import Forgiving, say
from meanfield.compute.threads import threads
from meanfield.config import Config, ConfigError
from meanfield.config.config import check_continues
from meanfield.config.output import check_path
from meanfield.outputs.locks import check_welcome, writer_lock
from meanfield.outputs.output_file import OutputFile
from meanfield.outputs.provenance import origin_attributes
from meanfield.outputs.study_file import record_study
from meanfield.outputs.wall_time import WallTime, seconds_by_phase
from meanfield.problem import Problem
from meanfield.status import COMPLETED
from meanfield.studies.convergence_results import ConvergenceStudy
from meanfield.studies.ensemble_results import Ensemble
from meanfield.studies.executors import finished
from meanfield.studies.study import Study

Table = TypeVar("Table")


class Asked(NamedTuple):
    """What a study says of where it comes from.

    Attributes
    ----------
    text : str
        Given. The run file, or what stands for it.
    title, name : str
        Given. Title of the study, may be empty; what a bar calls it without one.
    """

    text: str
    title: str
    name: str


def asked_of(config: Config) -> Asked:
    """Of a run file."""
    return Asked(config.text, config.title, config.source.stem)


@contextmanager
def study_file(options: argparse.Namespace, config: Config, name: str) -> Iterator[OutputFile]:
    """Hold the right to write a study, where nothing is replaced unasked.

    Yields
    ------
    OutputFile
        The study's file as it was found.

    Raises
    ------
    OutputError
        If another process writes it, or it is there and is neither to be replaced nor continued.
    ConfigError
        If nothing can be written there, or the study reads it.
    ValueError
        If the figure cannot be written where it is to go.
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
        from meanfield.outputs.plots.figures import check_figure

        check_figure(options.plot)
    with writer_lock(path) as output:
        # Another process may have made it meanwhile.
        check_welcome(path, resume=options.resume, overwrite=options.overwrite)
        yield output


def check_resumes(
    config: Config,
    section: str,
    stored: ConvergenceStudy | Ensemble,
    path: Path,
    free: Mapping[str, tuple[str, ...] | None],
) -> None:
    """Refuse to resume a study of another run file, or one that would shrink.

    Parameters
    ----------
    config, section : Config, str
        The run file, and the section that it concerns.
    stored : ConvergenceStudy or Ensemble
        What the output holds.
    path : Path
        The output.
    free : mapping
        As in `check_continues`; of the section the sizes, and the key of the runs of each.

    Raises
    ------
    ConfigError
        If the run files differ elsewhere, or something that the output holds is not asked for.
    """
    before = str(stored.attributes.get("config", ""))
    check_continues(str(config.source), config.tables, config.idle, before, path, free)
    wanted, key = getattr(config, section), (free[section] or ())[-1]
    lost = sorted(set(stored.tokens.tolist()) - set(wanted.tokens))
    asked = getattr(wanted, key)
    if lost or runs_of_each(stored) > asked:
        what = f"tokens lacks {lost[0]}, which" if lost else f"{key} = {asked} is fewer than"
        raise ConfigError(
            f"{config.source}: [{section}] {what} {path} holds: --resume may only add. "
            "Use --overwrite to start again."
        )


def runs_of_each(study: ConvergenceStudy | Ensemble) -> int:
    """How many runs of each size a study has, or asks for."""
    return int((study.counts if isinstance(study, Ensemble) else study.distances).shape[1])


def is_complete(config: Config, section: str, stored: ConvergenceStudy | Ensemble) -> bool:
    """Whether a study that may be resumed has nothing left to do."""
    wanted = getattr(config, section)
    asked = wanted.runs if isinstance(stored, Ensemble) else wanted.repetitions
    sizes = (len(stored.tokens), runs_of_each(stored))
    return stored.attributes.get("status") == COMPLETED and sizes == (len(wanted.tokens), asked)


def run_missing(
    study: Study[Table, Any],
    stored: Any,
    write: Callable[[Path | OutputFile, Any], None],
    output: OutputFile,
    asked: Asked,
    options: argparse.Namespace,
    spent: WallTime,
    executor: Executor | None,
) -> None:
    """Run what a study lacks, record it, show how far that is, and say where the results are."""
    known: Mapping[str, Any] | None = None
    table = study.empty()
    if stored is not None:
        known, table = stored.attributes, study.resumed(stored)
        spent.add(seconds_by_phase(known))
    attributes = origin_attributes(asked.text, asked.title, known)
    missing = study.missing(table)
    total = sum(map(study.work, study.missing(study.empty())))
    parts = finished(study.run, missing, executor)
    path = output.path
    try:
        with closing(record_study(output, write, study, table, parts, attributes, spent)) as done:
            for _ in shown(
                done,
                total,
                asked.title or asked.name,
                quiet=options.quiet,
                note=lambda runs: study.name(runs.size),
                weight=study.work,
                before=lambda runs: total - sum(map(study.work, missing)),
            ):
                pass
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"interrupted; {path} keeps what was finished, --resume goes on"
        ) from None
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

    Parameters
    ----------
    options : argparse.Namespace
        With those of `add_pool_arguments`.
    count : int
        How many tasks there are: more processes are of no use.
    problem : Problem, optional
        What the processes work on: its kernels are compiled here, not by each of them.

    Raises
    ------
    ValueError, OSError
        As `worker_pool` and `scheduler_pool`.
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
    """Say a line, above the progress bar if there is one."""
    if sys.stderr.isatty():
        from tqdm import tqdm

        tqdm.write(f"meanfield: {text}", file=Forgiving(sys.stderr))
    else:
        say(f"meanfield: {text}")
