"""Worker processes: there when wanted, gone when not."""

import multiprocessing
import os
import signal
from multiprocessing.connection import Connection

import pytest

from meanfield.engines.threads import threads
from meanfield.studies.executors import worker_pool


def test_one_worker_is_this_process():
    """A process would be started for nothing."""
    with worker_pool(1) as executor:
        assert executor is None


@pytest.mark.slow
def test_workers_use_their_threads():
    """Two workers on two cores would run four threads."""
    with worker_pool(2, threads=3) as executor:
        assert executor.submit(threads).result() == 3


@pytest.mark.slow
def test_error_ends_the_workers_at_once():
    """An interrupt would wait for systems that take minutes."""
    before = set(multiprocessing.active_children())
    with pytest.raises(KeyboardInterrupt), worker_pool(2) as executor:
        executor.submit(os.getpid).result()
        started = set(multiprocessing.active_children()) - before
        raise KeyboardInterrupt
    assert started
    for process in started:
        process.join(5.0)
        assert not process.is_alive()


@pytest.mark.slow
def test_lost_worker_is_reported():
    """A worker killed for its memory would leave a traceback about broken pools."""
    with (
        pytest.raises(ChildProcessError, match="ended unexpectedly, perhaps for lack of memory"),
        worker_pool(2) as executor,
    ):
        executor.submit(signal.raise_signal, signal.SIGKILL).result()


def leave_in_the_answer(size):
    """Task whose worker is killed when it has sent a part of the answer."""

    def send(pipe, data, write=os.write):
        write(pipe.fileno(), bytes(data)[: max(4, len(data) // 2)])
        os.kill(os.getpid(), signal.SIGKILL)

    Connection._send = send
    return bytes(size)


@pytest.mark.slow
@pytest.mark.parametrize("size", [100, 100_000])
def test_half_an_answer_is_none(size):
    """The study would wait for the other half for ever, its processes idle."""
    with (
        pytest.raises(ChildProcessError, match="ended unexpectedly"),
        worker_pool(2) as executor,
    ):
        executor.submit(leave_in_the_answer, size).result(20.0)
