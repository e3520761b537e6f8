"""Where commands do their work, to the bit the same: here, in processes, on a Dask cluster."""

import json
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from command_line import EAGER
from run_folder import digest

import meanfield as mf
from meanfield.commands import compile, progress, studies, study_commands
from meanfield.commands.arguments import parser
from meanfield.commands.main import main
from meanfield.commands.studies import pool
from meanfield.engines.threads import set_threads, threads
from meanfield.store.study_file import read_result
from meanfield.studies import corrected_law
from meanfield.studies import ensemble as ensemble_module

CONFIG = """\
problem = { manifold = "circle", beta = 5.0, normalization = "none" }
initial = { name = "perturbed_uniform", modes = [[3, 0.0, 0.2]] }
representation = { tolerance = 1e-6 }
compare = { tokens = [50, 2000], runs = 12 }
ensemble = { tokens = [50, 300], runs = 48, times = [1.0] }
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


@pytest.mark.slow
def test_missing_cluster_is_reported(results, tmp_path, cli, monkeypatch):
    """The density would be run first, or an output be left behind."""
    pytest.importorskip("distributed")
    monkeypatch.setattr(study_commands, "_comparison_plan", None)
    words = ("compare", results.config, "-o", tmp_path / "x.h5", "--scheduler", "nowhere")
    assert cli.refused(*words).startswith("meanfield: no Dask scheduler at 'nowhere'")
    assert list(tmp_path.iterdir()) == []


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


def finished_runs(path):
    return int((read_result(path, "ensemble").counts[:, :, 0] >= 0).sum())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "options", "after"),
    [("compare", ("--set", "time={end=4.0, save=3}"), 4), ("ensemble", (), 6)],
)
def test_study_survives_a_killed_worker(
    cluster, config, tmp_path, capfd, monkeypatch, command, options, after
):
    """Results of a lost worker would be missing, or where they were made show in the file."""
    monkeypatch.setattr(ensemble_module, "_MOST_BLOCKED", 2)
    here, there = tmp_path / "here.h5", tmp_path / "there.h5"
    words = [command, str(config), *options, "--json"]
    assert main([*words, "-o", str(here), "--workers", "1"]) == 0
    expected = json.loads(capfd.readouterr().out)
    lost = []
    monkeypatch.setattr("meanfield.studies.study.finished", cluster.killing(after, lost))
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 1e6)
    assert main([*words, "-o", str(there), "--scheduler", cluster.address]) == 0
    said = capfd.readouterr()
    # Dask's troubles do not reach the screen.
    assert said.err == f"{there} holds the results.\n"
    assert json.loads(said.out) == expected | {"output": str(there)}
    assert lost[0] > 0
    assert digest(there) == digest(here) and digest(there)[0] == "completed"


@pytest.mark.slow
def test_prediction_survives_a_killed_worker(cluster, capfd, monkeypatch):
    """Samples of a lost worker would be missing, or the law depend on the machine."""
    monkeypatch.setattr(corrected_law, "BLOCK", {1: 2})
    monkeypatch.setattr("meanfield.commands.predict._FIRST_LINE", 1e6)
    line = "predict --manifold circle --beta 5 --tokens 1000 --samples 100 --runs 60"
    answers = []
    lost = []
    for place in (["--workers", "1"], ["--scheduler", cluster.address]):
        assert main([*line.split(), "--json", *place]) == 0
        said = capfd.readouterr()
        assert said.err == ""
        answers.append(said.out)
        monkeypatch.setattr(corrected_law, "finished", cluster.killing(4, lost))
    assert answers[0] == answers[1]
    assert lost[0] > 0


@pytest.mark.slow
def test_interrupt_on_the_cluster_is_resumed_at_home(cluster, config, tmp_path):
    """Results of a cluster would be lost at Ctrl-C, not fit the rest, or Dask's log be shown."""
    whole, broken = tmp_path / "whole.h5", tmp_path / "broken.h5"
    many = ("--runs", "200")
    words = ["ensemble", str(config), "-o", str(broken), "--quiet", *many]
    process = subprocess.Popen(
        [sys.executable, "-c", EAGER, *words, "--scheduler", cluster.address],
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 300.0
    while not (broken.exists() and finished_runs(broken)):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    errors = process.communicate(timeout=300.0)[1].splitlines()
    # The first run on a machine says that it compiles.
    said = [line for line in errors if "compiling" not in line]
    advice = f"interrupted; {broken} keeps what was finished, --resume goes on"
    assert said == [f"meanfield: {advice}"]
    assert process.returncode == 130
    assert read_result(broken, "ensemble").attributes["status"].startswith("interrupted with ")
    assert 0 < finished_runs(broken) < 400
    assert main(["ensemble", str(config), "-o", str(broken), "--quiet", *many, "--resume"]) == 0
    assert main(["ensemble", str(config), "-o", str(whole), "--quiet", *many]) == 0
    assert digest(broken) == digest(whole)
