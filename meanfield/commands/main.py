"""`meanfield`: choose the command, and turn every failure into one line and a status.

Exit status: 0 done; 1 the run failed; 2 the input is wrong; 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, NoReturn

from meanfield.commands.arguments import ARGUMENTS, add_threads
from meanfield.commands.interrupts import (
    interrupt_requested,
    listen,
    restore,
    stop_listening,
)
from meanfield.commands.loading import leaves_on_signals
from meanfield.commands.streams import drop, open_streams, say
from meanfield.errors import SimulationError, one_line
from meanfield.version import __version__

COMMANDS = {
    "run": "evolve a measure as a run file says, into an HDF5 file",
    "check": "dry run: what would be computed, estimated memory and time",
    "init": "a commented run file to start from",
    "stability": "growth rates of the uniform state, dominant degree, thresholds",
    "predict": "how many clusters tokens will form, and where given tokens will",
    "phase": "noise at which order sets in, with or without a jump",
    "compare": "particle systems against their mean-field limit, in Wasserstein distance",
    "ensemble": "many runs from sampled tokens, and how many clusters they make",
    "plot": "figures and films from a run file",
    "compile": "compile all kernels now, for images of containers and for CI",
    "info": "what a file holds and where it comes from, as text, JSON or CSV",
}
"""Commands, each a module of this package with `execute`; `ARGUMENTS` has what it takes."""

_COMPUTE_NOTHING = ("init", "info")
# Not even numpy.
_LOAD_NOTHING = ("init",)
# Python's words where a thread finds no room for its stack.
_NO_THREAD = "can't start new thread"


class _Parser(argparse.ArgumentParser):
    """Parser whose complaint is one line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False)
        # argparse takes -3 for a number but -1e-3 for an option.
        self._negative_number_matcher = re.compile(r"-\.?\d")

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with status 2."""
        say(one_line(f"{self.prog}: {message}. See {self.prog} --help."))
        raise SystemExit(2)

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse swallows what goes wrong: help on a full disk would count as printed.
        (file or sys.stdout).write(message)


def parser() -> argparse.ArgumentParser:
    """Parser of the command line."""
    top = _Parser(prog="meanfield", description="Mean-field limit of self-attention.")
    top.add_argument("--version", action="version", version=f"meanfield {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary)
        ARGUMENTS[name](command)
        if name not in _COMPUTE_NOTHING:
            add_threads(command)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of the command line by default; the process is then expected to end, and ignores
        further interrupts.

    Returns
    -------
    int
        Exit status.
    """
    open_streams()
    # Until the command begins, a process of ours leaves at a signal; others hear of it as usual.
    handlers = {} if leaves_on_signals() else listen()
    try:
        return _status(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        # Another one, while the first was being explained.
        return 130
    finally:
        if arguments is None:
            # What is left, the end of the interpreter, takes no time: all was said.
            stop_listening()
        else:
            restore(handlers)


def _status(arguments: Sequence[str]) -> int:
    """Exit status, after the line that explains it."""
    try:
        status = _run(arguments)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # Whoever read our output has seen enough.
        drop(sys.stdout)
        return 0
    except (Exception, KeyboardInterrupt) as error:
        # An interrupt may have turned into another error, as while a library was being loaded.
        if isinstance(error, KeyboardInterrupt) or interrupt_requested():
            stop_listening()
            said = str(error) if isinstance(error, KeyboardInterrupt) else ""
            return _complain(said or "interrupted", 130)
        return _explained(error)


def _explained(error: Exception) -> int:
    if isinstance(error, SimulationError):
        return _complain(str(error), 1)
    if isinstance(error, ValueError):
        return _complain(str(error), 2)
    if isinstance(error, MemoryError) or str(error) == _NO_THREAD:
        # NumPy's own error tells the size of one array, which is not what is missing.
        said = str(error) if type(error) is MemoryError else ""
        return _complain(said or "not enough memory for this run", 1)
    if isinstance(error, OSError):
        drop(sys.stdout)
        if error.filename is None and not _working_folder_exists():
            return _complain("the working folder was deleted: change to another one.", 1)
        return _complain(f"{error.filename or 'output'}: {error.strerror or error}.", 1)
    raise error


def _working_folder_exists() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def _run(arguments: Sequence[str]) -> int:
    try:
        options = parser().parse_args(arguments)
    except SystemExit as end:
        # After --help, --version or a complaint.
        return int(end.code or 0)
    return _execute(options)


def _execute(options: argparse.Namespace) -> int:
    """Load the command and execute it: nothing heavy is loaded before."""
    command = importlib.import_module(f"meanfield.commands.{options.command}")
    surroundings: Any = nullcontext()
    if options.command not in _LOAD_NOTHING:
        around = importlib.import_module("meanfield.commands.computing")
        surroundings = around.computing(getattr(options, "threads", None))
    if leaves_on_signals():
        listen()
    with surroundings:
        return int(command.execute(options) or 0)


def _complain(message: str, status: int) -> int:
    say(f"meanfield: {one_line(message)}")
    return status
