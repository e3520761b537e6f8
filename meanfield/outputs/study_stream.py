"""Take down the results of a study as they come, so that whatever ends it loses none of them."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

from meanfield.outputs.recorder import RUNNING
from meanfield.run import COMPLETED

Task = TypeVar("Task")
Result = TypeVar("Result")

# A flush costs some milliseconds: at most about one per cent of the time.
_FLUSH_SECONDS = 1.0


def taken_down(
    results: Iterable[tuple[Task, Result]],
    take: Callable[[Task, Result], None],
    write: Callable[[str], None],
    progress: Callable[[], str],
) -> Generator[Task, None, None]:
    """Keep results as they come and write them about every second.

    Parameters
    ----------
    results : iterable of (task, result)
        As `studies.executors.finished.finished` yields them.
    take : callable (task, result)
        Puts a result where it belongs.
    write : callable (status)
        Writes the file anew, with this status: "running" while there is more to come.
    progress : callable () -> str
        What is done, of how many, for the status of a study that ends early.

    Yields
    ------
    task
        Each one after its result was taken. Whatever ends the stream, the file holds all of them.

    Examples
    --------
    >>> done = []
    >>> stream = taken_down(
    ...     [(1, "a"), (2, "b")],
    ...     lambda task, result: done.append(result),
    ...     lambda status: print(status, done),
    ...     lambda: f"{len(done)} of 2",
    ... )
    >>> list(stream)
    running []
    completed ['a', 'b']
    [1, 2]
    """
    write(RUNNING)
    written = clock.perf_counter()
    try:
        for task, result in results:
            take(task, result)
            if clock.perf_counter() - written > _FLUSH_SECONDS:
                write(RUNNING)
                written = clock.perf_counter()
            yield task
    except BaseException as error:
        cause = "interrupted" if isinstance(error, KeyboardInterrupt | GeneratorExit) else "failed"
        write(f"{cause} with {progress()} finished")
        raise
    write(COMPLETED)
