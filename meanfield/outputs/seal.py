"""A checksum over a whole file, appended to it: HDF5 neither minds it nor loses data for it.

HDF5 does not notice most damage, and some makes it crash. The seal is a line after the end of what
HDF5 calls the file:

    meanfield crc32 89abcdef

Another program that writes into the file removes it; the file is then taken as it is, for it ends
where its superblock says. A file that goes on behind that and has no seal there, or that ends
before, is damaged: its last block was lost, or it was cut.
"""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import BinaryIO

_MARK = b"\nmeanfield crc32 "
_LENGTH = len(_MARK) + 9
_BLOCK = 2**20
_SIGNATURE = b"\x89HDF\r\n\x1a\n"
# Version of the superblock -> where it tells the address of the file's end (8 bytes; HDF5 file
# format specification, II.A). Such as h5py writes them, with addresses of 8 bytes.
_END_ADDRESSES = {0: 40, 1: 44, 2: 28, 3: 28}


def seal(path: Path) -> None:
    """Append the checksum of all that a file holds."""
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        checksum = _checksum(file, size)
        file.seek(size)
        file.write(_MARK + b"%08x\n" % checksum)


def is_broken(path: str | os.PathLike[str]) -> bool:
    """Whether a file has a seal that does not fit it, or has lost it with more than the seal."""
    with open(path, "rb") as file:
        whole = file.seek(0, os.SEEK_END)
        size = max(whole - _LENGTH, 0)
        file.seek(size)
        found = file.read(_LENGTH)
        if found.startswith(_MARK):
            return found[len(_MARK) :] != b"%08x\n" % _checksum(file, size)
        end = _end_of_content(file)
        return end is not None and end != whole


def _end_of_content(file: BinaryIO) -> int | None:
    """Where HDF5 says that its file ends; None if it does not look like one of HDF5's."""
    file.seek(0)
    head = file.read(64)
    place = _END_ADDRESSES.get(head[8]) if head.startswith(_SIGNATURE) and head[8:] else None
    return None if place is None else int.from_bytes(head[place : place + 8], "little")


def _checksum(file: BinaryIO, size: int) -> int:
    checksum, left = 0, size
    file.seek(0)
    while left > 0 and (block := file.read(min(left, _BLOCK))):
        checksum, left = zlib.crc32(block, checksum), left - len(block)
    return checksum
