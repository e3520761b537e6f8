"""Compilation with numba: the decorator `njit` with this package's defaults, caches, one notice.

Kernels come from the wheel (`packaged`), else from numba's cache on disk, next to the source or in
the user's cache folder, else they are compiled on first use. Only modules of kernels import this
one. Others import those inside functions, because numba takes a third of a second to load.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any

import numba
from numba.core import event, types
from numba.extending import intrinsic as _intrinsic

from meanfield.engines import packaged

try:
    from numba.core.caching import FunctionCache, NullCache
except ImportError:
    # Another numba: its usual cache is used, see `_keep`.
    FunctionCache = NullCache = object  # type: ignore[assignment, misc]

# Numba's settings from the environment, which have no types.
_config: Any = numba.config
_NOTICE = "compiling kernels that were not needed before (kept for the next time)"


def njit(function: Any = None, /, **options: Any) -> Any:
    """Compile a function: `numba.njit` with cache=True and nogil=True; no `fastmath`."""
    if function is None:
        return lambda decorated: njit(decorated, **options)
    # No C code calls kernels: without wrappers for C compilation takes 4 % less.
    options = {"nogil": True, "no_cfunc_wrapper": True} | options
    cached = options.pop("cache", True)
    kernel: Any = numba.njit(**options)(function)
    if _config.DISABLE_JIT:
        return kernel
    kernels.append(kernel)
    if cached:
        _keep(kernel)
    return _without_literals(kernel)


def _keep(kernel: Any) -> None:
    """Give a kernel the cache of this package, or numba's own if numba's internals changed."""
    try:
        try:
            kernel._cache = KernelCache(kernel.py_func)
        except RuntimeError:
            # Numba finds no folder that it can write to.
            kernel._cache = PackagedCache(kernel.py_func)
    except Exception:
        with contextlib.suppress(RuntimeError):
            kernel.enable_caching()


kernels: list[Any] = []
"""Kernels of all modules that this process has imported."""


def not_compiled() -> list[str]:
    """Names of kernels that are neither compiled nor called by a compiled one."""
    called = [kernel.py_func for kernel in kernels if kernel.signatures]
    compiled = set[Any]().union(*map(packaged.called_functions, called))
    missing = (kernel.py_func for kernel in kernels if kernel.py_func not in compiled)
    return sorted(f"{function.__module__}.{function.__name__}" for function in missing)


def _packaged(function: Any, signature: Any, target_context: Any) -> Any:
    """Kernel of the wheel; None if the wheel has none that fits."""
    # Damage and changes inside numba may raise any error.
    with contextlib.suppress(Exception):
        from numba.core.compiler import CompileResult

        target_context.refresh()
        data = packaged.load(function, signature, target_context.codegen())
        if data is not None:
            return CompileResult._rebuild(target_context, *data)
    return None


class PackagedCache(NullCache):
    """Cache that reads kernels of the wheel and writes nothing."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self._function = function

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        return _packaged(self._function, sig, target_context)


class KernelCache(FunctionCache):
    """Kernels of the wheel, then numba's cache; unreadable entries count as absent.

    The key of a kernel includes the content of all functions it calls, not only of its own file.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        kernel = _packaged(self._py_func, sig, target_context)
        if kernel is not None:
            return kernel
        try:
            return super().load_overload(sig, target_context)
        except Exception:
            # A cut or damaged pickle may raise any error.
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            try:
                super().save_overload(sig, data)
            except OSError:
                raise
            except Exception:
                # The index is unreadable: begin a new one.
                self.flush()
                super().save_overload(sig, data)
        except OSError as error:
            reason = error.strerror or error
            _say_once(f"compiled kernels cannot be kept in {self.cache_path}: {reason}")
        except Exception:
            # An interrupt leaves a kernel that is not whole: it is compiled again next time.
            return

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return (*super()._index_key(sig, codegen), packaged.content_key(self._py_func))


def _without_literals(kernel: Any) -> Any:
    """Kernel that compiles no copy of itself for each constant that other kernels pass."""
    usual = kernel.get_call_template

    def template(args: Any, kws: Any) -> Any:
        plain = {name: types.unliteral(kind) for name, kind in dict(kws).items()}
        return usual(tuple(map(types.unliteral, args)), plain)

    kernel.get_call_template = template
    return kernel


def intrinsic(python: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Decorator: makes a function that writes LLVM code into one that kernels call.

    python: the same in Python, for kernels that are not compiled (NUMBA_DISABLE_JIT=1).
    """
    return lambda write: python if _config.DISABLE_JIT else _intrinsic(write)


_said: set[str] = set()


def _say_once(text: str) -> None:
    """Print a line on standard error, once in a process."""
    if text not in _said:
        _said.add(text)
        print(f"meanfield: {text}", file=sys.stderr, flush=True)


compilations: list[str] = []
"""Names of this package's kernels that this process has compiled."""


class _Notice(event.Listener):
    """Reports once per process that kernels are compiled, and lists them in `compilations`."""

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"].py_func
        module = function.__module__ or ""
        if module.split(".")[0] == __name__.split(".")[0]:
            _say_once(_NOTICE)
            compilations.append(f"{module}.{function.__name__}")

    def on_end(self, event: Any) -> None: ...


event.register("numba:compile", _Notice())
