"""`meanfield check`: what it promises is what a run does."""

import re
from dataclasses import replace
from functools import partial
from inspect import signature
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
from parameters import refused

import meanfield as mf

CONFIG = """\
problem = { normalization = "none", manifold = "circle", beta = 4.0 }
initial = { name = "perturbed_uniform", modes = [[1, 0.1, 0.0]] }
time = { end = 2.0, save = 5 }
"""
PARTICLES = ["--set", "representation.name=particles", "--set"]


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """Clock of the trial: a hundredth of a second passes at each look, on any machine."""
    ticks = SimpleNamespace(perf_counter=partial(next, count(0.0, 0.01)))
    monkeypatch.setattr("meanfield.commands.check.clock", ticks)
    monkeypatch.setattr("meanfield.commands.check._SILENT_SECONDS", float("inf"))


@pytest.fixture
def check(cli, config):
    """Facts that the command prints of a run file, without a complaint."""

    def facts(*options):
        result = cli.facts("check", config, *options)
        assert cli.err == ""
        return result

    return facts


def test_check_tells_what_would_run(config, check):
    """A user would start a run that is not the one in mind."""
    facts = check("--set", "time.end=3")
    auto = "density, degree 64 growing to 512 as needed, then characteristics and atoms"
    assert facts["representation"] == auto and facts["end"].startswith("t = 3 scaled")
    assert (facts["saves"], facts["dominant degree"]) == ("5", "3")
    assert facts["output"] == f"{config.with_suffix('.h5')} (state: all)"
    facts = check(*PARTICLES, "representation.tokens=30")
    assert facts["representation"] == "particles, 30 tokens"
    # A dry run leaves no files about.
    assert [path.name for path in config.parent.iterdir()] == ["small.toml"]


def test_check_certifies_the_degrees_in_use(check):
    """A user would not know what is cut off, or be told of another degree."""
    problem = mf.Problem(mf.Circle(), mf.exponential(4.0), mf.USA)
    truncation = mf.truncation(problem)
    lost = truncation.velocity_error / truncation.largest_speed
    text = f"degree {problem.kernel_degree}: velocities within {lost:.2g} of the largest"
    assert check()["truncation"] == text


def test_check_tells_that_nothing_will_happen(check):
    """A run file without [initial] gave flat figures and no word why."""
    uniform = ["--set", "initial={name='uniform'}"]
    assert check(*uniform)["note"] == (
        "uniform is stationary: nothing will happen. Give another initial law, or take the "
        'representation "particles" with tokens = 1000.'
    )
    assert "note" not in check(*uniform, *PARTICLES, "representation.tokens=30")


@pytest.mark.slow
def test_check_tells_what_a_larger_degree_costs(check):
    """One who has not ten times as long would send a density to degree 1,023."""
    auto = ["--set", "problem.manifold=sphere", "--set", "initial.modes=[[1, 0, 0.1]]"]
    density = [*auto, "--set", "representation.name=density"]
    facts = check(*density)
    assert facts["representation"] == "density, degree 64 growing to 512 as needed"
    assert facts["larger degrees"] == (
        "max_degree = 1024 is allowed; a unit of time there takes ten times as long"
    )
    assert check(*auto)["characteristics"] == (
        "tolerance 0.0001: some 3.7e+05 nodes where clusters form, "
        "about 1.5 s of one processor a step"
    )
    assert check(*auto, "--set", "representation.tolerance=1e-10")["characteristics"] == (
        "tolerance 1e-10: some 3.7e+08 nodes where clusters form, more than max_nodes = 2000000: "
        "raise the tolerance"
    )
    further = check(*density, "--set", "representation.max_degree=1023")
    assert further["representation"] == "density, degree 64 growing to 1023 as needed"
    assert "larger degrees" not in further


def test_check_foresees_a_failure(check, monkeypatch):
    """A user would learn of it after the run."""
    monkeypatch.setattr("meanfield.commands.check._TRIAL_SECONDS", float("inf"))
    monkeypatch.setattr("meanfield.commands.check._LONG_TRIAL_SECONDS", float("inf"))
    fixed = "representation={name='density', max_degree=24}"
    text = check("--set", fixed, "--set", "time.end=300")["time"]
    assert text.startswith("the run would fail: under-resolved: spectral tail ")


@pytest.mark.slow
def test_long_runs_are_extrapolated_from_their_start(check):
    """A run of hours would look like one of seconds, or atoms that reach any end like days."""
    text = check(*PARTICLES, "representation.tokens=20", "--set", "time.end=1e6")["time"]
    match = re.match(r"about (\S+) s at the pace of the first (\S+) %; more where", text)
    assert float(match[1]) > 10.0 and 0.0 < float(match[2]) < 100.0
    values = ["time.end=1e5", "problem.manifold=sphere", "initial.modes=[[3, 2, 0.1]]"]
    text = check(*[word for value in values for word in ("--set", value)])["time"]
    match = re.match(r"about (\S+) s a unit of time as it begins; what takes over", text)
    assert 0.0 < float(match[1]) < 10.0
    text = check("--set", "time={spacing='log', first=1, end=1e12, save=5}")
    assert text["time"].startswith(("about ", "more than "))


def test_first_steps_that_take_long_are_announced(config, cli, monkeypatch):
    """The check would be silent for 20 s, and say no more than that the run takes longer."""
    monkeypatch.setattr("meanfield.commands.check._SILENT_SECONDS", 0.0)
    monkeypatch.setattr("meanfield.commands.check._WARM_UP_SECONDS", 1.0)
    out = cli("check", config, "--set", "problem.strength=-1e11")
    assert "check: timing the first steps, up to 1 s\n" in cli.err
    # 1e11 steps or so: no first millionth of them in a second.
    match = re.search(r"time +more than (\S+) s: the first \S+ s do not reach t = \S+\n", out)
    assert float(match[1]) >= 1e6


