"""Lines of JSON that tests write down, and what the scripts that make pages of them share."""

import argparse
import importlib.util
import json
import os
import platform
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

from meanfield.version import __version__

ROOT = Path(__file__).parents[1]

FAILED = "failed tests"
"""Section of the tests that failed, by whatever: they may have written nothing else."""

Lines = Sequence[dict[str, Any]]


def write_down(variable: str, record: dict[str, Any]) -> None:
    """Append a line of JSON to the file that an environment variable names, if it is set."""
    file = os.environ.get(variable)
    if file:
        record = record | {"commit": commit()}
        # One write, appended: lines of several processes do not mix.
        with open(file, "ab", buffering=0) as out:
            out.write((json.dumps(record) + "\n").encode())


def failed_tests(lines: Lines) -> str:
    """Sentence on the tests that failed; empty if none did."""
    names = sorted({line["test"] for line in lines if line["section"] == FAILED})
    text = ", ".join(f"`{name}`" for name in names)
    return f"**{len(names)} tests failed**: {text}" if names else ""


def by_name(lines: Lines, section: str) -> list[tuple[str, list[dict[str, Any]]]]:
    """Checks of a section by name, each with its lines."""
    result: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        if line["section"] == section:
            result.setdefault(line["what"], []).append(line)
    return sorted(result.items(), key=lambda item: item[0].lower())


def joined(parts: Iterable[str]) -> str:
    """Text of a page: paragraphs in lines of at most 120 characters."""
    wrapper = textwrap.TextWrapper(120, break_long_words=False, break_on_hyphens=False)
    lines = [
        part if part.startswith(("#", "!", "|", "-")) else wrapper.fill(part) for part in parts
    ]
    return "\n\n".join(lines) + "\n"


def check_sections(lines: Lines, expected: Iterable[str]) -> None:
    """Refuse a section that the page does not have, and that would be missing from it."""
    unknown = {line["section"] for line in lines} - {*expected, FAILED}
    if unknown:
        raise ValueError(f"sections {unknown} are not known. Known: {', '.join(expected)}.")


def heading(text: str) -> str:
    """Text that begins with a capital; "dE/dt" and "k-fold" stay as they are."""
    first = text.split()[0]
    if first.strip(",").isalpha() and first.islower():
        return text[0].upper() + text[1:]
    return text


def place(line: Mapping[str, Any]) -> str:
    """File of the test that wrote a line."""
    return f"`{line['test'].split('::')[0].removeprefix('tests/')}`"


def table(columns: Mapping[str, str], rows: Iterable[Sequence[object]]) -> str:
    """Table of Markdown; columns by name, each with "l" or "r", the side it is set to."""
    sides = "|".join("---:" if side == "r" else "---" for side in columns.values())
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join([f"| {' | '.join(columns)} |", f"|{sides}|", *lines])


@cache
def commit() -> str:
    """Commit of the checkout, empty outside of one."""

    def git(*words: str) -> str:
        command = ["git", "-C", str(ROOT), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        name = git("rev-parse", "--short", "HEAD")
        changed = git("status", "--porcelain", "--", "meanfield", "tests")
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f"{name}{' with changes since' if changed else ''}"


def origin(libraries: Iterable[str], lines: Lines) -> str:
    """Sentence that says what was tested: commits and versions, ours first."""
    commits = list(dict.fromkeys(line["commit"] for line in lines if line.get("commit")))
    text = [f"Commit{'s' * (len(commits) > 1)} {' and '.join(commits)}"] if commits else []
    text += [f"meanfield {__version__}", *(f"{name} {version(name)}" for name in libraries)]
    return ", ".join([*text, f"Python {platform.python_version()}"]) + "."


def write_page(description: str, name: str, page: Callable[[Lines, Path], str]) -> None:
    """Read the lines that the command line names, and write the page into the docs."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("lines", type=Path, help="what the tests have written, a line of JSON each")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="where the page goes")
    options = parser.parse_args()
    lines = [json.loads(line) for line in options.lines.read_text(encoding="utf-8").splitlines()]
    (options.docs / name).write_text(page(lines, options.docs), encoding="utf-8")
    print(f"{options.docs / name}: {len(lines)} lines")


def load_script(path: Path) -> ModuleType:
    """A script beside the tests as a module, under a name of its own."""
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look for their module.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
