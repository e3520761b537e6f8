"""Progress on standard error: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time as clock
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")
_SECONDS_BETWEEN_LINES = 5.0


def shown(
    stream: Iterable[T], total: int, label: str, *, quiet: bool = False, note: Any = None
) -> Iterator[T]:
    """Pass a stream through and show how far it is.

    Parameters
    ----------
    stream : iterable
        What is counted.
    total : int
        How many there will be.
    label : str
        What is going on.
    quiet : bool
        Show nothing.
    note : callable (item) -> str, optional
        A few words on the last item.
    """
    if quiet:
        yield from stream
        return
    if sys.stderr.isatty():
        from tqdm import tqdm

        with tqdm(total=total, desc=label, file=sys.stderr, leave=False) as bar:
            for item in stream:
                if note is not None:
                    bar.set_postfix_str(note(item), refresh=False)
                bar.update()
                yield item
        return
    began = last = clock.monotonic()
    for count, item in enumerate(stream, 1):
        now = clock.monotonic()
        if now - last >= _SECONDS_BETWEEN_LINES and count < total:
            words = f", {note(item)}" if note is not None else ""
            print(f"{label}: {count}/{total}{words}, {now - began:.0f} s", file=sys.stderr)
            last = now
        yield item
