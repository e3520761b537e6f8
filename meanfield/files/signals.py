"""Signals wait while an exception would do harm: inside a write, an import or the compiler.

An exception out of nowhere would tear a write in two. In an import or the compiler it would become
another error, or leave a lock closed for ever. A signal waits for the end of the outermost
block `uninterrupted`, or until an alarm finds the main thread outside imports and compiler.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from types import FrameType
from typing import Any

# Requests to stop; Windows has two. Batch systems send SIGUSR1 some time before they kill.
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1")
STOPPING = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
_AGAIN_SECONDS = 0.02
_DELICATE = ("<frozen importlib", "/numba/", "/llvmlite/")

_blocks = 0
_waiting: list[Callable[[], object]] = []


def stopping_signals() -> list[signal.Signals]:
    """Requests to stop that this thread can receive: all in the main thread, else none."""
    if threading.current_thread() is not threading.main_thread():
        return []  # Python delivers signals to the main thread only.
    return STOPPING


def when_safe(action: Callable[[], object], frame: FrameType | None) -> None:
    """Call an action that may raise: now, or when no exception does harm."""
    _waiting.append(action)
    look_again(0, frame)


def soon(action: Callable[[], object]) -> None:
    """Call an action that may raise, not now but when no exception does harm."""
    _waiting.append(action)
    _set_alarm(_AGAIN_SECONDS)


def look_again(number: int, frame: FrameType | None) -> None:
    """Call the actions that wait, if nothing delicate is half done: the handler of SIGALRM."""
    if _blocks or not _waiting:
        return
    if _is_delicate(frame) and _set_alarm(_AGAIN_SECONDS):
        return
    with ExitStack() as stack:  # calls all of them, whatever one raises
        while _waiting:
            stack.callback(_waiting.pop())


def forget() -> None:
    """Drop the actions that wait."""
    _waiting.clear()
    _set_alarm(0.0)


def _set_alarm(seconds: float) -> bool:
    """Send SIGALRM after some seconds, 0 never; false where `look_again` is not its handler."""
    if not hasattr(signal, "setitimer") or signal.getsignal(signal.SIGALRM) is not look_again:
        return False
    signal.setitimer(signal.ITIMER_REAL, seconds)
    return True


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Postpone signals that ask to stop until the block is done."""
    global _blocks
    numbers = stopping_signals()
    if not numbers:
        yield
        return
    before: dict[signal.Signals, Any] = {}
    _blocks += 1
    try:
        for number in numbers if _blocks == 1 else []:
            handler = signal.getsignal(number)
            if callable(handler):
                before[number] = handler
                signal.signal(number, partial(_postpone, handler))
        yield
    finally:
        _blocks -= 1
        for number, handler in before.items():
            signal.signal(number, handler)
        look_again(0, None)


def _postpone(handler: Callable[..., object], number: int, frame: FrameType | None) -> None:
    when_safe(partial(handler, number, frame), frame)


def _is_delicate(frame: FrameType | None) -> bool:
    """True if a frame is inside an import or the compiler."""
    while frame is not None:
        name = frame.f_code.co_filename
        if any(part in name for part in _DELICATE):
            return True
        frame = frame.f_back
    return False
