"""Files that are whole at every instant: all output goes through this module.

A new version is written to a file of its own beside the old one, flushed to the disk and then
renamed onto it. A reader, or a killed process, meets either the old version or the new one. The
folder is flushed, too, so that a power cut does not restore the old one.

Temporary names, `.NAME.meanfield-DIGITS`, are random and never exist before: nothing is
overwritten through them. Only regular files are replaced.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from meanfield.files.signals import uninterrupted

NOT_WRITTEN = "cannot be written"
"""Words of every error that the disk is the reason of."""


class OutputError(ValueError):
    """The output cannot be written where the user wants it."""


def replace_bytes(path: Path, content: bytes) -> None:
    """Write a file at once: a figure, a text."""
    with uninterrupted(), replacing(path) as partial:
        partial.write_bytes(content)


@contextmanager
def replacing(path: Path, check: Callable[[], None] = lambda: None) -> Iterator[Path]:
    """Place for the new version of a file, which takes the old one's place after the block.

    path: the file. A link stays a link: what it points to is replaced.
    check: called before the block and again before the old version is replaced; raises if it must
    not be.

    Yields an empty file with a random name.
    """
    # A link to itself has no target: os.path.realpath leaves it, where Path.resolve would raise.
    target = Path(os.path.realpath(path))
    partial = companion(target, secrets.token_hex(8))
    created = False
    try:
        # Renaming would put a file in place of a pipe or a device.
        if target.exists() and not target.is_file():
            raise FileExistsError(errno.EEXIST, "it is not a regular file")
        check()
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666))
        created = True
        yield partial
        # In this order: a name would reach the disk before what it names.
        _synchronize(partial, os.O_RDWR)
        check()
        os.replace(partial, target)
        # What could be written is in its place, also where folders cannot be flushed.
        with suppress(OSError):
            _synchronize(target.parent, os.O_RDONLY)
    except OSError as error:
        raise OutputError(not_written(path, error.strerror or str(error))) from None
    finally:
        if created:
            with suppress(OSError):
                partial.unlink(missing_ok=True)


def companion(target: Path, what: str) -> Path:
    """File of ours that lies beside another while that is written."""
    return target.with_name(f".{target.name}.meanfield-{what}")


def clear_away(target: Path) -> None:
    """Remove what a writer of this file that was killed has left beside it.

    Only for whoever holds the right to write it.
    """
    name = re.compile(re.escape(companion(target, "").name) + "[0-9a-f]{16}")
    with suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            if name.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(OSError):
                    os.unlink(entry.path)


def not_written(path: object, reason: str) -> str:
    """Why a file could not be replaced; part of a status, if a later try succeeds."""
    return f"{path} {NOT_WRITTEN}: {reason}."


def _synchronize(path: Path, mode: int) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, mode)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
