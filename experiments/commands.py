"""Commands of meanfield that experiments run, and models that they find installed."""

from __future__ import annotations

import hashlib
import importlib.util
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


def compare(folder: Path, output: str, changes: Iterable[str], *options: object) -> None:
    """Run `meanfield compare` on the run file of an experiment with some keys changed."""
    written = ["-o", folder / output, "--overwrite", "--quiet"]
    run_command("compare", folder / "run.toml", *written, *options, changes=changes)


def installed_file(package: str, name: str, sha256: str) -> Path | None:
    """File of a package, or None if that is not installed; exits if its hash is another."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / name
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != sha256:
        raise SystemExit(f"{path} has sha256 {digest}, expected {sha256}.")
    return path
