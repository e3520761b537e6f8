"""Open HDF5 files to read: whatever is wrong with them becomes one line.

What a file claims is asked before anything in it is opened or read. A link may lead to a device
that is waited for, or to numbers that no checksum covers; chunks that were never written take
nothing on the disk and all memory when they are read. A file that is opened here leads nowhere
else, and what it holds is at most some hundred times its own size.
"""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from meanfield.store.layout import ForeignError, checked_attribute
from meanfield.store.output_file import is_broken

if TYPE_CHECKING:
    import h5py


ADVICE = "Restore a copy, or make it anew."
"""What to do with a damaged file."""
# A run has about a hundred names; the rest is for what other programs add.
_MOST_NAMES = 5000
_LONGEST_NAME = 255
EXPANSION = 1032
"""Bytes that Deflate makes of one, at most (zlib, technical details)."""

# Bytes of gaps: rows of a series of a million saved times that were never written, in one dataset
# and in all of them.
_GAPS, _ALL_GAPS = 2**24, 2**28


class FormatError(ValueError):
    """A file that is not there, of another kind, or damaged, as one line."""

    def __init__(self, message: str) -> None:
        line = " ".join(message.split())
        super().__init__(line if line.isprintable() else ascii(line)[1:-1])


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[h5py.File]:
    """HDF5 file, open for reading inside the block."""
    import h5py

    name = os.fspath(path)
    check_whole(name)
    try:
        file = h5py.File(name, "r")
    except BlockingIOError:
        raise FormatError(
            f"{name} is open for writing in another program. Close it there."
        ) from None
    except Exception:
        # h5py passes on whatever HDF5 stumbled over.
        raise FormatError(f"{name} is not a readable HDF5 file{_what_else(name)}") from None
    with file, damage_message(name):
        check_bounded(file)
        yield file


# First bytes of what is given instead of a file of results, and what it is.
_OTHERS = {
    b"\x89PNG": "a figure",
    b"%PDF": "a figure",
    b"<?xml": "a figure",
    b"GIF8": "a film",
    b"\x93NUMPY": "an array of NumPy, as tokens are kept",
    b"PK\x03\x04": "an archive, as NumPy's .npz",
}


def _what_else(name: str) -> str:
    """Kind of a file that is not HDF5, by its name and first bytes, and the remedy."""
    if name.endswith(".toml"):
        return f", but a run file: make its results with meanfield run {name}."
    with open(name, "rb") as file:
        begin = file.read(8)
    for signature, kind in _OTHERS.items():
        if begin.startswith(signature):
            return f", but {kind}. Expected what meanfield run, compare, ensemble or diagram wrote."
    return f". {ADVICE}"


@contextmanager
def damage_message(path: str | os.PathLike[str]) -> Iterator[None]:
    """Block in which whatever fails is the fault of a damaged file."""
    try:
        yield
    except FormatError:
        raise
    except ForeignError as error:
        raise FormatError(f"{os.fspath(path)}: {error}.") from None
    except MemoryError:
        line = f"{os.fspath(path)} takes more memory to read than there is."
        raise FormatError(line) from None
    except Exception as error:
        # Damage shows as almost any error: the bytes may say anything.
        is_damage = isinstance(error, OSError | ValueError | KeyError)
        reason = f": {error}".rstrip(".") if is_damage else ""
        raise FormatError(f"{os.fspath(path)} is damaged{reason}. {ADVICE}") from None


def check_whole(path: str | os.PathLike[str]) -> None:
    """Refuse what is no file, or one that has changed since it was sealed."""
    name = os.fspath(path)
    try:
        # A pipe or a device would make us wait, or never end.
        if not stat.S_ISREG(os.stat(name).st_mode):
            raise FormatError(f"{name} is a folder or a device, expected a file.")
        # Before HDF5 sees it: some damage makes it crash.
        broken = is_broken(name)
    except (FileNotFoundError, NotADirectoryError):
        raise FormatError(f"{name}: no such file.") from None
    except OSError as error:
        raise FormatError(f"{name} cannot be read: {error.strerror or error}.") from None
    if broken:
        raise FormatError(f"{name} is damaged: its checksum does not fit. {ADVICE}")


def plain_attributes(item: Any, *required: str) -> dict[str, Any]:
    """Attributes of an open file or group as Python's own numbers and texts."""
    attributes = {name: checked_attribute(name, value) for name, value in item.attrs.items()}
    for name in required:
        if name not in attributes:
            raise ValueError(f"attribute {name} is missing")
    return attributes


def check_bounded(file: h5py.File) -> None:
    """Refuse an open file that leads elsewhere, or claims more than it can hold."""
    links: list[tuple[str, Any]] = []

    def visit(name: str, link: Any) -> bool | None:
        links.append((name, link))
        return True if len(links) > _MOST_NAMES else None

    # Links are not opened by it, and those of a ring are visited once.
    if file.visititems_links(visit):
        raise ValueError(f"there are more than {_MOST_NAMES} names in it")
    gaps = 0
    for name, link in links:
        if not name.isprintable() or len(name.rpartition("/")[2]) > _LONGEST_NAME:
            raise ValueError(f"{ascii(name[:60])} is no name")
        # Soft and external links have classes of other names.
        if type(link).__name__ != "HardLink":
            raise ValueError(f"{name} is a link, which is not followed")
        gap = _gap(file, name)
        gaps += gap
        if gap > _GAPS or gaps > _ALL_GAPS:
            raise ValueError(f"{name} claims more than the file can hold")


def _gap(file: h5py.File, name: str) -> int:
    """Bytes that a dataset claims beyond what its part of the file can hold."""
    from h5py import h5d, h5o

    item = h5o.open(file.id, name.encode("utf-8", "surrogateescape"))
    if not isinstance(item, h5d.DatasetID):
        return 0
    properties = item.get_create_plist()
    if properties.get_layout() == h5d.VIRTUAL or properties.get_external_count():
        raise ValueError(f"{name} lies in another file")
    size = item.get_type().get_size()
    # Not HDF5's own product, which may overflow; nothing (h5py.Empty) has no shape.
    claimed: int = size * math.prod(item.shape or ())
    if properties.get_layout() == h5d.CHUNKED:
        # One that is larger than the dataset is read as a whole.
        claimed = max(claimed, math.prod(properties.get_chunk()) * size)
    return max(claimed - EXPANSION * int(item.get_storage_size()), 0)
