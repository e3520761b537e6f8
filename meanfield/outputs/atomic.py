"""Files that are whole at every instant, and that one process at a time writes.

A new version is written to a copy, which is flushed to the disk and then renamed onto the file:
whoever reads it, or kills this process, finds either the old file or the new one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


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
