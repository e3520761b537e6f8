"""Number of threads, and the pool that all computations share.

The number of chunks depends on the size of the work only, and results are combined in the order of
chunks. So the number of threads changes the time, and no bit of the result.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeVar

from meanfield.engines.limits import cores

_Result = TypeVar("_Result")

MOST_THREADS = 1024
MOST_CHUNKS = 16
"""Largest number of chunks of work on many points, whatever the number of threads."""

_chosen: int | None = None
_pool: ThreadPoolExecutor | None = None
_pool_size = 0
_lock = threading.Lock()


def set_threads(count: int) -> None:
    """Use 1 to 1024 threads from now on, in the whole process, also in BLAS."""
    if isinstance(count, bool) or not isinstance(count, int):
        raise TypeError(f"threads must be an integer, got {count!r}.")
    if not 1 <= count <= MOST_THREADS:
        raise ValueError(f"threads must lie between 1 and {MOST_THREADS}, got {count}.")
    global _chosen
    _chosen = count
    _set_blas(count)


def limit_blas() -> None:
    """Let BLAS use `threads()` too; otherwise it uses every core, or OMP_NUM_THREADS."""
    # Numba would raise later, without the name of the variable.
    numba = os.environ.get("NUMBA_NUM_THREADS", "").strip()
    if numba.removeprefix("-").isdecimal() and (numba[0] == "-" or not numba.strip("0")):
        raise ValueError(f"NUMBA_NUM_THREADS is {numba!r}, expected an integer from 1 on.")
    if threads() != cores():
        _set_blas(threads())


def threads() -> int:
    """Count of threads: `set_threads`, else MEANFIELD_THREADS, OMP_NUM_THREADS or `cores`."""
    if _chosen is not None:
        return _chosen
    own = os.environ.get("MEANFIELD_THREADS", "").strip()
    if own:
        count = int(own) if own.isdecimal() and len(own) < 10 else 0
        if not 1 <= count <= MOST_THREADS:
            raise ValueError(
                f"MEANFIELD_THREADS is {own!r}, expected an integer from 1 to {MOST_THREADS}."
            )
        return count
    # OpenMP allows a list, one number per level of nesting. Other values are ignored.
    shared = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if shared.isdecimal() and len(shared) < 10 and int(shared) >= 1:
        return min(int(shared), MOST_THREADS)
    return cores()


def map_chunks(function: Callable[[int], _Result], count: int) -> list[_Result]:
    """Values [function(0), ..., function(count - 1)], computed on `threads()` threads.

    The calling thread takes chunks too, so a call from inside a chunk cannot deadlock. Threads save
    time only where the function releases the GIL.
    """
    helpers = min(threads(), count) - 1 if count > 1 else 0
    if helpers < 1:
        return [function(i) for i in range(count)]
    results: dict[int, _Result] = {}
    numbers = itertools.count()  # next() on it is one step under the GIL and its successor

    def work() -> None:
        nonlocal count
        for i in numbers:
            if i >= count:
                return
            try:
                results[i] = function(i)
            except BaseException:
                count = 0  # nobody begins another chunk
                raise

    futures: list[Future[None]] = []
    # BLAS on all cores in each thread would be many times slower on a busy machine.
    with one_blas_thread():
        try:
            _submit(work, helpers, futures)
            work()
        finally:
            running = [future for future in futures if not future.cancel()]
            errors = [future.exception() for future in running]
    for error in errors:
        if error is not None:
            raise error
    return [results[i] for i in range(count)]


def chunk_bounds(size: int, chunks: int) -> list[int]:
    """Bounds of chunks of `size` items, (chunks + 1,); their lengths differ by at most one."""
    return [size * i // chunks for i in range(chunks + 1)]


def _submit(work: Callable[[], None], count: int, futures: list[Future[None]]) -> None:
    """Submit work to the pool up to `count` times; if the pool refuses, the caller does it."""
    try:
        for _ in range(count):
            futures.append(_shared_pool().submit(work))
    except RuntimeError as error:
        # The main thread has ended, or another thread has just changed the number of threads.
        if not str(error).startswith("cannot schedule new futures"):
            raise


def _shared_pool() -> ThreadPoolExecutor:
    """Pool for the current number of threads."""
    global _pool, _pool_size
    with _lock:
        size = threads()
        if _pool is None or _pool_size != size:
            if _pool is not None:
                _pool.shutdown(wait=False)
            # The calling thread is one more. Another one may just have set the number to 1.
            _pool, _pool_size = ThreadPoolExecutor(max(size - 1, 1), "meanfield"), size
        return _pool


def _forget_threads() -> None:
    """Reset pool and locks in a forked child, which has no other threads."""
    global _pool, _lock, _blas_lock
    _pool, _lock, _blas_lock = None, threading.Lock(), threading.RLock()
    own = threading.get_ident()
    for other in set(_inside) - {own}:
        del _inside[other]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Context in which BLAS uses one thread.

    On a busy machine waiting threads make small products up to hundreds of times slower. The number
    belongs to the process: the first context sets it, and the last one restores it. A SystemError
    from an interrupt inside a compiled function becomes a KeyboardInterrupt again.
    """
    own, entered = threading.get_ident(), False
    try:
        with _blas_lock:
            _enter_blas()
            _inside[own], entered = _inside[own] + 1, True
        yield
    except SystemError as error:
        if isinstance(error.__cause__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise
    finally:
        with _blas_lock:
            if entered:
                _inside[own] -= 1
                if _inside[own] == 0:
                    del _inside[own]
            if not _inside:
                _leave_blas()


# Number of open contexts of each thread.
_inside: Counter[int] = Counter()
# Threads of each library outside of all contexts, until they are restored.
_outside: dict[Any, int] = {}
_blas_lock = threading.RLock()


def _enter_blas() -> None:
    if _inside:
        return
    for library in _blas():
        # An interrupt may have left an entry behind, which is the number before.
        _outside.setdefault(library, library.get_num_threads())
    for library in _blas():
        _set(library, 1)


def _leave_blas() -> None:
    for library, count in _outside.items():
        _set(library, count)
    _outside.clear()


def _set_blas(count: int) -> None:
    """Set the threads of BLAS, now or after the end of all contexts."""
    with _blas_lock:
        for library in _blas():
            if _inside:
                _outside[library] = count
            else:
                _set(library, count)


def _set(library: Any, count: int) -> None:
    # threadpoolctl lets only the first living thread set numbers; here the lock decides.
    if hasattr(library, "clear_controlling_thread"):
        library.clear_controlling_thread(force=True)
    library.set_num_threads(count)


def _blas() -> list[Any]:
    return list(_controller().select(user_api="blas").lib_controllers)


@lru_cache(maxsize=1)
def _controller() -> Any:
    # SciPy has a BLAS of its own; loaded later, it would not be limited.
    import scipy.linalg.lapack  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
