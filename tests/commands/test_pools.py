"""Where commands do their work: here, in local processes, on a Dask cluster."""

from contextlib import contextmanager

import pytest

import meanfield as mf
from meanfield.commands import compile, studies, study_commands
from meanfield.commands.arguments import parser
from meanfield.commands.studies import pool
from meanfield.engines.threads import set_threads, threads


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
