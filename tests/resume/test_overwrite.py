"""Replacement by --overwrite: an earlier result stays until the new one has begun."""

from pathlib import Path

import pytest
from parameters import refused

import meanfield as mf
from meanfield.commands.main import main
from meanfield.papers.merging import MergingPlan
from meanfield.studies import sweep_plan as plan
from meanfield.studies.convergence import Comparison
from meanfield.studies.ensemble import EnsemblePlan

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


def fails(*arguments, **options):
    raise ValueError("no run")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with a run file, and an observable that fails beyond the start."""
    monkeypatch.chdir(tmp_path)
    Path("x.toml").write_text(CONFIG)
    Path("own.py").write_text(OWN.format(number=1))
    return tmp_path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.slow
def test_failed_start_of_a_run_leaves_the_earlier_file(folder, cli):
    """A good result would be replaced by one with nothing in it."""
    command = ["run", "x.toml", "-o", "x.h5", "--quiet"]
    cli(*command)
    before = Path("x.h5").read_bytes()
    cli(*command, "--overwrite", *FAILING, status=1)
    assert "no number here" in cli.err
    assert Path("x.h5").read_bytes() == before
    cli(*command, "--resume")
    # From its second row on it is the new one that counts.
    Path("own.py").write_text(OWN.format(number=2))
    cli(*command, "--overwrite", *FAILING, status=1)
    assert mf.load("x.h5").scaled_time.tolist() == [0.0, 2.0]


@pytest.mark.slow
@pytest.mark.parametrize("error", [KeyboardInterrupt(), mf.SimulationError(0.0, 0, "stiff")])
def test_line_says_that_the_earlier_file_stays(folder, error, cli, monkeypatch):
    """A file that was not touched would be called valid up to t = 0 of the new run."""
    command = ["run", "x.toml", "-o", "x.h5", "--quiet"]
    cli(*command)
    before = Path("x.h5").read_bytes()

    def evolve(*_, **__):
        raise error
        yield

    monkeypatch.setattr("meanfield.recording.evolve", evolve)
    cli(*command, "--overwrite", status=130 if isinstance(error, KeyboardInterrupt) else 1)
    assert "; x.h5 stays as it was" in cli.err
    assert Path("x.h5").read_bytes() == before


@pytest.mark.slow
def test_failed_start_in_python_leaves_the_earlier_file(folder):
    """A good file would be lost, or its run be taken for what the failed one has so far."""
    mf.simulate(PROBLEM, until=1.0, save=2, output="x.h5")
    before = Path("x.h5").read_bytes()

    def stop(time, measure):
        raise mf.SimulationError(0.0, 0, "stiff")

    with pytest.raises(mf.SimulationError, match="stiff") as caught:
        mf.simulate(PROBLEM, until=2.0, save=2, output="x.h5", overwrite=True, stop=stop)
    assert not hasattr(caught.value, "run")
    assert Path("x.h5").read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize("command", STUDIES)
@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("no run")])
def test_failed_start_of_a_study_leaves_the_earlier_file(
    folder, command, error, capsys, monkeypatch
):
    """Hours of runs would be lost to the first that fails."""
    words = [command, "x.toml", "-o", "x.h5", "--workers", "1", "--quiet"]
    assert main(words) == 0
    before = Path("x.h5").read_bytes()
    real = STUDIES[command].run

    def run(self, runs):
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


def _once(real, error):
    calls = []

    def run(self, runs):
        calls.append(None)
        if len(calls) > 1:
            raise error
        return real(self, runs)

    return run


def test_failed_start_of_a_diagram_leaves_the_earlier_file(folder, cli, monkeypatch):
    """As of the other studies, by a command without a run file."""
    line = "diagram --beta 1 2 2 --tokens 8 --runs 2 --until 2 -o x.h5 --workers 1 --quiet"
    cli(*line.split())
    before = Path("x.h5").read_bytes()
    monkeypatch.setattr(MergingPlan, "run", fails)
    cli(*line.split(), "--overwrite", status=2)
    assert Path("x.h5").read_bytes() == before


SWEEP = ["sweep", "x.toml", "--over", "problem.beta=1,2,3", "-o", "sw", "--workers", "1", "--quiet"]


@pytest.mark.slow
def test_failed_start_of_a_sweep_leaves_the_earlier_one(folder, cli):
    """All runs of the earlier sweep would be removed before one of the new sweep works."""
    cli(*SWEEP)
    before = contents(Path("sw"))
    cli(*SWEEP[:3], "problem.beta=4,5,6,7", *SWEEP[4:], "--overwrite", *FAILING, status=2)
    text = "meanfield: sw stays as it was, for no run of the new sweep has begun: 001.h5"
    assert text in cli.err and "no number here" in cli.err
    assert contents(Path("sw")) == before


@pytest.mark.slow
def test_interrupted_start_of_a_sweep_leaves_the_earlier_one(folder, monkeypatch, capsys):
    """Ctrl-C in the first run would cost what was there; later it would leave two sweeps mixed."""
    assert main(SWEEP) == 0
    before, real = contents(Path("sw")), plan.execute
    rows = [1]

    def execute(*arguments, **options):
        stream = real(*arguments, **options)
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


@pytest.mark.slow
def test_first_run_that_works_replaces_a_sweep(folder):
    """Earlier runs would stand for members that failed, or a failed member keep an old hash."""
    assert main(SWEEP) == 0
    over = ["--over", 'output.observables=["own.py:own"],["energy"]']
    assert main([*SWEEP[:2], *over, *SWEEP[4:], "--overwrite"]) == 1
    sweep = mf.load_sweep("sw")
    assert [member.result_hash is None for member in sweep.members] == [True, False]
    assert sorted(contents(Path("sw"))) == ["002.h5", "sweep.json"]


@pytest.mark.slow
def test_failed_sweep_of_a_problem_leaves_the_earlier_run_file(folder, monkeypatch):
    """The run file in the folder would be that of the sweep that failed."""
    mf.sweep(PROBLEM, {"problem.strength": [1, 2]}, **SMALL)
    before = contents(Path("sw"))
    monkeypatch.setattr(plan, "execute", fails)
    with pytest.raises(ValueError, match="sw stays as it was"):
        mf.sweep(PROBLEM, {"problem.strength": [3]}, overwrite=True, **SMALL)
    assert contents(Path("sw")) == before


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sweep.json", "002.h5"])
@pytest.mark.parametrize("option", ["--overwrite", "--resume"])
def test_links_in_the_folder_of_a_sweep_are_not_followed(folder, name, option, cli):
    """A file outside of the folder would become the index, or a run."""
    cli(*SWEEP)
    outside = Path("outside") if name == "sweep.json" else Path("outside.h5")
    (Path("sw") / name).rename(outside)
    (Path("sw") / name).symlink_to(Path("..") / outside)
    before = outside.read_bytes()
    cli(*SWEEP, option, status=2)
    assert f"sw/{name} is a link, which is not followed" in cli.err
    assert outside.read_bytes() == before and (Path("sw") / name).is_symlink()


def test_run_file_of_a_sweep_is_no_file_of_the_user(folder):
    """A run file of the user's own, or one that a link leads to, would be replaced."""
    Path("sw").mkdir()
    place = Path("sw/sweep.toml")
    place.write_text(CONFIG)
    with pytest.raises(ValueError, match=r"sweep\.toml was not written by mf\.sweep"):
        mf.sweep(PROBLEM, {"problem.strength": [1, 2]}, **SMALL)
    assert place.read_text() == CONFIG
    place.unlink()
    place.symlink_to("../x.toml")
    refused(r"sweep\.toml is a link", mf.sweep, PROBLEM, {"problem.strength": [1, 2]}, **SMALL)
    assert Path("x.toml").read_text() == CONFIG and sorted(contents(Path("sw"))) == ["sweep.toml"]


def test_foreign_index_is_not_replaced(folder, cli):
    """A file of another program that has the name of the index would be lost."""
    Path("sw").mkdir()
    Path("sw/sweep.json").write_text('{"mine": 1}')  # what a note of the user's might be
    Path("sw/notes.txt").write_text("notes")
    cli(*SWEEP, "--overwrite", status=2)
    assert "sw/sweep.json was not written by meanfield sweep" in cli.err
    assert contents(Path("sw")) == {"sweep.json": b'{"mine": 1}', "notes.txt": b"notes"}


LAW = mf.perturbed_uniform([[2, 0.0, 0.2]])


PROBLEM = mf.Problem(mf.Circle(), mf.linear(), mf.USA, LAW)


SMALL = {"folder": "sw", "time": {"end": 1.0, "save": 2}}


def test_keys_of_a_sweep_have_a_section(tmp_path):
    """The error would name an option of the command."""
    problem = mf.Problem(mf.Circle(), mf.exponential(4.0), mf.USA)
    with pytest.raises(ValueError, match=r'^over: "beta=1" needs .* Did you mean problem\.beta'):
        mf.sweep(problem, {"beta": [1]}, folder=tmp_path / "sw", time={"end": 1.0})
