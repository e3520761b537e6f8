"""Standard streams that are closed, full, or without a reader: every command, as a real process."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from parameters import each

from meanfield.store.run_file import load

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device here")

ANSWERS = {
    "no command": "",  # help
    "--version": "--version",
    "--help": "--help",
    "run --help": "run --help",
    "info": "info file.h5",
    "info --json": "info file.h5 --json",
    "info --csv": "info file.h5 --csv",
    "info --provenance": "info file.h5 --provenance",
    "plot": "plot file.h5 -o figure.png",
    "plot --list": "plot --list",
    "check": "check run.toml",
    "init": "init new",
    "stability": "stability --manifold circle --beta 4",
    "stability --json": "stability --manifold sphere --beta 4 --json",
    "predict": "predict --manifold circle --beta 4 --tokens 20 --samples 20 --runs 0",
    "phase": "phase --manifold circle --kernel linear --beta 0 --json",
    "compare": "compare run.toml -o c.h5 --overwrite --workers 1",
    "ensemble": "ensemble run.toml -o e.h5 --overwrite --workers 1 --json",
}
"""Commands that print an answer."""

SILENT = {
    "run": "run run.toml -o x.h5 --overwrite",
    "run --quiet": "run run.toml -o x.h5 --overwrite --quiet",
    "run --resume": "run run.toml -o file.h5 --resume",
}
"""Commands that print none."""

WRONG = {
    "info of nothing": "info nothing.h5",
    "run of nothing": "run nothing.toml",
    "wrong key": "run run.toml --set problem.betta=1",
    "no argument": "stability",
}
"""Commands that are refused."""

COMMANDS = ANSWERS | SILENT | WRONG
STREAMS = {
    "no output": ">&-",
    "no error": "2>&-",
    "no input": "<&-",
    "no stream": ">&- 2>&- <&-",
    "output that nobody reads": "| true",
    "output of which a line is read": "| head -1",
    "errors that nobody reads": "2>&1 >/dev/null | true",
    "full output": ">/dev/full",
    "full errors": "2>/dev/full",
    "full output and errors": ">/dev/full 2>&1",
}
"""What is done to the streams, and how a shell says it."""

NAMES = {0: "done", 1: "said", 2: "refused"}


@pytest.fixture
def folder(files, tmp_path):
    (tmp_path / "run.toml").write_text(files["density"].config.read_text())
    (tmp_path / "file.h5").write_bytes(files["density"].content)
    return tmp_path


def status(folder, command, streams, buffered):
    """Run a command with its streams; its status, after a look at what it says."""
    (folder / "new.toml").unlink(missing_ok=True)
    line = f"{sys.executable} -m meanfield {COMMANDS[command]} {STREAMS[streams]}"
    entries = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        ["bash", "-c", line + "; exit ${PIPESTATUS[0]}"],
        cwd=folder,
        env=entries | ({} if buffered else {"PYTHONUNBUFFERED": "1"}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    text = f"{line}: status {done.returncode}: {done.stderr}"
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr, text
    # An answer that could not be written is no success; one that nobody wants is.
    full = streams in ("full output", "full output and errors") and command in ANSWERS
    expected = 2 if command in WRONG else int(full)
    assert done.returncode == expected, text
    if streams == "full output" and full:
        last = done.stderr.splitlines()[-1]
        assert last == "meanfield: output: No space left on device.", text
    if command.startswith("run") and command in SILENT:
        assert load(folder / ("file.h5" if "resume" in command else "x.h5")).status == "completed"
    return done.returncode


@pytest.mark.slow
@pytest.mark.parametrize("streams", STREAMS)
def test_every_command_bears_odd_streams(streams, folder, survived):
    """`| head`, a closed terminal or a full disk would be a traceback, or end a run."""
    ends = Counter[str]()
    for i, command in enumerate(COMMANDS):
        ends[NAMES[status(folder, command, streams, buffered=i % 2 == 0)]] += 1
    survived("closed streams", streams, ends.total(), **ends)


@pytest.mark.slow
@each(
    "command",
    ["info", "info --csv", "stability --json", "--help", "run"],
    streams=["full output", "output that nobody reads", "no stream"],
)
def test_buffers_make_no_difference(command, streams, folder, survived):
    """The error would come with the last flush, or at once, and be missed one way or the other."""
    assert status(folder, command, streams, True) == status(folder, command, streams, False)
    survived("closed streams", f"{streams}, with and without a buffer", 2)
