"""Output files that are complete at every instant: all output goes through this module.

A new version is written to a temporary file beside the old one, flushed to the disk and renamed
onto it. A reader, or a killed process, leaves or finds either the old version or the new one. The
folder is flushed, too, so that a power cut does not restore the old one.

Temporary names, `.NAME.meanfield-DIGITS`, are random and do not exist before, so they overwrite
nothing. Only regular files are replaced.

Signals wait while their exception would do harm. It would leave a write incomplete; in an import or
the compiler it would become another error, or leave a lock closed for ever. So a signal waits for
the end of the outermost block `uninterrupted`, or until an alarm finds the main thread outside
imports and compiler.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

NOT_WRITTEN = "cannot be written"
"""Part of every message on a write that failed."""


class OutputError(ValueError):
    """The output cannot be written where the user wants it."""


def replace_bytes(path: Path, content: bytes) -> None:
    """Replace a file by the given content."""
    with uninterrupted(), replacing(path) as partial:
        partial.write_bytes(content)


@contextmanager
def replacing(path: Path, check: Callable[[], None] = lambda: None) -> Iterator[Path]:
    """Yield an empty temporary file, which replaces a file after the block.

    path: the file. A link stays a link: its target is replaced.
    check: called before the block and before the replacement; raises to prevent it.
    """
    # A link to itself has no target: os.path.realpath leaves it, where Path.resolve would raise.
    target = Path(os.path.realpath(path))
    partial = companion(target, os.urandom(8).hex())
    created = False
    try:
        # Renaming would put a file in place of a pipe or a device.
        if target.exists() and not target.is_file():
            raise FileExistsError(errno.EEXIST, "it is not a regular file")
        check()
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666))
        created = True
        yield partial
        # Content first: otherwise the new name could reach the disk before it.
        _synchronize(partial, os.O_RDWR)
        check()
        os.replace(partial, target)
        # Some systems cannot flush folders; the file is in its place all the same.
        with suppress(OSError):
            _synchronize(target.parent, os.O_RDONLY)
    except OSError as error:
        raise OutputError(not_written(path, error.strerror or str(error))) from None
    finally:
        if created:
            with suppress(OSError):
                partial.unlink(missing_ok=True)


def companion(target: Path, what: str) -> Path:
    """Temporary file or lock beside a file that is being written."""
    return target.with_name(f".{target.name}.meanfield-{what}")


def clear_away(target: Path) -> None:
    """Remove temporary files that a killed writer left; the caller must hold the lock."""
    name = re.compile(re.escape(companion(target, "").name) + "[0-9a-f]{16}")
    with suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            if name.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(OSError):
                    os.unlink(entry.path)


def not_written(path: object, reason: str) -> str:
    """Message on a file that could not be replaced; a later status may contain it."""
    return f"{path} {NOT_WRITTEN}: {reason}."


def _synchronize(path: Path, mode: int) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, mode)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
    """Call an action that may raise: now, or as soon as an exception does no harm."""
    _waiting.append(action)
    look_again(0, frame)


def soon(action: Callable[[], object]) -> None:
    """Call an action that may raise after a short delay, once an exception does no harm."""
    _waiting.append(action)
    _set_alarm(_AGAIN_SECONDS)


def look_again(number: int, frame: FrameType | None) -> None:
    """Handler of SIGALRM: call the waiting actions, unless an exception would do harm now."""
    if _blocks or not _waiting:
        return
    if _is_delicate(frame) and _set_alarm(_AGAIN_SECONDS):
        return
    with ExitStack() as stack:  # calls all of them, even if one raises
        while _waiting:
            stack.callback(_waiting.pop())


def forget() -> None:
    """Drop the waiting actions."""
    _waiting.clear()
    _set_alarm(0.0)


def _set_alarm(seconds: float) -> bool:
    """Send SIGALRM after some seconds (0: never); False where `look_again` is not its handler."""
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
