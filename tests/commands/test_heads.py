"""Run files with heads on the command line: checked, run, told, drawn, resumed."""

import re
from pathlib import Path

import h5py
import numpy as np
import pytest

import meanfield as mf
from meanfield.runfile import load_config

CONFIG = """\
[problem]
manifold = "circle"
normalization = "softmax"
beta = 2.0
[[heads]]
score = "score.npy"
value = [[0.8, 0.3], [-0.6, 1.1]]
[[heads]]
query = [1.0, 0.5]
value = -1.0
beta = 3.0
[initial]
modes = [[1, 0.1, 0.0], [2, 0.0, 0.05]]
[time]
end = 0.5
save = 3
"""
SCORE = np.array([[0.9, -0.4], [0.7, 0.5]])


@pytest.fixture
def heads(config, monkeypatch):
    monkeypatch.chdir(config.parent)
    np.save("score.npy", SCORE)
    return Path(config.name)


@pytest.mark.slow
def test_run_of_heads_is_described(heads, cli):
    """A figure or a table would show a kernel and rates that there are not."""
    facts = cli.facts("check", heads)
    assert facts["attention"].startswith("2 heads; beta 3, the largest")
    assert facts["normalization"] == "softmax"
    assert facts["dominant degree"].startswith("no rates: ") and facts["end"] == "t = 0.5 scaled"
    refused = cli.refused("check", heads, "--set", "time.unit=growth")
    assert "[time] heads move uniform itself" in refused
    problem = load_config(heads).problem
    cli("run", heads, "--quiet")
    facts = cli.facts("info", "small.h5")
    assert (facts["normalization"], facts["heads"].split(";")[0]) == ("softmax", "2")
    assert facts["uniform"].startswith("no rates: ")
    data = cli.json("info", "small.h5")
    expected = {"heads": 2, "normalization": "softmax", "normalized": True, "beta": 3.0}
    assert {name: data[name] for name in expected} == expected and data["growth_rate_max"] is None
    Path("score.npy").unlink()
    run = mf.load("small.h5")
    assert run.problem == problem and run.growth_rates.tolist() == [0.0]
    cli("plot", "small.h5", "-o", "all.png")
    assert "the run has no energy" in cli.refused("plot", "small.h5", "--kind", "energy")


def test_file_of_an_earlier_version_tells_its_normalization(heads, cli):
    """Results of years would not load any more, or be called unnormalised."""
    heads.write_text(CONFIG.replace("softmax", "none").partition("[[heads]]")[0] + "[time]\nend=1")
    cli("run", heads, "--quiet", "--set", "problem.normalized=true")
    with h5py.File("small.h5", "a") as file:
        del file.attrs["heads"], file.attrs["normalization"]
    facts = cli.facts("info", "small.h5")
    assert facts["normalization"] == "softmax" and "heads" not in facts
    assert mf.load("small.h5").problem.flow == mf.SA


@pytest.mark.slow
def test_heads_on_the_sphere_run(heads, cli):
    """The commands would know the circle alone."""
    matrices = "[[0.8, -0.3, 0.1], [0.4, 0.6, -0.2], [0, 0.5, -0.7]]"
    sphere = f"problem.manifold=sphere|heads=[{{score={matrices}}}]|initial.modes=[[1, 0, 0.1]]"
    options = [each for pair in f"{sphere}|time.end=0.05".split("|") for each in ("--set", pair)]
    cli("run", heads, *options, "--quiet")
    assert cli.facts("info", "small.h5")["manifold"] == "sphere"
    cli("plot", "small.h5", "-o", "map.png")


def test_heads_of_init_work_once_they_are_no_comments(heads, cli):
    """The first example of matrices that a user sees would be refused."""
    cli("init", "new.toml")
    text = Path("new.toml").read_text("utf-8")
    heads.write_text(re.sub(r"^# (?=\[\[heads|query|key|value|beta = 2)", "", text, flags=re.M))
    (head,) = load_config(heads).problem.attention.heads
    assert head == mf.Head(1.0, 1.0, [[0.8, -0.6], [0.6, 0.8]], beta=2.0)


@pytest.mark.slow
def test_compare_and_ensemble(heads, cli):
    """Tokens are compared with a density of any heads; clusters are counted on a known clock."""
    heads.write_text(heads.read_text() + "[compare]\ntokens = [5, 20]\nruns = 2\n")
    facts = cli.json("compare", heads, "--workers", 1, "--quiet")
    assert facts["growth_rate_max"] is None and facts["onset_times"] == [None, None]
    assert np.all(np.array(facts["mean_distance"]) > 0)
    cli("plot", facts["output"])
    assert "heads move uniform itself" in cli.refused("ensemble", heads, "--workers", 1)
