"""Record a stream of snapshots into a run file that is whole at every instant.

Rows are appended to a copy, which is flushed to the disk and then renamed onto the run file:
whoever reads it, or kills this process, finds either the old file or the new one. Copies are
made as often as they cost at most a tenth of the run's time, and at the end, whatever ends it.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from meanfield.arrays import FloatArray
from meanfield.outputs import run_file
from meanfield.outputs.atomic import OutputError, replace_file, writer_lock
from meanfield.run import COMPLETED
from meanfield.simulate import SimulationError
from meanfield.snapshot import Snapshot

__all__ = ["RUNNING", "OutputError", "record", "writer_lock"]

RUNNING = "running"
_FLUSH_SECONDS = 1.0
_FLUSH_SHARE = 10.0

Observe = Callable[[Snapshot], dict[str, FloatArray]]


def record(
    path: Path,
    stream: Iterable[Snapshot],
    *,
    attributes: dict[str, Any],
    growth_rates: FloatArray,
    observe: Observe,
    keep_state: str = "all",
    resume: bool = False,
) -> Iterator[Snapshot]:
    """Pass snapshots through and record them.

    Parameters
    ----------
    path : Path
        The run file. With `resume` it exists and is continued, else it is made anew.
    stream : iterable of Snapshot
        What `trajectory` yields.
    attributes : dict
        Attributes of the file.
    growth_rates : ndarray
        Growth rates of the uniform state.
    observe : callable
        Snapshot -> observables.
    keep_state : str
        "all", "last" or "none": which states are kept.
    resume : bool
        Continue the file.

    Yields
    ------
    Snapshot
        Each one after it was taken down.

    Raises
    ------
    SimulationError
        From the stream, after the reason was written to the file as its status.
    """
    pending: list[run_file.Row] = []
    last: Snapshot | None = None
    if not resume:
        replace_file(path, None, lambda file: run_file.create(file, attributes, growth_rates))

    def flush(status: str) -> float:
        began = clock.perf_counter()
        rows, state = pending.copy(), last

        def write(file: Any) -> None:
            run_file.append(file, rows)
            if state is not None:
                run_file.write_checkpoint(file, state.checkpoint, state.representation)
                if status != RUNNING and keep_state == "last":
                    run_file.append_states(file, [(len(file["time"]) - 1, state.measure)])
            file.attrs["status"] = status
            for key in ("config",):
                file.attrs[key] = attributes[key]

        replace_file(path, path, write)
        pending.clear()
        return clock.perf_counter() - began

    flushed, cost = clock.perf_counter(), 0.0
    try:
        for snapshot in stream:
            pending.append(run_file.Row(snapshot, observe(snapshot), keep_state == "all"))
            last = snapshot
            if clock.perf_counter() - flushed > max(_FLUSH_SECONDS, _FLUSH_SHARE * cost):
                cost = flush(RUNNING)
                flushed = clock.perf_counter()
            yield snapshot
    except SimulationError as error:
        flush(f"{error.reason} (t = {error.time:.6g})")
        raise
    except BaseException as error:
        reached = 0.0 if last is None else last.time
        cause = "interrupted" if isinstance(error, KeyboardInterrupt | GeneratorExit) else "failed"
        flush(f"{cause} at t = {reached:.6g}")
        raise
    flush(COMPLETED)
