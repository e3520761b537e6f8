"""Keep evolutions in files: record, go on, save at once.

problem -> representation -> trajectory -> run file
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.compute.threads import one_blas_thread
from meanfield.config import Config, ConfigError
from meanfield.config.config import check_continues
from meanfield.finite.fluctuations import FluctuationOptions, Follow, fluctuations_at, settings_of
from meanfield.observables import chosen_observables
from meanfield.outputs.locks import check_welcome, writer_lock
from meanfield.outputs.output_file import OutputFile
from meanfield.outputs.provenance import provenance
from meanfield.outputs.reading import damage_told
from meanfield.outputs.recorder import add_fluctuations, conclude, record
from meanfield.outputs.run_file import load, read_checkpoint
from meanfield.outputs.wall_time import WallTime, seconds_by_phase
from meanfield.representations import represent, resumed
from meanfield.runs import Run, known_rates, problem_attributes
from meanfield.simulation import Evolution, evolve, is_one_cluster
from meanfield.snapshot import Checkpoint, Snapshot
from meanfield.status import RUNNING, is_cut_short
from meanfield.version import __version__

# Sections and keys in which a resumed run may differ from the one it continues.
_FREE_KEYS = {"time": ("end", "save"), "output": None, "fluctuations": None}
# Relative difference of times that only rounding tells apart, as of another spacing. The clock
# starts again before steps get shorter than a million times this.
_SAME_TIME = 1e-12
# Of the largest growth rate: far above what another version of a library changes.
_SAME_RATES = 1e-9


@dataclass(frozen=True, eq=False)
class Record:
    """Where a run is kept, and what it was made from.

    Attributes
    ----------
    path : Path
        Given. The file.
    state : str
        Given. Which states are kept: "all", "last" or "none".
    label : str
        Given. What errors begin with: the name of a run file, or "simulate".
    tables : dict
        Given. What was asked for, as the document of a run file.
    idle : mapping
        Given. Section -> keys that cannot act on the run, which older files may have.
    """

    path: Path
    state: str
    label: str
    tables: dict[str, Any]
    idle: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def attributes(self) -> dict[str, Any]:
        """What the file tells of it."""
        import tomli_w

        return {"config": tomli_w.dumps(self.tables), "title": self.tables.get("title", "")}


def execute(
    config: Config,
    *,
    resume: bool = False,
    overwrite: bool = False,
    watch: Callable[[], None] | None = None,
) -> Generator[Snapshot, None, None]:
    """Evolve and record what a run file says; see `recorded`."""
    evolution, kept = evolution_of(config), record_of(config)
    return recorded(evolution, kept, resume=resume, overwrite=overwrite, watch=watch)


def evolution_of(config: Config) -> Evolution:
    """What a run file evolves."""
    return Evolution(
        config.problem,
        config.options,
        config.times,
        config.unit,
        config.stop,
        chosen_observables(config.output.observables),
    )


def record_of(config: Config) -> Record:
    """Where a run file keeps it."""
    return Record(
        config.output.path, config.output.state, str(config.source), config.tables, config.idle
    )


def recorded(
    evolution: Evolution,
    kept: Record,
    *,
    resume: bool = False,
    overwrite: bool = False,
    watch: Callable[[], None] | None = None,
) -> Generator[Snapshot, None, None]:
    """Evolve and record; yields the snapshots for whoever shows progress.

    Close the generator when it is not exhausted: the file then says that it was interrupted.

    Parameters
    ----------
    evolution : Evolution
        What is evolved.
    kept : Record
        Where it is kept.
    resume : bool
        Continue an existing output; start if there is none.
    overwrite : bool
        Replace an existing output.
    watch : callable () -> None, optional
        Called at every right-hand side; what it raises ends the run.

    Yields
    ------
    Snapshot
        In the order of the times.

    Raises
    ------
    OutputError
        If the output exists, or cannot be written.
    SimulationError
        If the run cannot go on; the file then says why.
    """
    path, problem, options = kept.path, evolution.problem, evolution.options
    with writer_lock(path) as output:
        exists = path.exists()
        check_welcome(path, resume=resume, overwrite=overwrite)
        spent = WallTime()
        # As for what follows, `trajectory` and `observe`: one BLAS thread, for the last bits.
        with spent.during("setup"), one_blas_thread():
            rates = known_rates(problem)
            continued = None
            if exists and resume:
                continued = _continuation(evolution, kept, output, rates)
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
                with damage_told(path):
                    state, fixed = checkpoint.state, checkpoint.fixed
                    stage = evolution.problem_after(checkpoint.time)
                    representation = resumed(stage, options, name, state, fixed)
                    # Arrays that do not belong together fail now, before anything is written.
                    representation.measure(state)
        stream = evolve(
            evolution,
            start=checkpoint,
            representation=representation,
            times=times,
            watch=watch,
            observing=lambda: spent.during("observing"),
        )
        yield from record(
            output,
            stream,
            attributes=origin(evolution) | kept.attributes | {"status": RUNNING} | facts,
            growth_rates=rates,
            observe=evolution.observe,
            keep_state=kept.state,
            resume=continued is not None,
            events=0 if checkpoint is None else checkpoint.events,
            reached=reached,
            spent=spent,
        )


def complete_fluctuations(
    evolution: Evolution, kept: Record, options: FluctuationOptions, follow: Follow | None = None
) -> bool:
    """Put fluctuations at its saved times beside a run that is kept, unless they are there.

    Nothing is written before all is known: a run whose fluctuations were interrupted is whole, and
    they begin again.

    Parameters
    ----------
    evolution : Evolution
        What the run evolved.
    kept : Record
        Where it is kept.
    options : FluctuationOptions
        Which are asked for.
    follow : callable, optional
        Shows how far it is.

    Returns
    -------
    bool
        Whether there was anything to do.

    Raises
    ------
    OutputError
        If the file cannot be written.
    SimulationError
        If forward and backward sweeps do not agree.
    """
    with writer_lock(kept.path) as output:
        run = load(kept.path, states="none")
        found, times = run.fluctuations, run.scaled_time
        if len(times) == 0 or times[-1] == 0.0:
            return False
        settings = settings_of(evolution.problem, times, options, unit=evolution.unit)
        asked = (options.degree, settings.most)
        if found is None or (found.degree, found.max_degree) != asked:
            found = fluctuations_at(
                evolution.problem, times, options, unit=evolution.unit, follow=follow
            )
        elif found.tokens == options.tokens:
            return False
        add_fluctuations(output, replace(found, tokens=options.tokens), kept.attributes)
    return True


def origin(evolution: Evolution) -> dict[str, Any]:
    """What a run tells of the problem and of its making, wherever it is kept."""
    return problem_attributes(evolution.problem) | {
        "meanfield_version": __version__,
        "seed": evolution.options.seed,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "requested_time_unit": evolution.unit,
    }


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


def _continuation(
    evolution: Evolution, kept: Record, output: OutputFile, rates: FloatArray
) -> tuple[tuple[Checkpoint, str], FloatArray, Run] | None:
    """Where to go on from, the times that remain, and what was saved, which stays as it is.

    None where nothing was saved.
    """
    path = output.path
    run = load(path, states="last")
    stored = str(run.attributes.get("config", ""))
    check_continues(kept.label, kept.tables, kept.idle, stored, path, _FREE_KEYS)
    if len(run.scaled_time) == 0:
        return None
    _check_kernel(kept, run, rates)
    reached = float(run.scaled_time[-1])
    remaining = times_after(evolution.times, reached)
    if _has_stopped(evolution, run):
        remaining = remaining[:0]
    if len(remaining) == 0 and is_cut_short(run.status):
        # Everything was saved; only the last word was missing.
        conclude(output, kept.attributes)
    return read_checkpoint(path), remaining, run


def _has_stopped(evolution: Evolution, run: Run) -> bool:
    """Whether a recorded run ended where it was to end, as far as its file tells."""
    problem, last = evolution.problem, run.measures[-1]
    moments = problem.space.packed(run.moments[-1])
    if evolution.stop == "one_cluster":
        problem = evolution.problem_at(float(run.scaled_time[-1]))
        return is_one_cluster(problem, moments, float(run.observables["clusters/count"][-1]))
    return last is not None and evolution.stops(float(run.scaled_time[-1]), last, moments)


def _check_kernel(kept: Record, run: Run, rates: FloatArray) -> None:
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
            f"{kept.label}: [problem] attention is another function than that of "
            f"{kept.path}, which --resume continues. Use --overwrite to start again."
        )
