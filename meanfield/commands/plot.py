"""`meanfield plot`: figures and films from what a command wrote."""

from __future__ import annotations

import argparse
from pathlib import Path

from meanfield.commands.progress import with_progress
from meanfield.runs import Run
from meanfield.store.result_file import load
from meanfield.store.sweep_file import INDEX, is_sweep


def execute(options: argparse.Namespace) -> int:
    """Draw one figure, or a film, into a file."""
    from meanfield.figures.draw import save_plot

    if options.list:
        print("\n".join(kind_lines()))
        return 0
    if options.file is None:
        raise ValueError("plot needs a file of results: meanfield plot OUT.h5.")
    result = load(options.file)
    output = Path(options.output or _beside(Path(options.file)))
    save_plot(
        result,
        output,
        options.kind,
        lambda frames, count: with_progress(frames, count, "frames"),
        particles=[_particles(path) for path in options.beside],
    )
    print(f"{output}")
    return 0


def _beside(path: Path) -> Path:
    """Where a figure goes unasked: of a sweep beside the folder, as of files."""
    place = path.parent if path.name == INDEX else path
    return place.with_name(f"{place.name}.png") if is_sweep(path) else path.with_suffix(".png")


def _particles(path: str) -> Run:
    run = load(path, states="last")
    if not isinstance(run, Run) or run.representation[-1:] != ("particles",):
        raise ValueError(f"--beside {path}: expected a run of particles.")
    return run


def kind_lines() -> list[str]:
    """Kinds of each kind of file, and what they show: those for every manifold, those for one."""
    from meanfield.figures.draw import PLOTS, SPACES, STUDIES
    from meanfield.store.study_file import STUDY_COMMANDS

    width = max(len(name) for name in PLOTS)
    lines: list[str] = []
    for manifolds in dict.fromkeys(kind.manifolds for kind in PLOTS.values()):
        every = len(manifolds) == len(SPACES)
        where = "" if every else f", on {', '.join(SPACES[each] for each in manifolds)}"
        lines.append(f"of a file of meanfield run{where}")
        lines += [
            f"  {name.ljust(width)}  {kind.title}"
            for name, kind in PLOTS.items()
            if kind.manifolds == manifolds
        ]
    lines.append("  an observable of the run, also one of your own, by its name: against time")
    lines.append("  a FIGURE that ends in .mp4 or .gif is a film of the density, or of tokens")
    for name, command in STUDY_COMMANDS.items():
        lines += [f"of a file of meanfield {command}: one kind", f"  {STUDIES[name]}"]
    lines += [
        "of a folder of meanfield sweep, against the parameters",
        "  an observable of its runs by its name; clusters, their number; time, the last one",
    ]
    return lines
