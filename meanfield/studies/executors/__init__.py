"""Many tasks on any executor: here, in threads, in processes, on a Dask cluster."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from itertools import islice
from queue import SimpleQueue
from typing import TypeVar

from meanfield.studies.executors.processes import WorkerPool

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
