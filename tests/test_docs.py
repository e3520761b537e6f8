"""The documentation says what the code does: keys, options, dependencies, examples, numbers."""

from __future__ import annotations

import argparse
import re
import tomllib
from pathlib import Path

import pytest

import meanfield
from meanfield.config import config, sections
from meanfield.config.tables import REQUIRED, Key, shown

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"

RUN_FILE_TABLES: dict[str, dict[str, Key]] = {
    "`[problem]`": sections.PROBLEM_KEYS,
    "`[representation]`": config.REPRESENTATION_KEYS,
    "`[time]`": config.TIME_KEYS,
    "`[output]`": config.OUTPUT_KEYS,
    "`[compare]`": config.COMPARE_KEYS,
} | {f'`[initial]` with `name = "{name}"`': keys for name, (keys, _) in sections.INITIAL.items()}
"""Heading in docs/run-file.md -> keys of that section."""


def section(page: str, heading: str) -> str:
    """Text of a page below a heading, up to the next one."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#|\Z)", text, re.M | re.S)
    assert found, f"docs/{page} has no section {heading}"
    return found.group(1)


def key_rows(text: str) -> dict[str, list[str]]:
    """Rows of the tables that begin with a `key`, as key -> the other cells."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    return {cells[0].strip("`"): cells[1:] for cells in rows}
