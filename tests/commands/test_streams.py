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


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Folder with run.toml and run.h5, more rows than a pipe holds."""
    folder = tmp_path_factory.mktemp("streams")
    (folder / "run.toml").write_text(CONFIG, encoding="utf-8")
    assert main(["run", str(folder / "run.toml"), "--quiet"]) == 0
    return folder


def shell(folder, line, **environment):
    """Run a line of bash in the folder; its status is that of the first command of a pipe."""
    line = line.replace("meanfield", f"{sys.executable} -m meanfield")
    entries = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    return subprocess.run(
        ["bash", "-c", line + "; exit ${PIPESTATUS[0]}"],
        cwd=folder,
        env=entries | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


FULL = "meanfield: output: No space left on device.\n"


@pytest.mark.slow
# Both ways: with a buffer the error comes with the last flush, without one at once.
@pytest.mark.parametrize("environment", [{}, {"PYTHONUNBUFFERED": "1"}], ids=["buffered", "not"])
@pytest.mark.parametrize(
    ("line", "status", "errors"),
    [
        ("meanfield info run.h5 --csv | head -1", 0, ""),
        ("meanfield --help | true", 0, ""),
        ("meanfield info run.h5 --csv >&- 2>&- <&-", 0, ""),
        ("meanfield info nothing.h5 2>&-", 2, ""),
        ("meanfield info nothing.h5 2>&1 >/dev/null | true", 2, ""),
        # Few characters, which end in the buffer, and many.
        ("meanfield info run.h5 > /dev/full", 1, FULL),
        ("meanfield info run.h5 --csv > /dev/full", 1, FULL),
        ("meanfield info run.h5 --json > /dev/full", 1, FULL),
    ],
)
def test_closed_streams_are_quiet_and_full_ones_one_line(folder, line, status, errors, environment):
    """`| head` would be a traceback, or hang; a result that was not written count as done."""
    if "/dev/full" in line and not Path("/dev/full").exists():
        pytest.skip("no such device here")
    done = shell(folder, line, **environment)
    assert (done.returncode, done.stderr) == (status, errors)


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


def test_signal_is_status_130_and_one_line_and_nohup_is_respected(folder, tmp_path):
    """A script would take an interrupted run for a failed one; a terminal end one under nohup."""
    output = tmp_path / "x.h5"
    longer = ["--set", "initial={name = 'uniform'}"]
    longer += ["--set", "representation={name = 'particles', tokens = 300000}"]
    command = ["nohup", sys.executable, "-m", "meanfield", "run", "run.toml", "-o", output, *longer]
    process = subprocess.Popen(
        [*command, "--quiet"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 300.0
    while not output.exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGHUP)
    time.sleep(0.2)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    out, errors = process.communicate(timeout=300.0)
    # The first run on a machine says that it compiles.
    lines = [line for line in errors.splitlines() if "compiling" not in line]
    advice = f"interrupted; {output} keeps what was saved, --resume goes on"
    assert (process.returncode, out, lines) == (130, "", [f"meanfield: {advice}"])
    assert load(output).status.startswith("interrupted at t = ")
