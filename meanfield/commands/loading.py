"""Signals while the command `meanfield` is still being loaded: the first thing it loads is this.

Loading takes a few tenths of a second, and an exception on the way would be a traceback, or worse:
libraries swallow it. Nothing is half done then, so the process says one line and is gone. What
comes before this, the start of the interpreter itself, is Python's own. Programs that import
meanfield keep their signals.
"""

from __future__ import annotations

# Built into the interpreter: `signal` loads a dozen modules first, in which a signal may come.
import _signal as signal  # type: ignore[import-not-found]
import os
import sys

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1")
_INTERRUPTED = 130


def is_the_command(command_line: list[str], script: str) -> bool:
    """True if a process is the command `meanfield`, or `python -m meanfield`.

    command_line: of the interpreter; workers of a study have their parent's script, but not this.
    script: its first argument, "-m" while it looks for a module.
    """
    if script == "-m":
        return "-m" in command_line and "meanfield" in command_line
    name = os.path.basename(script).removesuffix(".exe")
    return name == "meanfield" and script in command_line


def leave_on_signals() -> None:
    """End the process at signals, with status 130 and a line; what is ignored stays ignored."""
    for name in _NAMES:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, leave)


def leaves_on_signals() -> bool:
    """True if signals still end the process."""
    return any(signal.getsignal(getattr(signal, name)) is leave for name in _NAMES[:2])


def leave(number: int, frame: object) -> None:
    """End the process, whatever it is doing."""
    try:
        os.write(2, b"meanfield: interrupted\n")
    finally:
        os._exit(_INTERRUPTED)


if is_the_command(sys.orig_argv, sys.argv[0] if getattr(sys, "argv", None) else ""):
    leave_on_signals()