def test_check_executes_nothing_unasked(config, cli):
    """Checking a run file from somebody else would execute its code."""
    code, kernel = config.with_name("k.py"), 'kernel = "zonal", attention = "k.py:f", beta'
    code.write_text("print('executed')\ndef f(s): return 0 * s + 1 + s\n")
    config.write_text(CONFIG.replace("beta", kernel))
    facts = cli.facts("check", config)
    assert facts["run file"] == f"{config}: valid, but for its Python"
    assert facts["not executed"].startswith("k.py:f: read it, then --allow-code executes it")
    assert f"{config}: valid\n" in cli("check", config, "--allow-code")
    assert f"executing the Python of {code}\nexecuted\n" in cli.err


@pytest.mark.parametrize("changes", [
    ["stages=[{end = 0.5}, {kernel = 'zonal', attention = 'k.py:f'}]"],
    ["stages=[{end = 0.5}, {heads = [{value = 'k.py:f'}]}]"],
    ["initial.name=function", "initial.function=k.py:f"],
    ["problem.terms=['k.py:f']", "time.stop=k.py:f", "output.observables=['k.py:f']"],
    ["problem.strength=k.py:f", "drift.matrix=k.py:f"],
    ["problem.mask=k.py:f"],
    ["feed_forward={input = 'k.py:f', output = 1.0}"],
])  # fmt: skip
def test_check_executes_no_python_of_any_section(config, changes, cli):
    """Python that a stage names was executed."""
    config.with_name("k.py").write_text("raise RuntimeError\n")
    words = [word for change in changes for word in ("--set", change)]
    facts = cli.facts("check", config, *words)
    assert facts["not executed"].startswith("k.py:f: read it") and cli.err == ""


def test_layers_are_tried_one_by_one(config, check, cli):
    """A look inside a layer, where there is nothing, would end the check."""
    facts = check("--set", "layers={step=0.5, placement='pre'}", "--set", "time.save=3")
    assert facts["time"].startswith("about")
    assert facts["representation"].startswith("characteristics")
    config.write_text(
        "problem = {manifold = 'sphere:5', beta = 2.0, normalization = 'none'}\n"
        "layers = {count = 4}\nstages = [{end = 2}, {strength = -1.0}]\n"
        "initial = {name = 'normal_tokens', tokens = 3}\n"
    )
    output = cli("check", config)
    assert re.search(r"stages +2 stages: nothing changed until 2; flow changed\n", output)
    assert re.search(r"saves +5\n", output) and re.search(r"time +about", output)


def test_time_of_layers_is_their_number(config, cli):
    """Layers would be taken for scaled time, and growth times told that no mode has."""
    config.write_text(
        "problem = {manifold = 'circle', beta = 4, normalization = 'softmax'}\n"
        "layers = {count = 6, step = 0.3, placement = 'pre'}\n"
        "initial = {name = 'atoms', angles = [0.1, 1.0, 2.5]}\n"
        "representation = {name = 'particles'}\n"
    )
    assert re.search(r"^end +6 layers$", cli("check", config), re.M)
    run = mf.run(config)
    assert run.plot("order_parameter").axes[0].get_xlabel() == "layer"
    slowed = replace(run.problem, layers=mf.Layers(step=0.0, placement="pre"))
    with pytest.raises(ValueError, match="under other layers modes grow by another clock"):
        mf.simulate(slowed, until=1.0, unit="growth", representation="particles")


def test_check_in_python_says_what_the_command_says(check):
    """A notebook would need a run file to estimate a run."""
    facts = check(*PARTICLES, "representation.tokens=30")
    law = mf.perturbed_uniform([[1.0, 0.1, 0.0]])
    problem = mf.Problem(mf.Circle(), mf.exponential(4.0), mf.USA, law)
    result = mf.check(problem, until=2.0, save=5, representation="particles", tokens=30)
    lines = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in str(result).splitlines())
    assert facts.keys() - lines.keys() == {"run file", "output"}
    assert lines["time"].startswith("about ") and repr(result) == str(result)
    assert lines | {"time": ""} == {name: facts[name] for name in lines} | {"time": ""}
    refused("tokens", mf.check, problem, until=2.0, representation="density", tokens=30)


def test_check_says_that_functions_of_time_end_hand_overs():
    """A run to clusters would end under-resolved, though "auto" was asked for."""
    facts = mf.check(mf.Problem(mf.Circle(), mf.exponential(lambda t: 4.0 + t)), 0.1, save=2)
    text = "; no hand-over with functions of time: if clusters form, take characteristics"
    assert facts["representation"].endswith(text)


def test_check_in_python_takes_the_arguments_of_simulate():
    """A call of `simulate` could not be checked as it is, or its slips would be another's."""
    problem = mf.Problem(mf.Circle(), mf.exponential(4.0), mf.USA)
    facts = mf.check(problem, 0.1, save=2, stop=lambda time, measure: True, output="x.h5")
    assert facts["saves"] == 2 and not Path("x.h5").exists()
    assert signature(mf.check).parameters == signature(mf.simulate).parameters
    refused("check: until must be a number, got 'soon'", mf.check, problem, "soon", error=TypeError)
    with pytest.raises(TypeError, match="check: tolerence is not known; did you mean tolerance"):
        mf.check(problem, 1.0, tolerence=1e-8)
