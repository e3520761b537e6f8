"""Run a configuration end to end: problem -> representation -> trajectory -> run file."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from meanfield.arrays import FloatArray, ModalArray
from meanfield.config import Config
from meanfield.config.difference import check_continues
from meanfield.observables import observe
from meanfield.observables.clusters import cluster_radius
from meanfield.outputs.recorder import RUNNING, OutputError, record, set_status, writer_lock
from meanfield.outputs.run_file import load, read_checkpoint
from meanfield.problem import Problem
from meanfield.representations import REPRESENTATIONS, hand_over_rule, represent
from meanfield.run import COMPLETED, problem_attributes
from meanfield.snapshot import Checkpoint, Snapshot
from meanfield.theory.stability import growth_rates
from meanfield.trajectory import trajectory

# Sections and keys in which a resumed run may differ from the one it continues.
_FREE_KEYS = {"time": ("end", "save"), "output": None}


def execute(
    config: Config,
    *,
    resume: bool = False,
    overwrite: bool = False,
    watch: Callable[[], None] | None = None,
) -> Generator[Snapshot, None, None]:
    """Evolve and record; yields the snapshots for whoever shows progress.

    Close the generator when it is not exhausted: the file then says that it was interrupted.

    Parameters
    ----------
    config : Config
        Validated run file.
    resume : bool
        Continue an existing output; start if there is none.
    overwrite : bool
        Replace an existing output.
    watch : callable () -> None, optional
        Called at every right-hand side; what it raises ends the run.

    Yields
    ------
    Snapshot
        In the order of config.times.

    Raises
    ------
    OutputError
        If the output exists, or cannot be written.
    SimulationError
        If the run cannot go on; the file then says why.
    """
    # A link stays a link: what it points to is replaced.
    path = config.output.path.resolve()
    problem, options = config.problem, config.options
    with writer_lock(path):
        exists = path.exists()
        if exists and not (resume or overwrite):
            raise OutputError(
                f"{config.output.path} exists: use --overwrite to replace it or --resume to go on."
            )
        start, times = _continuation(config, path) if exists and resume else (None, config.times)
        if len(times) == 0:
            return
        if start is None:
            checkpoint, representation = None, represent(problem, options)
        else:
            checkpoint, name = start
            family = REPRESENTATIONS[name]
            representation = family.resume(problem, options, checkpoint.state, checkpoint.fixed)
        stream: Iterable[Snapshot] = trajectory(
            problem,
            representation,
            times,
            tolerance=options.tolerance,
            start=checkpoint,
            watch=watch,
            hand_over=hand_over_rule(problem, options),
        )
        if config.stop == "one_cluster":
            stream = until_one_cluster(problem, stream)
        yield from record(
            path,
            stream,
            attributes=_attributes(config),
            growth_rates=growth_rates(problem),
            observe=lambda s: observe(problem, s.measure, s.moments, config.output.observables),
            keep_state=config.output.state,
            resume=start is not None,
            events=0 if checkpoint is None else checkpoint.events,
        )


def until_one_cluster(problem: Problem, stream: Iterable[Snapshot]) -> Iterator[Snapshot]:
    """Pass snapshots through up to the first that is a single cluster."""
    for snapshot in stream:
        yield snapshot
        found = observe(problem, snapshot.measure, snapshot.moments, ())
        if is_one_cluster(problem, snapshot.moments, float(found["clusters/count"])):
            return


def is_one_cluster(problem: Problem, moments: ModalArray, count: float) -> bool:
    """Whether a measure is a single cluster.

    The cluster rule counts one, and the order parameter is that of mass within the rule's
    radius of one point.
    """
    least = np.cos(cluster_radius(problem.kernel.beta))
    return count == 1 and problem.space.order_parameter(moments) >= least


def _attributes(config: Config) -> dict[str, Any]:
    from meanfield import __version__

    return problem_attributes(config.problem) | {
        "meanfield_version": __version__,
        "config": config.text,
        "title": config.title,
        "seed": config.options.seed,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "status": RUNNING,
    }


def _continuation(config: Config, path: Path) -> tuple[tuple[Checkpoint, str] | None, FloatArray]:
    """Where to go on from, and the times that remain; what was saved stays as it is."""
    run = load(path, states="none")
    stored = str(run.attributes.get("config", ""))
    check_continues(config, stored, config.output.path, _FREE_KEYS)
    if len(run.time) == 0:
        return None, config.times
    remaining = config.times[config.times > run.time[-1]]
    count = float(run.observables["clusters/count"][-1])
    moments = config.problem.space.packed(run.moments[-1])
    if config.stop == "one_cluster" and is_one_cluster(config.problem, moments, count):
        remaining = remaining[:0]
    if len(remaining) == 0 and run.status.startswith((RUNNING, "interrupted")):
        # Everything was saved; only the last word was missing.
        set_status(path, COMPLETED)
    return read_checkpoint(path), remaining
