"""Record a stream of snapshots into a run file that is whole at every instant.

Rows are appended to a copy, which is flushed to the disk and then renamed onto the run file:
whoever reads it, or kills this process, finds either the old file or the new one. Copies are
made as often as they cost at most a tenth of the run's time, and at the end, whatever ends it.
"""

from __future__ import annotations

import os
import shutil
import time as clock
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from meanfield.arrays import FloatArray
from meanfield.outputs import run_file
from meanfield.run import COMPLETED
from meanfield.simulate import SimulationError
from meanfield.snapshot import Snapshot

RUNNING = "running"
_FLUSH_SECONDS = 1.0
_FLUSH_SHARE = 10.0

Observe = Callable[[Snapshot], dict[str, FloatArray]]


class OutputError(ValueError):
    """The output cannot be written where the user wants it."""


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
        _replace(path, None, lambda file: run_file.create(file, attributes, growth_rates))

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

        _replace(path, path, write)
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


def _replace(path: Path, source: Path | None, write: Callable[[Any], None]) -> None:
    """Write a new version of a file beside it and rename it onto the file."""
    import h5py

    partial = path.with_name(path.name + ".partial")
    try:
        if source is None:
            partial.unlink(missing_ok=True)
        else:
            shutil.copyfile(source, partial)
        with h5py.File(partial, "a") as file:
            write(file)
            file.flush()
        descriptor = os.open(partial, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(partial, path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise OutputError(f"{path} cannot be written: {error.strerror or error}.") from None


@contextmanager
def writer_lock(path: Path) -> Iterator[None]:
    """Hold the right to write a run file; a second process is refused.

    Raises
    ------
    OutputError
        If another process writes the file, or the folder cannot be written.
    """
    try:
        import fcntl
    except ImportError:  # not on Windows
        yield
        return
    lock = path.with_name(path.name + ".lock")
    try:
        descriptor = os.open(lock, os.O_CREAT | os.O_RDWR, 0o644)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}.") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise OutputError(f"{path} is being written by another process.") from None
        yield
        lock.unlink(missing_ok=True)
    finally:
        os.close(descriptor)
