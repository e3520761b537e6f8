"""`meanfield plot`: figures and films from a run file."""

from __future__ import annotations

import argparse
from pathlib import Path

from meanfield.commands.progress import shown
from meanfield.outputs.run_file import load


def execute(options: argparse.Namespace) -> int:
    """Draw one figure, or a film, into a file."""
    from meanfield.outputs.plots import save_plot

    if options.list:
        print("\n".join(kind_lines()))
        return 0
    if options.file is None:
        raise ValueError("plot needs a run file: meanfield plot OUT.h5.")
    run = load(options.file)
    output = Path(options.output or Path(options.file).with_suffix(".png"))
    save_plot(run, output, options.kind, lambda frames, count: shown(frames, count, "frames"))
    print(f"{output}")
    return 0


def kind_lines() -> list[str]:
    """Kinds and what they show: first those for every manifold, then those for one."""
    from meanfield.outputs.plots import PLOTS

    width = max(len(name) for name in PLOTS)
    lines: list[str] = []
    for manifolds in dict.fromkeys(kind.manifolds for kind in PLOTS.values()):
        if len(manifolds) == 1:
            lines.append(f"on the {manifolds[0]} only")
        lines += [
            f"{name.ljust(width)}  {kind.title}"
            for name, kind in PLOTS.items()
            if kind.manifolds == manifolds
        ]
    return [*lines, "a FIGURE that ends in .mp4 or .gif is a film of the density"]
