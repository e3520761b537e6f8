"""Where commands of many runs do their work: local processes, or a Dask cluster."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from meanfield.commands.streams import Forgiving, say
from meanfield.compute.threads import threads
from meanfield.problem import Problem


def worker_count(options: argparse.Namespace, count: int) -> int:
    """How many local processes the options ask for, 1 for this one; no more than tasks."""
    return max(1, min(options.workers or threads(), count))


@contextmanager
def pool(
    options: argparse.Namespace, count: int, problem: Problem | None = None
) -> Iterator[Executor | None]:
    """Executor that the options ask for; None means this process.

    Parameters
    ----------
    options : argparse.Namespace
        With those of `add_pool_arguments`.
    count : int
        How many tasks there are: more processes are of no use.
    problem : Problem, optional
        What the processes work on: its kernels are compiled here, not by each of them.

    Yields
    ------
    concurrent.futures.Executor or None

    Raises
    ------
    ValueError, OSError
        As `worker_pool` and `scheduler_pool`.
    """
    if options.scheduler is not None:
        from meanfield.studies.executors.dask_cluster import scheduler_pool

        with scheduler_pool(options.scheduler, _tell) as executor:
            yield executor
        return
    from meanfield.studies.executors.processes import worker_pool

    workers = worker_count(options, count)
    if workers > 1 and problem is not None:
        from meanfield.commands.compile import compile_for_workers

        compile_for_workers(problem)
    with worker_pool(workers, max(1, threads() // workers)) as local:
        yield local


def _tell(text: str) -> None:
    """Say a line, above the progress bar if there is one."""
    if sys.stderr.isatty():
        from tqdm import tqdm

        tqdm.write(f"meanfield: {text}", file=Forgiving(sys.stderr))
    else:
        say(f"meanfield: {text}")
