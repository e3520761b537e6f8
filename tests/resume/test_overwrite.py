"""What --overwrite replaces: an earlier result stays until the new one has begun."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import meanfield as mf
from meanfield.commands.main import main
from meanfield.papers.merging import MergingPlan
from meanfield.studies.convergence import Comparison
from meanfield.studies.ensemble import EnsemblePlan
from meanfield.studies.sweeps import plan

CONFIG = """\
problem = { manifold = "circle", beta = 5.0, normalization = "none" }
initial = { name = "perturbed_uniform", modes = [[3, 0.0, 0.2]] }
representation = { name = "particles", tokens = 20, tolerance = 1e-6 }
time = { end = 4.0, save = 3 }
compare = { tokens = [5, 20], runs = 2 }
ensemble = { tokens = [20, 60], runs = 3 }
"""
# Fails at the saved time of this number.
OWN = """\
calls = []
def own(measure):
    calls.append(measure)
    if len(calls) > {number}:
        raise ArithmeticError("no number here")
    return 1.0
"""
FAILING = ["--set", 'output.observables=["own.py:own"]']
STUDIES = {"compare": Comparison, "ensemble": EnsemblePlan}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a run file, and an observable that fails beyond the start."""
    monkeypatch.chdir(tmp_path)
    Path("x.toml").write_text(CONFIG)
    Path("own.py").write_text(OWN.format(number=1))
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    """What the files of a folder hold."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_failed_start_of_a_run_leaves_the_earlier_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A good result would be replaced by one with nothing in it."""
    command = ["run", "x.toml", "-o", "x.h5", "--quiet"]
    assert main(command) == 0
    before = Path("x.h5").read_bytes()
    assert main([*command, "--overwrite", *FAILING]) == 1
    assert "no number here" in capsys.readouterr().err
    assert Path("x.h5").read_bytes() == before
    assert main([*command, "--resume"]) == 0
    # From its second row on it is the new one that counts.
    Path("own.py").write_text(OWN.format(number=2))
    assert main([*command, "--overwrite", *FAILING]) == 1
    assert mf.load("x.h5").scaled_time.tolist() == [0.0, 2.0]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), mf.SimulationError(0.0, 0, "stiff")])
