"""A process that forks runs which end where a test wants, and files compared to the bit."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass

import h5py
import numpy as np
import pytest

# Every row or result is written at once. A child ends after some of them: killed, or interrupted
# like Ctrl-C. Uninterrupted references run in the parent, so that children find all code loaded.
SERVER = """\
import contextlib, json, os, sys
import meanfield.commands.study_commands, meanfield.recording
from meanfield.commands import run, studies
from meanfield.commands.main import main
from meanfield.store import recorder, study_file
from meanfield.studies import ensemble
recorder.FLUSH_SECONDS = recorder._FLUSH_SHARE = study_file.FLUSH_SECONDS = 0.0
ensemble._MOST_BLOCKED = 1
real = run.with_progress

def work(arguments, after, how):
    def shown(stream, *others, **options):
        for i, item in enumerate(real(stream, *others, **options), 1):
            yield item
            if i == after and how == "kill":
                os._exit(9)
            if i == after:
                raise KeyboardInterrupt
    run.with_progress = studies.with_progress = shown
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        return main(arguments)

for line in sys.stdin:
    arguments, after, how = json.loads(line)
    if how == "here":
        print(work(arguments, 0, ""), flush=True)
        continue
    pid = os.fork()
    if pid == 0:
        status = 99
        try:
            status = work(arguments, after, how)
        finally:
            os._exit(status)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""

# What tells where and when a file was made; all else are results.
OF_THE_SESSION = {"created", "sessions", "changes", "threads"}


@dataclass(frozen=True)
class Server:
    """Runs commands, each in a process of its own."""

    process: subprocess.Popen[str]

    def __call__(self, *arguments, after=0, how="interrupt"):
        """Exit status of a command.

        It ends after some rows or results (0 for never), `how` is "interrupt" or "kill"; "here"
        is an uninterrupted one in the server itself.
        """
        self.begin(*arguments, after=after, how=how)
        return self.end()

    def begin(self, *arguments, after=0, how=""):
        """Start a command and do not wait for it."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([[*arguments, "--quiet"], after, how]) + "\n")
        self.process.stdin.flush()

    def end(self):
        """Exit status of the command that was started."""
        assert self.process.stdout is not None
        return int(self.process.stdout.readline())


@contextmanager
def serving():
    """A server, while the block lasts."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # Interrupts are on purpose: what they say is of no use.
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        yield Server(process)
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture(scope="session")
def server():
    with serving() as server:
        yield server


@pytest.fixture
def fresh_server():
    """A new server, which knows nothing yet, for each command."""

    def run(*arguments, **end):
        with serving() as server:
            return server(*arguments, **end)

    return run


def contents(path):
    """Everything that a file holds, but when and where it was made: arrays and attributes."""
    result = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset):
            text = item.dtype.kind == "O"
            result[name] = item.asstr()[()].tolist() if text else item[()]
        for key, value in item.attrs.items():
            # Links between datasets and their axes are addresses inside the file.
            if key not in ("DIMENSION_LIST", "REFERENCE_LIST"):
                result[f"{name}@{key}"] = value

    with h5py.File(path) as file:
        visit("", file)
        file.visititems(visit)
    session = {f"@{key}" for key in OF_THE_SESSION}
    return {k: v for k, v in result.items() if k not in session and "@seconds_" not in k}


@pytest.fixture(scope="session")
def assert_same():
    """Check that two files hold the same, to the bit."""

    def check(one, other):
        first, second = contents(one), contents(other)
        assert first.keys() == second.keys()
        for name, value in first.items():
            mine, theirs = np.asarray(value), np.asarray(second[name])
            assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape), name
            # Bits, so that NaN is equal to itself and 0 is not -0.
            assert mine.tobytes() == theirs.tobytes(), name
            if mine.dtype.kind == "O":
                assert mine.tolist() == theirs.tolist(), name

    return check
