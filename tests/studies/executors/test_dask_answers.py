"""Answers of a Dask cluster, played by stand-ins: no scheduler has to be started and lost."""

import asyncio
import threading
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from meanfield.studies.executors import dask_cluster


def test_watcher_tells_each_change_once(monkeypatch):
    """A user would wait for a cluster without workers, or be told again at every look."""
    monkeypatch.setattr(dask_cluster, "_SECONDS_BETWEEN_LOOKS", 0.0)
    workers = iter([{"a": 1}, {}, {}, {"a": 1, "b": 1}, {"a": 1}])
    message = []
    # The last look fails: the scheduler is gone.
    client = SimpleNamespace(nthreads=lambda: next(workers))
    dask_cluster._watch(client, message.append, threading.Event())
    assert ["no workers" in text for text in message] == [True, False]
    assert message[1].endswith("again (2)")


@pytest.mark.parametrize(
    ("answer", "left"),
    [(3.0, "3.0"), (ValueError("of the task"), "of the task"), (asyncio.CancelledError(), "gone")],
)
def test_result_reaches_the_future_that_stands_for_it(answer, left):
    """Whoever waits for a task would wait for ever."""

    async def gather(there, asynchronous):
        if isinstance(answer, BaseException):
            raise answer
        return answer

    here = Future()
    asyncio.run(dask_cluster._deliver(SimpleNamespace(gather=gather), None, here))
    if here.cancelled():
        assert left == "gone"
    else:
        assert left in str(here.exception() or here.result())


def test_scheduler_that_leaves_is_one_line(monkeypatch):
    """Lost schedulers and tasks that kill their workers would end in a traceback of Dask's."""
    distributed = pytest.importorskip("distributed")

    @contextmanager
    def connected(address):
        yield SimpleNamespace(run=lambda *args, **options: {})

    monkeypatch.setattr(dask_cluster, "_connected", connected)
    with (
        pytest.raises(ConnectionError, match="the Dask scheduler is gone, or cancelled the tasks"),
        dask_cluster.scheduler_pool("tcp://nowhere:1"),
    ):
        raise CancelledError
    with (
        pytest.raises(ChildProcessError, match="4 workers took the same task and were lost"),
        dask_cluster.scheduler_pool("tcp://nowhere:1"),
    ):
        raise distributed.KilledWorker("task", None, 3)
