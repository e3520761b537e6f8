"""Standard streams of the process: no closed pipe or odd character is a traceback."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Any

BARS: list[Any] = []
"""Progress bars on the terminal; a line wipes them before it is written."""


def open_streams() -> None:
    """Give closed standard streams somewhere to go, and escape what an encoding lacks.

    Otherwise the first file to be opened would become standard output.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def drop(stream: Any) -> None:
    """Let what is left in the buffer of a stream that fails, and what follows, vanish.

    Python flushes its streams once more at the end, and would complain then.
    """
    with suppress(OSError, ValueError, AttributeError):
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, stream.fileno())
        os.close(descriptor)


def say(text: str) -> None:
    """Write a line to standard error; a closed stream is no error."""
    # A bar that nobody has closed yet would stand before the text.
    for bar in BARS:
        bar.clear()
    # In one piece: the line of another thread would come between the text and its end.
    screen = Forgiving(sys.stderr)
    screen.write(f"{text}\n")
    screen.flush()


class Forgiving:
    """Stream that drops what it cannot write: progress must not end a run."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            self._stream.write(text)
        except OSError:
            drop(self._stream)
        return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError:
            drop(self._stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
