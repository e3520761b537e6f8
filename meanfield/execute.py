"""Run a configuration end to end: problem -> representation -> trajectory -> run file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.config import Config, ConfigError
from meanfield.measures import Measure
from meanfield.observables import observe
from meanfield.observables.clusters import cluster_radius
from meanfield.outputs.recorder import RUNNING, OutputError, record, writer_lock
from meanfield.outputs.run_file import load, read_checkpoint
from meanfield.problem import Problem
from meanfield.representations import Representation, represent
from meanfield.representations.density import DensityRepresentation
from meanfield.representations.particles import ParticleRepresentation
from meanfield.run import COMPLETED, problem_attributes
from meanfield.simulate import trajectory
from meanfield.snapshot import Checkpoint, Snapshot
from meanfield.theory.stability import growth_rates

# Sections and keys in which a resumed run may differ from the one it continues.
_FREE_KEYS = {"time": ("end", "save"), "output": None}


def execute(config: Config, *, resume: bool = False, overwrite: bool = False) -> Iterator[Snapshot]:
    """Evolve and record; yields the snapshots for whoever shows progress.

    Parameters
    ----------
    config : Config
        Validated run file.
    resume : bool
        Continue an existing output; start if there is none.
    overwrite : bool
        Replace an existing output.

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
    path = config.output.path
    exists = path.exists()
    if exists and not (resume or overwrite):
        raise OutputError(f"{path} exists: use --overwrite to replace it or --resume to go on.")
    problem = config.problem
    with writer_lock(path):
        start, times = None, config.times
        if exists and resume:
            start, times = _continuation(config)
            if len(times) == 0:
                return
        representation = (
            represent(problem, config.options)
            if start is None
            else _restored(config, problem, start)
        )
        stream: Iterable[Snapshot] = trajectory(
            problem, representation, times, tolerance=config.options.tolerance, start=start
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
        )


def until_one_cluster(problem: Problem, stream: Iterable[Snapshot]) -> Iterator[Snapshot]:
    """Pass snapshots through up to the first that is a single cluster.

    A single cluster: the rule counts one, and the order parameter is that of mass within the
    rule's radius of one point.
    """
    least = np.cos(cluster_radius(problem.kernel.beta))
    for snapshot in stream:
        yield snapshot
        if problem.space.order_parameter(snapshot.moments) >= least:
            found = observe(problem, snapshot.measure, snapshot.moments, ())
            if found["clusters/count"] == 1:
                return


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


def _continuation(config: Config) -> tuple[Checkpoint | None, FloatArray]:
    """Checkpoint and remaining times; no times if nothing is left to do."""
    import tomllib

    path = config.output.path
    run = load(path)
    before = tomllib.loads(str(run.attributes.get("config", "")))
    different = _difference(before, config.tables)
    if different is not None:
        raise ConfigError(
            f"{config.source.name}: {different} differs from that of {path}, which --resume "
            "continues. Use --overwrite to start again."
        )
    if len(run.time) == 0:
        return None, config.times
    reached = float(run.time[-1])
    remaining = config.times[config.times > reached]
    past = config.times[config.times <= reached]
    known = np.min(np.abs(past[:, None] - run.time[None, :]), axis=1) <= 1e-12 * reached
    if run.status == COMPLETED and len(remaining) == 0:
        return None, remaining
    if not np.all(known):
        raise ConfigError(
            f"{config.source.name}: [time] save holds {past[~known][0]:g}, before t = "
            f"{reached:g} already reached. Use --overwrite to start again."
        )
    if len(remaining) == 0:
        return None, remaining
    checkpoint, _ = read_checkpoint(path)
    return checkpoint, remaining


def _difference(before: dict[str, Any], after: dict[str, Any]) -> str | None:
    """First key that differs and may not, None if there is none."""
    for section in sorted({*before, *after} - {"title"}):
        free = _FREE_KEYS.get(section, ())
        if free is None:
            continue
        old, new = before.get(section, {}), after.get(section, {})
        if not isinstance(old, dict) or not isinstance(new, dict):
            return section
        for key in sorted({*old, *new} - set(free)):
            if old.get(key) != new.get(key):
                return f"[{section}] {key}"
    return None


def _restored(config: Config, problem: Problem, checkpoint: Checkpoint) -> Representation:
    """Representation that continues from a checkpoint."""
    measure = problem.initial_measure()
    if np.iscomplexobj(checkpoint.state):
        options = config.options
        return DensityRepresentation(
            problem, checkpoint.state, options.tolerance, options.max_degree
        )
    weights = measure.weights if isinstance(measure, Measure) else None
    return ParticleRepresentation(problem, checkpoint.state, weights)
