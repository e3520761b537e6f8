"""HDF5 on a disk that may be full or fail: room is taken before, errors are told after.

HDF5 does not survive a disk that fails: it crashes at its end, or forgets what it could not write
when a dataset was closed, and the file would be sealed with a hole in it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Any


def write_hdf5(path: Path, mode: str, write: Callable[[Any], None]) -> None:
    """Let HDF5 write a file, and raise what the disk said against it only when HDF5 is done.

    Parameters
    ----------
    path : Path
        The file, which is there.
    mode : str
        "w" begins anew, "r+" goes on.
    write : callable (h5py.File) -> None
        Writes into it.

    Raises
    ------
    OSError
        The first that the disk raised, whatever HDF5 made of it.
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
