"""`meanfield run`: evolve a measure as a run file says, into an HDF5 file."""

from __future__ import annotations

import argparse
import sys
import time as clock

from meanfield.commands.arguments import add_threads
from meanfield.commands.progress import shown
from meanfield.config import load_config


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    command.add_argument("config", metavar="CONFIG.toml")
    command.add_argument("-o", "--output", metavar="OUT.h5")
    add_set(command)
    command.add_argument("--resume", action="store_true", help="go on with an existing output")
    command.add_argument("--overwrite", action="store_true", help="replace an existing output")
    command.add_argument("--quiet", action="store_true", help="no progress, no summary")
    add_threads(command)


def add_set(command: argparse.ArgumentParser) -> None:
    """Option --set."""
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="SECTION.KEY=VALUE",
        help="override a key of the run file; may be repeated",
    )


def execute(options: argparse.Namespace) -> int:
    """Run."""
    from meanfield.execute import execute as evolve

    config = load_config(options.config, options.set, options.output)
    began = clock.perf_counter()
    stream = evolve(config, resume=options.resume, overwrite=options.overwrite)
    label = config.title or config.source.stem
    last = None
    for last in shown(
        stream,
        len(config.times),
        label,
        quiet=options.quiet,
        note=lambda snapshot: f"t = {snapshot.time:.4g}",
    ):
        pass
    if not options.quiet:
        path = config.output.path
        if last is None:
            print(f"{path} is complete: nothing to do.", file=sys.stderr)
        else:
            steps = int(last.diagnostics["steps"])
            spent = clock.perf_counter() - began
            print(f"{path}: t = {last.time:.6g} in {steps} steps, {spent:.2f} s.", file=sys.stderr)
    return 0
