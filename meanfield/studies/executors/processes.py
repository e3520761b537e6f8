"""Worker processes for studies of many runs: started afresh, one thread each, gone with us.

Processes are spawned, not forked: a fork would copy locks of threads that it does not copy.
"""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, InvalidStateError, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from meanfield.engines.threads import set_threads

_POOLS = ProcessPoolExecutor.__module__
_PATIENCE_SECONDS = 1.0
# Requests to stop; Windows has no SIGHUP.
_STOPPING = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


@contextmanager
def worker_pool(workers: int, threads: int = 1) -> Iterator[Executor | None]:
    """Executor of several processes, or None for one: then the caller does the work itself.

    Whatever ends the block ends the processes: an error or an interrupt at once, without waiting
    for what they are doing. They also leave when this process is killed.

    workers: how many processes, at least 1; threads: threads of each process that is started.

    >>> with worker_pool(1) as executor:
    ...     print(executor)
    None
    """
    if workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}.")
    if workers == 1:
        yield None
        return
    before = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    # Its locks start a process that removes them in the end; that one hears SIGHUP otherwise.
    with _unheard_signals():
        pool = ProcessPoolExecutor(workers, context, initializer=_prepare, initargs=(threads,))
    try:
        with _quiet_managers():
            with _unheard_signals():
                # Processes start when there is something to do.
                for _ in range(workers):
                    pool.submit(_nothing)
            yield pool
    except BaseException as error:
        with _quiet_managers():
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(multiprocessing.active_children()) - before:
                # Not terminated: they hear no signals.
                process.kill()
            _wait_for_managers()
        if isinstance(error, BrokenProcessPool):
            reason = "ended unexpectedly, perhaps for lack of memory; try fewer workers"
            raise OSError(errno.ECHILD, reason, "a worker process") from None
        raise
    pool.shutdown()


@contextmanager
def _unheard_signals() -> Iterator[None]:
    """Processes started inside the block never hear a request to stop, not even while they load.

    We hear it when they are started: an exception on the way would leave one half made.
    """
    main = threading.current_thread() is threading.main_thread()
    if not (main and hasattr(signal, "pthread_sigmask")):
        yield
        return
    numbers = [n for n in _STOPPING if callable(signal.getsignal(n))]
    pending: list[int] = []
    # Other threads may take the signal in spite of the mask, which is for the children.
    usual = {n: signal.signal(n, lambda number, frame: pending.append(number)) for n in numbers}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for number, handler in usual.items():
            signal.signal(number, handler)
        for number in pending[:1]:
            signal.raise_signal(number)


@contextmanager
def _quiet_managers() -> Iterator[None]:
    """Spare users the last words of the threads of pools whose processes were lost.

    Such a thread reports lost processes to futures that have been cancelled meanwhile, and fails.
    """
    usual = threading.excepthook

    def hook(args: threading.ExceptHookArgs) -> None:
        if type(args.thread).__module__ != _POOLS or args.exc_type is not InvalidStateError:
            usual(args)

    threading.excepthook = hook
    try:
        yield
    finally:
        threading.excepthook = usual


def _wait_for_managers() -> None:
    """Wait for the threads of pools that are being ended."""
    for thread in threading.enumerate():
        if type(thread).__module__ == _POOLS:
            thread.join(_PATIENCE_SECONDS)


def _nothing() -> None:
    """Task that starts a process."""


def _prepare(threads: int) -> None:
    """Make a fresh process a worker."""
    # A terminal, or a queue, sends to all processes; the first one sees to the others.
    for number in _STOPPING:
        signal.signal(number, signal.SIG_IGN)
    set_threads(threads)
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    """Wait for the end of the parent, which cannot say goodbye when it is killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
