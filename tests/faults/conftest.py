"""A process that runs commands, whole files of every kind, and what a clean end looks like."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pytest
import readers
from children import CIRCLE

HERE = Path(__file__).parent

STATUS_OF_DEATH = "died"

PERTURBED = "modes = [[1, 0.1, 0.0], [3, 0.0, 0.05]]"
RUNS = {
    "density": CIRCLE,
    "particles": CIRCLE.replace("tolerance", 'name = "particles"\ntokens = 20\ntolerance'),
    "auto": CIRCLE.replace('"none"', '"softmax"').replace(
        "end = 2.0", 'end = 1e5\nspacing = "log"\nfirst = 2.0'
    ),
    "sphere": CIRCLE.replace("circle", "sphere").replace(PERTURBED, "modes = [[2, 1, 0.1]]"),
}
"""Run file of each kind of run."""


@dataclass(frozen=True)
class Answer:
    """Answer of a command to a shell: status -9 is a kill, 1000 no answer in time."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.err.splitlines()

    def check(self, *allowed: int) -> None:
        """One clear line and an expected status, or nothing to complain of."""
        text = f"status {self.status}: {self.err[-2000:]}"
        assert self.status in allowed, text
        assert "Traceback" not in self.err and "Warning" not in self.err, text
        if self.status != 0:
            last = self.lines[-1]
            assert last.startswith("meanfield") and last.isprintable() and len(last) < 1200, text
        if self.status == 2:
            assert len(self.lines) == 1 and self.out == "", text


@dataclass
class Commands:
    """Runs commands in a process of its own, which is started again when it dies."""

    folder: Path
    seconds: float = 60.0
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def __call__(self, *arguments: object) -> Answer:
        return self._ask({"arguments": [str(argument) for argument in arguments]})

    def load(self, path: Path, kind: str = "run") -> Answer:
        """Load a file; what is printed differs if any number in it does."""
        return self._ask({"load": str(path), "kind": kind})

    def stop(self) -> bytes:
        """End the process; what libraries have said past Python."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
        said = self.folder / "said"
        return said.read_bytes() if said.exists() else b""

    def _ask(self, request: dict[str, Any]) -> Answer:
        process = self._started()
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        line = _line(process.stdout, self.seconds)
        if line.endswith(b"\n"):
            return Answer(**json.loads(line))
        status = 1000
        if not line and process.poll() is not None or not _alive(process):
            status = process.wait()
        self.stop()
        return Answer(status, "", f"{STATUS_OF_DEATH} of {request}")

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            with (self.folder / "said").open("ab") as said:
                self._process = subprocess.Popen(
                    [sys.executable, str(HERE / "server.py")],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=said,
                    cwd=self.folder,
                    bufsize=0,
                )
        return self._process


def _line(stream: IO[bytes], seconds: float) -> bytes:
    """Line of an answer, or as much as came of it in time."""
    line = b""
    while not line.endswith(b"\n") and select.select([stream], [], [], seconds)[0]:
        part = os.read(stream.fileno(), 2**20)
        if not part:
            break
        line += part
    return line


def _alive(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(0.2)
    except subprocess.TimeoutExpired:
        return True
    return False


@pytest.fixture(scope="session")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    result = Commands(tmp_path_factory.mktemp("commands"))
    yield result
    assert result.stop() == b""


@dataclass(frozen=True)
class Whole:
    """An undamaged file of some kind, and what made it."""

    path: Path
    kind: str
    config: Path
    content: bytes


@dataclass
class Files:
    """Whole files, each made when it is first asked for."""

    folder: Path
    commands: Commands
    _files: dict[str, Whole] = field(default_factory=dict, init=False)

    @property
    def config(self) -> Path:
        config = self.folder / "valid.toml"
        config.write_text(CIRCLE)
        return config

    def __getitem__(self, name: str) -> Whole:
        """File of a name in RUNS, "comparison" or "ensemble"."""
        if name not in self._files:
            self._files[name] = self._make(name)
        return self._files[name]

    def _make(self, name: str) -> Whole:
        config, path = self.folder / f"{name}.toml", self.folder / f"{name}.h5"
        config.write_text(RUNS.get(name, CIRCLE))
        kind = "run" if name in RUNS else name
        command = {"run": "run", "comparison": "compare", "ensemble": "ensemble"}[kind]
        workers = [] if kind == "run" else ["--workers", "1"]
        limit, self.commands.seconds = self.commands.seconds, 600.0
        # The first run on a machine compiles its kernels.
        done = self.commands(command, config, "-o", path, "--quiet", *workers)
        self.commands.seconds = limit
        done.check(0)
        return Whole(path, kind, config, path.read_bytes())


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory, commands: Commands) -> Files:
    return Files(tmp_path_factory.mktemp("files"), commands)


@pytest.fixture
def reader(commands: Commands, files: Files, tmp_path: Path) -> Callable[..., readers.Reader]:
    """Reader of a file by name, but without some of the commands."""

    def make_reader(
        name: str, *without: str, only: tuple[str, ...] | None = None
    ) -> readers.Reader:
        return readers.reader(commands, files[name], tmp_path, without, only)

    return make_reader
