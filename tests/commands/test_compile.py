"""`meanfield compile`: every kernel, and a word on how many."""

import os
import re
import subprocess
import sys

import pytest

from meanfield.commands import compile
from meanfield.commands.main import main
from meanfield.engines import compiled


@pytest.fixture
def nothing(monkeypatch):
    monkeypatch.setattr(compiled, "kernels", [])
    monkeypatch.setattr(compile, "_import_all", lambda: None)


@pytest.mark.usefixtures("nothing")
@pytest.mark.parametrize(
    ("names", "words"),
    [(["kernel"], "compiled 1 kernels in 0 s"), ([], "all kernels were compiled already")],
)
def test_last_line_says_what_was_done(names, words, monkeypatch, capsys):
    """The log of an image would not tell whether its kernels are in it."""
    monkeypatch.setattr(compiled, "compilations", [])
    job = ("one", lambda: compiled.compilations.extend(names))
    monkeypatch.setattr(compile, "jobs", lambda: iter([job]))
    assert main(["compile"]) == 0
    assert capsys.readouterr().err == f"{words}\n"


@pytest.mark.slow
def test_every_kernel_is_compiled(tmp_path):
    """The first run in an image would still wait, and keep nothing where it cannot write."""
    run = subprocess.run(
        [sys.executable, "-m", "meanfield", "compile", "--quiet"],
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "on first use" not in run.stderr, run.stderr
    assert re.search("^compiled [0-9]+ kernels", run.stderr, re.M)


@pytest.mark.usefixtures("nothing")
def test_kernels_that_no_job_calls_are_named(monkeypatch, capsys):
    """A new kernel would be left out, and the command say that all are compiled."""

    @compiled.njit(cache=False)
    def called(x):
        return 2.0 * x

    @compiled.njit(cache=False)
    def forgotten(x):
        return 3.0 * x

    monkeypatch.setattr(compile, "jobs", lambda: iter([("one", lambda: called(1.0))]))
    assert main(["compile", "--quiet"]) == 0
    assert capsys.readouterr().err.endswith(f"compiled on first use only: {__name__}.forgotten\n")
