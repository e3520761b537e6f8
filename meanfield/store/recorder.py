"""Record a stream of snapshots into a result file that is whole at every instant.

Rows are appended to a copy that replaces the file (`locks.OutputFile`). This happens whenever it
costs at most a tenth of the run's time or many bytes of states wait, and at the end. Rows go only
into the file that this process wrote before.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterable, Iterator
from traceback import clear_frames
from typing import TYPE_CHECKING, Any

from meanfield.arrays import FloatArray
from meanfield.errors import SimulationError
from meanfield.events import Event
from meanfield.files import OutputError, uninterrupted
from meanfield.runs import Run
from meanfield.snapshot import Snapshot
from meanfield.status import COMPLETED, RUNNING, cut_short, is_finished, stopped
from meanfield.store import run_writer
from meanfield.store.locks import FLUSH_SECONDS, OutputFile, replace_file
from meanfield.store.provenance import FACTS
from meanfield.store.result_hash import result_hash
from meanfield.store.run_file import file_results, write_fluctuations
from meanfield.store.wall_time import WallTime

if TYPE_CHECKING:
    from meanfield.finite.results import Fluctuations

_FLUSH_SHARE = 10.0
# Attributes that may change when a run is resumed.
_OF_THE_SESSION = {"config", "title", "requested_time_unit", *FACTS}
# Waiting states are written when they exceed this many bytes and half of the file; so all copies
# together cost a few times the file.
PENDING_BYTES = 2**28

Observe = Callable[[Snapshot], dict[str, FloatArray]]


def record(
    output: OutputFile,
    stream: Iterable[Snapshot],
    *,
    attributes: dict[str, Any],
    growth_rates: FloatArray,
    observe: Observe,
    keep_state: str = "all",
    resume: bool = False,
    events: int = 0,
    reached: float = 0.0,
    spent: WallTime | None = None,
    status: Callable[[], str] = lambda: COMPLETED,
) -> Iterator[Snapshot]:
    """Pass snapshots through and record them.

    - output: the result file. With `resume` it exists and is continued, else it is made anew; an
      earlier result stays until this run has a row beyond its start.
    - observe: snapshot -> observables.
    - keep_state: "all", "last" or "none": states to keep. "last" keeps that of the last row, also
      during the run, and deletes all others of a continued file.
    - events: number of events to keep of a continued file: those before its checkpoint.
    - reached: time of the last row of a continued file.
    - spent: wall time, stored in the file whenever it is written.
    - status: status of the run once the stream has ended.
    """
    pending: list[run_writer.Row] = []
    happened: list[Event] = []
    last: Snapshot | None = None
    written = RUNNING
    last_time = reached
    spent = spent or WallTime()

    def create(file: Any) -> None:
        run_writer.create(file, attributes, growth_rates)

    if not (resume or output.earlier):
        with spent.during("writing"):
            replace_file(output, None, create)

    versions, coming = output.versions, RUNNING

    def settle() -> None:
        """Forget rows and events that the file has: they must not be written twice."""
        nonlocal written, versions, events, last_time
        output.settle()
        if output.versions > versions:
            pending.clear()
            last_time = reached
            events += len(happened)
            happened.clear()
            versions, written = output.versions, coming

    def flush(status: str) -> float:
        nonlocal coming
        # The flush before may have failed after it had replaced the file.
        settle()
        if is_finished(written):
            return 0.0
        if output.earlier and not is_finished(status) and reached <= 0.0:
            return 0.0
        began = clock.perf_counter()

        def write(file: Any) -> None:
            if output.earlier:
                create(file)
            run_writer.append(file, pending)
            if last is not None:
                run_writer.append_events(file, happened, events)
                run_writer.write_checkpoint(file, last.checkpoint, last.representation)
                if keep_state == "last":
                    run_writer.drop_states(file)
                    run_writer.append_states(file, [(len(file["time"]) - 1, last.measure)])
            for key in _OF_THE_SESSION & attributes.keys():
                file.attrs[key] = attributes[key]
            _conclude(file, status)
            # Last: the time from here until the file is replaced cannot be stored in it.
            file.attrs.update(spent.attributes())

        room = run_writer.room(pending)
        if last is not None:
            room += 2 * run_writer.checkpoint_bytes(last.checkpoint)
            # Twice, for weights beside the points of the state.
            room += 2 * run_writer.nbytes(last.measure) if keep_state == "last" else 0
        coming = status
        with uninterrupted(), spent.during("writing"):
            try:
                replace_file(output, None if output.earlier else output.path, write, room)
            except OutputError as error:
                steps = 0 if last is None else last.checkpoint.steps
                raise SimulationError(last_time, steps, str(error)) from error
            settle()
        return clock.perf_counter() - began

    flushed, cost, size = clock.perf_counter(), 0.0, 0
    try:
        for snapshot in spent.over(stream, "stepping"):
            with spent.during("observing"):
                row = run_writer.row(snapshot, observe(snapshot), keep_state == "all")
            last, reached = snapshot, snapshot.time
            pending.append(row)
            happened.extend(snapshot.events)
            size += run_writer.nbytes(row.state)
            waiting = clock.perf_counter() - flushed
            heavy = size > PENDING_BYTES and size > output.size / 2
            if waiting > max(FLUSH_SECONDS, _FLUSH_SHARE * cost) or heavy:
                cost = flush(RUNNING)
                flushed, size = clock.perf_counter(), 0
            yield snapshot
        flush(status())
    except SimulationError as error:
        flush(stopped(error))
        raise
    except BaseException as error:
        if isinstance(error, MemoryError):
            # Frames of the failed computation still hold its arrays, and the file needs memory.
            clear_frames(error.__traceback__)
        flush(cut_short(error, f"at t = {reached:.6g}"))
        raise


def record_whole(output: OutputFile, run: Run, attributes: dict[str, Any]) -> None:
    """Write a run at once, with these attributes; raises as `replace_file`."""
    rows = [
        run_writer.Row(
            float(time),
            run.moments[i],
            run.representation[i],
            {name: float(values[i]) for name, values in run.diagnostics.items()},
            {name: values[i] for name, values in run.observables.items()},
            run.measures[i],
            run.manifold,
        )
        for i, time in enumerate(run.scaled_time)
    ]

    def write(file: Any) -> None:
        run_writer.create(file, attributes, run.growth_rates)
        run_writer.append(file, rows)
        run_writer.append_events(file, run.events, 0)
        if run.checkpoint is not None:
            run_writer.write_checkpoint(file, run.checkpoint, run.representation[-1])
        if run.fluctuations is not None:
            write_fluctuations(file, run.fluctuations)
        _conclude(file, run.status)

    replace_file(output, None, write)


def add_fluctuations(
    output: OutputFile, fluctuations: Fluctuations, attributes: dict[str, Any]
) -> None:
    """Add fluctuations, and attributes of the file, to the file of a run."""

    def write(file: Any) -> None:
        write_fluctuations(file, fluctuations)
        file.attrs.update(attributes)

    room = 2 * (fluctuations.covariance.nbytes + fluctuations.relation.nbytes)
    replace_file(output, output.path, write, room)


def conclude(output: OutputFile, attributes: dict[str, Any], status: str = COMPLETED) -> None:
    """Write attributes and the status of a finished run into its file."""

    def write(file: Any) -> None:
        file.attrs.update(attributes)
        _conclude(file, status)

    replace_file(output, output.path, write)


def _conclude(file: Any, status: str) -> None:
    """Write the status of a run and the hash of its results; no hash while it runs."""
    file.attrs["status"] = status
    file.attrs.pop("result_hash", None)
    if status != RUNNING:
        file.attrs["result_hash"] = result_hash(file_results(file))
