"""Command `meanfield reproduce`: compute figures, write them, print their numbers."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from claims import report
from listing import duration, listing

from meanfield.commands.progress import with_progress
from meanfield.errors import list_names
from meanfield.files import OutputError
from published import ENTRIES
from published.entry import Entry
from published.pages import (
    check_places,
    locked,
    maker_of,
    stem_of,
    write_figure_files,
    write_index,
)


def execute(options: argparse.Namespace) -> int:
    """Make the figures and print their numbers; return 1 if a claim fails, else 0."""
    if options.list:
        print(listing_of_all())
        return 0
    entries = chosen(options)
    folder = Path(options.output)
    _check_folder(folder)
    stems = [stem_of(entry, options.published) for entry in entries]
    check_places(folder, stems, overwrite=options.overwrite)
    status = 0
    follow = partial(with_progress, quiet=options.quiet)
    for entry, stem in zip(entries, stems, strict=True):
        with locked(folder, stem):
            made = maker_of(entry).compute(options.short, options.published, follow)
            write_figure_files(
                folder, entry, made, published=options.published, short=options.short
            )
        print(f"{entry.title} ({entry.source})")
        status |= report(made.numbers)
        print(folder / f"{stem}.png", folder / f"{stem}.md", "", sep="\n", flush=True)
    if options.index:
        write_index(folder, ENTRIES.values())
        print(folder / "index.md")
    return status


def chosen(options: argparse.Namespace) -> list[Entry]:
    """Entries of the command line; ValueError if a name or --published does not fit."""
    if options.all and options.names:
        raise ValueError(f"--all makes {options.names[0]}, too: give names, or --all.")
    for name in options.names:
        if name not in ENTRIES:
            raise ValueError(f"NAME {name!r} is not known. {list_names(name, ENTRIES)}")
        if options.published and not ENTRIES[name].published:
            own = ", ".join(each.name for each in ENTRIES.values() if each.published) or "none"
            raise ValueError(
                f"{name} has no scheme of its own to run: --published is for these: {own}."
            )
    if options.all:
        return [each for each in ENTRIES.values() if each.published or not options.published]
    if not options.names and not options.index:
        raise ValueError("NAME is missing: give names of figures, --all, or --list to see them.")
    return [ENTRIES[name] for name in dict.fromkeys(options.names)]


def _check_folder(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise OutputError(f"-o {folder} is no folder to write to: {error.strerror}.") from None


def listing_of_all() -> str:
    """Table of all entries, with their times."""
    rows = [
        [
            each.name,
            each.title,
            each.source,
            duration(each.seconds),
            duration(each.published_seconds),
        ]
        for each in ENTRIES.values()
    ]
    return listing(["name", "title", "source", "time", "--published"], rows)
