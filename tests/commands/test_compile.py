"""`meanfield compile`: every kernel, and a word on how many."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from meanfield.commands import compile
from meanfield.commands.main import main
from meanfield.compute import compiled

# Those that are always inlined, and the way into the right-hand side for a given potential.
WITHOUT = {"_linear_step", "_width", "_squared", "_polynomial_flux"}
KERNELS = """\
import gc, importlib, pkgutil
import meanfield
from meanfield.commands.main import main
from numba.core.dispatcher import Dispatcher
assert main(["compile", "--quiet"]) == 0
for module in pkgutil.walk_packages(meanfield.__path__, "meanfield."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
for kernel in gc.get_objects():
    if isinstance(kernel, Dispatcher) and kernel.py_func.__module__.startswith("meanfield."):
        if not kernel.signatures:
            print(kernel.py_func.__name__)
"""


def _job() -> None:
    compiled.compilations.append("kernel")


@pytest.mark.parametrize(
    ("job", "words"),
    [(_job, "compiled 1 kernels in 0 s"), (lambda: None, "all kernels were compiled already")],
)
def test_last_line_says_what_was_done(
    job: compile.Job,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The log of an image would not tell whether its kernels are in it."""
    monkeypatch.setattr(compile, "jobs", lambda: iter([("one", job)]))
    monkeypatch.setattr(compiled, "compilations", [])
    assert main(["compile"]) == 0
    assert capsys.readouterr().err == f"{words}\n"


@pytest.mark.slow
def test_every_kernel_is_compiled(tmp_path: Path) -> None:
    """The first run in an image would still wait, and keep nothing where it cannot write."""
    run = subprocess.run(
        [sys.executable, "-c", KERNELS],
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(run.stdout.split()) <= WITHOUT
