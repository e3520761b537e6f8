"""Files that are whole at every instant, and that one process at a time writes.

A new version is written to a copy, which is sealed with a checksum, flushed to the disk and then
renamed onto the file: whoever reads it, or kills this process, finds either the old file or the
new one. The folder is flushed, too, so that a power cut does not bring the old one back.
"""

from __future__ import annotations

import errno
import importlib.util
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from types import FrameType
from typing import Any

from meanfield.outputs.seal import seal
from meanfield.outputs.status import not_written

# Room for what HDF5 adds to the data: structures, and chunks that are not yet full.
_MARGIN = 2**22


class OutputError(ValueError):
    """The output cannot be written where the user wants it."""


def replace_bytes(path: Path, content: bytes) -> None:
    """Write a file at once: a figure, a text.

    Raises
    ------
    OutputError
        If it cannot be written; what was there is then untouched.

    Examples
    --------
    >>> replace_bytes(Path("/nowhere/x.png"), b"")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    meanfield.outputs.atomic.OutputError: /nowhere/x.png cannot be written: No such file or ...
    """
    with _replacing(path) as partial:
        partial.write_bytes(content)


def replace_file(
    path: Path, source: Path | None, write: Callable[[Any], None], room: int = 0
) -> None:
    """Write a new version of an HDF5 file beside it and rename it onto the file.

    Parameters
    ----------
    path : Path
        The file.
    source : Path or None
        What the new version begins as a copy of; None begins with an empty file.
    write : callable (h5py.File) -> None
        Writes into the new version.
    room : int
        Bytes by which it may grow, beyond a few MiB.

    Raises
    ------
    OutputError
        If it cannot be written; the old file is then untouched.
    """
    with _replacing(path) as partial:
        if source is None:
            partial.unlink(missing_ok=True)
            _reserve(partial, _MARGIN + room)
            partial.unlink()
        else:
            shutil.copyfile(source, partial)
            _reserve(partial, partial.stat().st_size + _MARGIN + room)
        _write(partial, "w" if source is None else "r+", write)
        seal(partial)


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """Place for the new version of a file, which takes the old one's place after the block."""
    # A link stays a link: what it points to is replaced.
    # One to itself has no target: os.path.realpath leaves it, where Path.resolve would raise.
    target = Path(os.path.realpath(path))
    partial = _partial(target)
    with uninterrupted():
        try:
            # Renaming would put a file in place of a pipe or a device.
            if target.exists() and not target.is_file():
                raise FileExistsError(errno.EEXIST, "it is not a regular file")
            yield partial
            # In this order: a name would reach the disk before what it names.
            _synchronize(partial, os.O_RDWR)
            os.replace(partial, target)
            # What could be written is in its place, also where folders cannot be flushed.
            with suppress(OSError):
                _synchronize(target.parent, os.O_RDONLY)
        except OSError as error:
            raise OutputError(not_written(path, error.strerror or str(error))) from None
        finally:
            with suppress(OSError):
                partial.unlink(missing_ok=True)


def _partial(path: Path) -> Path:
    """Where the new version of a file grows."""
    return path.with_name(path.name + ".partial")


def _write(path: Path, mode: str, write: Callable[[Any], None]) -> None:
    """Let HDF5 write a file, and raise what the disk said against it only when HDF5 is done.

    HDF5 does not survive a disk that fails: it crashes at its end, or forgets what it could not
    write when a dataset was closed, and the file would be sealed with a hole in it.
    """
    import h5py

    with path.open("w+b" if mode == "w" else "r+b", buffering=0) as raw:
        disk = _Disk(raw)
        try:
            with h5py.File(disk, mode) as file:
                write(file)
        finally:
            if disk.error is not None:
                raise disk.error from None


class _Disk:
    """A file that takes all that HDF5 writes, and remembers the first error of the real one."""

    def __init__(self, raw: FileIO) -> None:
        self._raw = raw
        self.error: Exception | None = None
        self.seek, self.tell, self.read, self.readinto = raw.seek, raw.tell, raw.read, raw.readinto

    def write(self, data: memoryview) -> int:
        """Write all of it, or remember why not."""
        try:
            left = data
            while left.nbytes:
                left = left[self._raw.write(left) :]
        except Exception as error:
            self.error = self.error or error
        return data.nbytes

    def truncate(self, size: int) -> int:
        """Cut, or remember why not."""
        try:
            self._raw.truncate(size)
        except Exception as error:
            self.error = self.error or error
        return size

    def flush(self) -> None:
        """Nothing waits here."""


def _reserve(path: Path, size: int) -> None:
    """Take disk space for a file, or fail before anything is written."""
    if not hasattr(os, "posix_fallocate"):  # not on macOS and Windows
        path.touch()
        return
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):  # file systems that cannot
            raise
    finally:
        os.close(descriptor)


def _synchronize(path: Path, mode: int) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, mode)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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

    What a writer that was killed has left beside the file is removed.

    Raises
    ------
    OutputError
        If another process writes the file, or the folder cannot be written.
    """
    if importlib.util.find_spec("fcntl") is None:  # not on Windows
        yield
        return
    # One file has one lock, whatever the way to it.
    path = Path(os.path.realpath(path))
    lock = path.with_name(path.name + ".lock")
    descriptor = _locked(path, lock)
    try:
        with suppress(OSError):
            _partial(path).unlink(missing_ok=True)
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
            raise OutputError(not_written(path, error.strerror or str(error))) from None
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
