"""Report of a result: text, HTML and Markdown for people, JSON and CSV for programs.

Curves and bars of the size of a word are SVG in the colour of the text, also on dark pages.
"""

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

from meanfield.arrays import FloatArray
from meanfield.described import Facts
from meanfield.store.layout import escaped
from meanfield.terms.flows import Flow

_LEFT = ' style="text-align: left"'
# Largest number of rows that a notebook shows.
_MOST_ROWS = 60


class Block(str):
    """Part of a report: text, and cells for HTML and Markdown."""

    header: Sequence[str]  # empty for rows of (name, value)
    rows: Sequence[Sequence[Any]]
    above: str
    below: str

    @classmethod
    def of(
        cls, text: str, header: Sequence[str], rows: Any, above: str = "", below: str = ""
    ) -> Block:
        """Block with a line above the cells and lines below them."""
        block = cls("\n".join(part for part in (above, text, below) if part))
        block.header, block.rows, block.above, block.below = header, rows, above, below
        return block

    @property
    def html(self) -> str:
        show = rows_html(self.header, shortened(self.rows)) if self.header else ""
        return f"{_lines(self.above)}{show or html_table('', self.rows)}{_lines(self.below)}"

    @property
    def markdown(self) -> str:
        head = self.header or ("", "")
        rows = [head, ["---"] * len(head), *([_cell(cell) for cell in row] for row in self.rows)]
        text = "\n".join(
            f"| {' | '.join(c.replace('|', chr(92) + '|') for c in r)} |" for r in rows
        )
        return "\n\n".join(part for part in (self.above, text, self.below.strip()) if part)


@dataclass(frozen=True)
class Report:
    """Report of a result for commands, `print` and notebooks."""

    blocks: Sequence[str]  # facts and tables
    data: Mapping[str, Any]  # one object for programs
    columns: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)  # of the CSV table
    heading: str = ""  # of HTML and Markdown

    def __str__(self) -> str:
        return "\n\n".join(self.blocks)

    def text(self) -> str:
        return str(self)

    def json(self) -> str:
        """One JSON object with all digits; null for numbers that are not finite."""
        return json.dumps(_plain(self.data), allow_nan=False)

    def csv(self) -> str:
        """Table of the columns with all digits."""
        lines = io.StringIO()
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(self.columns)
        rows = zip(*(column.tolist() for column in self.columns.values()), strict=True)
        writer.writerows(map(_csv_cell, row) for row in rows)
        return lines.getvalue()

    def html(self) -> str:
        """Tables for a notebook; all text is escaped."""
        head = [f"<p><b>{escape(self.heading)}</b></p>"] if self.heading else []
        return "\n".join(
            [*head, *(b.html if isinstance(b, Block) else _lines(b) for b in self.blocks)]
        )

    def markdown(self) -> str:
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
    """Rows; of more than 60 the first 30 and the last 30."""
    if len(rows) <= _MOST_ROWS:
        return list(rows)
    half = _MOST_ROWS // 2
    return [*rows[:half], ["..."] * len(rows[0]), *rows[-half:]]


