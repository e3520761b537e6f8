"""The shared pool of threads."""

import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from fresh_process import run_python
from parameters import each, refused, together

from meanfield.engines import threads


@pytest.fixture(autouse=True)
def _unchosen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(threads, "_chosen", None)
    monkeypatch.delenv("MEANFIELD_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with threads._controller().limit(limits=None):
        yield


def blas_threads() -> set[int]:
    """Numbers of threads of the BLAS libraries of this process, of those that have any."""
    # That of pyshtools is built without.
    libraries = threads._controller().select(user_api="blas").info()
    return {one["num_threads"] for one in libraries if one.get("threading_layer") != "disabled"}


def test_set_threads_wins(monkeypatch):
    """--threads must beat the environment."""
    monkeypatch.setenv("MEANFIELD_THREADS", "5")
    threads.set_threads(3)
    assert threads.threads() == 3


@pytest.mark.parametrize(
    ("own", "openmp", "expected"),
    [
        ("2", "7", 2), ("", "7", 7), ("", "6,2", 6), ("", "nonsense", 3), ("", "", 3),
        # A number for another machine would be an error that is not the user's.
        ("", "100000", threads.MOST_THREADS),
    ],
)  # fmt: skip
def test_threads_come_from_the_environment(monkeypatch, own, openmp, expected):
    """MEANFIELD_THREADS first, then OMP_NUM_THREADS, then the cores of this process."""
    monkeypatch.setenv("MEANFIELD_THREADS", own)
    monkeypatch.setenv("OMP_NUM_THREADS", openmp)
    monkeypatch.setattr(threads, "cores", lambda: 3)
    assert threads.threads() == expected


@pytest.mark.parametrize(
    "name, read, wrong, bounds",
    [
        ("MEANFIELD", threads.threads, wrong, "to")
        for wrong in ("0", "-1", "two", "1.5", "1025", "9" * 5000)
    ]
    + [("NUMBA_NUM", threads.limit_blas, wrong, "on") for wrong in ("0", "-2", "00")],
)
def test_wrong_environment_is_named(monkeypatch, name, read, wrong, bounds):
    """It would be ignored in silence, or whatever loads Numba first be blamed."""
    monkeypatch.setenv(f"{name}_THREADS", wrong)
    refused(f"{name}_THREADS is .* expected an integer from 1 {bounds}", read)


@together(
    "wrong, error, message",
    [(n, ValueError, f"lie between 1 and 1024, got {n}") for n in (0, -1, 1025, 10**9)]
    # True is 1 to Python, but not a number of threads.
    + [(wrong, TypeError, "be an integer") for wrong in (1.0, "2", True, None)],
)
def test_set_threads_refuses_nonsense(wrong, error, message):
    """No thread, no result; a million of them, no memory."""
    refused(f"threads must {message}", threads.set_threads, wrong, error=error)


def test_blas_has_as_many_threads():
    """--threads 1 would still use every core, and workers take each other's."""
    threads.set_threads(1)
    assert blas_threads() == {1}


@pytest.mark.parametrize(("own", "expected"), [("1", {1}), ("2", None)])
def test_blas_follows_the_environment(monkeypatch, own, expected):
    """MEANFIELD_THREADS=1 would still use every core."""
    before = blas_threads()
    monkeypatch.setattr(threads, "cores", lambda: 2)
    monkeypatch.setenv("MEANFIELD_THREADS", own)
    threads.limit_blas()
    assert blas_threads() == (expected or before)


@each("number", [1, 2, 5], count=[0, 1, 2, 3, 17])
def test_results_are_in_the_order_of_the_chunks(count, number):
    """Sums over chunks are reproducible only in a fixed order."""
    threads.set_threads(number)
    assert threads.map_chunks(lambda i: i * i, count) == [i * i for i in range(count)]


def test_chunks_run_at_the_same_time():
    """Three chunks that wait for each other finish only if there are three threads."""
    threads.set_threads(3)
    barrier = threading.Barrier(3, timeout=300)
    assert threads.map_chunks(lambda i: barrier.wait() >= 0, 3) == [True] * 3


def test_calls_from_inside_a_chunk_do_not_deadlock():
    """All threads of the pool could wait for chunks that no thread is left to run."""
    threads.set_threads(2)

    def outer(i: int) -> int:
        return sum(threads.map_chunks(lambda j: 10 * i + j, 4))

    assert threads.map_chunks(outer, 8) == [40 * i + 6 for i in range(8)]


@pytest.mark.parametrize("number", [1, 3])
def test_errors_of_chunks_are_raised(number):
    """An error in a helper thread must not vanish, nor leave a hole in the results."""
    threads.set_threads(number)

    def fail(i: int) -> int:
        if i == 5:
            raise ArithmeticError("chunk 5")
        return i

    refused("chunk 5", threads.map_chunks, fail, 9, error=ArithmeticError)


def test_no_chunk_begins_after_an_error():
    """All 16 chunks ran before the error of one of the first was reported."""
    threads.set_threads(2)
    started = []

    def fail(i: int) -> None:
        started.append(i)
        if i == 1:
            raise ArithmeticError("chunk 1")
        time.sleep(0.05)

    refused("chunk 1", threads.map_chunks, fail, 16, error=ArithmeticError)
    assert len(started) < 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_pool_is_new_after_a_fork():
    """The child inherits a pool whose threads do not exist: it would wait for ever."""
    threads.set_threads(2)
    barrier = threading.Barrier(2, timeout=300)
    threads.map_chunks(lambda i: barrier.wait(), 2)
    child = os.fork()
    if child == 0:
        fresh = threading.Barrier(2, timeout=300)
        try:
            os._exit(0 if len(threads.map_chunks(lambda i: fresh.wait(), 2)) == 2 else 1)
        except BaseException:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0


def test_last_thread_that_leaves_frees_blas():
    """Three runs in three threads would leave one BLAS thread to the whole program, for ever."""
    before = blas_threads()
    threads.set_threads(2)
    second = threads.one_blas_thread()
    with ThreadPoolExecutor(1) as other:
        with threads.one_blas_thread():
            other.submit(second.__enter__).result()
        assert blas_threads() == {1}
        threads.set_threads(3)
        assert blas_threads() == {1}
        other.submit(second.__exit__, None, None, None).result()
    assert blas_threads() == {3}
    threads._set_blas(max(before))


def test_interrupt_gives_blas_back(monkeypatch):
    """An interrupt while the number is set, or given back, would change it for ever."""
    threads.set_threads(2)
    for name in ("_enter_blas", "_leave_blas"):
        done = getattr(threads, name)

        def interrupted(done: Any = done) -> None:
            done()
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(threads, name, interrupted)
            with pytest.raises(KeyboardInterrupt), threads.one_blas_thread():
                pass
        with threads.one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {2}


def test_interrupt_of_a_compiled_function_is_an_interrupt():
    """Jupyter's stop button would show a SystemError of numba."""
    with pytest.raises(KeyboardInterrupt), threads.one_blas_thread():
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()
    with pytest.raises(SystemError, match="another"), threads.one_blas_thread():
        raise SystemError("another")


@pytest.mark.slow
@pytest.mark.parametrize(
    "before, work, printed",
    [
        # An error of the pool; and names are loaded when used: Python makes no pool that late.
        ("from meanfield.engines.threads import *; set_threads(4)",
         "time.sleep(0.1); print(map_chunks(lambda i: i * i, 5))", "[0, 1, 4, 9, 16]"),
        ("import meanfield as mf", "print(mf.simulate.__name__)", "simulate"),
    ],
    ids=["pool", "names"],
)  # fmt: skip
def test_work_goes_on_after_the_main_thread(before, work, printed):
    """A thread that outlives its script would end with an error."""
    code = (
        f"import threading, time\n{before}\n"
        f"def late():\n    threading.main_thread().join()\n    {work}\n"
        "threading.Thread(target=late).start()\n"
    )
    run = run_python(code)
    assert (run.stdout, run.stderr) == (f"{printed}\n", "")


def test_full_system_is_reported(monkeypatch):
    """A system without room for threads would look like one that is shutting down."""

    class Full:
        def submit(self, work: object) -> None:
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads, "_shared_pool", Full)
    threads.set_threads(2)
    refused("can't start new thread", threads.map_chunks, lambda i: i, 2, error=RuntimeError)


def test_empty_number_of_threads_counts_as_none():
    """Runs on the sphere would end with an error of ducc0."""
    code = "import meanfield as mf; assert mf.Sphere().grid(18).points.shape[1] == 3"
    run_python(code, OMP_NUM_THREADS="")
