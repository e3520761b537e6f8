"""`meanfield plot`: figures from a run file."""

from __future__ import annotations

import argparse
from pathlib import Path

from meanfield.outputs.run_file import load


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    command.add_argument("file", metavar="OUT.h5", nargs="?")
    command.add_argument("-o", "--output", metavar="FIGURE", help=".png, .pdf or .svg")
    command.add_argument("--kind", metavar="KIND", help="see --list; default: overview")
    command.add_argument("--list", action="store_true", help="kinds of figures")


def execute(options: argparse.Namespace) -> int:
    """Draw one figure into a file."""
    from meanfield.outputs.plots import PLOTS, save_plot

    if options.list:
        width = max(len(name) for name in PLOTS)
        print("\n".join(f"{name.ljust(width)}  {kind.title}" for name, kind in PLOTS.items()))
        return 0
    if options.file is None:
        raise ValueError("plot needs a run file: meanfield plot OUT.h5.")
    run = load(options.file)
    output = Path(options.output or Path(options.file).with_suffix(".png"))
    save_plot(run, output, options.kind)
    print(f"{output}")
    return 0
