"""Fixtures of tests in several folders."""

import gc
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reporting import FAILED, write_down


def pytest_addoption(parser: pytest.Parser) -> None:
    """Option --slice K/N: every N-th of the tests that are chosen, from number K on."""
    parser.addoption("--slice", default="0/1", metavar="K/N")


def pytest_configure(config: pytest.Config) -> None:
    """Let signals reach tests and their children, also where a shell or nohup ignores them."""
    for number, usual in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGHUP, signal.SIG_DFL),
    ):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)


@pytest.hookimpl(trylast=True)  # after -m and -k
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the tests of the slice."""
    first, step = map(int, config.getoption("--slice").split("/"))
    others = [item for i, item in enumerate(items) if i % step != first]
    config.hook.pytest_deselected(items=others)
    items[:] = items[first::step]


@dataclass(frozen=True)
class Verified:
    """Asserts that an error is within its tolerance, and writes both for `make verify`."""

    test: str

    def __call__(
        self,
        section: str,
        what: str,
        error: Any,
        tolerance: float,
        *,
        measured: float | None = None,
        curve: tuple[Any, Any] | None = None,
    ) -> None:
        """Check the largest modulus of an error, a number or an array.

        Of all cases of one `what` the report shows the worst. `measured` is the number itself, such
        as an order, and `curve` sizes and errors for the figures.
        """
        largest = float(np.max(np.abs(error)))
        record = {
            "section": section, "what": what, "error": largest, "tolerance": float(tolerance),
            "test": self.test, "measured": None if measured is None else float(measured),
            "curve": None if curve is None else [[float(x) for x in axis] for axis in curve],
        }  # fmt: skip
        write_down("MEANFIELD_VERIFICATION", record)
        assert largest <= tolerance, f"{what}: error {largest:.3g}, tolerance {tolerance:.3g}"


@dataclass(frozen=True)
class Survived:
    """Writes how many faults of a kind a test made for `make faults`, after its assertions."""

    test: str

    def __call__(self, section: str, what: str, cases: int, **outcomes: int) -> None:
        """Count faults; `outcomes` says what became of them: how many each, cases in all."""
        assert cases > 0, f"{what}: no fault was made"
        assert sum(outcomes.values()) in (0, cases), f"{what}: {cases} faults, {outcomes}"
        record = {"section": section, "what": what, "cases": cases, "outcomes": outcomes}
        write_down("MEANFIELD_FAULTS", record | {"test": self.test})


def _name(path: Path, test: str) -> str:
    return f"{path.relative_to(Path(__file__).parents[1]).as_posix()}::{test}"


def pytest_collection(session: pytest.Session) -> None:
    """Search for no garbage: all that collection makes is kept."""
    gc.disable()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leave modules and tests out of each search for garbage, and search seldom: both take long."""
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)
    gc.enable()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Name the tests that fail on the pages, which have no other line on them."""
    outcome = yield
    if outcome.get_result().failed:  # type: ignore[attr-defined]
        for variable in ("MEANFIELD_VERIFICATION", "MEANFIELD_FAULTS"):
            write_down(variable, {"section": FAILED, "test": _name(item.path, item.name)})


@pytest.fixture(autouse=True)
def same_random_numbers(request: pytest.FixtureRequest) -> None:
    """Begin random numbers of a module again: no test depends on those that ran before it."""
    if hasattr(module := getattr(request, "module", None), "RNG"):
        module.RNG = np.random.default_rng(0)  # type: ignore[union-attr]


@pytest.fixture
def verified(request: pytest.FixtureRequest) -> Verified:
    """Check of one error, named for the report."""
    return Verified(_name(request.path, request.function.__name__))


@pytest.fixture
def survived(request: pytest.FixtureRequest) -> Survived:
    """Count of faults, named for the report."""
    return Survived(_name(request.path, request.function.__name__))


@pytest.fixture
def config(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The run file `CONFIG` of the module."""
    path = tmp_path / "small.toml"
    path.write_text(request.module.CONFIG)
    return path


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Any:
    """The command line in this process: what commands print and refuse."""
    from command_line import CommandLine

    return CommandLine(capsys)


@pytest.fixture
def same_threads() -> Iterator[None]:
    """Leave the number of threads as it was."""
    from meanfield.engines.threads import set_threads, threads

    before = threads()
    yield
    set_threads(before)


@dataclass(frozen=True)
class Cluster:
    """A Dask scheduler and its workers, each a process that one can kill."""

    directory: Path
    processes: list[subprocess.Popen[bytes]]

    def wait(self, has_come: Callable[[], Any]) -> None:
        deadline = time.monotonic() + 300.0
        while not has_come():
            assert time.monotonic() < deadline, (self.directory / "log").read_text()
            time.sleep(0.05)

    @property
    def address(self) -> str:
        """Address of the scheduler, once it listens."""
        file = self.directory / "scheduler.json"
        self.wait(lambda: file.exists() and file.read_text().strip())
        return str(json.loads(file.read_text())["address"])

    def start(self, program: str, *options: str) -> subprocess.Popen[bytes]:
        """Start a scheduler or a worker."""
        command = [sys.executable, "-m", f"distributed.cli.dask_{program}", "--no-dashboard"]
        command += ["--scheduler-file", "scheduler.json", *options]
        with (self.directory / "log").open("ab") as log:
            process = subprocess.Popen(command, cwd=self.directory, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def start_worker(self) -> subprocess.Popen[bytes]:
        """Start a worker of one thread, which stays dead when it is killed."""
        return self.start("worker", "--nthreads", "1", "--no-nanny", "--host", "127.0.0.1")

    def client(self) -> Any:
        """Client of its own, to look at the cluster."""
        import distributed

        return distributed.Client(self.address, set_as_default=False)

    def wait_for_workers(self, count: int) -> None:
        """Return when there are that many."""
        with self.client() as client:
            self.wait(lambda: len(client.nthreads()) == count)

    def killing(self, after: int, lost: list[int]) -> Callable[..., Iterator[Any]]:
        """`finished` that kills a worker after so many results, and notes how many tasks it had.

        Other tasks wait until then: workers that are fast would leave none.
        """
        from meanfield.studies.executors import finished

        folder = self.directory

        def iterate(function: Any, tasks: Any, executor: Any) -> Iterator[Any]:
            # A local function is sent whole: workers cannot import tests.
            def waiting(task: Any) -> Any:
                import time

                for number in range(after):
                    try:
                        (folder / f"task-{number}").touch(exist_ok=False)
                        break
                    except FileExistsError:
                        pass
                else:
                    while not (folder / "killed").exists():
                        time.sleep(0.01)
                return function(task)

            with self.client() as client:
                processes = client.run(os.getpid)
                for count, done in enumerate(finished(waiting, tasks, executor), 1):
                    if count == after:
                        processing = client.processing()
                        worker = max(processing, key=lambda each: len(processing[each]))
                        lost.append(len(processing[worker]))
                        os.kill(processes[worker], signal.SIGKILL)
                        (folder / "killed").touch()
                    yield done

        return iterate


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Scheduler with three workers; all are killed in the end."""
    pytest.importorskip("distributed")
    directory = tmp_path / "dask"
    directory.mkdir()
    result = Cluster(directory, [])
    try:
        result.start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-show")
        for _ in range(3):
            result.start_worker()
        result.wait_for_workers(3)
        yield result
    finally:
        for process in result.processes:
            process.send_signal(signal.SIGKILL)
            process.wait()
