"""Progress on standard error: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import threading
import time as clock
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from meanfield.commands.streams import BARS, Forgiving, say

T = TypeVar("T")
_SECONDS_BETWEEN_LINES = 5.0


def shown(
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
) -> Iterator[T]:
    """Pass a stream through and show how far it is.

    Parameters
    ----------
    stream : iterable
        What is counted.
    total : float
        How many there will be, or the sum of their weights.
    label : str
        What is going on.
    quiet : bool
        Show nothing.
    note : callable (item) -> str, optional
        A few words on the last item.
    weight : callable (item) -> float, optional
        Share of an item in the work; progress is then in per cent.
    lines : callable (item) -> lines of text, optional
        What is to be told of an item in any case, each on a line of its own.
    before : callable (item) -> float, optional
        What had been done, in units of the total, before the first item; default: nothing.
    first_line : float, optional
        Seconds until the first line of plain text may come, five by default; then it comes even
        before an item.
    """
    if quiet:
        yield from stream
        return
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
                bar.update(1 if weight is None else weight(item))
                yield item
        return
    began = clock.monotonic()
    wait = _SECONDS_BETWEEN_LINES if first_line is None else first_line
    due = began + wait
    done = found = 0.0
    for i, item in enumerate(_announced(stream, label, wait)):
        if i == 0 and before is not None:
            done = found = before(item)
        done += 1 if weight is None else weight(item)
        for line in lines(item) if lines is not None else ():
            say(f"{label}: {line}")
        now = clock.monotonic()
        if now >= due and found < done < total:
            words = f", {note(item)}" if note is not None else ""
            part = f"{done:.0f}/{total:.0f}" if weight is None else f"{100 * done / total:.0f} %"
            spent = now - began
            left = _rounded((total - done) * spent / (done - found))
            say(f"{label}: {part}{words}, {spent:.0f} s, about {left} s left")
            due = now + _SECONDS_BETWEEN_LINES
        yield item


@contextmanager
def _listed(bar: Any) -> Iterator[Any]:
    """A bar that lines do not stand behind, closed in the end."""
    BARS.append(bar)
    try:
        with bar:
            yield bar
    finally:
        BARS.remove(bar)


def _rounded(seconds: float) -> str:
    """Two digits, and none of them behind the point.

    Examples
    --------
    >>> _rounded(0.2), _rounded(73.4), _rounded(12345.0)
    ('0', '73', '12000')
    """
    return f"{round(seconds, 2 - max(2, len(str(int(seconds))))):.0f}"


def _announced(stream: Iterable[T], label: str, wait: float | None) -> Iterator[T]:
    """Pass a stream through; say that it has begun if its first item takes longer than this."""
    if not wait:
        yield from stream
        return
    timer = threading.Timer(wait, say, (f"{label}: begun",))
    timer.daemon = True
    timer.start()
    try:
        for item in stream:
            timer.cancel()
            yield item
    finally:
        timer.cancel()
