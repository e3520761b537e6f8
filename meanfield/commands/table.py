"""The table of commands, table.txt, as data.

The parser, `--help`, and the tables of docs/commands.md are made of it. Nothing here loads what
computes: help, and a slip of the pen, are answered at once.
"""

from __future__ import annotations

import argparse
import math
import os
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

# What columns do not say, as `add_argument` takes it.
_MORE: dict[str, dict[str, Any]] = {
    "--set": {"action": "append", "default": []},
    "--over": {"action": "append"},
    "--allow-code": {
        "action": "store_const",
        "dest": "code",
        "const": "anywhere",
        "default": "inside",
    },
    "--no-code": {"action": "store_const", "dest": "code", "const": "never"},
    "--normalized": {"action": "store_const", "const": True},
    "--beside": {"default": []},
    "--port": {"default": 0},
}
_LAST_PORT = 65535


def finite(text: str) -> float:
    """Finite number from the command line."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number")
    return value


def positive(text: str) -> int:
    """Positive integer from the command line, also as 1e6."""
    try:
        value = int(text)
    except ValueError:
        value = _whole(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return value


def _whole(text: str) -> int:
    """Integer, also written as 1e6 or 2.5e3; 0 for other text, or beyond doubles."""
    try:
        value = float(text)
    except ValueError:
        return 0
    return int(value) if "e" in text.lower() and value.is_integer() and value < 2**53 else 0


def port(text: str) -> int:
    """Port of this machine, from the command line."""
    value = positive(text)
    if value > _LAST_PORT:
        raise argparse.ArgumentTypeError(f"{text} is above {_LAST_PORT}, the last port there is")
    return value


def not_negative(text: str) -> int:
    """Integer >= 0 from the command line."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer >= 0")
    return int(text)


def duration(text: str) -> float:
    """Seconds of a time from the command line: 90, 90s, 55m, 2h or 1d."""
    number, unit = (text[:-1], text[-1]) if text[-1:] in _SECONDS else (text, "s")
    try:
        value = float(number) * _SECONDS[unit]
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0.0):
        raise argparse.ArgumentTypeError(f"{text!r} is no time such as 90s, 55m or 2h")
    return value


_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_KINDS = {each.__name__: each for each in (finite, positive, not_negative, port, duration)}


class Option(NamedTuple):
    """An argument of a command."""

    names: list[str]  # ["-o", "--output"]
    placeholder: str  # of its value, empty for a flag
    meaning: str
    settings: dict[str, Any]  # as `add_argument` takes them


Options = list["Option | list[Option]"]
"""Options of a command; those of a list inside exclude each other."""


class Command(NamedTuple):
    """A command; a module of this package executes it."""

    summary: str
    time: str
    examples: list[str]
    options: Options


def _blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    """Lines at the margin, each with the rows below it, which deeper lines continue."""
    text = re.sub("^#.*\n", "", text, flags=re.M).replace("\n        ", " ")
    for block in re.split(r"\n+(?=\S)", text.strip()):
        head, *rows = block.split("\n    ")
        yield head, rows


_KIND = re.compile(r"^([\w|]*)([?+*]?)(!?)(?:=(.+))?$")


def _option(row: str) -> Option:
    """Option of a row."""
    names, *columns = re.split(r"\s{2,}", row)
    *names, last = names.split()
    flag = last.startswith("--")
    names, placeholder = ([*names, last], "") if flag else (names, last)
    text = columns[-1] + (": .png, .pdf or .svg" if "--plot" in names else "")
    (found,) = _KIND.findall(columns[0] if columns[1:] else "")
    kind, many, needed, default = found
    if default and "default:" not in text:
        text += f"; default: {default}"
    settings: dict[str, Any] = {"action": "store_true"} if flag else {"metavar": placeholder}
    settings |= {"choices": kind.split("|")} if "|" in kind else {}
    settings |= {"type": _KINDS[kind]} if kind and "|" not in kind else {}
    settings |= {"nargs": many} if many else {}
    settings |= {"required": True} if needed else {}
    settings |= {"default": default} if default else {}
    return Option(names, placeholder, text, settings | _MORE.get(names[-1], {}))


def _options(rows: list[str]) -> Options:
    """Options of rows."""
    options: Options = []
    for row in rows:
        name = row.removeprefix("| ")
        shared = name.startswith("@")
        if shared and name == row:
            options += _options(_ROWS[name])
        elif name == row:
            options.append(_option(name))
        else:
            if not (options and isinstance(options[-1], list)):
                options.append([])
            group = cast(list[Option], options[-1])
            group.append(_option(_ROWS[name][0] if shared else name))
    return options


def _command(summary: str, rows: list[str]) -> Command:
    """Command of the rows of a block."""
    time = "".join(row.removeprefix("time: ") for row in rows if row.startswith("time: "))
    examples = [row.removeprefix("$ ") for row in rows if row.startswith("$ ")]
    options = [row for row in rows if not row.startswith(("time: ", "$ "))]
    return Command(summary, time, examples, _options(options))


with open(os.path.join(os.path.dirname(__file__), "table.txt"), encoding="utf-8") as _file:
    _ROWS = dict(_blocks(_file.read()))
_SPLIT = ((head.partition(": "), rows) for head, rows in _ROWS.items() if head[0] != "@")
COMMANDS = {name: _command(summary, rows) for (name, _, summary), rows in _SPLIT}
"""Every command by its name."""
