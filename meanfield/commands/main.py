"""`meanfield`: choose the command, and report every failure by one line and a status.

Exit status: 0 done; 1 the run failed; 2 the input is wrong; 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext, suppress
from typing import Any, cast

from meanfield.commands.arguments import as_help, parser
from meanfield.commands.interrupts import interrupt_requested, listen, stop_after, stop_listening
from meanfield.commands.loading import leaves_on_signals
from meanfield.commands.progress import drop, open_streams, say
from meanfield.errors import SimulationError, one_line
from meanfield.renamed import RenamedWarning

# Commands that do not even load numpy.
_LOAD_NOTHING = ("init",)
# Module -> its commands; other commands have a module of their own name.
_MODULES = {
    "study_commands": ("compare", "ensemble", "diagram", "sweep"),
    "pages": ("plot", "view", "explore"),
    "start": ("init", "schema", "reproduce"),
    "info": ("verify",),
    "replay": ("diagnose",),
    "predict": ("phase",),
}
# More threads only wait for each other.
_THREADS_A_PROCESSOR = 16
# Python's message if a thread has no memory for its stack.
_NO_THREAD = "can't start new thread"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    arguments: by default the command line; after the command the process then ignores interrupts.
    """
    open_streams()
    # Until the command begins, a signal ends our own process; in other programs it raises.
    handlers = ExitStack() if leaves_on_signals() else listen()
    try:
        return _status(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        # A second interrupt, while the first was reported.
        return 130
    finally:
        if arguments is None:
            # Only the end of the interpreter is left, which takes no time. All is done and said:
            # a failure here, without memory, costs nothing.
            with suppress(Exception):
                stop_listening()
        else:
            handlers.close()


def _status(arguments: Sequence[str]) -> int:
    """Exit status of a command, after one line on its failure."""
    try:
        status = _run(arguments)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader of the output, such as `head`, has closed the pipe.
        drop(sys.stdout)
        return 0
    except (Exception, KeyboardInterrupt) as error:
        # An interrupt may have become another error, for instance while a library was loaded.
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
        # NumPy's message has the size of one array, not the memory of the run.
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
    """Load the command, only now, and execute it."""
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
    """Set the number of threads; context without floating-point warnings.

    Numbers that overflow become an error of this package or a null in JSON.
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
    # Also where nothing is computed: a wrong environment variable is reported at once.
    limit_blas()
    return np.errstate(all="ignore")


def _complain(message: str, status: int) -> int:
    say(f"meanfield: {one_line(message)}")
    return status
