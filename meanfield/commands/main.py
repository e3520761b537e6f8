"""`meanfield`: choose the command, and turn every failure into one line and a status.

Exit status: 0 done; 1 the run failed; 2 the input is wrong; 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from typing import Any, cast

from meanfield.commands.arguments import as_help, parser
from meanfield.commands.interrupts import interrupt_requested, listen, stop_after, stop_listening
from meanfield.commands.loading import leaves_on_signals
from meanfield.commands.progress import drop, open_streams, say
from meanfield.errors import SimulationError, one_line
from meanfield.renamed import RenamedWarning

# Not even numpy.
_LOAD_NOTHING = ("init",)
# Modules that have the functions of several commands; others are named like their command.
_MODULES = {
    "study_commands": ("compare", "ensemble", "diagram", "sweep"),
    "pages": ("plot", "view", "explore"),
    "start": ("init", "schema", "reproduce"),
    "info": ("verify",),
    "replay": ("diagnose",),
    "predict": ("phase",),
}
# More of them only wait for each other.
_THREADS_A_PROCESSOR = 16
# Python's words where a thread finds no room for its stack.
_NO_THREAD = "can't start new thread"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    arguments: by default the command line; the process then ignores interrupts until it ends.

    Returns exit status.
    """
    open_streams()
    # Until the command begins, a process of ours leaves at a signal; others hear of it as usual.
    handlers = ExitStack() if leaves_on_signals() else listen()
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
            handlers.close()


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
        options = parser().parse_args(as_help(arguments))
    except SystemExit as end:
        # After --help, --version or a complaint.
        return int(end.code or 0)
    return _execute(options)


def command_of(name: str) -> Callable[[argparse.Namespace], int]:
    """Load and return the function of a command."""
    module = next((m for m, names in _MODULES.items() if name in names), name)
    command = getattr(importlib.import_module(f"meanfield.commands.{module}"), f"{name}_command")
    return cast(Callable[[argparse.Namespace], int], command)


def _execute(options: argparse.Namespace) -> int:
    """Load the command and execute it: nothing heavy is loaded before."""
    command = command_of(options.command)
    if options.command in _LOAD_NOTHING:
        silence: Any = nullcontext()
    else:
        silence = _prepared(getattr(options, "threads", None))
    if leaves_on_signals():
        listen()
    with stop_after(getattr(options, "stop_after", None)), silence, warnings.catch_warnings():
        _say_old_names()
        return int(command(options) or 0)


def _say_old_names() -> None:
    """Show warnings of old names in run files as one line."""
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *others: Any) -> None:
        if category is RenamedWarning:
            say(f"meanfield: {message}")
        else:
            usual(message, category, *others)

    warnings.showwarning = show  # type: ignore[assignment]
    warnings.filterwarnings("default", category=RenamedWarning)


def _prepared(threads: int | None) -> Any:
    """Threads as asked for, by the environment else; no warnings of what overflows.

    That becomes an error of ours or a null.
    """
    import numpy as np

    from meanfield.engines.threads import limit_blas, set_threads

    if threads is not None:
        processors = os.cpu_count() or 1
        if threads > _THREADS_A_PROCESSOR * processors:
            raise ValueError(
                f"--threads {threads} is too many for {processors} processors: give at most "
                f"{_THREADS_A_PROCESSOR * processors}, or leave it out."
            )
        set_threads(threads)
    # Also where nothing is computed: a slip in the environment is found at once.
    limit_blas()
    return np.errstate(all="ignore")


def _complain(message: str, status: int) -> int:
    say(f"meanfield: {one_line(message)}")
    return status
