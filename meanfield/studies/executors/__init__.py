"""Many tasks on any executor: here, in threads, in processes, on a Dask cluster.

Worker processes have one thread each and end with us. They are spawned, not forked: a fork would
copy locks of threads that it does not copy.
"""

from __future__ import annotations

import errno
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import islice
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from queue import SimpleQueue
from typing import Any, TypeVar

from meanfield.engines.threads import set_threads
from meanfield.files import STOPPING

Task = TypeVar("Task")
Result = TypeVar("Result")

# Enough for a thousand workers, and few enough for the memory of a scheduler.
_AHEAD = 2000


def finished(
    function: Callable[[Task], Result], tasks: Iterable[Task], executor: Executor | None = None
) -> Iterator[tuple[Task, Result]]:
    """Call a function for every task and yield each with its result as it finishes.

    Whatever ends the iteration, an error of a task included, cancels what has not begun. Never
    more than a few thousand tasks wait at the executor: the others are taken as it proceeds, so
    there may be any number of them.

    function: for an executor with other processes, defined at the top of a module, as every
    function in the tasks.
    tasks: started in this order.
    executor: where to call it; here, one after the other, by default.

    >>> list(finished(abs, [-2, 3]))
    [(-2, 2), (3, 3)]
    """
    if executor is None:
        for task in tasks:
            yield task, function(task)
        return
    remaining = iter(tasks)
    pending: dict[Future[Result], Task] = {}
    done: SimpleQueue[Future[Result]] = SimpleQueue()

    def submit(count: int) -> None:
        for task in islice(remaining, count):
            if not pending and _has_processes(executor):
                _check_sendable((function, task))
            future = executor.submit(function, task)
            pending[future] = task
            future.add_done_callback(done.put)

    try:
        submit(_AHEAD)
        while pending:
            future = done.get()
            submit(1)
            yield pending.pop(future), future.result()
    finally:
        for future in pending:
            future.cancel()


def _has_processes(executor: Executor) -> bool:
    # Not imported here: Python refuses to load its pools once the main thread has ended.
    pools = sys.modules.get("concurrent.futures.process")
    kinds = (WorkerPool,) if pools is None else (WorkerPool, pools.ProcessPoolExecutor)
    return isinstance(executor, kinds)


def _check_sendable(work: object) -> None:
    """Refuse what does not pickle, before a process pool says so in its own words."""
    try:
        pickle.dumps(work)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise TypeError(
            f"what is to be run cannot be sent to other processes ({error}). Define its functions "
            "at the top of a module instead of by lambda, or use one worker or a "
            "ThreadPoolExecutor."
        ) from None


@contextmanager
def worker_pool(workers: int, threads: int = 1) -> Iterator[WorkerPool | None]:
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
    pool = WorkerPool(workers)
    try:
        pool.start(threads)
        yield pool
    except BaseException:
        pool.kill()
        raise
    finally:
        pool.shutdown()


class WorkerPool(ThreadPoolExecutor):
    """A thread for each process: it sends a task by a pipe of their own and waits for the answer.

    The processes share nothing, so whichever is killed, at any instant, holds up no other: its
    pipe ends, and its thread says so.
    """

    def __init__(self, workers: int):
        super().__init__(workers)
        self._processes: list[SpawnProcess] = []
        # A thread always finds one: there are as many processes.
        self._idle: SimpleQueue[Connection] = SimpleQueue()

    def start(self, threads: int) -> None:
        context = multiprocessing.get_context("spawn")
        with _unheard_signals():
            # Starts the process that removes locks in the end; this unblocks signals, which the
            # workers would hear.
            context.Lock()
        with _unheard_signals():
            for _ in range(self._max_workers):
                here, there = context.Pipe()
                process = context.Process(target=_work, args=(there, threads))
                process.start()
                there.close()
                self._processes.append(process)
                self._idle.put(here)

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        return super().submit(self._answer, (function, arguments, named))

    def _answer(self, task: tuple[Any, ...]) -> Any:
        work = pickle.dumps(task)
        pipe = self._idle.get()
        try:
            pipe.send_bytes(work)
            answer = pipe.recv_bytes()
        except (EOFError, OSError):
            reason = "ended unexpectedly, perhaps for lack of memory; try fewer workers"
            raise ChildProcessError(errno.ECHILD, reason, "a worker process") from None
        finally:
            self._idle.put(pipe)
        value, error = pickle.loads(answer)
        if error is not None:
            raise error
        return value

    def kill(self) -> None:
        """End all processes at once, and with them what waits for them."""
        super().shutdown(wait=False, cancel_futures=True)
        for process in self._processes:
            # Not terminated: they hear no signals.
            process.kill()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait, cancel_futures=cancel_futures)
        for _ in self._processes:
            # The end of its pipe ends a process.
            self._idle.get().close()
        for process in self._processes:
            process.join()
        self._processes = []


@contextmanager
def _unheard_signals() -> Iterator[None]:
    """Processes started inside the block never hear a request to stop, not even while they load.

    We hear it when they are started: an exception on the way would leave one half made.
    """
    main = threading.current_thread() is threading.main_thread()
    if not (main and hasattr(signal, "pthread_sigmask")):
        yield
        return
    numbers = [n for n in STOPPING if callable(signal.getsignal(n))]
    pending: list[int] = []
    # Other threads may take the signal in spite of the mask, which is for the children.
    usual = {n: signal.signal(n, lambda number, frame: pending.append(number)) for n in numbers}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for number, handler in usual.items():
            signal.signal(number, handler)
        for number in pending[:1]:
            signal.raise_signal(number)


def _work(pipe: Connection, threads: int) -> None:
    """Answer tasks until the pipe ends."""
    _prepare(threads)
    with suppress(EOFError, OSError):
        while True:
            work = pipe.recv_bytes()
            try:
                function, arguments, named = pickle.loads(work)
                answer = pickle.dumps((function(*arguments, **named), None))
            except Exception as error:
                error.add_note(f"in a worker process: {traceback.format_exc()}")
                answer = pickle.dumps((None, error))
            pipe.send_bytes(answer)


def _prepare(threads: int) -> None:
    """Make a fresh process a worker."""
    # A terminal, or a queue, sends to all processes; the first one sees to the others.
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)
    set_threads(threads)
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    """Wait for the end of the parent, which cannot say goodbye when it is killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
