"""`meanfield replay` and `diagnose`: a trained model beside theory, or an untrained copy."""

from __future__ import annotations

import argparse
import sys
from base64 import b64encode
from functools import partial
from pathlib import Path

from meanfield.commands.options import answer, check_plot
from meanfield.commands.progress import with_progress
from meanfield.files import OutputError
from meanfield.models.decoder import load_decoder
from meanfield.models.diagnosis import Diagnosis, diagnose
from meanfield.models.encoder import Stack
from meanfield.models.encoder_files import load_encoder, read_settings
from meanfield.models.replay import replay_of, replayed_texts
from meanfield.results.study_reports import replay_report
from meanfield.runfile.output import check_path
from meanfield.store.locks import output_lock, replace_figure
from meanfield.store.result_file import with_origin
from meanfield.store.study_file import write_result

# A text of more bytes has more tokens than any model takes.
_LARGEST = 10_000_000
_ENCODERS = ("bert", "albert")


def replay_command(options: argparse.Namespace) -> int:
    """Texts through a trained model, layer by layer, beside its theory."""
    path = Path(options.output)
    files = [Path(text) for text in options.texts if text != "-"]
    check_path(f"-o {path}", path, files)
    check_plot(options)
    if path.exists() and not options.overwrite:
        raise OutputError(f"{path} exists: use --overwrite to replace it, or another -o.")
    model = load_model(options.model)
    texts = [read_text(text) for text in options.texts]
    with output_lock(path, overwrite=options.overwrite) as output:
        parts = with_progress(
            replayed_texts(model, texts), len(texts), "texts", quiet=options.quiet
        )
        replay_run = with_origin(replay_of(model, texts, list(parts)))
        write_result(output, replay_run)
    answer(options, replay_report(replay_run, path), replay_run)
    return 0


def load_model(path: str) -> Stack:
    """Model of a .gguf file, or of a folder whose config.json names its kind."""
    place = Path(path)
    settings = place / "config.json"
    if not place.is_file() and not settings.exists():
        lacks = "no config.json in it" if place.is_dir() else "no such file or folder"
        raise ValueError(
            f"{path}: {lacks}: MODEL is a .gguf file, or a folder with config.json and "
            "model.safetensors; `make encoder` and `make decoder` install one, see docs/replay.md."
        )
    encodes = place.is_dir() and read_settings(settings).get("model_type") in _ENCODERS
    return load_encoder(path) if encodes else load_decoder(path)


def read_text(name: str) -> str:
    """Text of a file, or of standard input."""
    try:
        if name == "-":
            content = sys.stdin.buffer.read(_LARGEST + 1)
        else:
            with open(name, "rb") as file:
                content = file.read(_LARGEST + 1)
    except OSError as error:
        raise ValueError(
            f"{name}: {error.strerror}: TEXT is a file, or - for standard input."
        ) from None
    if len(content) > _LARGEST:
        raise ValueError(f"{name} has more than {_LARGEST:,} bytes: give less of it.")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{name} is no text in UTF-8.") from None


_PAGE = """\
<!doctype html><!-- meanfield diagnose --><html lang="en"><meta charset="utf-8"><title>Diagnosis\
</title><style>body {{ font-family: sans-serif }} td, th {{ padding: 0 0.6em }}</style>
<img alt="figure" style="max-width: 100%" src="data:image/png;base64,{}">
{}
"""


def diagnose_command(options: argparse.Namespace) -> int:
    """A trained model beside an untrained copy, in one report and one figure."""
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
        # `check_figure_place` recognises the file by this beginning.
        replace_figure(path, f'{{"kind": "diagnosis", {result.report().json()[1:]}\n'.encode())
    elif suffix == ".html":
        figure = b64encode(encoded(result.plot(), ".png")).decode()
        replace_figure(path, _PAGE.format(figure, result.report().html()).encode())
    else:
        write_figure(result.plot(), path)
