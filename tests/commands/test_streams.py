"""Closed pipes, full disks, odd characters and signals, on a real process."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from meanfield.commands.main import main
from meanfield.commands.progress import Forgiving
from meanfield.store.run_file import load

CONFIG = """\
title = "Gr\xf6\xdfe"
problem = { normalization = "none", manifold = "circle", beta = 4.0 }
initial = { name = "atoms", angles = [0.0, 1.0] }
time = { end = 1.0, save = 1000 }
output = { state = "none" }
"""
COMMAND = f"{sys.executable} -m meanfield"
# Both ways: with a buffer the error comes with the last flush, without one at once.
ENVIRONMENTS = [
    pytest.param({}, id="buffered"),
    pytest.param({"PYTHONUNBUFFERED": "1"}, id="unbuffered", marks=pytest.mark.slow),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Folder with run.toml and run.h5, more rows than a pipe holds."""
    folder = tmp_path_factory.mktemp("streams")
    (folder / "run.toml").write_text(CONFIG, encoding="utf-8")
    assert main(["run", str(folder / "run.toml"), "--quiet"]) == 0
    return folder


def shell(folder, line, **environment):
    """Run a line of bash in the folder; its status is that of the first command of a pipe."""
    entries = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    return subprocess.run(
        ["bash", "-c", line.replace("meanfield", COMMAND) + "; exit ${PIPESTATUS[0]}"],
        cwd=folder,
        env=entries | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.slow
@pytest.mark.parametrize("environment", ENVIRONMENTS)
@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("meanfield info run.h5 --csv | head -1", 0),
        ("meanfield --help | true", 0),
        ("meanfield info run.h5 --csv >&- 2>&- <&-", 0),
        ("meanfield info nothing.h5 2>&-", 2),
        ("meanfield info nothing.h5 2>&1 >/dev/null | true", 2),
    ],
)
def test_closed_streams_are_quiet(folder, line, status, environment):
    """`| head` would show a traceback, or hang."""
    done = shell(folder, line, **environment)
    assert (done.returncode, done.stderr) == (status, "")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device here")
@pytest.mark.parametrize("environment", ENVIRONMENTS)
# Few characters, which end in the buffer, and many; JSON is as many.
@pytest.mark.parametrize("form", ["", "--csv", pytest.param("--json", marks=pytest.mark.slow)])
def test_full_disk_is_one_line(folder, form, environment):
    """A result that was not written would count as done."""
    done = shell(folder, f"meanfield info run.h5 {form} > /dev/full", **environment)
    assert done.returncode == 1
    assert done.stderr == "meanfield: output: No space left on device.\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "streams",
    [
        ">&- 2>&- <&-",
        pytest.param("2>&1 | true", marks=pytest.mark.slow),
        pytest.param("2>/dev/full", marks=pytest.mark.slow),
    ],
)
def test_run_goes_on_without_anyone_listening(folder, streams, tmp_path):
    """A run of a day would end because a terminal was closed."""
    output = tmp_path / "x.h5"
    assert shell(folder, f"meanfield run run.toml -o {output} {streams}").returncode == 0
    assert load(output).status == "completed"


@pytest.mark.slow
def test_characters_that_an_encoding_lacks_are_escaped(folder):
    """A title would be a traceback on an old terminal."""
    done = shell(folder, "meanfield info run.h5 | head -1", PYTHONIOENCODING="ascii")
    assert done.stdout.split() == ["title", r"Gr\xf6\xdfe"]


@pytest.mark.slow
def test_progress_bar_leaves_the_terminal_clean(folder, tmp_path):
    """The bar would break on a terminal, where no other test looks."""
    terminal, end = os.openpty()
    output = tmp_path / "x.h5"
    command = [sys.executable, "-m", "meanfield", "run", "run.toml", "-o", str(output)]
    process = subprocess.Popen(command, cwd=folder, stderr=end, stdout=subprocess.PIPE)
    os.close(end)
    text = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # the other side is closed
            part = b""
        if not part:
            break
        text += part
    os.close(terminal)
    assert process.communicate()[0] == b""
    assert process.returncode == 0
    assert b"Gr\xc3\xb6\xc3\x9fe" in text and b"/1000 [" in text
    assert text.splitlines()[-1].strip().split(b"\r")[-1].startswith(str(output).encode())


def test_broken_terminal_does_not_end_progress():
    """The bar would end the run with the terminal."""

    class Broken:
        encoding = "utf-8"

        def write(self, text):
            raise OSError("gone")

        def flush(self):
            raise OSError("gone")

    stream = Forgiving(Broken())
    assert stream.write("abc") == 3
    stream.flush()
    assert stream.encoding == "utf-8"


def started(folder, output, *prefix):
    command = [*prefix, sys.executable, "-m", "meanfield", "run", "run.toml", "-o", str(output)]
    longer = ["--set", "initial={name = 'uniform'}", "--set", "representation.name=particles"]
    longer += ["--set", "representation.tokens=300000"]
    process = subprocess.Popen(
        [*command, *longer, "--quiet"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 300.0
    while not output.exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    return process


# The others do as much in one process, in `test_interrupts`.
@pytest.mark.parametrize(
    "number",
    [
        signal.SIGTERM,
        pytest.param(signal.SIGINT, marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, marks=pytest.mark.slow),
    ],
)
def test_signal_is_status_130_and_one_line(folder, number, tmp_path):
    """A script, or a queue, would take an interrupted run for a failed one."""
    process = started(folder, tmp_path / "x.h5")
    process.send_signal(number)
    output, errors = process.communicate(timeout=300.0)
    advice = f"interrupted; {tmp_path / 'x.h5'} keeps what was saved, --resume goes on"
    assert (process.returncode, output, errors) == (130, "", f"meanfield: {advice}\n")
    assert load(tmp_path / "x.h5").status.startswith("interrupted at t = ")


# `test_interrupts` sees every day that ignored signals stay ignored.
@pytest.mark.slow
def test_nohup_is_respected(folder, tmp_path):
    """A run that was to outlive its terminal would end with it."""
    process = started(folder, tmp_path / "x.h5", "nohup")
    process.send_signal(signal.SIGHUP)
    time.sleep(0.2)
    assert process.poll() is None
    process.kill()
    process.communicate()
