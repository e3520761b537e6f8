"""Record evolutions in files, and resume them.

problem -> representation -> trajectory -> run file
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.carriers import represent, resumed
from meanfield.carriers.options import FluctuationOptions
from meanfield.engines.threads import one_blas_thread
from meanfield.observables import chosen_observables
from meanfield.problem_facts import growth_rates_in_attributes
from meanfield.runfile import Config, ConfigError
from meanfield.runfile.config import check_continues
from meanfield.runs import Run
from meanfield.simulation import Evolution, Record, evolve, is_one_cluster
from meanfield.snapshot import Checkpoint, Snapshot
from meanfield.status import COMPLETED, RUNNING, ended_by, is_cut_short
from meanfield.store.layout import damage_message
from meanfield.store.locks import OutputFile, output_lock, writer_lock
from meanfield.store.provenance import provenance
from meanfield.store.recorder import add_fluctuations, conclude, record
from meanfield.store.run_file import load, read_checkpoint
from meanfield.store.wall_time import WallTime, seconds_by_phase

if TYPE_CHECKING:
    from meanfield.finite.fluctuations import Follow

# Section -> keys that may differ when a run is resumed; None means all keys.
_FREE_KEYS = {"time": ("end", "save"), "output": None, "fluctuations": None}
# Relative difference of equal times from different arithmetic. The clock starts again before steps
# get shorter than a million times this.
_SAME_TIME = 1e-12
# Relative to the largest growth rate; changes between versions of libraries are far smaller.
_SAME_RATES = 1e-9


def execute(
    config: Config,
    *,
    resume: bool = False,
    overwrite: bool = False,
    watch: Callable[[], None] | None = None,
) -> Generator[Snapshot, None, None]:
    """Evolve and record the problem of a run file; see `recorded`."""
    evolution, record = evolution_of(config), record_of(config)
    return recorded(evolution, record, resume=resume, overwrite=overwrite, watch=watch)


def evolution_of(config: Config) -> Evolution:
    """Evolution of a run file."""
    return Evolution(
        config.problem,
        config.options,
        config.times,
        config.unit,
        config.stop,
        chosen_observables(config.output.observables),
    )


def record_of(config: Config) -> Record:
    """Record of a run file."""
    return Record(
        config.output.path, config.output.state, str(config.source), config.tables, config.idle
    )


def recorded(
    evolution: Evolution,
    target: Record,
    *,
    resume: bool = False,
    overwrite: bool = False,
    watch: Callable[[], None] | None = None,
) -> Generator[Snapshot, None, None]:
    """Evolve and record; yields the snapshots, for example to show progress.

    Close the generator if it is not exhausted: the file then gets the status "interrupted".
    `resume` continues an existing output; `overwrite` replaces it once there is a row beyond the
    start.
    """
    path, problem, options = target.path, evolution.problem, evolution.options
    with output_lock(path, resume=resume, overwrite=overwrite) as output:
        spent = WallTime()
        # One BLAS thread, as in `trajectory` and `observe`: the last bits depend on it.
        with spent.during("setup"), one_blas_thread():
            rates = growth_rates_in_attributes(problem)
            continued = None
            if resume and path.exists():
                continued = _continuation(evolution, target, output, rates)
            if continued is None:
                checkpoint, times, facts, reached = None, evolution.times, provenance(), 0.0
                representation = represent(problem, options)
            else:
                (checkpoint, name), times, stored = continued
                if len(times) == 0:
                    return
                reached = float(stored.scaled_time[-1])
                facts = provenance(stored.attributes, f"from t = {reached:.6g} on")
                spent.add(seconds_by_phase(stored.attributes))
                with damage_message(path):
                    state, fixed = checkpoint.state, checkpoint.fixed
                    stage = evolution.problem_after(checkpoint.time)
                    representation = resumed(stage, options, name, state, fixed)
                    # Inconsistent arrays fail here, before anything is written.
                    representation.measure(state)
        endings: list[str] = []
        stream = evolve(
            evolution,
            start=checkpoint,
            representation=representation,
            times=times,
            watch=watch,
            observing=lambda: spent.during("observing"),
            ended=endings.append,
        )
        yield from record(
            output,
            stream,
            attributes=evolution.origin | target.attributes | {"status": RUNNING} | facts,
            growth_rates=rates,
            observe=evolution.observe,
            keep_state=target.state,
            resume=continued is not None,
            events=0 if checkpoint is None else checkpoint.events,
            reached=reached,
            spent=spent,
            status=lambda: endings[0] if endings else COMPLETED,
        )


def complete_fluctuations(
    evolution: Evolution, record: Record, options: FluctuationOptions, follow: Follow | None = None
) -> bool:
    """Add fluctuations to a stored run; False if there was nothing to do.

    They are written after all are computed, so an interrupt leaves the run complete.
    """
    from meanfield.finite.fluctuations import fluctuations_at, settings_of

    with writer_lock(record.path) as output:
        run = load(record.path, states="none")
        fluctuations, times = run.fluctuations, run.scaled_time
        if len(times) == 0 or times[-1] == 0.0:
            return False
        settings = settings_of(evolution.problem, times, options, unit=evolution.unit)
        wanted = (options.degree, settings.most)
        if fluctuations is None or (fluctuations.degree, fluctuations.max_degree) != wanted:
            fluctuations = fluctuations_at(
                evolution.problem, times, options, unit=evolution.unit, follow=follow
            )
        elif fluctuations.tokens == options.tokens:
            return False
        add_fluctuations(output, replace(fluctuations, tokens=options.tokens), record.attributes)
    return True


def times_after(times: FloatArray, reached: float) -> FloatArray:
    """Times to save after the last saved one; a time that differs by rounding counts as saved.

    >>> spaced = np.linspace(0.0, 2.0, 11)
    >>> bool(1.2 in spaced), times_after(spaced, 1.2).round(1).tolist()
    (False, [1.4, 1.6, 1.8, 2.0])
    """
    later = times[times > reached]
    rounded = len(later) > 0 and later[0] <= reached * (1.0 + _SAME_TIME)
    return later[1:] if rounded and reached not in times else later


def _continuation(
    evolution: Evolution, record: Record, output: OutputFile, rates: FloatArray
) -> tuple[tuple[Checkpoint, str], FloatArray, Run] | None:
    """Checkpoint and representation, remaining times, and stored run; None if no time is saved."""
    path = output.path
    run = load(path, states="last")
    check_continues(record.label, record.tables, record.idle, run.attributes, path, _FREE_KEYS)
    if len(run.scaled_time) == 0:
        return None
    _check_kernel(record, run, rates)
    reached = float(run.scaled_time[-1])
    remaining = times_after(evolution.times, reached)
    has_stopped = _has_stopped(evolution, run)
    if has_stopped:
        remaining = remaining[:0]
    if len(remaining) == 0 and is_cut_short(run.status):
        # All times are saved; only the final status is missing.
        status = ended_by(evolution.stop) if has_stopped else COMPLETED
        conclude(output, record.attributes, status)
    return read_checkpoint(path), remaining, run


def _has_stopped(evolution: Evolution, run: Run) -> bool:
    """True if the stop rule ended a recorded run; a function decides itself, not by its name."""
    named = evolution.stop is not None and run.status == ended_by(evolution.stop)
    problem, last = evolution.problem, run.measures[-1]
    moments = problem.manifold.packed(run.moments[-1])
    if evolution.stop == "one_cluster":
        problem = evolution.problem_at(float(run.scaled_time[-1]))
        count = float(run.observables["clusters/count"][-1])
        return named or is_one_cluster(problem, moments, count, last)
    if last is None:
        return named
    return evolution.stops(float(run.scaled_time[-1]), last, moments)


def _check_kernel(record: Record, run: Run, rates: FloatArray) -> None:
    """Refuse to go on with another kernel: the function in the Python file may have changed."""
    stored = run.growth_rates
    tolerance = _SAME_RATES * np.abs(rates).max()
    if rates.shape != stored.shape or np.abs(rates - stored).max() > tolerance:
        raise ConfigError(
            f"{record.label}: [problem] attention is another function than that of "
            f"{record.path}, which --resume continues. Use --overwrite to start again."
        )
