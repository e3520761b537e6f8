"""A checksum over a whole file, appended to it: HDF5 neither minds it nor loses data for it.

HDF5 does not notice most damage, and some makes it crash. The seal is a line after the end of what
HDF5 calls the file:

    meanfield crc32 89abcdef

Another program that writes into the file removes it; the file is then taken as it is.
"""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import BinaryIO

_MARK = b"\nmeanfield crc32 "
_LENGTH = len(_MARK) + 9
_BLOCK = 2**20


def seal(path: Path) -> None:
    """Append the checksum of all that a file holds."""
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        checksum = _checksum(file, size)
        file.seek(size)
        file.write(_MARK + b"%08x\n" % checksum)


def is_broken(path: str | os.PathLike[str]) -> bool:
    """Whether a file has a seal that does not fit it."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END) - _LENGTH
        if size < 0:
            return False
        file.seek(size)
        found = file.read(_LENGTH)
        return found.startswith(_MARK) and found[len(_MARK) :] != b"%08x\n" % _checksum(file, size)


def _checksum(file: BinaryIO, size: int) -> int:
    checksum, left = 0, size
    file.seek(0)
    while left > 0 and (block := file.read(min(left, _BLOCK))):
        checksum, left = zlib.crc32(block, checksum), left - len(block)
    return checksum
