"""Standard streams and signals of the process: no closed pipe or odd character is a traceback."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType
from typing import Any


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


def drop_output() -> None:
    """Let what is left in the buffer of standard output, and what follows, vanish."""
    with suppress(OSError, ValueError):
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, sys.stdout.fileno())
        os.close(descriptor)


def say(text: str) -> None:
    """Write a line to standard error; if nobody takes it, never mind."""
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)


class Forgiving:
    """Stream that drops what it cannot write: progress must not end a run."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write, or not."""
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush, or not."""
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        """Everything else is the stream's own."""
        return getattr(self._stream, name)


def listen() -> None:
    """Treat SIGTERM and a closed terminal like Ctrl-C, unless they are ignored (nohup)."""
    for number in _numbers("SIGTERM", "SIGHUP"):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupt)


def stop_listening() -> None:
    """Ignore further interrupts: this one is being seen to."""
    for number in _numbers("SIGINT", "SIGTERM", "SIGHUP"):
        signal.signal(number, signal.SIG_IGN)


def _numbers(*names: str) -> list[signal.Signals]:
    if threading.current_thread() is not threading.main_thread():
        return []
    return [getattr(signal, name) for name in names if hasattr(signal, name)]


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
