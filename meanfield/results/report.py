"""Report of a result: text, HTML and Markdown for people, JSON and CSV for programs."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from meanfield.results.sparklines import Sparkline
from meanfield.store.layout import escaped
from meanfield.terms.flows import Flow

_LEFT = ' style="text-align: left"'
# Rows of a table that a notebook shows, the first and the last.
_MOST_ROWS = 60


class Block(str):
    """Part of a report: text, and the cells that HTML and Markdown show in its place."""

    header: Sequence[str]  # empty of names and values
    rows: Sequence[Sequence[Any]]
    above: str
    below: str

    @classmethod
    def of(
        cls, text: str, header: Sequence[str], rows: Any, above: str = "", below: str = ""
    ) -> Block:
        """Block whose text has a line above the cells and lines below them."""
        block = cls("\n".join(part for part in (above, text, below) if part))
        block.header, block.rows, block.above, block.below = header, rows, above, below
        return block

    @property
    def html(self) -> str:
        """HTML table between its lines."""
        show = rows_html(self.header, shortened(self.rows)) if self.header else ""
        return f"{_lines(self.above)}{show or html_table('', self.rows)}{_lines(self.below)}"

    @property
    def markdown(self) -> str:
        """Table of Markdown between its lines."""
        head = self.header or ("", "")
        rows = [head, ["---"] * len(head), *([_cell(cell) for cell in row] for row in self.rows)]
        text = "\n".join(
            f"| {' | '.join(c.replace('|', chr(92) + '|') for c in r)} |" for r in rows
        )
        return "\n\n".join(part for part in (self.above, text, self.below.strip()) if part)


@dataclass(frozen=True)
class Report:
    """Report of a result, as commands, `print` and notebooks show it."""

    blocks: Sequence[str]  # facts and tables, with an empty line between them
    data: Mapping[str, Any]  # one object for programs
    # Names of columns -> their numbers.
    columns: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    heading: str = ""  # what it is of, for pages

    def __str__(self) -> str:
        return "\n\n".join(self.blocks)

    def text(self) -> str:
        """Lines that a terminal shows."""
        return str(self)

    def json(self) -> str:
        """One JSON object with all digits; numbers that are not finite are null."""
        return json.dumps(_plain(self.data), allow_nan=False)

    def csv(self) -> str:
        """Table of its columns with all digits."""
        lines = io.StringIO()
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(self.columns)
        rows = zip(*(column.tolist() for column in self.columns.values()), strict=True)
        writer.writerows(map(_csv_cell, row) for row in rows)
        return lines.getvalue()

    def html(self) -> str:
        """Tables that a notebook shows, everything escaped."""
        head = [f"<p><b>{escape(self.heading)}</b></p>"] if self.heading else []
        return "\n".join(
            [*head, *(b.html if isinstance(b, Block) else _lines(b) for b in self.blocks)]
        )

    def markdown(self) -> str:
        """Tables of Markdown."""
        head = [f"**{self.heading}**"] if self.heading else []
        return "\n\n".join([*head, *(getattr(block, "markdown", block) for block in self.blocks)])


def table(
    header: Sequence[str], rows: Sequence[Sequence[Any]], above: str = "", below: str = ""
) -> str:
    """Table in aligned columns, with a line above it and lines below."""
    cells = [list(header)] + [[_cell(value) for value in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    text = "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )
    return Block.of(text, header, cells[1:], above, below)


def shortened(rows: Sequence[Sequence[Any]]) -> list[Sequence[Any]]:
    """Rows, of many the first and the last."""
    if len(rows) <= _MOST_ROWS:
        return list(rows)
    half = _MOST_ROWS // 2
    return [*rows[:half], ["..."] * len(rows[0]), *rows[-half:]]


def html_table(heading: str, pairs: Iterable[Sequence[Any]]) -> str:
    """Table of names and values under a heading, everything escaped.

    >>> print(html_table("Run", [("t < 1", 0.5)]))
    <table><thead><tr><th colspan="2" style="text-align: left">Run</th></tr></thead><tbody>
    <tr><th style="text-align: left">t &lt; 1</th><td style="text-align: left">0.5</td></tr>
    </tbody></table>
    """
    rows = "\n".join(
        f"<tr><th{_LEFT}>{escape(name)}</th><td{_LEFT}>{_html_cell(value)}</td></tr>"
        for name, value in pairs
    )
    head = f'<thead><tr><th colspan="2"{_LEFT}>{escape(heading)}</th></tr></thead>'
    return f"<table>{head if heading else ''}<tbody>\n{rows}\n</tbody></table>"


def rows_html(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Table of rows of values."""
    head = "".join(f"<th{_LEFT}>{escape(name)}</th>" for name in columns)
    body = "\n".join(
        "<tr>" + "".join(f"<td{_LEFT}>{_html_cell(cell)}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>"


def _html_cell(value: Any) -> str:
    """A cell, escaped; a drawing as it is."""
    if isinstance(value, Sparkline):
        return value.html
    if value is None:
        return "-"
    return escape(f"{value:.6g}" if isinstance(value, float | np.floating) else str(value))


def _lines(text: str) -> str:
    """Paragraph of lines."""
    return f"<p>{escape(text.strip()).replace(chr(10), '<br/>')}</p>" if text.strip() else ""


def flow_facts(flow: Flow) -> list[tuple[str, Any]]:
    """Rows of a report that say how tokens follow the mean field."""
    pairs: list[tuple[str, Any]] = [("normalization", flow.normalization)]
    pairs.append(("strength", f"{flow.strength:g}"))
    return [*pairs, ("diffusivity", f"{flow.diffusivity:g}")] if flow.diffusivity else pairs


def facts(pairs: Sequence[tuple[str, Any]]) -> str:
    """Aligned 'name  value' lines."""
    width = max(len(name) for name, _ in pairs)
    text = "\n".join(f"{name.ljust(width)}  {_cell(value)}" for name, value in pairs)
    return Block.of(text, (), pairs)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float | np.floating):
        return f"{value:.10g}"
    return escaped(str(value))


def _csv_cell(value: Any) -> str:
    """All digits of a number; a word as it may be shown."""
    return escaped(value) if isinstance(value, str) else repr(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, complex):
        return [_plain(value.real), _plain(value.imag)]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
