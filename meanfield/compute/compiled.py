"""Compiling with numba: one decorator with the defaults of this project, one notice.

Kernels are compiled on first use and kept in numba's cache on disk, next to the source or in
the user's cache folder. Only modules of kernels import this one, and they are imported where
they are used: numba takes a third of a second to load.

Numba's cache looks at the file of a kernel, not at the files of the functions it calls: after
editing `elementary.py`, delete the cache (`__pycache__/*.nb?`) of what calls it.
"""

from __future__ import annotations

import sys
from typing import Any

import numba
from numba.core import event
from numba.extending import intrinsic as _intrinsic

_NOTICE = "meanfield: compiling kernels that were not needed before (kept for the next time)"


def njit(function: Any = None, /, **options: Any) -> Any:
    """Compile a function: `numba.njit` with cache=True and nogil=True as defaults.

    Parameters
    ----------
    function : callable, optional
        What to compile, when used as plain `@njit`.
    **options
        Passed on to `numba.njit`; `fastmath` is for each kernel to choose.

    Returns
    -------
    callable
        The compiled function, or the decorator that makes it.

    Examples
    --------
    >>> @njit(cache=False)
    ... def double(x):
    ...     return 2.0 * x
    >>> double(1.5)
    3.0
    """
    options = {"cache": True, "nogil": True} | options
    if function is None:
        return lambda decorated: njit(decorated, **options)
    try:
        return numba.njit(**options)(function)
    except RuntimeError:
        # Numba found no folder it may write to: compile again in every process.
        return numba.njit(**(options | {"cache": False}))(function)


def intrinsic(function: Any) -> Any:
    """Turn a function that writes LLVM code into one that kernels call: `numba.extending`'s."""
    return _intrinsic(function)


class _Notice(event.Listener):
    """Says once per process that compilation takes its time.

    Numba broadcasts "numba:compile" only when it compiles, not when it finds the kernel in
    its cache.
    """

    def __init__(self) -> None:
        self.given = False

    def on_start(self, event: Any) -> None:
        module = event.data["dispatcher"].py_func.__module__ or ""
        if not self.given and module.split(".")[0] == __name__.split(".")[0]:
            self.given = True
            print(_NOTICE, file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        """Nothing to say."""


event.register("numba:compile", _Notice())  # type: ignore[no-untyped-call]
