"""Lists of experiments and published figures, with their typical times."""

from __future__ import annotations

from collections.abc import Sequence


def listing(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Text of a table with left-aligned columns."""
    table = [header, *rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(header))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    )


def duration(seconds: float | None) -> str:
    """Typical time in words.

    >>> duration(0.1), duration(14.0), duration(300.0), duration(7200.0), duration(None)
    ('1 s', '14 s', '5 min', '2 h', '-')
    """
    if seconds is None:
        return "-"
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 6000 else f"{round(seconds / 3600)} h"
