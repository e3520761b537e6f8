"""Commands of meanfield that experiments run."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from meanfield.commands.main import main as meanfield


def run_command(name: str, path: Path, *options: object, changes: Iterable[str] = ()) -> None:
    """Run a command on a file with some keys changed; exit with its status if it fails."""
    arguments = [name, str(path), *map(str, options)]
    for change in changes:
        arguments += ["--set", change]
    if status := meanfield(arguments):
        sys.exit(status)
