"""`meanfield run`: evolve a measure as a run file says, into an HDF5 file."""

from __future__ import annotations

import argparse
import time as clock
from collections.abc import Iterable, Iterator
from contextlib import closing

from meanfield.carriers.idle import STATIONARY, is_stationary
from meanfield.commands.interrupts import check_interrupt, patience
from meanfield.commands.memory import check_memory
from meanfield.commands.progress import say, with_progress
from meanfield.errors import SimulationError
from meanfield.finite.fluctuations import Moments
from meanfield.results.run_report import event_lines
from meanfield.runfile import Config, load_config
from meanfield.snapshot import Snapshot
from meanfield.spectrum.time_units import time_unit
from meanfield.status import stop_rule
from meanfield.store.locks import LostOutputError, OutputFile
from meanfield.store.run_file import load


def run_command(options: argparse.Namespace) -> int:
    """Evolve a measure as a run file says, into an HDF5 file."""
    config = load_config(options.config, options.set, options.output, code=options.code)
    check_memory(config)
    path = config.output.path
    if options.resume and not options.quiet and not path.exists():
        say(f"{path} does not exist yet: starting at t = 0")
    began, before = clock.perf_counter(), OutputFile(path)

    def file_note(saved: str) -> str:
        if not path.exists():
            return ""
        untouched = options.overwrite and before.unchanged()
        return f"; {path} {'stays as it was' if untouched else saved}"

    try:
        last = _evolve(config, options)
    except SimulationError as error:
        reason = error.reason.rstrip(".")
        # A file that is gone or was replaced holds nothing of this run.
        if not isinstance(error.__cause__, LostOutputError):
            reason += file_note("is valid up to then")
        raise SimulationError(error.time, error.step, reason) from None
    except KeyboardInterrupt:
        note = file_note("keeps what was saved, --resume goes on")
        raise KeyboardInterrupt(f"interrupted{note}") from None
    except MemoryError:
        note = file_note("keeps what was saved")
        raise MemoryError(f"not enough memory for this run{note}") from None
    if not options.quiet:
        # Fluctuations may still be missing; they print a line of their own.
        idle = ": nothing to do" if config.fluctuations is None else ""
        rule = stop_rule(load(path, states="none").status) if config.stop else ""
        message = f"{path} stopped: {rule}" if rule else f"{path} holds all the times asked for"
        done = f"{message}{idle}."
        say(done if last is None else _summary(config, last, began, rule))
    if config.fluctuations is not None:
        try:
            _fluctuate(config, options)
        except SimulationError as error:
            reason = f"fluctuations: {error.reason.rstrip('.')}; {path} holds the run"
            raise SimulationError(error.time, error.step, reason) from None
        except KeyboardInterrupt:
            note = f"{path} holds the run, --resume finds its fluctuations"
            raise KeyboardInterrupt(f"interrupted; {note}") from None
    return 0


def _fluctuate(config: Config, options: argparse.Namespace) -> None:
    """Add fluctuations to the file of the run, and say until when they are resolved."""
    from meanfield.recording import complete_fluctuations, evolution_of, record_of

    assert config.fluctuations is not None

    def follow(stream: Iterable[Moments], count: int) -> Iterator[Moments]:
        for each in with_progress(stream, count, "fluctuations", quiet=options.quiet):
            check_interrupt()
            yield each

    began = clock.perf_counter()
    evolution, record = evolution_of(config), record_of(config)
    if not complete_fluctuations(evolution, record, config.fluctuations, follow) or options.quiet:
        return
    fluctuations = load(config.output.path, states="none").fluctuations
    assert fluctuations is not None
    until = fluctuations.resolved_until / evolution.unit_length
    reached = (
        f"fluctuations up to t = {until:.6g}" if fluctuations.resolved.any() else "no fluctuations"
    )
    note = f" {fluctuations.note}." if fluctuations.note else ""
    say(f"{config.output.path}: {reached}, {clock.perf_counter() - began:.2f} s.{note}")


def _evolve(config: Config, options: argparse.Namespace) -> Snapshot | None:
    """Run to the end and return the last snapshot; None if there was nothing to do."""
    with patience():
        from meanfield.recording import execute as evolve

    last, length = None, time_unit(config.problem, config.unit)
    run = evolve(config, resume=options.resume, overwrite=options.overwrite, watch=check_interrupt)
    # `closing` passes an interrupt that arrives between snapshots on to the recorder.
    with patience(), closing(run) as stream:
        watched = with_progress(
            stream,
            len(config.times),
            config.title or config.source.stem,
            quiet=options.quiet,
            note=lambda snapshot: f"t = {snapshot.time / length:.4g}",
            lines=lambda snapshot: event_lines(snapshot.events, length),
            before=lambda snapshot: float((config.times < snapshot.time).sum()),
            prepares=True,
        )
        for snapshot in watched:
            # After the first snapshot: before it, the run may still be refused.
            if last is None and not options.quiet and is_stationary(config.problem, config.options):
                say(f"meanfield: {config.source}: {STATIONARY}")
            last = snapshot
            check_interrupt()
    return last


def _summary(config: Config, last: Snapshot, began: float, rule: str) -> str:
    steps, spent = int(last.diagnostics["steps"]), clock.perf_counter() - began
    reached = last.time / time_unit(config.problem, config.unit)
    unit = "" if config.unit == "scaled" else f" {config.unit} time"
    by_rule = f" (stopped: {rule})" if rule else ""
    if not config.problem.layering.is_flow:
        return f"{config.output.path}: {reached:.6g} layers{by_rule}, {spent:.2f} s."
    when = f"t = {reached:.6g}{unit}{by_rule}"
    return f"{config.output.path}: {when} in {steps} steps, {spent:.2f} s."
