"""Progress on standard error, as a bar or plain lines; closed streams raise no error."""

from __future__ import annotations

import io
import os
import sys
import threading
import time as clock
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

T = TypeVar("T")
_SECONDS_BETWEEN_LINES = 5.0
_SECONDS_OF_SILENCE = 30.0


def with_progress(
    stream: Iterable[T],
    total: float,
    label: str,
    *,
    quiet: bool = False,
    note: Any = None,
    weight: Callable[[T], float] | None = None,
    lines: Callable[[T], Iterable[str]] | None = None,
    before: Callable[[T], float] | None = None,
    first_line: float | None = None,
    prepares: bool = False,
) -> Iterator[T]:
    """Pass a stream through and show its progress.

    - total: number of items, or the sum of their weights.
    - weight: share of an item in the work; progress is then in per cent.
    - lines: lines to print for an item in any case.
    - before: progress before the first item, in units of the total; default: 0.
    - first_line: seconds until the first plain line, 5 by default; it appears without items, too.
    - prepares: True if the first item includes preparations. The pace leaves out that item, and
      every item for which kernels were compiled.
    """
    if quiet:
        yield from stream
        return
    compiled = _compiled()

    def prepared(index: int) -> bool:
        """True if the pace leaves out an item."""
        nonlocal compiled
        before, compiled = compiled, _compiled()
        return compiled > before or (index == 0 and prepares)

    if sys.stderr.isatty():
        from tqdm import tqdm

        form = "{l_bar}{bar}| [{elapsed}<{remaining}{postfix}]" if weight is not None else None
        screen: Any = Forgiving(sys.stderr)
        with _listed(
            tqdm(total=total, desc=label, file=screen, leave=False, bar_format=form)
        ) as bar:
            for i, item in enumerate(stream):
                if i == 0 and before is not None:
                    # Not as an update, which would count for the pace.
                    bar.initial = bar.n = before(item) if weight is not None else int(before(item))
                for line in lines(item) if lines is not None else ():
                    bar.write(line, file=screen)
                if note is not None:
                    bar.set_postfix_str(note(item), refresh=False)
                if prepared(i):
                    bar.initial = bar.n = bar.n + (1 if weight is None else weight(item))
                    bar.unpause()
                    bar.refresh()
                else:
                    bar.update(1 if weight is None else weight(item))
                yield item
        return
    pulse = _Pulse(label, _SECONDS_BETWEEN_LINES if first_line is None else first_line)
    due = pulse.began + pulse.wait
    done, rate, paced_from = 0.0, 0.0, pulse.began
    with pulse.beating():
        for i, item in enumerate(stream):
            if i == 0 and before is not None:
                done = rate = before(item)
            done += 1 if weight is None else weight(item)
            for line in lines(item) if lines is not None else ():
                pulse.tell(line)
            words = f", {note(item)}" if note is not None else ""
            part = f"{done:.0f}/{total:.0f}" if weight is None else f"{100 * done / total:.0f} %"
            pulse.reached = part + words
            now = clock.monotonic()
            if prepared(i):
                rate, paced_from = done, now
            if now >= due and done < total:
                left = ""
                if done > rate:
                    pace = (now - paced_from) / (done - rate)
                    left = f", about {_rounded((total - done) * pace)} s left"
                pulse.tell(f"{pulse.reached}, {now - pulse.began:.0f} s{left}")
                due = now + _SECONDS_BETWEEN_LINES
            yield item


def _compiled() -> int:
    """Number of kernels that this process has compiled; 0 before their module is loaded."""
    module = sys.modules.get("meanfield.engines.compiled")
    return 0 if module is None else len(module.compilations)


class _Pulse:
    """Lines during a long silence: "begun" after `wait` seconds, later the progress reached."""

    def __init__(self, label: str, wait: float) -> None:
        self.label, self.wait, self.reached = label, wait, ""
        self.began = self._last_line = clock.monotonic()
        self._over = threading.Event()

    def tell(self, text: str) -> None:
        self._last_line = clock.monotonic()
        say(f"{self.label}: {text}")

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Block during which a thread prints these lines."""
        if self.wait > 0:
            threading.Thread(target=self._beat, daemon=True).start()
        try:
            yield
        finally:
            self._over.set()

    def _beat(self) -> None:
        if not self._over.wait(self.wait) and not self.reached:
            self.tell("begun")
        while not self._over.wait(_SECONDS_BETWEEN_LINES):
            now = clock.monotonic()
            if now - self._last_line >= _SECONDS_OF_SILENCE:
                self.tell(f"{self.reached or 'begun'}, {now - self.began:.0f} s")


@contextmanager
def _listed(bar: Any) -> Iterator[Any]:
    """Bar that is in `BARS` during the block, and closed after it."""
    BARS.append(bar)
    try:
        with bar:
            yield bar
    finally:
        BARS.remove(bar)


def _rounded(seconds: float) -> str:
    """Seconds with two significant digits and no decimals.

    >>> _rounded(0.2), _rounded(73.4), _rounded(12345.0)
    ('0', '73', '12000')
    """
    return f"{round(seconds, 2 - max(2, len(str(int(seconds))))):.0f}"


BARS: list[Any] = []
"""Progress bars on the terminal; `say` clears them before it writes."""


def open_streams() -> None:
    """Open closed standard streams on the null device; escape characters that an encoding lacks.

    Otherwise the first opened file would become standard output.
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
    """Discard the buffer of a stream that fails, and all later output.

    Python flushes its streams once more at the end, which would fail, too.
    """
    with suppress(OSError, ValueError, AttributeError):
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, stream.fileno())
        os.close(descriptor)


def say(text: str) -> None:
    """Write a line to standard error; a closed stream is no error."""
    # A bar that is still open would stand before the text.
    for bar in BARS:
        bar.clear()
    # In one piece, or the line of another thread could come before the newline.
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
