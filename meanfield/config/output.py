"""Section [output]: where the run file goes, and what it holds."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from meanfield.config.errors import ConfigError
from meanfield.config.tables import Key, list_of, one_of, shown, string
from meanfield.observables import DEFAULT_OBSERVABLES, OBSERVABLES

OUTPUT_KEYS = {
    "path": Key(string, None),
    "observables": Key(list_of(one_of(*OBSERVABLES)), list(DEFAULT_OBSERVABLES)),
    "state": Key(one_of("all", "last", "none"), None),
}


@dataclass(frozen=True)
class Output:
    """Section [output].

    Attributes
    ----------
    path : Path
        Given or derived. By default the run file's name with .h5, beside it.
    observables : tuple of str
        Given.
    state : str
        Given or derived. "all", "last" or "none".
    """

    path: Path
    observables: tuple[str, ...]
    state: str


def output_path(
    section: str, source: Path, path: str | None, given: Path | None, inputs: Sequence[Path]
) -> Path:
    """Path of the output, checked as far as that is possible without writing.

    Parameters
    ----------
    section : str
        What errors begin with.
    source : Path
        The run file.
    path : str or None
        Key `path` of the section, relative to the run file.
    given : Path or None
        The command line's, which wins.
    inputs : sequence of Path
        Files that the run reads: none may be the output.

    Raises
    ------
    ConfigError
        If it is a folder or a device, its folder does not exist or cannot be written, or it is
        one of the inputs.
    """
    chosen = source.with_suffix(".h5")
    if given is not None:
        chosen = given
    elif path is not None:
        chosen = source.parent / path
    try:
        obstacle = _obstacle(chosen, inputs)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        obstacle = f"cannot be written: {reason}"
    if obstacle is None:
        return chosen
    named = f"{section} path = {shown(chosen.name if path is None else path)}"
    raise ConfigError(f"{named if given is None else f'-o {given}'} {obstacle}.")


def _obstacle(path: Path, inputs: Sequence[Path]) -> str | None:
    """Why a file cannot be written there, None if it can as far as one sees."""
    # Not by pathlib, which makes of a link to itself one thing in Python 3.12 and another in 3.13.
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = None
    if mode is not None and stat.S_ISDIR(mode):
        return "is a folder, expected a file"
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        return "cannot be written: its folder does not exist"
    if not os.access(folder, os.W_OK):
        return "cannot be written: its folder is read-only"
    if mode is None:
        return None
    if not stat.S_ISREG(mode):
        return "is not a regular file"
    if any(path.samefile(file) for file in inputs if file.exists()):
        return "is read by this run: choose another file"
    return None
