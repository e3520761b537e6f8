"""Files that are whole at every instant, and that one process at a time writes.

A new version is written to a copy, which is flushed to the disk and then renamed onto the file:
whoever reads it, or kills this process, finds either the old file or the new one.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

# Checksums over all structures of the file: damage is noticed, not decoded. HDF5 1.10 or newer
# reads it.
_LIBRARY = ("v110", "v110")


class OutputError(ValueError):
    """The output cannot be written where the user wants it."""


def replace_file(path: Path, source: Path | None, write: Callable[[Any], None]) -> None:
    """Write a new version of an HDF5 file beside it and rename it onto the file.

    Parameters
    ----------
    path : Path
        The file.
    source : Path or None
        What the new version begins as a copy of; None begins with an empty file.
    write : callable (h5py.File) -> None
        Writes into the new version.

    Raises
    ------
    OutputError
        If it cannot be written; the old file is then untouched.
    """
    import h5py

    partial = path.with_name(path.name + ".partial")
    with uninterrupted():
        try:
            if source is None:
                partial.unlink(missing_ok=True)
            else:
                shutil.copyfile(source, partial)
            with h5py.File(partial, "a", libver=_LIBRARY) as file:
                write(file)
                file.flush()
            _synchronize(partial)
            os.replace(partial, path)
        except (OSError, RuntimeError) as error:
            # HDF5 reports a full disk as the one or the other, and at length.
            with suppress(OSError):
                partial.unlink(missing_ok=True)
            raise OutputError(f"{path} cannot be written: {_reason(error)}.") from None


def _synchronize(path: Path) -> None:
    """Wait until a file is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _reason(error: Exception) -> str:
    found = re.search(r"errno = (\d+)", str(error))
    if found is not None:
        return os.strerror(int(found[1]))
    return str(getattr(error, "strerror", None) or error)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back SIGINT, SIGTERM and SIGHUP until the block is done."""
    if threading.current_thread() is not threading.main_thread():
        # Python delivers signals to the main thread only.
        yield
        return
    held: list[tuple[int, FrameType | None]] = []
    handlers = {}
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and callable(signal.getsignal(number)):
            handlers[number] = signal.signal(number, lambda n, frame: held.append((n, frame)))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number, frame in held:
            handlers[signal.Signals(number)](number, frame)  # type: ignore[operator, misc]


@contextmanager
def writer_lock(path: Path) -> Iterator[None]:
    """Hold the right to write a run file; a second process is refused.

    Raises
    ------
    OutputError
        If another process writes the file, or the folder cannot be written.
    """
    if importlib.util.find_spec("fcntl") is None:  # not on Windows
        yield
        return
    lock = path.with_name(path.name + ".lock")
    descriptor = _locked(path, lock)
    try:
        yield
    finally:
        with suppress(OSError):
            lock.unlink(missing_ok=True)
        os.close(descriptor)


def _locked(path: Path, lock: Path) -> int:
    import fcntl

    while True:
        try:
            descriptor = os.open(lock, os.O_CREAT | os.O_RDWR, 0o644)
        except OSError as error:
            raise OutputError(f"{path} cannot be written: {error.strerror}.") from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise OutputError(f"{path} is being written by another process.") from None
        except OSError:
            # A file system without locks: nothing to hold.
            return descriptor
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), os.stat(lock)):
                return descriptor
        # Its owner removed the file while we opened it: another process may hold a new one.
        os.close(descriptor)
