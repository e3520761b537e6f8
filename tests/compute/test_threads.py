"""The shared pool of threads."""

import os
import threading
from collections.abc import Iterator

import pytest

from meanfield.compute import threads


@pytest.fixture(autouse=True)
def _unchosen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(threads, "_chosen", None)
    monkeypatch.delenv("MEANFIELD_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    yield


def test_set_threads_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    """--threads must beat the environment."""
    monkeypatch.setenv("MEANFIELD_THREADS", "5")
    threads.set_threads(3)
    assert threads.threads() == 3


@pytest.mark.parametrize(
    ("own", "openmp", "expected"),
    [("2", "7", 2), ("", "7", 7), ("", "6,2", 6), ("", "nonsense", None), ("", "", None)],
)
def test_threads_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, own: str, openmp: str, expected: int | None
) -> None:
    """MEANFIELD_THREADS first, then OMP_NUM_THREADS, then the cores of this process."""
    monkeypatch.setenv("MEANFIELD_THREADS", own)
    monkeypatch.setenv("OMP_NUM_THREADS", openmp)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 2, 4}, raising=False)
    assert threads.threads() == (3 if expected is None else expected)


def test_threads_without_affinity_are_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Systems other than Linux have no sched_getaffinity."""
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 9)
    assert threads.threads() == 9


@pytest.mark.parametrize("wrong", ["0", "-1", "two", "1.5"])
def test_wrong_environment_is_refused(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    """A misspelt number must not be ignored in silence."""
    monkeypatch.setenv("MEANFIELD_THREADS", wrong)
    with pytest.raises(ValueError, match="MEANFIELD_THREADS is .* expected a positive integer"):
        threads.threads()


def test_set_threads_refuses_less_than_one() -> None:
    """No thread, no result."""
    with pytest.raises(ValueError, match="threads must be at least 1, got 0"):
        threads.set_threads(0)


@pytest.mark.parametrize("wrong", [1.0, "2", True, None])
def test_set_threads_refuses_what_is_no_integer(wrong: object) -> None:
    """True is 1 to Python, but not a number of threads."""
    with pytest.raises(TypeError, match="threads must be an integer"):
        threads.set_threads(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 17])
@pytest.mark.parametrize("number", [1, 2, 5])
def test_results_are_in_the_order_of_the_chunks(count: int, number: int) -> None:
    """Sums over chunks are reproducible only in a fixed order."""
    threads.set_threads(number)
    assert threads.map_chunks(lambda i: i * i, count) == [i * i for i in range(count)]


def test_chunks_run_at_the_same_time() -> None:
    """Three chunks that wait for each other finish only if there are three threads."""
    threads.set_threads(3)
    barrier = threading.Barrier(3, timeout=10)
    assert threads.map_chunks(lambda i: barrier.wait() >= 0, 3) == [True] * 3


def test_calls_from_inside_a_chunk_do_not_deadlock() -> None:
    """All threads of the pool could wait for chunks that no thread is left to run."""
    threads.set_threads(2)

    def outer(i: int) -> int:
        return sum(threads.map_chunks(lambda j: 10 * i + j, 4))

    assert threads.map_chunks(outer, 8) == [40 * i + 6 for i in range(8)]


@pytest.mark.parametrize("number", [1, 3])
def test_errors_of_chunks_are_raised(number: int) -> None:
    """An error in a helper thread must not vanish, nor leave a hole in the results."""
    threads.set_threads(number)

    def fail(i: int) -> int:
        if i == 5:
            raise ArithmeticError("chunk 5")
        return i

    with pytest.raises(ArithmeticError, match="chunk 5"):
        threads.map_chunks(fail, 9)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_pool_is_made_again_after_a_fork() -> None:
    """The child inherits a pool whose threads do not exist: it would wait for ever."""
    threads.set_threads(2)
    barrier = threading.Barrier(2, timeout=10)
    threads.map_chunks(lambda i: barrier.wait(), 2)
    child = os.fork()
    if child == 0:
        fresh = threading.Barrier(2, timeout=5)
        try:
            os._exit(0 if len(threads.map_chunks(lambda i: fresh.wait(), 2)) == 2 else 1)
        except BaseException:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
