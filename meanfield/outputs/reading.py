"""Open HDF5 files to read: whatever is wrong with them becomes one line."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from meanfield.outputs.bounds import check_bounded
from meanfield.outputs.layout import checked_attribute
from meanfield.outputs.seal import is_broken

if TYPE_CHECKING:
    import h5py

ADVICE = "Restore a copy, or make it anew."
"""What to do with a damaged file."""


class FormatError(ValueError):
    """A file that is not there, of another kind, or damaged, as one line."""

    def __init__(self, message: str) -> None:
        """Make one line of the message, whatever of the file it quotes."""
        line = " ".join(message.split())
        super().__init__(line if line.isprintable() else ascii(line)[1:-1])


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[h5py.File]:
    """HDF5 file, open for reading inside the block.

    Raises
    ------
    FormatError
        If there is no such file, it is not HDF5, it has changed since it was sealed, it leads
        elsewhere or claims more than it can hold, or anything fails in the block: a file that
        does not hold what its reader expects is damaged.

    Examples
    --------
    >>> with opened("nothing.h5") as file:
    ...     pass
    Traceback (most recent call last):
    ...
    meanfield.outputs.reading.FormatError: nothing.h5: no such file.
    """
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
        raise FormatError(f"{name} is not a readable HDF5 file. {ADVICE}") from None
    with file, damage_told(name):
        check_bounded(file)
        yield file


@contextmanager
def damage_told(path: str | os.PathLike[str]) -> Iterator[None]:
    """Block in which whatever fails is the fault of a damaged file.

    Raises
    ------
    FormatError
        Naming the file, and the reason as far as it says anything.
    """
    try:
        yield
    except FormatError:
        raise
    except MemoryError:
        line = f"{os.fspath(path)} takes more memory to read than there is."
        raise FormatError(line) from None
    except Exception as error:
        # Damage shows as almost any error: the bytes may say anything.
        told = isinstance(error, OSError | ValueError | KeyError)
        reason = f": {error}".rstrip(".") if told else ""
        raise FormatError(f"{os.fspath(path)} is damaged{reason}. {ADVICE}") from None


def check_whole(path: str | os.PathLike[str]) -> None:
    """Refuse what is no file, or one that has changed since it was sealed.

    Raises
    ------
    FormatError
        With what it is, and what to do.
    """
    name = os.fspath(path)
    try:
        # A pipe or a device would make us wait, or never end.
        if not stat.S_ISREG(os.stat(name).st_mode):
            raise FormatError(f"{name}: no such file, but a folder or a device.")
        # Before HDF5 sees it: some damage makes it crash.
        broken = is_broken(name)
    except (FileNotFoundError, NotADirectoryError):
        raise FormatError(f"{name}: no such file.") from None
    except OSError as error:
        raise FormatError(f"{name} cannot be read: {error.strerror or error}.") from None
    if broken:
        raise FormatError(f"{name} is damaged: its checksum does not fit. {ADVICE}")


def plain_attributes(item: Any, *required: str) -> dict[str, Any]:
    """Attributes of an open file or group as Python's own numbers and texts.

    Raises
    ------
    ValueError
        If one of the `required` is missing, or any is of another kind than it should be.
    """
    found = {name: checked_attribute(name, value) for name, value in item.attrs.items()}
    for name in required:
        if name not in found:
            raise ValueError(f"attribute {name} is missing")
    return found
