"""Signals while the command is being loaded, on a real process."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from meanfield.commands.loading import is_the_command, leaves_on_signals

RUN = """\
problem = { manifold = "circle", beta = 4.0, normalization = "none" }
initial = { name = "uniform" }
representation = { name = "particles", tokens = 1000000 }
time = { end = 1e6, save = 10 }
"""
LINUX = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="no such file on this system"
)


def caught(process, number):
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    mask = next(line.split()[1] for line in lines if line.startswith("SigCgt"))
    return bool(int(mask, 16) >> (number - 1) & 1)


def interrupted(folder, number, delay, *command):
    """Status and words of a command that gets a signal so long after our first line."""
    process = subprocess.Popen(
        [sys.executable, "-m", "meanfield", *command],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    # Python has no handler for SIGTERM; for SIGINT it has one from the start.
    while not caught(process.pid, signal.SIGTERM):
        assert process.poll() is None
        time.sleep(0.001)
    time.sleep(delay)
    process.send_signal(number)
    errors = process.communicate(timeout=300.0)[1]
    return process.returncode, errors


@LINUX
@pytest.mark.parametrize(
    ("command", "number", "delays"),
    [
        ("info", signal.SIGINT, [0.0]),
        ("info", signal.SIGTERM, [0.05]),
        ("info", signal.SIGTERM, [0.15]),
        *[
            pytest.param(command, number, [i / 60 for i in range(60)], marks=pytest.mark.slow)
            for command in ("info", "run")
            for number in (signal.SIGINT, signal.SIGTERM)
        ],
    ],
)
def test_signal_at_any_instant_is_one_line(tmp_path, command, number, delays):
    """An early Ctrl-C would show a traceback of some library, or be lost before the run."""
    (tmp_path / "run.toml").write_text(RUN)
    options = ["nothing.h5"] if command == "info" else ["run.toml", "--overwrite", "--quiet"]
    for delay in delays:
        status, errors = interrupted(tmp_path, number, delay, command, *options)
        # Status 130, or what the command had to say if it was faster.
        notices = [line for line in errors.splitlines() if "compiling kernels" not in line]
        assert len(notices) == 1 and notices[0].startswith("meanfield: "), errors
        assert status == (130 if "interrupted" in notices[0] else 2), errors


def test_command_loads_nothing_before_it_minds_signals():
    """Ctrl-C there shows a traceback, and libraries take their time."""
    command = [sys.executable, "-X", "importtime", "-m", "meanfield", "--version"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stderr.splitlines()
    names = [line.rpartition("|")[2].strip() for line in lines]
    first = names[names.index("runpy") + 1 : names.index("meanfield.commands.loading")]
    assert set(first) <= {"__future__", "meanfield.commands"}


@pytest.mark.parametrize(
    ("line", "script", "expected"),
    [
        (["python", "/usr/bin/meanfield", "run"], "/usr/bin/meanfield", True),
        (["python", "meanfield.exe"], "meanfield.exe", True),
        (["python", "-X", "dev", "-m", "meanfield", "run"], "-m", True),
        (["python", "-m", "pytest"], "-m", False),
        (["python", "study.py", "meanfield"], "study.py", False),
        (["python", "-c", "import meanfield"], "-c", False),
        # A worker of a study: its script is its parent's.
        (["python", "-c", "spawn_main()", "--multiprocessing-fork"], "/usr/bin/meanfield", False),
    ],
)
def test_only_the_command_changes_signals(line, script, expected):
    """A program that imports meanfield would lose its Ctrl-C."""
    assert is_the_command(line, script) is expected


def test_importing_changes_no_signals():
    """A notebook would end at the first interrupt."""
    assert not leaves_on_signals()