def html_table(heading: str, pairs: Iterable[Sequence[Any]]) -> str:
    """Table of names and values under a heading; all text is escaped.

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
    """Escaped cell; a drawing stays SVG."""
    if isinstance(value, Sparkline):
        return value.html
    if value is None:
        return "-"
    return escape(f"{value:.6g}" if isinstance(value, float | np.floating) else str(value))


def _lines(text: str) -> str:
    return f"<p>{escape(text.strip()).replace(chr(10), '<br/>')}</p>" if text.strip() else ""


def flow_facts(flow: Flow) -> list[tuple[str, Any]]:
    """Rows of a report with normalization, strength and diffusivity."""
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


def format_cell(value: Any) -> str:
    """Number of six digits in a table of values, "-" for NaN."""
    if not isinstance(value, float | np.floating):
        return str(value)
    return "-" if np.isnan(value) else f"{value:.6g}"


def _csv_cell(value: Any) -> str:
    """All digits of a number; escaped text."""
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


_OF_HEADS = {"none": "not normalised", "softmax": "softmax", "sinkhorn": "Sinkhorn"}


def attention_words(facts: Facts) -> tuple[str, str]:
    """Words for the kernel or heads, and for the normalisation.

    >>> attention_words(Facts(kernel="exponential", normalized=True))
    ('exponential kernel', 'SA')
    >>> attention_words(Facts(heads=2, normalization="sinkhorn"))
    ('2 heads', 'Sinkhorn')
    >>> attention_words(Facts(heads=1, normalization="none"))
    ('1 head', 'not normalised')

    Problems without attention have the kernel "none", and no words:

    >>> attention_words(Facts(heads=1, kernel="none"))
    ('', '')
    """
    if facts.kernel == "none":
        return "", ""
    if facts.heads:
        normalized = facts.normalization or "softmax"
        return f"{facts.heads} head{'s' if facts.heads > 1 else ''}", _OF_HEADS[normalized]
    return f"{facts.kernel} kernel", "SA" if facts.normalized else "USA"


def problem_words(facts: Facts) -> str:
    """Manifold, kernel and flow in one line."""
    kernel_words, flow = attention_words(facts)
    parts = [facts.manifold, kernel_words]
    if facts.kernel not in ("linear", "none"):
        parts.append(f"beta{at_start(facts)} = {facts.beta:g}")
    parts.append(flow)
    parts += [f"strength {facts.strength:g}"] if facts.strength != 1.0 else []
    parts += [f"diffusivity {facts.diffusivity:g}"] if facts.diffusivity else []
    parts += [f"{facts.mask} mask"] if facts.mask else []
    others = (facts.terms, facts.layers, facts.frequencies, facts.stages)
    return ", ".join(filter(None, [*parts, *others]))


def at_start(facts: Facts) -> str:
    """Suffix "(0)" if beta is a function of time: facts have its value at time 0."""
    return "(0)" if "kernel" in facts.functions else ""


_WIDTH, _HEIGHT = 96.0, 18.0
# As many points as pixels: more would only make large tables.
_MOST_POINTS = 97


@dataclass(frozen=True)
class Sparkline:
    """A small drawing with words beside it."""

    shapes: str  # SVG within a box of 96 by 18
    words: str  # plain text, also for screen readers

    @property
    def html(self) -> str:
        if not self.shapes:
            return escape(self.words)
        return (
            f'<svg role="img" aria-label="{escape(self.words)}" width="{_WIDTH:g}" '
            f'height="{_HEIGHT:g}" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" '
            f'style="vertical-align: middle; margin-right: 0.6em">{self.shapes}</svg>'
            f"{escape(self.words)}"
        )


def curve(values: FloatArray, words: str) -> Sparkline:
    """Curve of values, with gaps where they are not finite.

    >>> curve(np.array([0.0, 1.0, np.nan, 1.0]), "rises").shapes.split(" fill")[0]
    '<path d="M1 17L32.3 1M95 1h0"'
    """
    values = np.asarray(values, float)
    indices = np.linspace(0, len(values) - 1, min(len(values), _MOST_POINTS)).round().astype(int)
    values = values[indices]
    finite = np.isfinite(values)
    if not finite.any():
        return Sparkline("", words)
    x = np.linspace(1.0, _WIDTH - 1.0, len(values))
    y = _heights(values)
    path, previous = "", False
    for i, there in enumerate(finite):
        if there:
            path += f"{'L' if previous else 'M'}{x[i]:.3g} {y[i]:.3g}"
            alone = not previous and (i + 1 == len(finite) or not finite[i + 1])
            path += "h0" if alone else ""
        previous = bool(there)
    return Sparkline(
        f'<path d="{path}" fill="none" stroke="currentColor" stroke-width="1.5" '
        'stroke-linecap="round"/>',
        words,
    )


def bars(values: FloatArray | Sequence[float], words: str) -> Sparkline:
    """Bars from zero; the largest has full colour.

    >>> bars([0.0, 2.0, -1.0], "a mode grows").shapes.count("<rect")
    3
    """
    values = np.asarray(values, float)
    if not len(values) or not np.isfinite(values).all():
        return Sparkline("", words)
    *tops, zero = _heights(np.append(values, 0.0))
    pitch = min(_WIDTH / len(values), 12.0)
    shapes = "".join(
        f'<rect x="{i * pitch:.3g}" y="{min(top, zero):.3g}" width="{0.75 * pitch:.3g}" '
        f'height="{max(abs(zero - top), 0.5):.3g}" fill="currentColor" '
        f'fill-opacity="{1 if i == values.argmax() else 0.4}"/>'
        for i, top in enumerate(tops)
    )
    return Sparkline(shapes, words)


def _heights(values: FloatArray) -> FloatArray:
    """Vertical positions in the box, from the top; a constant is in the middle."""
    low, high = np.nanmin(values), np.nanmax(values)
    if low == high:
        return np.full(len(values), _HEIGHT / 2)
    shares: FloatArray = (values - low) / (high - low)
    return _HEIGHT - 1.0 - shares * (_HEIGHT - 2.0)