def test_line_says_that_the_earlier_file_stays(
    folder: Path,
    error: BaseException,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A file that was not touched would be called valid up to t = 0 of the new run."""
    command = ["run", "x.toml", "-o", "x.h5", "--quiet"]
    assert main(command) == 0
    before = Path("x.h5").read_bytes()

    def evolve(*_: Any, **__: Any) -> Any:
        raise error
        yield

    monkeypatch.setattr("meanfield.recording.evolve", evolve)
    assert main([*command, "--overwrite"]) != 0
    assert "; x.h5 stays as it was" in capsys.readouterr().err
    assert Path("x.h5").read_bytes() == before


def test_failed_start_in_python_leaves_the_earlier_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A good file would be lost, or its run be taken for what the failed one has so far."""
    problem = mf.Problem(mf.Circle(), mf.linear(), mf.USA, mf.perturbed_uniform([[1, 0.1, 0.0]]))
    mf.simulate(problem, until=1.0, save=2, output="x.h5")
    before = Path("x.h5").read_bytes()

    def stop(time: float, measure: mf.Measure) -> bool:
        raise mf.SimulationError(0.0, 0, "stiff")

    with pytest.raises(mf.SimulationError, match="stiff") as caught:
        mf.simulate(problem, until=2.0, save=2, output="x.h5", overwrite=True, stop=stop)
    assert not hasattr(caught.value, "run")
    assert Path("x.h5").read_bytes() == before


@pytest.mark.parametrize("command", STUDIES)
@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("no run")])
def test_failed_start_of_a_study_leaves_the_earlier_file(
    folder: Path,
    command: str,
    error: BaseException,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Hours of runs would be lost to the first that fails."""
    words = [command, "x.toml", "-o", "x.h5", "--workers", "1", "--quiet"]
    assert main(words) == 0
    before = Path("x.h5").read_bytes()
    real = STUDIES[command].run

    def run(self: Any, runs: Any) -> Any:
        raise error

    monkeypatch.setattr(STUDIES[command], "run", run)
    assert main([*words, "--overwrite"]) != 0
    said = "no run" if isinstance(error, ValueError) else "interrupted; x.h5 stays as it was"
    assert said in capsys.readouterr().err
    assert Path("x.h5").read_bytes() == before
    monkeypatch.setattr(STUDIES[command], "run", _once(real, error))
    assert main([*words, "--overwrite"]) != 0
    status = str(mf.load("x.h5").attributes["status"])
    assert status.startswith(("failed with", "interrupted with")) and " 0 of " not in status


def _once(real: Callable[..., Any], error: BaseException) -> Callable[..., Any]:
    """The real function the first time, then the error."""
    calls: list[None] = []

    def run(self: Any, runs: Any) -> Any:
        calls.append(None)
        if len(calls) > 1:
            raise error
        return real(self, runs)

    return run


def test_failed_start_of_a_diagram_leaves_the_earlier_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of the other studies, by a command without a run file."""
    words = ["diagram", "--beta", "1", "2", "2", "--tokens", "8", "--runs", "2", "--until", "2"]
    words += ["-o", "x.h5", "--workers", "1", "--quiet"]
    assert main(words) == 0
    before = Path("x.h5").read_bytes()

    def run(self: Any, runs: Any) -> Any:
        raise ValueError("no run")

    monkeypatch.setattr(MergingPlan, "run", run)
    assert main([*words, "--overwrite"]) == 2
    assert Path("x.h5").read_bytes() == before


SWEEP = ["sweep", "x.toml", "--over", "problem.beta=1,2,3", "-o", "sw", "--workers", "1", "--quiet"]


def test_failed_start_of_a_sweep_leaves_the_earlier_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All runs of the earlier sweep would be removed before one of the new sweep works."""
    assert main(SWEEP) == 0
    before = contents(Path("sw"))
    more = [*SWEEP[:3], "problem.beta=4,5,6,7", *SWEEP[4:]]
    assert main([*more, "--overwrite", *FAILING]) == 2
    said = capsys.readouterr().err
    assert "meanfield: sw stays as it was, for no run of the new sweep has begun: 001.h5" in said
    assert "no number here" in said
    assert contents(Path("sw")) == before


def test_interrupted_start_of_a_sweep_leaves_the_earlier_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C in the first run would cost what was there; later it would leave two sweeps mixed."""
    assert main(SWEEP) == 0
    before, real = contents(Path("sw")), plan.execute
    rows = [1]

    def execute(*given: Any, **options: Any) -> Any:
        stream = real(*given, **options)
        for _ in range(rows[0]):
            yield next(stream)
        stream.close()
        raise KeyboardInterrupt

    monkeypatch.setattr(plan, "execute", execute)
    other = [*SWEEP[:3], "problem.beta=4,5", *SWEEP[4:]]
    assert main([*other, "--overwrite"]) == 130
    assert "sw/sweep.json stays as it was" in capsys.readouterr().err
    assert contents(Path("sw")) == before
    rows[0] = 2
    assert main([*other, "--overwrite"]) == 130
    assert sorted(contents(Path("sw"))) == ["001.h5", "sweep.json"]
    assert mf.load_sweep("sw").parameters[0].values == (4, 5)
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert main([*other, "--resume"]) == 0


def test_first_run_that_works_replaces_a_sweep(folder: Path) -> None:
    """Earlier runs would stand for members that failed, or a failed member keep an old hash."""
    assert main(SWEEP) == 0
    over = ["--over", 'output.observables=["own.py:own"],["energy"]']
    assert main([*SWEEP[:2], *over, *SWEEP[4:], "--overwrite"]) == 1
    made = mf.load_sweep("sw")
    assert [member.result_hash is None for member in made.members] == [True, False]
    assert sorted(contents(Path("sw"))) == ["002.h5", "sweep.json"]


def test_failed_sweep_of_a_problem_leaves_the_earlier_run_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run file in the folder would be that of the sweep that failed."""
    law = mf.perturbed_uniform([[2, 0.0, 0.2]])
    problem = mf.Problem(mf.Circle(), mf.linear(), mf.USA, law)
    given: dict[str, Any] = {"folder": "sw", "time": {"end": 1.0, "save": 2}}
    mf.sweep(problem, {"problem.strength": [1, 2]}, **given)
    before = contents(Path("sw"))

    def execute(*given: Any, **options: Any) -> Any:
        raise ValueError("no run")

    monkeypatch.setattr(plan, "execute", execute)
    with pytest.raises(ValueError, match="sw stays as it was"):
        mf.sweep(problem, {"problem.strength": [3]}, overwrite=True, **given)
    assert contents(Path("sw")) == before


@pytest.mark.parametrize("name", ["sweep.json", "002.h5"])
@pytest.mark.parametrize("option", ["--overwrite", "--resume"])
def test_links_in_the_folder_of_a_sweep_are_not_followed(
    folder: Path, name: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file outside of the folder would become the index, or a run."""
    assert main(SWEEP) == 0
    outside = Path("outside") if name == "sweep.json" else Path("outside.h5")
    (Path("sw") / name).rename(outside)
    (Path("sw") / name).symlink_to(Path("..") / outside)
    before = outside.read_bytes()
    assert main([*SWEEP, option]) == 2
    assert f"sw/{name} is a link, which is not followed" in capsys.readouterr().err
    assert outside.read_bytes() == before and (Path("sw") / name).is_symlink()


def test_run_file_of_a_sweep_is_no_file_of_the_user(folder: Path) -> None:
    """A run file of the user's own, or one that a link leads to, would be replaced."""
    problem = mf.Problem(mf.Circle(), mf.linear(), mf.USA, mf.perturbed_uniform([[2, 0.0, 0.2]]))
    given: dict[str, Any] = {"folder": "sw", "time": {"end": 1.0, "save": 2}}
    Path("sw").mkdir()
    place = Path("sw/sweep.toml")
    place.write_text(CONFIG)
    with pytest.raises(ValueError, match=r"sweep\.toml was not written by mf\.sweep"):
        mf.sweep(problem, {"problem.strength": [1, 2]}, **given)
    assert place.read_text() == CONFIG
    place.unlink()
    place.symlink_to("../x.toml")
    with pytest.raises(ValueError, match=r"sweep\.toml is a link"):
        mf.sweep(problem, {"problem.strength": [1, 2]}, **given)
    assert Path("x.toml").read_text() == CONFIG
    np.testing.assert_equal(sorted(contents(Path("sw"))), ["sweep.toml"])


def test_foreign_index_is_not_replaced(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file of another program that has the name of the index would be lost."""
    Path("sw").mkdir()
    Path("sw/sweep.json").write_text('{"mine": 1}')  # what a note of the user's might be
    Path("sw/notes.txt").write_text("notes")
    assert main([*SWEEP, "--overwrite"]) == 2
    assert "sw/sweep.json was not written by meanfield sweep" in capsys.readouterr().err
    assert contents(Path("sw")) == {"sweep.json": b'{"mine": 1}', "notes.txt": b"notes"}


def test_keys_of_a_sweep_have_a_section(tmp_path):
    """The error would name an option of the command."""
    problem = mf.Problem(mf.Circle(), mf.exponential(4.0), mf.USA)
    with pytest.raises(ValueError, match=r'^over: "beta=1" needs .* Did you mean problem\.beta'):
        mf.sweep(problem, {"beta": [1]}, folder=tmp_path / "sw", time={"end": 1.0})
