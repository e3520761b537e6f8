"""A Dask cluster as executor: the same results, whatever happens to its workers."""

import asyncio
import os
import pickle
import socket
import sys
import threading
import time
from concurrent.futures import Future
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.engines.threads import set_threads, threads
from meanfield.studies import convergence
from meanfield.studies import study as study_module
from meanfield.studies.convergence import convergence_study, density_reference
from meanfield.studies.executors import dask_cluster as scheduler
from meanfield.studies.executors import finished
from meanfield.studies.executors.dask_cluster import received, scheduler_pool, version

LAW = mf.perturbed_uniform([[3, 0.0, 0.2]])
PROBLEM = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.USA, LAW)


def study(executor=None, problem=PROBLEM):
    return convergence_study(
        problem, 6.0, save=4, tokens=(50, 400, 2000), runs=8, executor=executor
    )


def refused_at(address, message):
    with pytest.raises(ValueError, match=message), scheduler_pool(address):
        pass


@pytest.mark.slow
def test_study_survives_a_killed_worker(cluster, monkeypatch):
    """Systems of a lost worker would be missing, counted twice, or come out differently."""
    records, lost = [], []

    def killing(function, tasks, executor):
        for task, result in cluster.killing(4, lost)(function, tasks, executor):
            records.append((task.size, task.numbers.start))
            yield task, result

    expected = study().distances
    monkeypatch.setattr(study_module, "finished", killing)
    with scheduler_pool(cluster.address) as executor:
        distances = study(executor).distances
        with cluster.client() as client:
            assert len(client.nthreads()) == 2
    assert lost[0] > 0
    assert sorted(records) == sorted((n, r) for n in (50, 400, 2000) for r in range(8))
    np.testing.assert_array_equal(distances, expected)


@pytest.mark.slow
def test_client_s_own_executor_will_do(cluster):
    """Users of Dask would need our door to it."""
    with cluster.client() as client:
        distances = study(client.get_executor(pure=False)).distances
    np.testing.assert_array_equal(distances, study().distances)


@pytest.mark.slow
def test_lambda_of_the_main_script_reaches_workers(cluster):
    """A kernel made in a script or a notebook could not be studied on a cluster."""
    own = replace(PROBLEM, kernel=mf.zonal(lambda s: np.exp(5.0 * (s - 1.0)), beta=5.0))
    with scheduler_pool(cluster.address) as executor:
        distances = study(executor, own).distances
    np.testing.assert_array_equal(distances, study(None, own).distances)


@pytest.mark.slow
def test_what_tasks_share_is_sent_once(cluster):
    """The scheduler would hold as many copies of a density as there are tasks."""
    reference = density_reference(PROBLEM, np.arange(9.0), tolerance=1e-8, max_degree=256)
    plan = convergence.Comparison(PROBLEM, convergence.StudyOptions((9,)), 1e-8, reference)
    with scheduler_pool(cluster.address) as executor:
        assert len(list(finished(plan.run, plan.missing(plan.empty()), executor))) == 20
        with cluster.client() as client:
            result = client.run_on_scheduler(lambda dask_scheduler: [*dask_scheduler.tasks])
    assert sum(key.startswith("received") for key in result) == 1


@pytest.mark.usefixtures("same_threads")
def test_worker_uses_one_thread():
    """Tasks of one machine would fight for its cores."""
    set_threads(2)
    assert scheduler.call(version(), threads, pickle.dumps(((), {}))) == 1


def test_other_versions_are_refused():
    """Results of two versions would be mixed, or the user read of a task graph."""
    refused(rf"came late has meanfield {version()}, expected 9.9", received, "9.9", b"")
    error = ModuleNotFoundError("No module named 'meanfield'")
    text = r"cannot load meanfield .* \(No module named 'meanfield'"
    refused(text, scheduler.check_versions, {"tcp://a:1": version(), "tcp://b:1": error})


@pytest.mark.slow
def test_versions_of_the_workers_are_requested(cluster, monkeypatch):
    """A cluster of another version would be used."""
    monkeypatch.setattr("meanfield.version.__version__", "9.9")
    refused_at(cluster.address, r"worker tcp://\S+ has meanfield \S+, expected 9.9")


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("tcp://127.0.0.1:1", "no answer"),
        ("node", "missing port number in address 'node'"),
        ("", "missing port number"),
        ("carrier://pigeon:1", "unknown address scheme 'carrier'"),
        ("tls://127.0.0.1:1", "TLS needs certificates: set distributed.comm.tls"),
    ],
)
def test_address_without_scheduler_is_refused(address, reason, monkeypatch):
    """The command would hang, or show a traceback of Dask's."""
    pytest.importorskip("distributed")
    monkeypatch.setattr(scheduler, "_CONNECT_SECONDS", 0.3)
    refused_at(address, f"no Dask scheduler at '{address}' .{reason}")


