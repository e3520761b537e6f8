"""A checksum over a whole file, appended to it: HDF5 neither minds it nor loses data for it.

HDF5 does not notice most damage, and some makes it crash. The seal is a line after the end of what
HDF5 calls the file:

    meanfield crc32 89abcdef

Its CRC-32 takes the flags of the superblock that say "open for writing" for 0: a program that opens
the file so and is killed leaves them set, and changes nothing else.

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
SIGNATURE = b"\x89HDF\r\n\x1a\n"
"""How every HDF5 file begins."""

# Version of the superblock -> where it tells the address of the file's end (8 bytes; HDF5 file
# format specification, II.A). Such as h5py writes them, with addresses of 8 bytes.
_END_ADDRESSES = {0: 40, 1: 44, 2: 28, 3: 28}
# Where those of versions 0 and 1 have their flags. Later ones have a checksum over theirs.
_FLAGS = slice(20, 24)


def seal(path: Path) -> None:
    """Append the checksum of all that a file holds."""
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        checksum = _checksum(file, size)
        file.seek(size)
        file.write(_MARK + b"%08x\n" % checksum)


def seal_of(path: str | os.PathLike[str]) -> bytes:
    """Seal of a file, which need not fit it; empty if it has none."""
    with open(path, "rb") as file:
        file.seek(max(file.seek(0, os.SEEK_END) - _LENGTH, 0))
        found = file.read(_LENGTH)
    return found if found.startswith(_MARK) else b""


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
