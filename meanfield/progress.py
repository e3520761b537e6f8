"""Progress bars of calls from Python, in a notebook or on a terminal."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


def wants_bar(progress: bool | None) -> bool:
    """True if the caller wants a bar; the default is True in a Jupyter kernel only."""
    if progress is not None:
        return progress
    ipython = sys.modules.get("IPython")
    return ipython is not None and type(ipython.get_ipython()).__name__ == "ZMQInteractiveShell"


def followed(
    items: Iterable[T],
    total: float,
    label: str,
    *,
    weight: Callable[[T], float] | None = None,
    note: Callable[[T], str] | None = None,
) -> Iterator[T]:
    """Pass items through and show their number of `total`, or the sum of their weights.

    >>> list(followed([1, 2], 2, "two"))
    [1, 2]
    """
    form = None if weight is None else "{l_bar}{bar}| [{elapsed}<{remaining}{postfix}]"
    bar = _bar(total=total, desc=label, bar_format=form)
    try:
        for item in items:
            if note is not None:
                bar.set_postfix_str(note(item), refresh=False)
            bar.update(1 if weight is None else weight(item))
            yield item
    finally:
        bar.close()


def _bar(**options: Any) -> Any:
    """Progress bar of a notebook if possible, else of a terminal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm

        try:
            return tqdm(**options)
        except ImportError:  # a notebook without ipywidgets
            from tqdm import tqdm as plain

            return plain(**options)
