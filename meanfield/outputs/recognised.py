"""Whether a file that is there may be replaced: only what this package, or a figure, can be.

Results are recognised by their seal, or as HDF5 that names the version of meanfield, so that a
damaged file can be made anew, too; figures by how files of their ending begin. HDF5 is not asked:
some damage makes it crash.
"""

from __future__ import annotations

import mmap
import os
import stat
from pathlib import Path

from meanfield.files.replacing import OutputError, not_written
from meanfield.outputs.seal import SIGNATURE, seal_of

_NAMED = b"meanfield_version"
# Ending -> where files of that kind tell what they are, and their words for it.
_FIGURES: dict[str, tuple[int, tuple[bytes, ...]]] = {
    ".png": (0, (b"\x89PNG",)),
    ".pdf": (0, (b"%PDF",)),
    ".svg": (0, (b"<?xml", b"<svg")),
    ".gif": (0, (b"GIF8",)),
    ".mp4": (4, (b"ftyp",)),
}


def check_results(path: Path) -> None:
    """Refuse to replace a file that holds no results of meanfield.

    Raises
    ------
    OutputError
        If there is one, and it is not empty.
    """
    if _holds_something(path) and not _are_results(path):
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
            if not file.read(8).startswith(words):
                raise OutputError(
                    f"{path} holds something else than a figure and is not replaced. Delete it, "
                    "or choose another file."
                )


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


def _are_results(path: Path) -> bool:
    if seal_of(path):
        return True
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
    ):
        return content[: len(SIGNATURE)] == SIGNATURE and content.find(_NAMED) >= 0
