"""`print` of a result: the report of the command that makes it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import meanfield as mf
from meanfield.commands.main import main
from meanfield.runs import collect

LAW = mf.perturbed_uniform([[2, 0.3, 0.0], [3, 0.0, 0.1]])
PROBLEM = mf.Problem(mf.Circle(), mf.exponential(4.0), mf.USA, LAW)
CONFIG = """
problem = {manifold = "circle", beta = 4.0, normalization = "none"}
initial = {name = "uniform"}
time = {end = 1.0, save = 3}
ensemble = {tokens = [20, 40], runs = 3}
compare = {tokens = [20, 40], runs = 3}
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A run file for small studies."""
    path = tmp_path / "small.toml"
    path.write_text(CONFIG)
    return path


def printed(capsys: pytest.CaptureFixture[str], *options: str | Path) -> str:
    """Output of a command."""
    capsys.readouterr()
    assert main([str(option) for option in options]) == 0
    return capsys.readouterr().out


def test_run_prints_what_info_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A notebook would show less of a run than a terminal."""
    run = mf.simulate(PROBLEM, until=1.0, save=3, output=tmp_path / "run.h5", fluctuations=2)
    assert f"{run}\n" == printed(capsys, "info", tmp_path / "run.h5")
    assert str(run).endswith(str(run.fluctuations))
    assert str(run.fluctuations).startswith("fluctuations of N tokens at t = ")
    assert "created" not in str(collect(PROBLEM, []))


@pytest.mark.parametrize("study", ["ensemble", "compare"])
def test_study_prints_what_its_command_prints(
    study: str, config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`print(ensemble)` would show one mean."""
    path = tmp_path / "study.h5"
    shown = printed(capsys, study, config, "-o", path, "--quiet", "--workers", "1")
    assert shown == f"{mf.load(path)}\n"


def test_sweep_prints_what_its_command_prints(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table of runs would be a line."""
    options = ("-o", tmp_path / "sweep", "--quiet", "--workers", "1")
    shown = printed(capsys, "sweep", config, "--over", "problem.beta=1,2", *options)
    assert shown == f"{mf.load_sweep(tmp_path / 'sweep')}\n"


def test_merging_diagram_prints_what_its_command_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Shares of merged pairs would be known to the command alone."""
    path = tmp_path / "diagram.h5"
    options = ("--tokens", "4", "--dimension", "3", "--runs", "2", "--until", "1")
    more = ("--save", "2", "-o", path, "--quiet", "--workers", "1")
    shown = printed(capsys, "diagram", "--beta", "1", *options, *more)
    assert shown == f"{mf.load(path)}\n"


def test_phases_print_what_phase_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """Diffusivities in the papers' units would be known to the command alone."""

    def problem_at(beta: float) -> mf.Problem:
        return mf.Problem(mf.Circle(), mf.exponential(beta), mf.USA)

    options = ("phase", "--manifold", "circle", "--normalization", "none", "--beta")
    point = mf.phase_point(problem_at(3.0))
    assert f"{point}\n" == printed(capsys, *options, "3")
    diagram = mf.phase_diagram(problem_at, [2.0, 3.0])
    assert f"{diagram}\n" == printed(capsys, *options, "2", "3", "2")
    alone = replace(point, problem=None)
    assert str(alone) == repr(alone)
    assert str(replace(diagram, points=(alone,))).startswith("PhaseDiagram(circle")


def test_prediction_prints_what_predict_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """The laws beside each other would be known to the command alone."""
    problem = mf.Problem(mf.Circle(), mf.exponential(4.0), mf.USA)
    prediction = mf.predict_clusters(problem, 100, samples=50, corrected=False)
    options = (
        "--manifold",
        "circle",
        "--normalization",
        "none",
        "--samples",
        "50",
        "--runs",
        "0",
    )
    shown = printed(capsys, "predict", "--beta", "4", "--tokens", "100", *options)
    assert shown == f"{prediction}\n"
    assert str(prediction).startswith(f"{prediction.answer}\n")


def test_study_without_all_rows_prints_one_line() -> None:
    """Means of no runs would be printed as NaN, with warnings."""
    study = mf.ensemble(mf.Problem(mf.Circle(), mf.exponential(4.0), mf.USA), tokens=10, runs=2)
    nothing = replace(study, counts=np.full_like(study.counts, -1))
    assert str(nothing) == repr(nothing)
