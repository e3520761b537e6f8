"""Commands in children that are struck, and what must be left of their files.

A fault is a dictionary:

    {"signal": 9, "after": 0.1, "aim": "command" | "session" | "worker"}    at an instant
    {"call": k, "signal": 9} or {"call": k, "error": 28}                    at a call to the system
    {"raise": [k, "MemoryError"]}                                           at a call of a function
    {"limit": bytes}                                                        of any file it writes
    {"terminal": "gone"}                                                    besides one of these
"""

from __future__ import annotations

import functools
import io
import json
import shutil
import signal
import subprocess
import sys
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import run_folder

from meanfield.commands.main import main
from meanfield.runs import Run
from meanfield.store.run_file import load

CIRCLE = f"""{run_folder.CIRCLE.replace("1e-8", "1e-6")}[time]
end = 2.0
save = 4
[compare]
tokens = [10, 20]
runs = 2
[ensemble]
tokens = [10]
runs = 3
"""
"""Run file of a run and of studies."""

_TRACES = [sys.executable, str(Path(__file__).with_name("tracing.py"))]
traced = pytest.mark.skipif(
    sys.platform != "linux" or subprocess.run(_TRACES, capture_output=True).returncode != 0,
    reason="processes may not be traced here",
)

HUNG = 1000
# Signals that ask for an end, and are a plain one with the file written.
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)


@dataclass(frozen=True)
class End:
    """How a command ended: status as `subprocess` has it, what it said, what it left running."""

    status: int
    out: str = ""
    err: str = ""
    seconds: float = 0.0
    calls: int = 0
    left: tuple[str, ...] = ()

    def check(self, *allowed: int) -> None:
        """An expected status, no traceback, one line at most where something is wrong."""
        text = f"status {self.status}: {self.err[-2000:]}"
        assert self.status in allowed, text
        assert not self.left, self.left
        assert "Traceback" not in self.err and "Exception ignored" not in self.err, text
        if self.status > 0:
            assert self.err.startswith("meanfield: ") and self.err.count("\n") == 1, text


@functools.cache
def _server() -> subprocess.Popen[str]:
    # Ends with this process, which closes the pipe.
    script = Path(__file__).with_name("forking.py")
    return subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def ask(**request: Any) -> Any:
    server = _server()
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(json.dumps(request) + "\n")
    server.stdin.flush()
    return json.loads(server.stdout.readline())


def warm(folder: Path, *arguments: str) -> None:
    """Run a command without forking: children then find loaded and compiled what it needs."""
    assert ask(arguments=arguments, folder=str(folder), here=True)["status"] == 0


def command(folder: Path, *arguments: str, seconds: float = 60.0, **fault: Any) -> End:
    """Run a command in a folder, in a child that is struck."""
    request = {"arguments": arguments, "folder": str(folder), "fault": fault, "seconds": seconds}
    end = End(**ask(**request))
    assert end.status != HUNG, f"{arguments} hangs after {fault}"
    return end


def info(path: Path) -> str:
    """Facts of a file by `info --json`, not empty."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        assert main(["info", str(path), "--json"]) == 0, err.getvalue()
    return out.getvalue()


def leftovers(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if ".meanfield-" in path.name}


@dataclass
class Chain:
    """A run that is struck, resumed, struck again, and what it would be undisturbed."""

    folder: Path
    options: list[str]
    reference: Run
    seconds: float
    calls: int
    rows: int = 0

    @property
    def output(self) -> Path:
        return self.folder / "run.h5"

    def go(self, *, loud: bool = False, **fault: Any) -> End:
        arguments = ["run", "run.toml", "-o", "run.h5", "--resume", *self.options]
        return command(self.folder, *arguments, *([] if loud else ["--quiet"]), **fault)

    def look(self) -> Run | None:
        """Check that the file is whole and has the first rows of the undisturbed run."""
        if not self.output.exists():
            assert self.rows == 0
            return None
        run = load(self.output)
        assert_rows_equal(run, self.reference)
        assert len(run.time) >= self.rows, "rows were lost"
        self.rows = len(run.time)
        info(self.output)
        return run

    def begin_again(self) -> None:
        self.output.unlink(missing_ok=True)
        self.rows = 0

    def finish(self) -> None:
        """Resume, and check all bits against the undisturbed run."""
        self.go().check(0)
        run = self.look()
        assert run is not None and run.status == "completed"
        assert len(run.time) == len(self.reference.time)
        assert run.attributes["result_hash"] == self.reference.attributes["result_hash"]
        assert repr(run.events) == repr(self.reference.events)
        assert not leftovers(self.folder)


def chain(folder: Path, config: str, options: list[str]) -> Chain:
    (folder / "run.toml").write_text(config)
    options = ["--threads", "1", *options]
    arguments = ["run", "run.toml", "-o", "run.h5", "--quiet", *options]
    warm(folder, *arguments)
    (folder / "run.h5").unlink()
    end = command(folder, *arguments, call=-1)
    end.check(0)
    shutil.move(folder / "run.h5", folder / "reference")
    return Chain(folder, options, load(folder / "reference"), end.seconds, end.calls)


def assert_rows_equal(run: Run, reference: Run) -> None:
    """Every number of the run, bit for bit, is that of the first rows of the other one."""
    n = len(run.time)
    assert np.array_equal(run.time, reference.time[:n])
    assert run.representation == reference.representation[:n]
    if n:
        assert np.array_equal(run.moments, reference.moments[:n])
    for mine, theirs in (
        (run.observables, reference.observables),
        (run.diagnostics, reference.diagnostics),
    ):
        for name, values in mine.items():
            expected = theirs[name][:n]
            if values.ndim > 1:
                width = min(values.shape[1], expected.shape[1])
                values, expected = values[:, :width], expected[:, :width]
            assert np.array_equal(values, expected, equal_nan=True), name
    for mine, theirs in zip(run.measures, reference.measures, strict=False):
        assert np.array_equal(state(mine), state(theirs))


def state(measure: object) -> np.ndarray:
    return np.asarray(getattr(measure, "coefficients", getattr(measure, "points", None)))


def at_calls(strike, run, numbers, calls):
    """Strike runs at calls that change the disk, and let each go on from there to its end."""
    ends = Counter[str]()
    for i, k in enumerate(calls):
        run.begin_again()
        ends[strike(run, signal=numbers[i % len(numbers)], call=k)] += 1
        run.finish()
    return ends
