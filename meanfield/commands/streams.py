"""Standard streams and signals of the process: no closed pipe or odd character is a traceback."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType
from typing import Any, TextIO, cast

_LIKE_CTRL_C = ("SIGTERM", "SIGHUP")


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
    """Write a line to standard error; if nobody takes it, never mind."""
    print(text, file=cast(TextIO, Forgiving(sys.stderr)), flush=True)


class Forgiving:
    """Stream that drops what it cannot write: progress must not end a run."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write, or not."""
        try:
            self._stream.write(text)
        except OSError:
            drop(self._stream)
        return len(text)

    def flush(self) -> None:
        """Flush, or not."""
        try:
            self._stream.flush()
        except OSError:
            drop(self._stream)

    def __getattr__(self, name: str) -> Any:
        """Everything else is the stream's own."""
        return getattr(self._stream, name)


def listen() -> dict[int, Any]:
    """Treat SIGTERM and a closed terminal like Ctrl-C, unless they are ignored (nohup).

    Returns
    -------
    dict
        The handlers before, for `restore`.
    """
    before: dict[int, Any] = {
        number: signal.getsignal(number) for number in _numbers("SIGINT", *_LIKE_CTRL_C)
    }
    for number in _numbers(*_LIKE_CTRL_C):
        if before[number] != signal.SIG_IGN:
            signal.signal(number, _interrupt)
    return before


def stop_listening() -> None:
    """Ignore further interrupts: this one is being seen to."""
    for number in _numbers("SIGINT", *_LIKE_CTRL_C):
        signal.signal(number, signal.SIG_IGN)


def restore(handlers: dict[int, Any]) -> None:
    """Handlers as they were before `listen`."""
    for number, handler in handlers.items():
        signal.signal(number, handler)


def _numbers(*names: str) -> list[signal.Signals]:
    if threading.current_thread() is not threading.main_thread():
        return []
    return [getattr(signal, name) for name in names if hasattr(signal, name)]


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
