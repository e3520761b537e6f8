"""Blocks that no signal tears in two."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back SIGINT, SIGTERM and SIGHUP until the block is done."""
    if threading.current_thread() is not threading.main_thread():
        # Python delivers signals to the main thread only.
        yield
        return
    held: list[tuple[int, FrameType | None]] = []
    handlers = {}
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and callable(signal.getsignal(number)):
            handlers[number] = signal.signal(number, lambda n, frame: held.append((n, frame)))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number, frame in held:
            handlers[signal.Signals(number)](number, frame)  # type: ignore[operator, misc]
