"""`meanfield diagnose`: a trained model beside an untrained copy, in one report and one figure."""

from __future__ import annotations

import argparse
from base64 import b64encode
from functools import partial
from pathlib import Path

from meanfield.commands.answers import answer
from meanfield.commands.progress import with_progress
from meanfield.commands.replay import load_model, read_text
from meanfield.models.diagnosis import Diagnosis, diagnose
from meanfield.store.locks import replace_figure

_PAGE = """\
<!doctype html><!-- meanfield diagnose --><html lang="en"><meta charset="utf-8"><title>Diagnosis\
</title><style>body {{ font-family: sans-serif }} td, th {{ padding: 0 0.6em }}</style>
<img alt="figure" style="max-width: 100%" src="data:image/png;base64,{}">
{}
"""


def execute(options: argparse.Namespace) -> int:
    """Measure the model and its copy, print the report, and write the file."""
    path = None if options.output is None else Path(options.output)
    if path is not None:
        from meanfield.figures.draw.figures import SUFFIXES, check_figure

        check_figure(path, (*SUFFIXES, ".json", ".html"))
    model = load_model(options.model)
    texts = [read_text(text) for text in options.texts]
    show = partial(with_progress, quiet=options.quiet, first_line=1.0)
    result = diagnose(model, texts, seed=options.seed, progress=show)
    if path is not None:
        _write(result, path)
    answer(options, result.report())
    return 0


def _write(result: Diagnosis, path: Path) -> None:
    """Write the figure, all numbers (.json), or a page with figure and report (.html)."""
    from meanfield.figures.draw.figures import encoded, write_figure

    suffix = path.suffix.lower()
    if suffix == ".json":
        # Its beginning says whose file it is.
        replace_figure(path, f'{{"kind": "diagnosis", {result.report().json()[1:]}\n'.encode())
    elif suffix == ".html":
        figure = b64encode(encoded(result.plot(), ".png")).decode()
        replace_figure(path, _PAGE.format(figure, result.report().html()).encode())
    else:
        write_figure(result.plot(), path)
