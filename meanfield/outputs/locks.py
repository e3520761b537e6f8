"""Who may write a file: one process at a time, in place of what this package can have written.

The right is a lock of the system (flock) on an empty file beside it, `.NAME.meanfield-lock`. The
system takes the lock back when its owner dies, however it does; the empty file then stays until
the next writer, who takes it over and removes it with what else was left behind
(`files/replacing.py`).

What is there may be replaced if it can be ours. Results are recognised by their seal, or as HDF5
that names the version of meanfield, so that a damaged file can be made anew, too; figures by how
files of their ending begin. HDF5 is not asked: some damage makes it crash.
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
from meanfield.outputs.output_file import SIGNATURE, OutputFile, seal_of

_NAMED = b"meanfield_version"
# Ending -> where files of that kind tell what they are, and their words for it.
_FIGURES: dict[str, tuple[int, tuple[bytes, ...]]] = {
    ".png": (0, (b"\x89PNG",)),
    ".pdf": (0, (b"%PDF",)),
    ".svg": (0, (b"<?xml", b"<svg")),
    ".gif": (0, (b"GIF8",)),
    ".mp4": (4, (b"ftyp",)),
    ".html": (0, (b"<!doctype html><!-- meanfield view",)),
}


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
    if not resume:
        check_results(path)
    if path.exists() and not (resume or overwrite):
        raise OutputError(f"{path} exists: use --overwrite to replace it or --resume to go on.")


@contextmanager
def replaced_at_once(path: Path, *, overwrite: bool) -> Iterator[OutputFile]:
    """Hold a file that a result in Python is saved to, in place of what was there if told so.

    Raises
    ------
    OutputError
        As `writer_lock` and `check_welcome`.
    """
    if path.exists() and not overwrite:
        raise OutputError(f"{path} exists: use overwrite=True to replace it.")
    with writer_lock(path) as output:
        check_welcome(path, resume=False, overwrite=overwrite)
        yield output


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


def check_results(path: Path) -> None:
    """Refuse to replace a file that holds no results of meanfield.

    Raises
    ------
    OutputError
        If there is one, and it is not empty.
    """
    if _holds_something(path) and not holds_results(path):
        raise OutputError(
            f"{path} was not written by meanfield and is not replaced. Delete it, or choose "
            "another file."
        )


def check_figure_place(path: Path) -> None:
    """Refuse to replace a file that is no figure of the kind that its ending says.

    Raises
    ------
    OutputError
        If there is one, and it is not empty.
    """
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
    """Write a figure, or a view, whole or not at all, in place of one of its kind or nothing.

    Raises
    ------
    OutputError
        If another process writes there, it cannot be written, or something else is there.
    """
    with writer_lock(path):
        check_figure_place(path)
        replace_bytes(path, content)


def _holds_something(path: Path) -> bool:
    """Whether there is a regular file that is not empty."""
    try:
        found = os.stat(path)
    except OSError:
        # Whatever is wrong, whoever writes there will be told.
        return False
    if not os.access(path, os.R_OK):
        raise OutputError(not_written(path, "what is there cannot be read"))
    return stat.S_ISREG(found.st_mode) and found.st_size > 0


def holds_results(path: Path) -> bool:
    """Whether a file was written by meanfield, as far as it tells."""
    if not _holds_something(path):
        return False
    if seal_of(path):
        return True
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
    ):
        return content[: len(SIGNATURE)] == SIGNATURE and content.find(_NAMED) >= 0
