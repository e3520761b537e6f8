"""Where commands do their work: here, in local processes, on a Dask cluster."""

import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest

import meanfield as mf
from meanfield.commands import compile, studies, study_commands
from meanfield.commands.arguments import parser
from meanfield.commands.studies import pool
from meanfield.engines.threads import set_threads, threads
from meanfield.store.study_file import read_result

CONFIG = """\
title = "Small"
problem = { manifold = "circle", beta = 5.0, normalization = "none" }
initial = { name = "perturbed_uniform", modes = [[3, 0.0, 0.2]] }
representation = { tolerance = 1e-6 }
time = { end = 4.0, save = 3 }
compare = { tokens = [50, 2000], runs = 12 }
"""


def options(*arguments):
    return parser().parse_args(["compare", "x.toml", *arguments])


@pytest.mark.slow
@pytest.mark.usefixtures("same_threads")
def test_no_more_processes_than_tasks():
    """Processes would be started for nothing, and get a smaller share of the threads."""
    set_threads(4)
    with pool(options(), 1, print) as executor:
        assert executor is None
    with pool(options("--workers", "2"), 100, print) as executor:
        assert executor.submit(threads).result() == 2


def test_one_place_is_chosen(config, cli):
    """One of two options would be ignored silently."""
    said = cli.refused("compare", config, "--workers", 2, "--scheduler", "tcp://127.0.0.1:1")
    assert "--scheduler: not allowed with argument --workers" in said


@pytest.mark.slow
def test_missing_cluster_is_reported(config, cli, monkeypatch):
    """The density would be run first, or an output be left behind."""
    pytest.importorskip("distributed")
    monkeypatch.setattr(study_commands, "_comparison_plan", None)
    said = cli.refused("compare", config, "--scheduler", "nowhere")
    assert said.startswith("meanfield: no Dask scheduler at 'nowhere'")
    assert [path.name for path in config.parent.glob("*.h5")] == []


@pytest.mark.slow
def test_interrupt_leaves_a_file_and_one_line(cluster, config):
    """Ctrl-C would wait for the cluster, lose what it had done, or show Dask's log."""
    path = config.with_name("small-compare.h5")
    many = ("--set", "compare.runs=10000", "--scheduler", cluster.address)
    process = subprocess.Popen(
        [sys.executable, "-m", "meanfield", "compare", str(config), "--quiet", *many],
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 300.0
    while not (path.exists() and np.isfinite(read_result(path, "comparison").distances).any()):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    message = f"{path} keeps what was finished, --resume goes on"
    # Seconds on a machine of its own.
    lines = process.communicate(timeout=300.0)[1].splitlines()
    # The first run on a machine says that it compiles.
    assert [line for line in lines if "compiling" not in line] == [
        f"meanfield: interrupted; {message}"
    ]
    assert process.returncode == 130
    assert "interrupted with" in read_result(path, "comparison").attributes["status"]


@pytest.mark.slow
def test_kernels_are_compiled_before_processes_start():
    """Each process would compile them, all at once."""
    records = []
    with pool(options("--workers", "1"), 100, lambda: records.append(1)):
        assert records == []
    with pool(options("--workers", "2"), 100, lambda: records.append(1)):
        assert records == [1]


def test_commands_compile_the_kernels_of_their_own_problem(cli, tmp_path, monkeypatch):
    """With a file, predict and phase would compile kernels for any dimension."""
    problems = []

    @contextmanager
    def here(options, count, compile_first):
        compile_first()
        yield None

    monkeypatch.setattr(studies, "pool", here)
    monkeypatch.setattr(compile, "compile_for_workers", problems.append)
    words = ["--manifold", "circle", "--beta", 5, "--quiet", "-o"]
    cli("predict", *words, tmp_path / "runs.h5", "--tokens", 200, "--samples", 100, "--runs", 1)
    cli("phase", *words, tmp_path / "points.h5")
    assert [(each.manifold.name, each.beta) for each in problems] == [("circle", 5.0)]


@pytest.mark.parametrize("manifold", [mf.Circle(), mf.Sphere(), mf.Sphere(4), mf.Euclidean(2)])
@pytest.mark.parametrize("diffusivity", [0.0, 0.1])
def test_what_workers_need_can_be_compiled(manifold, diffusivity):
    """A prediction would fail in its preparations."""
    flow = mf.Flow("none", diffusivity=diffusivity)
    compile.compile_for_workers(mf.Problem(manifold, mf.exponential(1.0), flow, mf.uniform()))
