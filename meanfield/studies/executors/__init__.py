"""Many tasks on any executor: here, in threads, in processes, on a Dask cluster.

Worker processes end with this process. They are spawned, because a fork copies locks of threads
without the threads.
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

# Most tasks at an executor: enough for a thousand workers, and few for a scheduler's memory.
_AHEAD = 2000


def finished(
    function: Callable[[Task], Result], tasks: Iterable[Task], executor: Executor | None = None
) -> Iterator[tuple[Task, Result]]:
    """Call a function for every task, and yield each task with its result as it finishes.

    Any end of the iteration, also an error of a task, cancels tasks that have not begun. At most
    2000 tasks wait at the executor, so `tasks` may be of any length.

    function: with other processes, it and all functions in tasks are at the top of a module.
    tasks: started in this order.
    executor: None calls in this process, one task after the other.

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
    # Looked up, not imported: Python refuses to load its pools once the main thread has ended.
    pools = sys.modules.get("concurrent.futures.process")
    kinds = (WorkerPool,) if pools is None else (WorkerPool, pools.ProcessPoolExecutor)
    return isinstance(executor, kinds)


def _check_sendable(work: object) -> None:
    """Refuse objects that do not pickle, with a clearer message than that of a process pool."""
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
    """Executor of `workers` processes with `threads` threads each; None for one worker.

    With None the caller works itself. The end of the block ends the processes; an error or an
    interrupt ends them at once, in the middle of tasks. They also end if this process is killed.

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
    """A thread for each process sends it tasks through a pipe and waits for answers.

    The processes share nothing. So a killed process blocks no other: its pipe ends, and its thread
    raises an error.
    """

    def __init__(self, workers: int):
        super().__init__(workers)
        self._processes: list[SpawnProcess] = []
        # Never empty for a thread: there are as many processes as threads.
        self._idle: SimpleQueue[Connection] = SimpleQueue()

    def start(self, threads: int) -> None:
        context = multiprocessing.get_context("spawn")
        with _blocked_signals():
            # Starts the process that removes locks at the end. That unblocks signals, so it must
            # not happen while workers start.
            context.Lock()
        with _blocked_signals():
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
        """End all processes at once, and the tasks that wait for them."""
        super().shutdown(wait=False, cancel_futures=True)
        for process in self._processes:
            # Workers ignore SIGTERM.
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
def _blocked_signals() -> Iterator[None]:
    """Block stop signals for processes that start in the block, also while they load.

    This process receives them after the block, since an exception in it would leave a process half
    started.
    """
    main = threading.current_thread() is threading.main_thread()
    if not (main and hasattr(signal, "pthread_sigmask")):
        yield
        return
    numbers = [n for n in STOPPING if callable(signal.getsignal(n))]
    pending: list[int] = []
    # The mask is for the children; other threads of this process may still take the signal.
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
    """Prepare a new process as a worker."""
    # Terminals and queues signal all processes; the parent ends its workers.
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)
    set_threads(threads)
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    """Wait for the end of the parent, which may be killed, and end this process."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
