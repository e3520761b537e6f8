"""Parser of the command line, with errors of one line that suggest a correction.

The parser, `--help` and the tables of docs/commands.md are made from table.txt. This module loads
no numerical library, so help and errors come at once.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, NoReturn, cast

from meanfield.commands.progress import say
from meanfield.errors import nearest, one_line
from meanfield.renamed import current_name, notice
from meanfield.version import __version__

# Width of a default terminal, and of the pages of the docs.
_WIDTH, _PAGE = 79, 100
_DOCUMENTATION = "Documentation: docs/commands.md of the source; `make docs` makes pages of it."


def parser() -> argparse.ArgumentParser:
    """Parser of the command line."""
    top = _Parser(
        prog="meanfield",
        description="Mean-field limit of self-attention.",
        epilog=_ending("COMMAND --help", "init mine.toml", "run mine.toml", "plot mine.h5"),
    )
    top.add_argument("--version", action="version", version=f"meanfield {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    for name, command in COMMANDS.items():
        long = f". It takes processor time: {command.time}" if command.time else ""
        description = textwrap.fill(command.summary + long, _WIDTH)
        ending = _ending(*command.examples)
        own = commands.add_parser(
            name, help=command.summary, description=description, epilog=ending
        )
        add_options(own, command.options)
        if name == "check":
            # Users check files of others before they run them: no Python is executed.
            own.set_defaults(code="later")
    return top


def add_options(command: argparse._ActionsContainer, options: Options) -> None:
    """Add options; those in an inner list exclude each other."""
    for option in options:
        if isinstance(option, list):
            add_options(command.add_mutually_exclusive_group(), [*option])
        else:
            command.add_argument(*option.names, help=option.meaning, **option.settings)


def option_table(name: str) -> str:
    """Usage and options of a command, as Markdown for docs/commands.md.

    >>> print(option_table("compile"))
        meanfield compile [--quiet] [--threads N]
    <BLANKLINE>
    | Option | Meaning |
    |---|---|
    | `--quiet` | no progress |
    | `--threads N` | number of threads; default: the cores available |
    """
    command = _Parser(prog=f"meanfield {name}", add_help=False)
    add_options(command, COMMANDS[name].options)
    words = command.format_usage().removeprefix("usage: ")
    usage = textwrap.fill(" ".join(words.split()), _PAGE - 8, break_on_hyphens=False)
    rows = ["| Option | Meaning |", "|---|---|"]
    for option in COMMANDS[name].options:
        for names, placeholder, meaning, _ in option if isinstance(option, list) else [option]:
            words = f"{names[-1]} {placeholder}".strip()
            shown = [*names[:-1], words] if words.startswith("-") else [placeholder]
            cell = ", ".join(f"`{each}`" for each in shown)
            rows.append(f"| {cell} | {meaning} |")
    return "\n".join([textwrap.indent(usage, "    "), "", *rows])


def _ending(*examples: str) -> str:
    lines = [f"  meanfield {example}" for example in examples]
    return "\n".join(["examples:", *lines, "", _DOCUMENTATION])


def as_help(arguments: Sequence[str]) -> Sequence[str]:
    """Arguments, with --help for an empty command line and for `help COMMAND`.

    >>> as_help([]), as_help(["help", "run"]), as_help(["run", "help"])
    (['--help'], ['run', '--help'], ['run', 'help'])
    """
    if not arguments:
        return ["--help"]
    return [*arguments[1:2], "--help"] if arguments[0] == "help" else arguments


# Words of argparse.
_INVALID_COMMAND = re.compile(r"argument COMMAND: invalid choice: ('.*?'|\".*?\") \(choose from")


def _command_meant(word: str) -> str | None:
    """Suggestion for an unknown command: one for the file that it names, or a similar name."""
    for ending, command in ((".toml", "run"), (".h5", "info")):
        if word.endswith(ending):
            return f"meanfield {command} {word}"
    return nearest(word, COMMANDS)


# Options of commands without a run file that are keys of one.
_PROBLEM_KEYS = ("manifold", "beta", "strength", "diffusivity")


def _key_meant(command: str, left: Sequence[str]) -> str | None:
    """The --set that replaces an option of other commands; None without one.

    >>> _key_meant("ensemble", ["--tokens", "100"]), _key_meant("run", ["--beta=5"])
    ('--set ensemble.tokens=[100]', '--set problem.beta=5')
    """
    name, _, value = left[0].removeprefix("--").partition("=")
    value = value or " ".join(left[1:2])
    if name in _PROBLEM_KEYS and value:
        return f"--set problem.{name}={value}"
    if name != "tokens" or not value:
        return None
    if command in ("compare", "ensemble"):
        return f"--set {command}.tokens=[{value}]"
    return f"--set representation.tokens={value}"


class _Parser(argparse.ArgumentParser):
    """Parser that reports an error in one line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            **options, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        # argparse takes -3 for a number but -1e-3 for an option.
        self._negative_number_matcher = re.compile(r"-\.?\d")

    def parse_known_args(  # type: ignore[override]
        self, args: Any = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse, and refuse unknown arguments here, where the options of the command are known."""
        words = sys.argv[1:] if args is None else args
        options, left = super().parse_known_args(list(map(self._current, words)), namespace)
        if left:
            self.error(f"unrecognized arguments: {' '.join(left)}", left)
        if getattr(options, "command", "") is None:
            self.error("a command is missing")
        return options, left

    def _current(self, word: str) -> str:
        """Word of a command line; the old name of an option becomes the current one."""
        old, equals, value = word.partition("=")
        known = {name.removeprefix("--").replace("-", "_") for name in self._option_string_actions}
        new = "--" + current_name(old.removeprefix("--").replace("-", "_"), known).replace("_", "-")
        if not old.startswith("--") or new == old:
            return word
        say(f"{self.prog}: {notice(old, new)}")
        return new + equals + value

    def error(self, message: str, left: Sequence[str] = ()) -> NoReturn:
        """Print one line with a suggestion and exit with status 2."""
        unknown = _INVALID_COMMAND.search(message)
        meant = None
        if unknown is not None:
            message = f"{unknown[1]} is not a command"
            meant = _command_meant(unknown[1][1:-1])
        elif left:
            # Without dashes: they would make all short options similar.
            options = {name.lstrip("-"): name for name in self._option_string_actions}
            near = nearest(left[0].partition("=")[0].lstrip("-"), options)
            meant = options.get(near or "")
            if "set" in options:
                meant = _key_meant(self.prog.rpartition(" ")[2], left) or meant
            file = not left[0].startswith("-") and "=" not in left[0]
            if file and "config" in options:
                meant = f"--config {left[0]}"
            elif file and {"set", "resume"} <= options.keys():
                message += ". It takes one run file; --resume goes on with the output, -o"
            elif meant is None and "set" in options:
                message += ". Keys of a run file are changed by --set SECTION.KEY=VALUE"
        if meant is not None:
            message += f". Did you mean {meant}?"
        end = "" if message.endswith("?") else "."
        say(one_line(f"{self.prog}: {message}{end} See {self.prog} --help."))
        raise SystemExit(2)

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse ignores write errors: help on a full disk would count as printed.
        (file or sys.stdout).write(message)


# Arguments of `add_argument` that no column of table.txt expresses.
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
    """Integer below 2^53 that is written as 1e6 or 2.5e3; 0 for other text."""
    try:
        value = float(text)
    except ValueError:
        return 0
    return int(value) if "e" in text.lower() and value.is_integer() and value < 2**53 else 0


def port(text: str) -> int:
    """TCP port from the command line."""
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
    """Duration from the command line, in seconds: 90, 90s, 55m, 2h or 1d."""
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
"""Options of a command; those in an inner list exclude each other."""


class Command(NamedTuple):
    """A command, as table.txt describes it."""

    summary: str
    time: str
    examples: list[str]
    options: Options


def _blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    """Lines at the margin, each with the indented rows below it; deeper lines continue a row."""
    text = re.sub("^#.*\n", "", text, flags=re.M).replace("\n        ", " ")
    for block in re.split(r"\n+(?=\S)", text.strip()):
        head, *rows = block.split("\n    ")
        yield head, rows


_KIND = re.compile(r"^([\w|]*)([?+*]?)(!?)(?:=(.+))?$")


def _option(row: str) -> Option:
    """Option of a row of table.txt."""
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
    time = "".join(row.removeprefix("time: ") for row in rows if row.startswith("time: "))
    examples = [row.removeprefix("$ ") for row in rows if row.startswith("$ ")]
    options = [row for row in rows if not row.startswith(("time: ", "$ "))]
    return Command(summary, time, examples, _options(options))


with open(os.path.join(os.path.dirname(__file__), "table.txt"), encoding="utf-8") as _file:
    _ROWS = dict(_blocks(_file.read()))
_SPLIT = ((head.partition(": "), rows) for head, rows in _ROWS.items() if head[0] != "@")
COMMANDS = {name: _command(summary, rows) for (name, _, summary), rows in _SPLIT}
