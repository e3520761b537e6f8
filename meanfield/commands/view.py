"""`meanfield view`: one page for a browser, offline: a run to turn, to play and to step through."""

from __future__ import annotations

import argparse
from pathlib import Path

from meanfield.runs import Run
from meanfield.store.result_file import load


def execute(options: argparse.Namespace) -> int:
    """Write the page, and open it where that was asked for."""
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
    if options.open:
        import webbrowser

        if not webbrowser.open(output.resolve().as_uri()):
            raise ValueError(f"no browser was found: open {output} in one.")
    return 0
