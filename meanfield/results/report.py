"""Report of a result: text for people, JSON for programs, CSV for spreadsheets."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from meanfield.store.layout import escaped
from meanfield.terms.flows import Flow


@dataclass(frozen=True)
class Report:
    """Report of a result, as commands and `print` show it."""

    blocks: Sequence[str]  # facts and tables, with an empty line between them
    data: Mapping[str, Any]  # one object for programs
    # Names of columns -> their numbers.
    columns: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)

    def json(self) -> str:
        """One JSON object; arrays become lists, numbers that are not finite null."""
        return json.dumps(_plain(self.data), allow_nan=False)

    def csv(self) -> str:
        """Table of the columns, with all digits."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        rows = zip(*(column.tolist() for column in self.columns.values()), strict=True)
        writer.writerows(map(_csv_cell, row) for row in rows)
        return text.getvalue()

    def __str__(self) -> str:
        return "\n\n".join(self.blocks)


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Table in aligned columns."""
    cells = [list(header)] + [[_cell(value) for value in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )


def flow_facts(flow: Flow) -> list[tuple[str, Any]]:
    """Rows of a report that say how tokens follow the mean field."""
    pairs: list[tuple[str, Any]] = [("normalization", flow.normalization)]
    pairs.append(("strength", f"{flow.strength:g}"))
    return [*pairs, ("diffusivity", f"{flow.diffusivity:g}")] if flow.diffusivity else pairs


def facts(pairs: Sequence[tuple[str, Any]]) -> str:
    """Aligned 'name  value' lines."""
    width = max(len(name) for name, _ in pairs)
    return "\n".join(f"{name.ljust(width)}  {_cell(value)}" for name, value in pairs)


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
