"""Files of a figure of the gallery, and the page of cards of all figures in a folder.

A figure NAME has four files: NAME.png; NAME.csv, its numbers; NAME.npz, its arrays; NAME.md, its
page. The page is written last, so that it has all its files. Files of the source's scheme are
called NAME-published.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import cast

import numpy as np
from claims import Claim, digits
from matplotlib.figure import Figure
from PIL import Image

from meanfield.figures.draw.axes import style
from meanfield.figures.draw.figures import new_figure
from meanfield.files import OutputError, clear_away, replace_bytes
from meanfield.store.locks import check_own, writer_lock
from published.entry import Entry, Maker, Reproduction

_SIZE, _DOTS = (7.0, 4.2), 130
_COLUMNS = ("what", "published", "reference", "here", "within", "why")
_MADE = "% Made by meanfield reproduce"
# First bytes of each file; files that begin otherwise are not replaced.
_BEGINNINGS = {
    ".npz": b"PK",
    ".csv": b"what,published,",
    ".png": b"\x89PNG",
    ".md": _MADE.encode(),
}
INDEX = "index.md"
"""Name of the page of cards."""


def maker_of(entry: Entry) -> Maker:
    """Module that computes and draws a figure, imported here.

    >>> from published import ENTRIES
    >>> maker_of(ENTRIES["eigenvalues"]).compute().holds
    True
    """
    return cast(Maker, import_module(f"published.{entry.module}"))


def stem_of(entry: Entry, published: bool) -> str:
    """Names of the files of a figure, without suffixes."""
    return f"{entry.name}-published" if published else entry.name


def check_places(folder: Path, stems: Iterable[str], *, overwrite: bool) -> None:
    """Raise an OutputError if files exist without `overwrite`, or are not of this command."""
    for path in (folder / f"{stem}{suffix}" for stem in stems for suffix in _BEGINNINGS):
        _check_ours(path)
        if path.exists() and not overwrite:
            raise OutputError(f"{path} exists: use --overwrite to replace it, or another -o.")


def _check_ours(path: Path) -> None:
    check_own(path, _BEGINNINGS[path.suffix], "meanfield reproduce")


@contextmanager
def locked(folder: Path, stem: str) -> Iterator[None]:
    """Lock for the files of a figure; remains of killed writers are removed."""
    with writer_lock(folder / f"{stem}.md"):
        for suffix in _BEGINNINGS:
            clear_away(folder / f"{stem}{suffix}")
        yield


def write_figure_files(
    folder: Path, entry: Entry, made: Reproduction, *, published: bool = False, short: bool = False
) -> None:
    """Write the four files of a figure, each at once; OutputError if one cannot be written."""
    stem = stem_of(entry, published)
    with style():
        figure = new_figure(_SIZE)
        maker_of(entry).draw(figure, made)
    arrays = io.BytesIO()
    np.savez_compressed(arrays, allow_pickle=False, **made.data)
    page = page_of(entry, made, published=published, short=short).encode()
    files = {
        ".npz": arrays.getvalue(),
        ".csv": _csv(made.numbers),
        ".png": _png(figure),
        ".md": page,
    }
    for suffix, content in files.items():
        _check_ours(folder / f"{stem}{suffix}")
        replace_bytes(folder / f"{stem}{suffix}", content)


def write_index(folder: Path, entries: Iterable[Entry]) -> None:
    """Write the page of cards of the figures in a folder; OutputError if it cannot be written."""
    path = folder / INDEX
    _check_ours(path)
    replace_bytes(path, index_of(folder, entries).encode())


def _png(figure: Figure) -> bytes:
    """Picture in 256 colours, which have a third of the size."""
    full, small = io.BytesIO(), io.BytesIO()
    with style():
        figure.savefig(full, format="png", dpi=_DOTS, metadata={"Software": None})
    picture = Image.open(full).convert("RGB")
    picture.quantize(256, dither=Image.Dither.NONE).save(small, "png", optimize=True)
    return small.getvalue()


def _csv(numbers: Iterable[Claim]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for number in numbers:
        # Python floats, because those of NumPy are written differently.
        beside = (number.published, number.reference)
        row = [number.what, *beside, float(number.here), number.within, number.why]
        writer.writerow(["" if cell is None else cell for cell in row])
    return text.getvalue().encode()


def page_of(entry: Entry, made: Reproduction, *, published: bool, short: bool = False) -> str:
    """Page of a figure in Markdown."""
    stem = stem_of(entry, published)
    option = (" --published" if published else "") + (" --short" if short else "")
    rows = [
        _row(n.what, *map(digits, (n.published, n.reference, n.here, n.within)), n.why)
        for n in made.numbers
    ]
    scheme = ", by the source's own scheme" if published else ""
    parts = [
        f"{_MADE} {entry.name}{option}",
        f"# {entry.title}{scheme}",
        f"**Source.** {entry.source}",
        f"**Parameters.** {entry.parameters}",
        f"**Shown.** {entry.shows}",
        f"![{entry.title}{scheme}]({stem}.png)",
        "\n".join(
            ["| | published | reference | here | within | |", "|---|---|---|---|---|---|", *rows]
        ),
        f"**Why they differ.** {entry.differs}",
        f"    meanfield reproduce {entry.name}{option}",
    ]
    if short:
        parts.append(
            "This is the short form, coarser than the parameters say: leave out `--short`."
        )
    if published:
        parts.append(f"[The same by this package]({entry.name}.md)")
    elif entry.published:
        parts.append(f"`meanfield reproduce {entry.name} --published` runs the source's scheme.")
    return "\n\n".join(parts) + "\n"


def _row(*cells: str) -> str:
    """Row of a table; bars in formulas are escaped, because they would separate cells."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def index_of(folder: Path, entries: Iterable[Entry]) -> str:
    """Page of cards of the figures in a folder: MyST with grids of sphinx-design."""
    cards, pages = [], []
    for entry in entries:
        if not (folder / f"{entry.name}.md").is_file():
            continue
        other = stem_of(entry, published=True)
        also = (folder / f"{other}.md").is_file()
        pages += [entry.name, other] if also else [entry.name]
        lines = [
            f":::{{grid-item-card}} {entry.title}",
            f":img-top: {entry.name}.png",
            f":img-alt: {entry.title}",
            f":link: {entry.name}",
            ":link-type: doc",
            "",
            f"{entry.source}",
            "",
            _first_number(folder / f"{entry.name}.csv"),
            "",
            f"`meanfield reproduce {entry.name}`",
            ":::",
        ]
        cards.append("\n".join(lines))
    return (
        "\n\n".join(
            [
                f"{_MADE} --index",
                "# Gallery",
                "Figures of papers, made again by one command each. A page has the source, all "
                "parameters, published numbers beside ours, and why they differ. Where a source "
                "has no number, ours stand beside a reference: an exact value, or a second method.",
                "::::{grid} 1 2 2 3\n:gutter: 3",
                *cards,
                "::::",
                "\n".join(["```{toctree}", ":hidden:", "", *pages, "```"]),
            ]
        )
        + "\n"
    )


def _first_number(path: Path) -> str:
    """Text of a card: the first number of a figure, and its expected value."""
    with path.open(encoding="utf-8", newline="") as file:
        row = next(csv.DictReader(file), None)
    if row is None:
        return ""
    numbers = ", ".join(
        f"{column} {_rounded(row[column])}"
        for column in ("published", "reference", "here")
        if row[column]
    )
    return f"{row['what']}: {numbers}"


def _rounded(text: str) -> str:
    """Text of a number in five digits; other text stays the same."""
    with suppress(ValueError):
        return f"{float(text):.5g}"
    return text