@pytest.mark.parametrize("answer", [bytes(400), b"HTTP/1.0 200 OK\r\n\r\n Hello, hello!"])
def test_another_server_is_no_scheduler(answer):
    """Decoders of Dask fail in many ways: a struct.error, or no memory for a huge length."""
    pytest.importorskip("distributed")

    def reply():
        connection, _ = listener.accept()
        connection.sendall(answer)
        connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=reply, daemon=True).start()
        address = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        refused_at(address, f"no Dask scheduler at '{address}' .\\w+")


def test_missing_package_is_reported(monkeypatch):
    """The user would not know what to install."""
    monkeypatch.setitem(sys.modules, "distributed", None)
    refused_at("tcp://127.0.0.1:1", "Dask is not installed: pip install distributed")


@pytest.mark.slow
def test_cluster_without_workers_is_reported_and_waited_for(cluster, monkeypatch):
    """A study whose workers are all lost would hang without a word, or lose its tasks."""
    monkeypatch.setattr(scheduler, "_SECONDS_BETWEEN_LOOKS", 0.1)
    notices, event = [], threading.Event()

    def notice(text):
        notices.append(text)
        event.set()

    with scheduler_pool(cluster.address, notice) as executor:
        results = finished(time.sleep, [0.2] * 12, executor)
        next(results)
        for process in cluster.processes[1:]:
            process.kill()
        assert event.wait(20.0)
        cluster.start_worker()
        assert len(list(results)) == 11
    assert "has no workers: waiting for some" in notices[0]
    assert notices[1:] == ["the Dask cluster has workers again (1)"]


@pytest.mark.slow
def test_task_that_kills_workers_is_reported(cluster):
    """One task that takes all memory would bring down the whole cluster, worker by worker."""
    cluster.start_worker()
    cluster.start_worker()
    cluster.wait_for_workers(5)
    with (
        pytest.raises(ChildProcessError, match="4 workers took the same task and were lost"),
        scheduler_pool(cluster.address) as executor,
    ):
        list(finished(os._exit, [1], executor))


@pytest.mark.slow
def test_lost_scheduler_is_reported(cluster):
    """A study would wait for ever for a scheduler that has ended."""
    with (
        pytest.raises(ConnectionError, match="the Dask scheduler is gone"),
        scheduler_pool(cluster.address) as executor,
    ):
        results = finished(time.sleep, [0.1] * 100, executor)
        next(results)
        cluster.processes[0].kill()
        list(results)


@pytest.mark.slow
def test_end_cancels_what_waits_at_the_cluster(cluster):
    """An interrupted study would keep the cluster busy for others."""
    with cluster.client() as client:
        with pytest.raises(KeyboardInterrupt), scheduler_pool(cluster.address) as executor:
            next(finished(time.sleep, [0.3] * 1000, executor))
            raise KeyboardInterrupt
        time.sleep(1.0)
        assert len(client.nthreads()) == 3
        assert not any(client.processing().values())


def test_watcher_reports_each_change_once(monkeypatch):
    """A user would wait for a cluster without workers, or read of it again at every look."""
    monkeypatch.setattr(scheduler, "_SECONDS_BETWEEN_LOOKS", 0.0)
    workers = iter([{"a": 1}, {}, {}, {"a": 1, "b": 1}, {"a": 1}])
    notices = []
    # The last look fails: the scheduler is gone.
    client = SimpleNamespace(nthreads=lambda: next(workers))
    scheduler._watch(client, notices.append, threading.Event())
    assert ["no workers" in text for text in notices] == [True, False]
    assert notices[1].endswith("again (2)")


@pytest.mark.parametrize(
    ("answer", "left"),
    [(3.0, "3.0"), (ValueError("of the task"), "of the task"), (asyncio.CancelledError(), "gone")],
)
def test_result_reaches_the_future_that_stands_for_it(answer, left):
    """Whoever waits for a task would wait for ever, or lose a result with its worker."""

    async def gather(there, asynchronous):
        if isinstance(answer, BaseException):
            raise answer
        return answer

    here = Future()
    asyncio.run(scheduler._deliver(SimpleNamespace(gather=gather), None, here))
    if here.cancelled():
        assert left == "gone"
    else:
        assert left in str(here.exception() or here.result())
