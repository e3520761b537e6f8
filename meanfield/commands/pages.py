"""`meanfield plot`, `view` and `explore`: figures, films and pages for a browser."""

from __future__ import annotations

import argparse
import tempfile
import threading
import webbrowser
from contextlib import ExitStack
from pathlib import Path

from meanfield.commands.progress import say, with_progress
from meanfield.runs import Run
from meanfield.store.result_file import load
from meanfield.store.sweep_file import INDEX, is_sweep


def plot_command(options: argparse.Namespace) -> int:
    """Figures and films of a file of results."""
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
    """Default path of a figure: beside the file, or beside the folder of a sweep."""
    place = path.parent if path.name == INDEX else path
    return place.with_name(f"{place.name}.png") if is_sweep(path) else path.with_suffix(".png")


def _particles(path: str) -> Run:
    run = load(path, states="last")
    if not isinstance(run, Run) or run.representation[-1:] != ("particles",):
        raise ValueError(f"--beside {path}: expected a run of particles.")
    return run


def kind_lines() -> list[str]:
    """Lines of `plot --list`: kinds of figures with titles, by file and manifold."""
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


def view_command(options: argparse.Namespace) -> int:
    """One page for a browser, offline: a run to turn, to play and to step through."""
    from meanfield.figures.view import SUFFIX, view

    run = load(options.file)
    if not isinstance(run, Run):
        raise ValueError(
            f"{options.file}: a view is of one run, and this is a study: "
            f"meanfield plot {options.file} draws it."
        )
    output = Path(options.output or Path(options.file).with_suffix(SUFFIX))
    page = view(run, options.frames, {"file": Path(options.file).name})
    print(page.save(output))
    if options.open and not webbrowser.open(output.resolve().as_uri()):
        raise ValueError(f"no browser was found: open {output} in one.")
    return 0


def explore_command(options: argparse.Namespace) -> int:
    """Sliders, growth rates and a live run, in the browser."""
    from meanfield.explore.server import ExploreServer, warm_up

    with ExploreServer(options.port) as server, ExitStack() as stack:
        print(server.address, flush=True)
        say("explore: loading kernels (up to a minute the first time); Ctrl-C ends the page")
        warming = threading.Thread(
            target=warm_up, args=(server.turns, lambda text: say(f"explore: {text}")), daemon=True
        )
        warming.start()
        if not options.no_open:
            _open_browser(server.address, stack)
        try:
            server.serve_forever(poll_interval=0.2)
        finally:
            server.turns.close()
    return 0


def _open_browser(address: str, stack: ExitStack) -> None:
    """Open a private file that leads to the address: `ps` shows command lines to every user."""
    try:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="meanfield-"))
        page = Path(folder, "explore.html")
        page.touch(mode=0o600)
        page.write_text(f'<meta http-equiv="refresh" content="0; url={address}">', "ascii")
    except OSError as error:
        say(f"explore: no temporary file for the browser ({error.strerror}): open the address.")
        return
    # A text browser would occupy the terminal and this thread.
    threading.Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True).start()
