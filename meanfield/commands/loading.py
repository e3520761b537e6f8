"""Signals while the command `meanfield` loads; it loads this module first.

Loading takes a few tenths of a second. An exception would print a traceback, or a library would
swallow it. Nothing is half done, so a signal prints one line and ends the process. Before this
module is loaded, Python handles signals. Programs that import meanfield keep their handlers.
"""

from __future__ import annotations

# Built into the interpreter. A signal may arrive in the dozen modules that `signal` loads first.
import _signal as signal  # type: ignore[import-not-found]
import os
import sys

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1")
_INTERRUPTED = 130


def is_the_command(command_line: list[str], script: str) -> bool:
    """True if a process is the command `meanfield`, or `python -m meanfield`.

    command_line: that of the interpreter; workers of a study have another one, but the same script.
    script: sys.argv[0], "-m" while Python looks for the module.
    """
    if script == "-m":
        return "-m" in command_line and "meanfield" in command_line
    name = os.path.basename(script).removesuffix(".exe")
    return name == "meanfield" and script in command_line


def leave_on_signals() -> None:
    """End the process at a signal, with one line and status 130; ignored signals stay ignored."""
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
