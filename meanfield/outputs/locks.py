"""One process at a time writes a file.

The right is a lock of the system (flock) on an empty file beside it, `.NAME.meanfield-lock`. The
system takes the lock back when its owner dies, however it does; the empty file then stays until
the next writer, who takes it over and removes it with what else was left behind
(`files/replacing.py`).
"""

from __future__ import annotations

import errno
import importlib.util
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from meanfield.files.replacing import OutputError, clear_away, companion, not_written
from meanfield.outputs.output_file import OutputFile
from meanfield.outputs.recognised import check_results


@contextmanager
def writer_lock(path: Path) -> Iterator[OutputFile]:
    """Hold the right to write a file; a second process is refused.

    What a writer that was killed has left beside the file is removed.

    Yields
    ------
    OutputFile
        The file as it was found: whoever replaces it through this notices another in its place.

    Raises
    ------
    OutputError
        If another process writes the file, or the folder cannot be written.
    """
    if importlib.util.find_spec("fcntl") is None:  # not on Windows
        yield OutputFile(path)
        return
    # One file has one lock, whatever the way to it.
    target = Path(os.path.realpath(path))
    lock = companion(target, "lock")
    descriptor = _locked(target, lock)
    try:
        clear_away(target)
        yield OutputFile(path)
    finally:
        with suppress(OSError):
            lock.unlink(missing_ok=True)
        os.close(descriptor)


def check_welcome(path: Path, *, resume: bool, overwrite: bool) -> None:
    """Refuse a file that is neither to be continued nor to be replaced, or must not be.

    Raises
    ------
    OutputError
        If there is one, and nothing was said of it; or if it is no result of ours to replace.
    """
    if path.exists() and not (resume or overwrite):
        raise OutputError(f"{path} exists: use --overwrite to replace it or --resume to go on.")
    if overwrite:
        check_results(path)


def _locked(path: Path, lock: Path) -> int:
    import fcntl

    while True:
        try:
            # No link is followed: it would make a file wherever it points to.
            descriptor = os.open(lock, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o644)
        except OSError as error:
            reason = error.strerror or str(error)
            if error.errno in (errno.ELOOP, errno.EISDIR):
                reason = f"its lock {lock.name} is no file. Delete it"
            raise OutputError(not_written(path, reason)) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise OutputError(f"{path} is being written by another process.") from None
        except OSError:
            # A file system without locks: nothing to hold.
            return descriptor
        with suppress(FileNotFoundError):
            found = os.stat(lock, follow_symlinks=False)
            if os.path.samestat(os.fstat(descriptor), found) and stat.S_ISREG(found.st_mode):
                return descriptor
        # Its owner removed the file while we opened it: another process may hold a new one.
        os.close(descriptor)
