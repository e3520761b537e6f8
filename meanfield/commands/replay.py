"""`meanfield replay`: texts through a trained encoder, layer by layer, beside its theory."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from meanfield.commands.answers import answer, check_plot
from meanfield.commands.progress import with_progress
from meanfield.files.replacing import OutputError
from meanfield.models.encoder_files import load_encoder
from meanfield.models.replay import replay_of, replayed_texts
from meanfield.results.replay_report import replay_report
from meanfield.runfile.output import check_path
from meanfield.store.locks import output_lock
from meanfield.store.result_file import with_origin
from meanfield.store.study_file import write_result

# A text of more bytes has more tokens than any encoder takes.
_LARGEST = 10_000_000


def execute(options: argparse.Namespace) -> int:
    """Replay the texts into a file, and print what was found."""
    path = Path(options.output)
    files = [Path(text) for text in options.texts if text != "-"]
    check_path(f"-o {path}", path, files)
    check_plot(options)
    if path.exists() and not options.overwrite:
        raise OutputError(f"{path} exists: use --overwrite to replace it, or another -o.")
    encoder = load_encoder(options.folder)
    texts = [_read(text) for text in options.texts]
    with output_lock(path, overwrite=options.overwrite) as output:
        parts = with_progress(
            replayed_texts(encoder, texts), len(texts), "texts", quiet=options.quiet
        )
        replay_run = with_origin(replay_of(encoder, texts, list(parts)))
        write_result(output, replay_run)
    answer(options, replay_report(replay_run, path), replay_run)
    return 0


def _read(name: str) -> str:
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
