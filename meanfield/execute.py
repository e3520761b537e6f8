"""Run a configuration end to end: problem -> representation -> trajectory -> run file."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import numpy as np

from meanfield.arrays import FloatArray, ModalArray
from meanfield.compute.threads import one_blas_thread
from meanfield.config import Config, ConfigError
from meanfield.config.config import check_continues
from meanfield.observables import observe
from meanfield.observables.clusters import cluster_radius
from meanfield.outputs.locks import check_welcome, writer_lock
from meanfield.outputs.output_file import OutputFile
from meanfield.outputs.provenance import provenance
from meanfield.outputs.reading import damage_told
from meanfield.outputs.recorder import conclude, record
from meanfield.outputs.run_file import load, read_checkpoint
from meanfield.outputs.wall_time import WallTime, seconds_by_phase
from meanfield.problem import Problem
from meanfield.representations import REPRESENTATIONS, hand_over_rule, represent
from meanfield.runs import Run, problem_attributes
from meanfield.snapshot import Checkpoint, Snapshot
from meanfield.status import RUNNING, is_cut_short
from meanfield.theory.stability import growth_rates
from meanfield.trajectory import trajectory
from meanfield.version import __version__

# Sections and keys in which a resumed run may differ from the one it continues.
_FREE_KEYS = {"time": ("end", "save"), "output": None}
# Relative difference of times that only rounding tells apart, as of another spacing. The clock
# starts again before steps get shorter than a million times this.
_SAME_TIME = 1e-12
# Of the largest growth rate: far above what another version of a library changes.
_SAME_RATES = 1e-9


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
    path = config.output.path
    problem, options = config.problem, config.options
    with writer_lock(path) as output:
        exists = path.exists()
        check_welcome(path, resume=resume, overwrite=overwrite)
        spent = WallTime()
        # As for what follows, `trajectory` and `observe`: one BLAS thread, for the last bits.
        with spent.during("setup"), one_blas_thread():
            rates = growth_rates(problem)
            continued = _continuation(config, output, rates) if exists and resume else None
            if continued is None:
                checkpoint, times, facts, reached = None, config.times, provenance(), 0.0
                representation = represent(problem, options)
            else:
                (checkpoint, name), times, stored = continued
                if len(times) == 0:
                    return
                reached = float(stored.scaled_time[-1])
                facts = provenance(stored.attributes, f"from t = {reached:.6g} on")
                spent.add(seconds_by_phase(stored.attributes))
                family = REPRESENTATIONS[name]
                with damage_told(config.output.path):
                    state, fixed = checkpoint.state, checkpoint.fixed
                    representation = family.resume(problem, options, state, fixed)
                    # Arrays that do not belong together fail now, before anything is written.
                    representation.measure(state)
        stream: Iterable[Snapshot] = trajectory(
            problem,
            representation,
            times,
            tolerance=options.step_tolerance,
            start=checkpoint,
            watch=watch,
            hand_over=hand_over_rule(problem, options),
        )
        if config.stop == "one_cluster":
            stream = until_one_cluster(problem, stream, spent)
        yield from record(
            output,
            stream,
            attributes=_attributes(config) | facts,
            growth_rates=rates,
            observe=lambda s: observe(
                problem,
                s.measure,
                s.moments,
                config.output.observables,
                time=s.time,
                step=s.checkpoint.steps,
            ),
            keep_state=config.output.state,
            resume=continued is not None,
            events=0 if checkpoint is None else checkpoint.events,
            reached=reached,
            spent=spent,
        )


def times_after(times: FloatArray, reached: float) -> FloatArray:
    """Times that are left to save after one that was saved.

    One that only rounding tells apart from it is the same, unless both were asked for.

    Examples
    --------
    >>> spaced = np.linspace(0.0, 2.0, 11)
    >>> bool(1.2 in spaced), times_after(spaced, 1.2).round(1).tolist()
    (False, [1.4, 1.6, 1.8, 2.0])
    """
    later = times[times > reached]
    rounded = len(later) > 0 and later[0] <= reached * (1.0 + _SAME_TIME)
    return later[1:] if rounded and reached not in times else later


def until_one_cluster(
    problem: Problem, stream: Iterable[Snapshot], spent: WallTime
) -> Iterator[Snapshot]:
    """Pass snapshots through up to the first that is a single cluster."""
    for snapshot in stream:
        yield snapshot
        with spent.during("observing"):
            found = observe(problem, snapshot.measure, snapshot.moments, ())
            single = is_one_cluster(problem, snapshot.moments, float(found["clusters/count"]))
        if single:
            return


def is_one_cluster(problem: Problem, moments: ModalArray, count: float) -> bool:
    """Whether a measure is a single cluster.

    The cluster rule counts one, and the order parameter is that of mass within the rule's
    radius of one point.
    """
    least = np.cos(cluster_radius(problem.kernel.beta))
    return count == 1 and problem.space.order_parameter(moments) >= least


def _attributes(config: Config) -> dict[str, Any]:
    return problem_attributes(config.problem) | {
        "meanfield_version": __version__,
        "config": config.text,
        "title": config.title,
        "seed": config.options.seed,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "status": RUNNING,
        "time_unit": config.unit,
    }


def _continuation(
    config: Config, output: OutputFile, rates: FloatArray
) -> tuple[tuple[Checkpoint, str], FloatArray, Run] | None:
    """Where to go on from, the times that remain, and what was saved, which stays as it is.

    None where nothing was saved.
    """
    path = output.path
    run = load(path, states="none")
    stored = str(run.attributes.get("config", ""))
    check_continues(config, stored, config.output.path, _FREE_KEYS)
    if len(run.scaled_time) == 0:
        return None
    _check_kernel(config, run, rates)
    remaining = times_after(config.times, float(run.scaled_time[-1]))
    count = float(run.observables["clusters/count"][-1])
    moments = config.problem.space.packed(run.moments[-1])
    if config.stop == "one_cluster" and is_one_cluster(config.problem, moments, count):
        remaining = remaining[:0]
    if len(remaining) == 0 and is_cut_short(run.status):
        # Everything was saved; only the last word was missing.
        conclude(output, {"config": config.text, "title": config.title})
    return read_checkpoint(path), remaining, run


def _check_kernel(config: Config, run: Run, rates: FloatArray) -> None:
    """Refuse to go on with another kernel: the function in a file may have changed.

    Raises
    ------
    ConfigError
        If the growth rates are not those in the run.
    """
    stored = run.growth_rates
    tolerance = _SAME_RATES * np.abs(rates).max()
    if rates.shape != stored.shape or np.abs(rates - stored).max() > tolerance:
        raise ConfigError(
            f"{config.source.name}: [problem] attention is another function than that of "
            f"{config.output.path}, which --resume continues. Use --overwrite to start again."
        )
