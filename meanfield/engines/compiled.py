"""Compiling with numba: one decorator with the defaults of this project, one notice.

Kernels are compiled on first use and kept in numba's cache on disk, next to the source or in
the user's cache folder. Only modules of kernels import this one, and they are imported where
they are used: numba takes a third of a second to load.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from typing import Any

import numba
from numba.core import event, types
from numba.core.caching import FunctionCache
from numba.extending import intrinsic as _intrinsic

# Settings from the environment, which numba gives no types.
_config: Any = numba.config
_NOTICE = "compiling kernels that were not needed before (kept for the next time)"


def njit(function: Any = None, /, **options: Any) -> Any:
    """Compile a function: `numba.njit` with cache=True and nogil=True; no `fastmath`."""
    if function is None:
        return lambda decorated: njit(decorated, **options)
    options = {"nogil": True} | options
    cached = options.pop("cache", True)
    kernel: Any = numba.njit(**options)(function)
    if _config.DISABLE_JIT:
        return kernel
    kernels.append(kernel)
    if cached:
        # Where numba finds no folder it may write to, every process compiles again.
        with contextlib.suppress(RuntimeError):
            kernel._cache = KernelCache(function)
    return _without_literals(kernel)


kernels: list[Any] = []
"""All kernels of the modules that this process has imported."""


def not_compiled() -> list[str]:
    """Kernels that are neither compiled nor called by one that is."""
    compiled = set[Any]()
    for kernel in kernels:
        if kernel.signatures:
            _add_called(kernel.py_func, compiled)
    missing = (kernel.py_func for kernel in kernels if kernel.py_func not in compiled)
    return sorted(f"{function.__module__}.{function.__name__}" for function in missing)


def _add_called(function: Any, functions: set[Any]) -> None:
    if function in functions:
        return
    functions.add(function)
    for name in function.__code__.co_names:
        # Kernels have a Python function, functions that write LLVM code a definition.
        value = function.__globals__.get(name)
        below = getattr(value, "py_func", None) or getattr(value, "_defn", None)
        if below is not None:
            _add_called(below, functions)


class KernelCache(FunctionCache):
    """Numba's cache: what cannot be read counts as absent, what cannot be written is not kept.

    A kernel is known by the files of all functions it calls, not only by its own.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:
            # What a cut or damaged pickle raises may be any error.
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            try:
                super().save_overload(sig, data)
            except OSError:
                raise
            except Exception:
                # The index cannot be read: begin a new one.
                self.flush()
                super().save_overload(sig, data)
        except OSError as error:
            _say_once(f"compiled kernels cannot be kept in {self.cache_path}: {error.strerror}")

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        functions = set[Any]()
        _add_called(self._py_func, functions)
        files: dict[str, tuple[float, int]] = {}
        for name in {function.__code__.co_filename for function in functions}:
            with contextlib.suppress(OSError):
                status = os.stat(name)
                files[name] = (status.st_mtime, status.st_size)
        return (*super()._index_key(sig, codegen), tuple(sorted(files.items())))


def _without_literals(kernel: Any) -> Any:
    """Compile no copy of a kernel for each constant that other kernels give it."""
    usual = kernel.get_call_template

    def template(args: Any, kws: Any) -> Any:
        plain = {name: types.unliteral(kind) for name, kind in dict(kws).items()}
        return usual(tuple(map(types.unliteral, args)), plain)

    kernel.get_call_template = template
    return kernel


def intrinsic(python: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function that writes LLVM code into one that kernels call.

    python: what the code does, for kernels that are not compiled (NUMBA_DISABLE_JIT=1).
    """
    return lambda write: python if _config.DISABLE_JIT else _intrinsic(write)


_said: set[str] = set()


def _say_once(text: str) -> None:
    """Print a line on standard error, the first time."""
    if text not in _said:
        _said.add(text)
        print(f"meanfield: {text}", file=sys.stderr, flush=True)


compilations: list[str] = []
"""Kernels of the package that this process has compiled."""


class _Notice(event.Listener):
    """Says once per process that compilation takes its time, and counts compiled kernels."""

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"].py_func
        module = function.__module__ or ""
        if module.split(".")[0] == __name__.split(".")[0]:
            _say_once(_NOTICE)
            compilations.append(f"{module}.{function.__name__}")

    def on_end(self, event: Any) -> None: ...


event.register("numba:compile", _Notice())
