"""`meanfield check`: what it promises is what a run does."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from inspect import signature
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

import meanfield as mf
from meanfield.commands.main import main

CONFIG = """\
[problem]
normalization = "none"
manifold = "circle"
beta = 4.0
[initial]
name = "perturbed_uniform"
modes = [[1, 0.1, 0.0]]
[time]
end = 2.0
save = 5
"""
PARTICLES = ["--set", "representation.name=particles", "--set"]


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clock of the trial: a hundredth of a second passes at each look, on any machine."""
    ticks = SimpleNamespace(perf_counter=partial(next, count(0.0, 0.01)))
    monkeypatch.setattr("meanfield.commands.check.clock", ticks)
    monkeypatch.setattr("meanfield.commands.check._SILENT_SECONDS", float("inf"))


def facts(capsys: pytest.CaptureFixture[str], config: Path, *options: str) -> dict[str, str]:
    """What the command prints."""
    assert main(["check", str(config), *options]) == 0
    captured = capsys.readouterr()
    # The first run on a machine says that it compiles.
    said = [line for line in captured.err.splitlines() if "compiling kernels" not in line]
    assert said == []
    return dict(re.split(r"\s{2,}", line, maxsplit=1) for line in captured.out.splitlines())


def test_check_tells_what_would_run(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A user would start a run that is not the one in mind."""
    told = facts(capsys, config, "--set", "time.end=3")
    assert told["representation"] == (
        "density, degree 64 growing to 512 as needed, then characteristics and atoms"
    )
    assert told["end"].startswith("t = 3 scaled")
    assert (told["saves"], told["dominant degree"]) == ("5", "3")
    assert told["output"] == f"{config.with_suffix('.h5')} (state: all)"
    assert facts(capsys, config, *PARTICLES, "representation.tokens=30")["representation"] == (
        "particles, 30 tokens"
    )


def test_check_certifies_the_degrees_in_use(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A user would not know what is cut off, or be told of another degree."""
    problem = mf.Problem(mf.Circle(), mf.exponential(4.0), mf.USA)
    kept = mf.truncation(problem)
    lost = kept.velocity_error / kept.largest_speed
    told = f"degree {problem.kernel_degree}: velocities within {lost:.2g} of the largest"
    assert facts(capsys, config)["truncation"] == told


def test_check_times_layers(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The trial would ask for a time inside a layer."""
    layers = ["--set", "layers={step=0.5, placement='pre'}", "--set", "time.save=3"]
    told = facts(capsys, config, *layers)
    assert told["time"].startswith("about")
    assert told["representation"].startswith("characteristics")


def test_check_tells_that_nothing_will_happen(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run file without [initial] gave flat figures and no word why."""
    uniform = ["--set", "initial={name='uniform'}"]
    assert facts(capsys, config, *uniform)["note"] == (
        "uniform is stationary: nothing will happen. Give another initial law, or take the "
        'representation "particles" with tokens = 1000.'
    )
    assert "note" not in facts(capsys, config, *uniform, *PARTICLES, "representation.tokens=30")


def test_check_tells_what_a_larger_degree_costs(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One who has not ten times as long would send a density to degree 1,023."""
    sphere = [
        *("--set", "problem.manifold=sphere", "--set", "initial.modes=[[1, 0, 0.1]]"),
        *("--set", "representation.name=density"),
    ]
    told = facts(capsys, config, *sphere)
    assert told["representation"] == "density, degree 64 growing to 512 as needed"
    assert told["larger degrees"] == (
        "max_degree = 1024 is allowed; a unit of time there takes ten times as long"
    )
    assert facts(capsys, config, *sphere[:-2])["characteristics"] == (
        "tolerance 0.0001: some 3.7e+05 nodes where clusters form, "
        "about 1.5 s of one processor a step"
    )
    dear = facts(capsys, config, *sphere[:-2], "--set", "representation.tolerance=1e-10")
    assert dear["characteristics"] == (
        "tolerance 1e-10: some 3.7e+08 nodes where clusters form, more than max_nodes = 2000000: "
        "raise the tolerance"
    )
    further = facts(capsys, config, *sphere, "--set", "representation.max_degree=1023")
    assert further["representation"] == "density, degree 64 growing to 1023 as needed"
    assert "larger degrees" not in further


def test_check_writes_nothing(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A dry run would leave files about."""
    facts(capsys, config)
    assert [path.name for path in config.parent.iterdir()] == ["small.toml"]


def test_check_foresees_a_failure(
    config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user would learn of it after the run."""
    monkeypatch.setattr("meanfield.commands.check._TRIAL_SECONDS", float("inf"))
    monkeypatch.setattr("meanfield.commands.check._LONG_TRIAL_SECONDS", float("inf"))
    options = [
        "--set",
        "representation.name=density",
        "--set",
        "representation.max_degree=24",
        "--set",
        "time.end=300",
    ]
    assert facts(capsys, config, *options)["time"].startswith(
        "the run would fail: under-resolved: spectral tail "
    )


def test_long_run_is_extrapolated(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run of hours would look like one of seconds, or the dry run take as long."""
    options = [*PARTICLES, "representation.tokens=20", "--set", "time.end=1e6"]
    told = facts(capsys, config, *options)["time"]
    found = re.match(r"about (\S+) s at the pace of the first (\S+) %; more where", told)
    assert found is not None
    assert float(found[1]) > 10.0
    assert 0.0 < float(found[2]) < 100.0


def test_long_run_of_many_carriers_has_a_pace_only(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Days would be told of a run whose atoms reach any end in a minute."""
    values = ["time.end=1e5", "problem.manifold=sphere", "initial.modes=[[3, 2, 0.1]]"]
    options = [word for value in values for word in ("--set", value)]
    told = facts(capsys, config, *options)["time"]
    found = re.match(r"about (\S+) s a unit of time as it begins; what takes over", told)
    assert found is not None
    assert 0.0 < float(found[1]) < 10.0


def test_first_steps_that_take_long_are_announced(
    config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check would be silent for 20 s, and say no more than that the run takes longer."""
    monkeypatch.setattr("meanfield.commands.check._SILENT_SECONDS", 0.0)
    monkeypatch.setattr("meanfield.commands.check._WARM_UP_SECONDS", 1.0)
    assert main(["check", str(config), "--set", "problem.strength=-1e11"]) == 0
    printed = capsys.readouterr()
    assert "check: timing the first steps, up to 1 s\n" in printed.err
    # 1e11 steps or so: no first millionth of them in a second.
    found = re.search(
        r"time +more than (\S+) s: the first \S+ s do not reach t = \S+\n", printed.out
    )
    assert found is not None and float(found[1]) >= 1e6


def test_mistakes_are_those_of_run(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file would pass the check and fail the run."""
    assert main(["check", str(config), "--set", "problem.beta=nine"]) == 2
    assert "[problem] beta" in capsys.readouterr().err
    assert main(["check", str(config), *PARTICLES, "representation.tokens=9999999999"]) == 2
    assert "tokens would take about" in capsys.readouterr().err


def test_logarithmic_run_is_tried_to_its_end(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The pace of the first decade would promise a hundredth of a second, or a year."""
    options = ["--set", "time.spacing=log", "--set", "time.first=1", "--set", "time.end=1e12"]
    assert facts(capsys, config, *options)["time"].startswith(("about ", "more than "))


@pytest.fixture
def own(config: Path) -> Path:
    """A run file with a kernel of its own that says when it is executed."""
    config.with_name("k.py").write_text("print('executed')\ndef f(s): return 0 * s + 1 + s\n")
    kernel = 'kernel = "zonal"\nattention = "k.py:f"\n'
    config.write_text(config.read_text().replace("[initial]", kernel + "[initial]"))
    return config


def test_check_executes_nothing_unasked(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Who looks at a run file from somebody else would run what it brings."""
    told = facts(capsys, own)
    assert told["run file"] == f"{own}: valid, but for its Python"
    assert told["not executed"].startswith("k.py:f: read it, then --allow-code executes it")
    assert main(["check", str(own), "--allow-code"]) == 0
    captured = capsys.readouterr()
    assert f"executing the Python of {own.with_name('k.py')}\nexecuted\n" in captured.err
    assert f"{own}: valid\n" in captured.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--set", "time.end=-1"], "[time] end must be positive"),
        (["--set", "problem.attention=none.py:f"], 'must be "file.py:function" of an existing'),
        (["--set", "problem.attention=../k.py:f"], "is Python outside the folder of the run file"),
        (["--no-code"], 'k.py:f" is Python, which --no-code refuses to execute.'),
    ],
)
def test_check_looks_at_the_rest(
    own: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mistake beside the Python would pass."""
    (own.parent.parent / "k.py").write_text("print('executed')")
    assert main(["check", str(own), *options]) == 2
    assert message in (said := capsys.readouterr().err) and "executed" not in said


@pytest.mark.parametrize("command", ["run", "compare", "ensemble"])
def test_code_can_be_refused_everywhere(
    own: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A script that runs the files of others would execute what they bring."""
    assert main([command, str(own), "--no-code"]) == 2
    assert "which --no-code refuses" in (said := capsys.readouterr().err) and "executed" not in said


def test_layers_are_tried_one_by_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A look inside a layer, where there is nothing, would end the check."""
    path = tmp_path / "layers.toml"
    path.write_text(
        '[problem]\nnormalization = "none"\n'
        'manifold = "sphere:5"\nbeta = 2.0\n[layers]\ncount = 4\n'
        "[[stages]]\nend = 2\n[[stages]]\nstrength = -1.0\n"
        '[initial]\nname = "normal_tokens"\ntokens = 3\n'
    )
    assert main(["check", str(path)]) == 0
    told = capsys.readouterr().out
    assert re.search(r"stages +2 stages: nothing changed until 2; flow changed\n", told)
    assert re.search(r"saves +5\n", told)
    assert re.search(r"time +about", told)


def test_time_of_layers_is_their_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Layers would be taken for scaled time, and growth times told that no mode has."""
    file = tmp_path / "layers.toml"
    file.write_text(
        "problem = {manifold = 'circle', beta = 4, normalization = 'softmax'}\n"
        "layers = {count = 6, step = 0.3, placement = 'pre'}\n"
        "initial = {name = 'atoms', angles = [0.1, 1.0, 2.5]}\n"
        "representation = {name = 'particles'}\n"
    )
    assert main(["check", str(file)]) == 0
    assert re.search(r"^end +6 layers$", capsys.readouterr().out, re.M)
    run = mf.run(file)
    assert run.plot("order_parameter").axes[0].get_xlabel() == "layer"
    slowed = replace(run.problem, layers=mf.Layers(step=0.0, placement="pre"))
    with pytest.raises(ValueError, match="under other layers modes grow by another clock"):
        mf.simulate(slowed, until=1.0, unit="growth", representation="particles")


def test_check_in_python_says_what_the_command_says(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who works in a notebook would have to write a run file to know what is coming."""
    told = facts(capsys, config, *PARTICLES, "representation.tokens=30")
    law = mf.perturbed_uniform([[1.0, 0.1, 0.0]])
    problem = mf.Problem(mf.Circle(), mf.exponential(4.0), mf.USA, law)
    options = {"representation": "particles", "tokens": 30}
    found = mf.check(problem, until=2.0, save=5, **options)
    lines = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in str(found).splitlines())
    assert told.keys() - lines.keys() == {"run file", "output"}
    assert {name: told[name] for name in lines if name != "time"} == {
        name: text for name, text in lines.items() if name != "time"
    }
    assert lines["time"].startswith("about ") and repr(found) == str(found)
    with pytest.raises(ValueError, match="tokens"):
        mf.check(problem, until=2.0, representation="density", tokens=30)


def test_check_in_python_takes_the_arguments_of_simulate() -> None:
    """A call of `simulate` could not be checked as it is, or its slips would be another's."""
    problem = mf.Problem(mf.Circle(), mf.exponential(4.0), mf.USA)
    found = mf.check(problem, 0.1, save=2, stop=lambda time, measure: True, output="x.h5")
    assert found["saves"] == 2 and not Path("x.h5").exists()
    assert signature(mf.check) == signature(mf.simulate)
    with pytest.raises(TypeError, match="check: until must be a number, got 'soon'"):
        mf.check(problem, "soon")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="check: tolerence is not known; did you mean tolerance"):
        mf.check(problem, 1.0, tolerence=1e-8)  # type: ignore[call-arg]
