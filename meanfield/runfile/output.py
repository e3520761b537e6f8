"""Section [output]: the place of the results, and their contents."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from meanfield.observables import OBSERVABLES, Observable, chosen_observables, observable
from meanfield.runfile.keys import ConfigError, format_value, kind, list_of, located, one_of, string
from meanfield.runfile.python_file import Folder, file_function
from meanfield.store.locks import holds_results

SUFFIXES = (".h5", ".hdf5")
"""Endings of files of results."""


@dataclass(frozen=True)
class Output:
    """Section [output]: the file, its observables and its states ("all", "last", "none")."""

    path: Path
    observables: tuple[str | Observable, ...]
    state: str


@kind(anyOf=[one_of(*OBSERVABLES).schema, {"type": "string", "pattern": ":"}])
def _observable(value: Any) -> str:
    """Name of an observable of the package, or "file.py:function"."""
    own = isinstance(value, str) and ":" in value
    name: str = string(value) if own else one_of(*OBSERVABLES)(value)
    return name


def output_of(
    section: str,
    source: Path,
    folder: Folder,
    target: Path | None,
    inputs: Sequence[Path],
    usual_state: str,
    usual: tuple[str, ...],
    /,
    path: str | None = None,
    observables: Annotated[tuple[str, ...] | None, list_of(_observable)] = None,
    state: Annotated[str | None, one_of("all", "last", "none")] = None,
) -> Output:
    """Section [output] of the run file `source`; the path `target` of the command line wins.

    `usual_state` and `usual` are the default state and observables.
    """
    if target is not None:
        chosen, named = target, f"-o {target}"
    else:
        chosen = source.with_suffix(".h5") if path is None else source.parent / path
        named = f"{section} path = {format_value(chosen.name if path is None else path)}"
    check_path(named, chosen, inputs)
    names = usual if observables is None else observables
    return Output(chosen, _observables(section, folder, names), state or usual_state)


def _observables(
    section: str, folder: Folder, names: Sequence[str]
) -> tuple[str | Observable, ...]:
    """Observables by name; a user's own are functions f(measure)."""
    observables: list[str | Observable] = []
    for name in names:
        if ":" in name:
            own = file_function(f"{section} observables = {format_value(name)}", folder, name)
            with located(section):
                observables.append(observable(own.name, own))
        else:
            observables.append(name)
    with located(section):
        chosen_observables(observables)
    return tuple(observables)


def check_path(named: str, path: Path, inputs: Sequence[Path]) -> None:
    """Check the place of an output, as far as that is possible without writing.

    inputs: files that the run reads: none may be the output.
    """
    try:
        obstacle = _obstacle(path, inputs)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        obstacle = f"cannot be written: {reason}"
    if obstacle is not None:
        raise ConfigError(f"{named} {obstacle}.")


def _obstacle(path: Path, inputs: Sequence[Path]) -> str | None:
    """Reason why a file cannot be written there; None if no reason is known."""
    # Not pathlib: Python 3.12 and 3.13 treat a link to itself differently.
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
    if mode is not None and not stat.S_ISREG(mode):
        return "is not a regular file"
    if mode is not None and any(path.samefile(file) for file in inputs if file.exists()):
        return "is read by this run: choose another file"
    # Results of older versions may have other endings.
    if path.suffix.lower() not in SUFFIXES and (mode is None or not holds_results(path)):
        return (
            f"must end in {' or '.join(SUFFIXES)}: results are HDF5 files, of which `meanfield "
            "plot` makes figures"
        )
    return None
