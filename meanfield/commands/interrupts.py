"""Signals that ask a command to stop.

A signal raises KeyboardInterrupt as soon as an exception does no harm. Inside `patience`,
`check_interrupt` raises it.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time as clock
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from types import FrameType
from typing import Any

from meanfield.files import forget, look_again, soon, stopping_signals, when_safe

# A second signal after this time raises at once, also inside `patience`.
_PATIENCE_SECONDS = 2.0

_requested: float | None = None
_patient = False


def listen() -> ExitStack:
    """Treat SIGTERM, SIGUSR1 and a closed terminal like Ctrl-C; ignored ones (nohup) stay ignored.

    Closing the stack restores the handlers.
    """
    global _requested, _patient
    _requested, _patient = None, False
    before = ExitStack()
    numbers = stopping_signals()
    for number in numbers:
        handler = signal.getsignal(number)
        if handler != signal.SIG_IGN:
            before.callback(signal.signal, number, handler)
            signal.signal(number, _interrupt)
    if numbers:
        before.callback(setattr, sys, "unraisablehook", sys.unraisablehook)
        sys.unraisablehook = partial(_raise_again, sys.unraisablehook)
        if hasattr(signal, "setitimer"):
            before.callback(signal.signal, signal.SIGALRM, signal.getsignal(signal.SIGALRM))
            signal.signal(signal.SIGALRM, look_again)
        before.callback(forget)
    return before


def stop_listening() -> None:
    """Ignore further interrupts while the first is handled."""
    for number in stopping_signals():
        signal.signal(number, signal.SIG_IGN)
    forget()


def interrupt_requested() -> bool:
    """True if a signal has arrived since `listen`."""
    return _requested is not None


def check_interrupt() -> None:
    """Raise KeyboardInterrupt if a signal has arrived."""
    if _requested is not None:
        raise KeyboardInterrupt


@contextmanager
def patience() -> Iterator[None]:
    """Postpone signals inside the block to its next call of `check_interrupt`."""
    global _patient
    _patient = True
    try:
        yield
    finally:
        _patient = False


@contextmanager
def stop_after(seconds: float | None) -> Iterator[None]:
    """Interrupt the block after so many seconds, as SIGTERM does; None never does."""
    if seconds is None:
        yield
        return
    main = threading.main_thread().ident
    # A signal to the thread ends a blocking call, too.
    kill = getattr(signal, "pthread_kill", lambda thread, number: _thread.interrupt_main(number))
    timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), kill, (main, signal.SIGTERM))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _requested
    now = clock.monotonic()
    first, _requested = _requested, _requested or now
    if first is not None and now - first >= _PATIENCE_SECONDS:
        raise KeyboardInterrupt
    when_safe(_stop, frame)


def _stop() -> None:
    if not _patient:
        raise KeyboardInterrupt


def _raise_again(report: Callable[[Any], object], unraisable: Any) -> None:
    """Raise an interrupt again that Python discarded, as in callbacks of weak references."""
    if _requested is not None and issubclass(unraisable.exc_type, KeyboardInterrupt):
        soon(_stop)
    else:
        report(unraisable)
