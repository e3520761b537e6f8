"""Tasks on any executor: all of them, in order, and no more once something ended."""

import itertools
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing, nullcontext
from functools import partial
from multiprocessing import get_context

import pytest
from parameters import refused

from meanfield.errors import SimulationError
from meanfield.studies import executors as executing
from meanfield.studies.executors import finished, worker_pool


def square(number):
    """Task of a moment; 13 cannot be done."""
    if number == 13:
        raise SimulationError(1.5, 3, "the step became too small")
    return number**2


@pytest.mark.slow
@pytest.mark.parametrize(
    "pool",
    [
        nullcontext,
        partial(ThreadPoolExecutor, 2),
        partial(ProcessPoolExecutor, 2, get_context("spawn")),
        partial(worker_pool, 2),
    ],
    ids=["here", "threads", "processes", "workers"],
)
def test_every_task_is_done_once_or_reported(pool, monkeypatch):
    """A task would be lost or done twice, a study that lacks nothing wait, a reason be lost."""
    monkeypatch.setattr(executing, "_AHEAD", 5)
    tasks = [*range(12), 3]
    with pool() as executor:
        results = sorted(finished(square, tasks, executor))
        assert results == sorted((task, task**2) for task in tasks)
        assert list(finished(square, [], executor)) == []
        with pytest.raises(SimulationError, match=r"too small \(stopped at t = 1.5, step 3\)"):
            list(finished(square, [1, 13, 2], executor))


def test_tasks_begin_in_order():
    """An interrupted study would be unbalanced."""
    start = []
    with ThreadPoolExecutor(1) as executor:
        list(finished(start.append, range(50), executor))
    assert start == list(range(50))


def test_results_come_as_they_finish():
    """A long task would hold back the results, and the progress, of all others."""
    second = threading.Event()

    def task(number):
        if number == 0:
            assert second.wait(10.0)
        return number

    with ThreadPoolExecutor(2) as executor:
        order = []
        for number, _ in finished(task, range(4), executor):
            order.append(number)
            if number == 3:
                second.set()
    assert order == [1, 2, 3, 0]


@pytest.mark.parametrize("failing", [False, True])
def test_end_cancels_waiting_tasks(failing):
    """An interrupt would wait until all tasks are done; a failed study go on for hours."""
    start = []

    def task(number):
        start.append(number)
        time.sleep(0.01)
        if failing and number == 2:
            raise ArithmeticError("two")

    with ThreadPoolExecutor(1) as executor, closing(finished(task, range(1000), executor)) as some:
        if failing:
            refused("two", list, some, error=ArithmeticError)
        else:
            next(some)
    assert len(start) < 1000


def test_tasks_are_taken_as_they_are_needed(monkeypatch):
    """Millions of tasks would lie in the memory of the scheduler, or never end being made."""
    monkeypatch.setattr(executing, "_AHEAD", 4)
    taken = itertools.count()
    with ThreadPoolExecutor(1) as executor, closing(finished(abs, taken, executor)) as endless:
        assert [next(endless) for _ in range(3)] == [(0, 0), (1, 1), (2, 2)]
    assert next(taken) == 4 + 3
