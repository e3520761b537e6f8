"""Output files: one writer at a time, replaced as a whole, sealed, and recognised each time.

The lock is the system's (flock), on an empty file beside the output, `.NAME.meanfield-lock`. The
system frees the lock when its owner dies. The empty file then stays until the next writer, which
removes it with other leftovers (`files.py`).

Only files written by meanfield are replaced. Results have a seal, or are HDF5 with the version of
meanfield, so a damaged file can be replaced, too. Figures have the first bytes of their format.
These checks do not use HDF5, because some damage makes it crash.

HDF5 does not survive errors of the disk: it crashes at its end, or loses data when a dataset is
closed, and the seal would cover an incomplete file. So disk space is reserved before HDF5 writes,
and errors are raised after it has closed the file.

HDF5 does not notice most damage. So a seal follows the end of its data, which HDF5 ignores:

    meanfield crc32 89abcdef

The CRC-32 takes the flags "open for writing" of the superblock for 0: a killed program leaves them
set, and changes nothing else. Another program that writes into the file removes the seal. A file
without a seal is accepted if it ends where its superblock says; otherwise it was cut, or has lost
its last block.
"""

from __future__ import annotations

import errno
import importlib.util
import mmap
import os
import shutil
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO

from meanfield.files import (
    OutputError,
    clear_away,
    companion,
    not_written,
    replace_bytes,
    replacing,
    uninterrupted,
)

_NAMED = b"meanfield_version"
_NO_LOCK = "its lock {} is not a regular file. Delete it"
# Ending -> position of the bytes that identify the format, and their values.
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
    """Lock a file for writing and yield it; a second process is refused.

    Files that a killed writer has left beside it are removed.
    """
    if importlib.util.find_spec("fcntl") is None:  # not on Windows
        yield OutputFile(path)
        return
    # One file has one lock, whatever links lead to it.
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
    """Refuse a file that exists, unless it may be continued or replaced."""
    if not resume:
        check_results(path)
    if path.exists() and not (resume or overwrite):
        raise OutputError(f"{path} exists: use --overwrite to replace it or --resume to go on.")


@contextmanager
def output_lock(
    path: Path, *, resume: bool = False, overwrite: bool = False
) -> Iterator[OutputFile]:
    """Lock a file that is new, continued, or replaced once a result has begun."""
    with writer_lock(path) as output:
        check_welcome(path, resume=resume, overwrite=overwrite)
        output.earlier = overwrite and output.size > 0
        yield output


@contextmanager
def replaced_at_once(path: Path, *, overwrite: bool) -> Iterator[OutputFile]:
    """Lock a file to which a result in Python is saved."""
    if path.exists() and not overwrite:
        raise OutputError(f"{path} exists: use overwrite=True to replace it.")
    with output_lock(path, overwrite=overwrite) as output:
        yield output


def _locked(path: Path, lock: Path) -> int:
    import fcntl

    while True:
        try:
            # No link is followed: it would make a file at its target. A pipe does not block.
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
    """Refuse a link, or a file of another program, in a folder that a command writes."""
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
    """Write a figure or a view at once; only a file of the same format is replaced."""
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
    """True if meanfield wrote a file: it has a seal, or is HDF5 and names `meanfield_version`."""
    if not _holds_something(path):
        return False
    if seal_of(path):
        return True
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
    ):
        return content[: len(SIGNATURE)] == SIGNATURE and content.find(_NAMED) >= 0


# Room for what HDF5 adds to the data: structures, and chunks that are not yet full.
_MARGIN = 2**22

FLUSH_SECONDS = 1.0
"""Least time between two flushes; each costs some milliseconds, so about one per cent."""


class LostOutputError(OutputError):
    """The output is no longer the file that this process wrote."""


