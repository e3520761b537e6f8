"""Locks: one writer per file. Only files written by meanfield are replaced.

The lock is the system's (flock), on an empty file beside the output, `.NAME.meanfield-lock`. The
system frees the lock when its owner dies. The empty file then stays until the next writer, which
removes it with other leftovers (`files/replacing.py`).

A file of this package may be replaced. Results have a seal, or are HDF5 with the version of
meanfield, so a damaged file can be replaced, too. Figures have the first bytes of their format.
The HDF5 library is not used here: some damage makes it crash.
"""

from __future__ import annotations

import errno
import importlib.util
import mmap
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from meanfield.files.replacing import (
    OutputError,
    clear_away,
    companion,
    not_written,
    replace_bytes,
)
from meanfield.store.output_file import SIGNATURE, OutputFile, seal_of

_NAMED = b"meanfield_version"
_NO_LOCK = "its lock {} is not a regular file. Delete it"
# Ending -> where files of that kind tell what they are, and their words for it.
_FIGURES: dict[str, tuple[int, tuple[bytes, ...]]] = {
    ".png": (0, (b"\x89PNG",)),
    ".pdf": (0, (b"%PDF",)),
    ".svg": (0, (b"<?xml", b"<svg")),
    ".gif": (0, (b"GIF8",)),
    ".mp4": (4, (b"ftyp",)),
    ".html": (0, (b"<!doctype html><!-- meanfield ",)),
    ".json": (0, (b'{"kind": "diagnosis"',)),
}


@contextmanager
def writer_lock(path: Path) -> Iterator[OutputFile]:
    """Hold the right to write a file; a second process is refused.

    What a writer that was killed has left beside the file is removed.

    Yields the file as it was found: whoever replaces it through this notices another in its place.
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
    """Refuse a file that is neither to be continued nor to be replaced, or must not be."""
    if not resume:
        check_results(path)
    if path.exists() and not (resume or overwrite):
        raise OutputError(f"{path} exists: use --overwrite to replace it or --resume to go on.")


@contextmanager
def output_lock(
    path: Path, *, resume: bool = False, overwrite: bool = False
) -> Iterator[OutputFile]:
    """Hold the right to write a file: new, continued, or replaced once a result has begun."""
    with writer_lock(path) as output:
        check_welcome(path, resume=resume, overwrite=overwrite)
        output.earlier = overwrite and output.size > 0
        yield output


@contextmanager
def replaced_at_once(path: Path, *, overwrite: bool) -> Iterator[OutputFile]:
    """Hold the right to write a file that a result in Python is saved to."""
    if path.exists() and not overwrite:
        raise OutputError(f"{path} exists: use overwrite=True to replace it.")
    with output_lock(path, overwrite=overwrite) as output:
        yield output


def _locked(path: Path, lock: Path) -> int:
    import fcntl

    while True:
        try:
            # No link is followed: it would make a file wherever it points to. A pipe is not
            # waited for.
            flags = os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK
            descriptor = os.open(lock, flags, 0o644)
        except OSError as error:
            reason = error.strerror or str(error)
            # A link, a folder, a socket.
            if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
                reason = _NO_LOCK.format(lock.name)
            raise OutputError(not_written(path, reason)) from None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OutputError(not_written(path, _NO_LOCK.format(lock.name)))
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise OutputError(f"{path} is being written by another process.") from None
        except OSError:
            # A file system without locks: nothing to hold.
            return descriptor
        with suppress(FileNotFoundError):
            state = os.stat(lock, follow_symlinks=False)
            if os.path.samestat(os.fstat(descriptor), state):
                return descriptor
        # Its owner removed the file while we opened it: another process may hold a new one.
        os.close(descriptor)


def check_results(path: Path) -> None:
    """Refuse to replace a file that holds no results of meanfield."""
    if _holds_something(path) and not holds_results(path):
        raise OutputError(
            f"{path} was not written by meanfield and is not replaced. Delete it, or choose "
            "another file."
        )


def check_own(path: Path, beginning: bytes, command: str) -> None:
    """Refuse a link or other programs' content where a command writes in its own folder."""
    if path.is_symlink():
        raise OutputError(f"{path} is a link, which is not followed. Delete it.")
    if not path.exists():
        return
    if path.is_file():
        with path.open("rb") as file:
            if file.read(len(beginning)) in (beginning, b""):
                return
    raise OutputError(
        f"{path} was not written by {command} and is not replaced. Delete it, or choose another "
        "folder."
    )


def check_figure_place(path: Path) -> None:
    """Refuse to replace a file that is no figure of the kind that its ending says."""
    place, words = _FIGURES[path.suffix.lower()]
    if _holds_something(path):
        with path.open("rb") as file:
            file.seek(place)
            if not file.read(64).startswith(words):
                raise OutputError(
                    f"{path} holds something else than a figure and is not replaced. Delete it, "
                    "or choose another file."
                )


def replace_figure(path: Path, content: bytes) -> None:
    """Write a figure, or a view, whole or not at all, in place of one of its kind or nothing."""
    with writer_lock(path):
        check_figure_place(path)
        replace_bytes(path, content)


def _holds_something(path: Path) -> bool:
    """True if a path is a regular file that is not empty."""
    try:
        state = os.stat(path)
    except OSError:
        # The writer will report the error.
        return False
    if not os.access(path, os.R_OK):
        raise OutputError(not_written(path, "what is there cannot be read"))
    return stat.S_ISREG(state.st_mode) and state.st_size > 0


def holds_results(path: Path) -> bool:
    """True if meanfield wrote a file, by its seal or its first bytes."""
    if not _holds_something(path):
        return False
    if seal_of(path):
        return True
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
    ):
        return content[: len(SIGNATURE)] == SIGNATURE and content.find(_NAMED) >= 0
