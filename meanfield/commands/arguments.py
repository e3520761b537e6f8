"""The command line: its parser, made of the table of commands, and what it says of slips."""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Sequence
from typing import Any, NoReturn

from meanfield.commands.streams import say
from meanfield.commands.table import COMMANDS, Options
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
            # Somebody else's file is checked to see what is in it: nothing of it runs.
            own.set_defaults(code="later")
    return top


def add_options(command: argparse._ActionsContainer, options: Options) -> None:
    """Add options; the options of a list inside exclude each other."""
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
    """Arguments, where nothing at all and `help COMMAND` ask for help.

    >>> as_help([]), as_help(["help", "run"]), as_help(["run", "help"])
    (['--help'], ['run', '--help'], ['run', 'help'])
    """
    if not arguments:
        return ["--help"]
    return [*arguments[1:2], "--help"] if arguments[0] == "help" else arguments


# As argparse says it.
_INVALID_COMMAND = re.compile(r"argument COMMAND: invalid choice: ('.*?'|\".*?\") \(choose from")


def _command_meant(word: str) -> str | None:
    """Command for a word, or for the file that it names."""
    for ending, command in ((".toml", "run"), (".h5", "info")):
        if word.endswith(ending):
            return f"meanfield {command} {word}"
    return nearest(word, COMMANDS)


# Options of commands without a run file that are keys of one.
_PROBLEM_KEYS = ("manifold", "beta", "strength", "diffusivity")


def _key_meant(command: str, left: Sequence[str]) -> str | None:
    """How a run file is told what other commands are told by an option.

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
    """Parser whose complaint is one line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            **options, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        # argparse takes -3 for a number but -1e-3 for an option.
        self._negative_number_matcher = re.compile(r"-\.?\d")

    def parse_known_args(  # type: ignore[override]
        self, args: Any = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse, and refuse what is left over: only the parser of a command knows its options."""
        words = sys.argv[1:] if args is None else args
        options, left = super().parse_known_args(list(map(self._current, words)), namespace)
        if left:
            self.error(f"unrecognized arguments: {' '.join(left)}", left)
        if getattr(options, "command", "") is None:
            self.error("a command is missing")
        return options, left

    def _current(self, word: str) -> str:
        """Word of a command line, an option by its name of today."""
        old, equals, value = word.partition("=")
        known = {name.removeprefix("--").replace("-", "_") for name in self._option_string_actions}
        new = "--" + current_name(old.removeprefix("--").replace("-", "_"), known).replace("_", "-")
        if not old.startswith("--") or new == old:
            return word
        say(f"{self.prog}: {notice(old, new)}")
        return new + equals + value

    def error(self, message: str, left: Sequence[str] = ()) -> NoReturn:
        """Print one line, with what may have been meant, and exit with status 2."""
        unknown = _INVALID_COMMAND.search(message)
        meant = None
        if unknown is not None:
            message = f"{unknown[1]} is not a command"
            meant = _command_meant(unknown[1][1:-1])
        elif left:
            # Without dashes, which would make all short options alike.
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
        # argparse swallows what goes wrong: help on a full disk would count as printed.
        (file or sys.stdout).write(message)