class OutputFile:
    """A file that this process replaces again and again, and recognises each time.

    It is the same file while device, inode, size and time of the last change are the same. A copy
    that replaces it counts as the same if its seal is the same.

    - path: the file, or its future place; a file that exists now is accepted.
    - earlier: True if the file holds an earlier result, which stays until the new one has begun:
      a run has a row beyond its start, a study its first result.
    - versions: number of times that it was replaced.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.earlier = False
        self.versions = 0
        self._left = _identity(path)
        self._seal = b"" if self._left is None else seal_of(path)
        self._coming: OutputFile | None = None

    @property
    def size(self) -> int:
        """Bytes of the file, as of the last version that this process accepted."""
        return 0 if self._left is None else self._left[2]

    def expect(self, version: OutputFile) -> None:
        """Announce a version that will be renamed onto the file."""
        self._coming = version

    def settle(self) -> None:
        """Accept the announced version if it is in place: an error may have followed."""
        version = self._coming
        if version is not None and _identity(self.path) == version._left:
            self._left, self._seal, self._coming = version._left, version._seal, None
            self.earlier = False
            self.versions += 1

    def unchanged(self) -> bool:
        """True if the file is still the version that this process accepted last."""
        return self._left is not None and _identity(self.path) == self._left

    def check(self) -> None:
        """Raise `LostOutputError` if the file is gone, or another program has changed it."""
        self.settle()
        identity = _identity(self.path)
        if identity == self._left:
            return
        if identity is None:
            raise LostOutputError(f"{self.path} is gone: it was moved or deleted meanwhile.")
        if self._left is None:
            raise LostOutputError(
                f"{self.path} appeared meanwhile: another program made it, and it stays as it is."
            )
        same = self._seal and self._seal == seal_of(self.path) and identity[2] == self._left[2]
        if not same or is_broken(self.path):
            raise LostOutputError(
                f"{self.path} was changed or replaced by another program meanwhile, and stays as "
                "it is."
            )


def replace_file(
    file: Path | OutputFile, source: Path | None, write: Callable[[Any], None], room: int = 0
) -> None:
    """Write a new version of an HDF5 file beside it and rename it onto the file.

    file: an `OutputFile` is refused if another file took its place.
    source: file that the new version copies first; None begins with an empty file.
    room: bytes by which it may grow, beyond a few MiB.
    """
    output = file if isinstance(file, OutputFile) else OutputFile(file)
    with uninterrupted():
        with replacing(output.path, output.check) as partial:
            if source is not None:
                shutil.copyfile(source, partial)
            reserve(partial, partial.stat().st_size + _MARGIN + room)
            write_hdf5(partial, "w" if source is None else "r+", write)
            seal(partial)
            output.expect(OutputFile(partial))
        output.settle()


def replace_text(output: OutputFile, text: str) -> None:
    """Write a new version of a text and rename it onto the file; it has no seal."""
    with uninterrupted():
        with replacing(output.path, output.check) as partial:
            partial.write_text(text, encoding="utf-8")
            output.expect(OutputFile(partial))
        output.settle()


def _identity(path: Path) -> tuple[int, int, int, int] | None:
    """Identity of a file, which changes with its contents; None if it does not exist."""
    try:
        state = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            return None
        raise OutputError(not_written(path, error.strerror or str(error))) from None
    if not stat.S_ISREG(state.st_mode):
        return None
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns


def write_hdf5(path: Path, mode: str, write: Callable[[Any], None]) -> None:
    """Let HDF5 write a file; raise an error of the disk only after HDF5 has closed the file."""
    import h5py

    with path.open("w+b" if mode == "w" else "r+b", buffering=0) as raw:
        disk = _Disk(raw)
        try:
            with h5py.File(disk, mode) as file:
                write(file)
        finally:
            if disk.error is not None:
                raise disk.error from None


def reserve(path: Path, size: int) -> None:
    """Take disk space for a file, or fail before anything is written."""
    if not hasattr(os, "posix_fallocate"):  # not on macOS and Windows
        return
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):  # file systems that cannot
            raise
    finally:
        os.close(descriptor)


class _Disk:
    """File that accepts all writes of HDF5, and stores the first error of the real file."""

    def __init__(self, raw: FileIO) -> None:
        self._raw = raw
        self.error: Exception | None = None
        self.seek, self.tell, self.read, self.readinto = raw.seek, raw.tell, raw.read, raw.readinto

    def write(self, data: memoryview) -> int:
        try:
            left = data
            while left.nbytes:
                left = left[self._raw.write(left) :]
        except Exception as error:
            self.error = self.error or error
        return data.nbytes

    def truncate(self, size: int) -> int:
        try:
            self._raw.truncate(size)
        except Exception as error:
            self.error = self.error or error
        return size

    def flush(self) -> None: ...


_MARK = b"\nmeanfield crc32 "
_LENGTH = len(_MARK) + 9
_BLOCK = 2**20
SIGNATURE = b"\x89HDF\r\n\x1a\n"
"""How every HDF5 file begins."""

# Version of the superblock -> position of the address of the file's end (HDF5 file format
# specification, II.A), with addresses of 8 bytes, as h5py writes them.
_END_ADDRESSES = {0: 40, 1: 44, 2: 28, 3: 28}
# Position of the flags in versions 0 and 1. Later versions have a checksum over theirs.
_FLAGS = slice(20, 24)


def seal(path: Path) -> None:
    """Append the checksum of a file to it."""
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        checksum = _checksum(file, size)
        file.seek(size)
        file.write(_MARK + b"%08x\n" % checksum)


def seal_of(path: str | os.PathLike[str]) -> bytes:
    """Seal of a file, not compared with its contents; empty if it has none."""
    with open(path, "rb") as file:
        file.seek(max(file.seek(0, os.SEEK_END) - _LENGTH, 0))
        trailer = file.read(_LENGTH)
    return trailer if trailer.startswith(_MARK) else b""


def is_broken(path: str | os.PathLike[str]) -> bool:
    """True if the seal of a file does not fit, or a file without one ends at a wrong place."""
    with open(path, "rb") as file:
        whole = file.seek(0, os.SEEK_END)
        size = max(whole - _LENGTH, 0)
        file.seek(size)
        trailer = file.read(_LENGTH)
        if trailer.startswith(_MARK):
            return trailer[len(_MARK) :] != b"%08x\n" % _checksum(file, size)
        end = _end_of_content(file)
        return end is not None and end != whole


def _end_of_content(file: BinaryIO) -> int | None:
    """End of a file by its HDF5 superblock; None for files that are not HDF5."""
    file.seek(0)
    head = file.read(64)
    place = _END_ADDRESSES.get(head[8]) if head.startswith(SIGNATURE) and head[8:] else None
    return None if place is None else int.from_bytes(head[place : place + 8], "little")


def _checksum(file: BinaryIO, size: int) -> int:
    checksum, left = 0, size
    file.seek(0)
    while left > 0 and (block := file.read(min(left, _BLOCK))):
        if left == size and block.startswith(SIGNATURE) and block[8:9] in (b"\0", b"\1"):
            block = block[: _FLAGS.start] + bytes(4) + block[_FLAGS.stop :]
        checksum, left = zlib.crc32(block, checksum), left - len(block)
    return checksum
