"""Open HDF5 files to read: whatever is wrong with them becomes one line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from meanfield.outputs.seal import is_broken

if TYPE_CHECKING:
    import h5py


class FormatError(ValueError):
    """A file that is not there, of another kind, or damaged."""


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[h5py.File]:
    """HDF5 file, open for reading inside the block.

    Raises
    ------
    FormatError
        If there is no such file, it is not HDF5, it has changed since it was sealed, or anything
        fails in the block: a file that does not hold what its reader expects is damaged.

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
    if not os.path.isfile(name):
        raise FormatError(f"{name}: no such file.")
    # Before HDF5 sees it: some damage makes it crash.
    if is_broken(name):
        raise FormatError(f"{name} is damaged: its checksum does not fit.")
    try:
        file = h5py.File(name, "r")
    except Exception:
        # h5py passes on whatever HDF5 stumbled over.
        raise FormatError(f"{name} is not a readable HDF5 file.") from None
    try:
        with file:
            yield file
    except FormatError:
        raise
    except Exception as error:
        # Damage shows as almost any error: the bytes may say anything.
        told = isinstance(error, OSError | ValueError | KeyError)
        reason = f": {' '.join(str(error).split())}" if told else ""
        raise FormatError(f"{name} is damaged{reason}.") from None


def plain_attributes(file: h5py.File) -> dict[str, Any]:
    """Attributes of a file as Python's own numbers and texts."""
    return {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in file.attrs.items()
    }
