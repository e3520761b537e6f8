"""Signals that ask a command to stop: at once, or at a moment that suits it.

An exception out of nowhere may strike while a library is being loaded or a compiler holds a lock:
the import then fails with another error, or a thread waits for ever. A signal that comes while the
main thread is inside an import or the compiler, anywhere in a command, therefore waits until it is
out: an alarm looks again. And while there is `patience`, a signal is only noted, and
`check_interrupt` acts on it.
"""

from __future__ import annotations

import signal
import threading
import time as clock
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_LIKE_CTRL_C = ("SIGTERM", "SIGHUP")
# A user who asks again after this time is not patient any more.
_PATIENCE_SECONDS = 2.0
# When to look whether the main thread is out of an import or the compiler.
_AGAIN_SECONDS = 0.02
_DELICATE = ("<frozen importlib", "/numba/", "/llvmlite/")

_requested: float | None = None
_patient = False


def listen() -> dict[int, Any]:
    """Treat SIGTERM and a closed terminal like Ctrl-C; what is ignored (nohup) stays ignored.

    Returns
    -------
    dict
        The handlers before, for `restore`.
    """
    global _requested, _patient
    _requested, _patient = None, False
    before: dict[int, Any] = {}
    for number in _numbers():
        before[number] = signal.getsignal(number)
        if before[number] != signal.SIG_IGN:
            signal.signal(number, _interrupt)
    if before and hasattr(signal, "setitimer"):
        before[signal.SIGALRM] = signal.signal(signal.SIGALRM, _look_again)
    return before


def stop_listening() -> None:
    """Ignore further interrupts: this one is being seen to."""
    for number in _numbers():
        signal.signal(number, signal.SIG_IGN)
    _cancel()


def restore(handlers: dict[int, Any]) -> None:
    """Handlers as they were before `listen`."""
    if handlers:
        _cancel()
    for number, handler in handlers.items():
        signal.signal(number, handler)


def interrupt_requested() -> bool:
    """Whether a signal has come since `listen`."""
    return _requested is not None


def check_interrupt() -> None:
    """Raise KeyboardInterrupt if a signal has come."""
    if _requested is not None:
        raise KeyboardInterrupt


@contextmanager
def patience() -> Iterator[None]:
    """Only note signals inside the block, which calls `check_interrupt` often enough."""
    global _patient
    _patient = True
    try:
        yield
    finally:
        _patient = False


def _numbers() -> list[signal.Signals]:
    if threading.current_thread() is not threading.main_thread():
        return []
    names = ("SIGINT", *_LIKE_CTRL_C)
    return [getattr(signal, name) for name in names if hasattr(signal, name)]


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _requested
    now = clock.monotonic()
    first, _requested = _requested, _requested or now
    if first is None or now - first < _PATIENCE_SECONDS:
        _raise_outside(frame)
    else:
        raise KeyboardInterrupt


def _look_again(number: int, frame: FrameType | None) -> None:
    if _requested is not None:
        _raise_outside(frame)


def _raise_outside(frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, now or when nothing delicate is half done."""
    if _patient:
        return
    if hasattr(signal, "setitimer") and _is_delicate(frame):
        signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS)
        return
    raise KeyboardInterrupt


def _is_delicate(frame: FrameType | None) -> bool:
    """Whether a frame is inside an import or the compiler."""
    while frame is not None:
        name = frame.f_code.co_filename
        if any(part in name for part in _DELICATE):
            return True
        frame = frame.f_back
    return False


def _cancel() -> None:
    """Let no alarm come any more."""
    if hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread():
        signal.setitimer(signal.ITIMER_REAL, 0.0)
