"""Run files with heads on the command line: checked, run, told, drawn, resumed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import h5py
import numpy as np
import pytest

import meanfield as mf
from meanfield.commands.main import main
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
def heads(config: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run file beside its matrix."""
    monkeypatch.chdir(config.parent)
    np.save("score.npy", SCORE)
    return Path(config.name)


def lines(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, str]:
    """Facts that a command prints."""
    capsys.readouterr()
    assert main([str(each) for each in arguments]) == 0
    found = capsys.readouterr().out.split("\n\n")[0]
    return dict(re.split(r"\s{2,}", line, maxsplit=1) for line in found.splitlines())


def refusal(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one line with which a command refuses what is wrong."""
    capsys.readouterr()
    assert main([str(each) for each in arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_run_of_heads_is_told_as_what_it_is(
    heads: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A figure or a table would show a kernel and rates that there are not."""
    told = lines(capsys, "check", heads)
    assert told["attention"].startswith("2 heads; beta 3, the largest")
    assert told["normalization"] == "softmax"
    assert told["dominant degree"].startswith("no rates: ") and told["end"] == "t = 0.5 scaled"
    assert "[time] heads move uniform itself" in refusal(
        capsys, "check", heads, "--set", "time.unit=growth"
    )
    asked = load_config(heads).problem
    assert main(["run", str(heads), "--quiet"]) == 0
    told = lines(capsys, "info", "small.h5")
    assert (told["normalization"], told["heads"].split(";")[0]) == ("softmax", "2")
    assert told["uniform"].startswith("no rates: ")
    assert main(["info", "small.h5", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    known = {"heads": 2, "normalization": "softmax", "normalized": True, "beta": 3.0}
    assert {name: data[name] for name in known} == known and data["growth_rate_max"] is None
    Path("score.npy").unlink()
    run = mf.load("small.h5")
    assert run.problem == asked and run.growth_rates.tolist() == [0.0]
    assert main(["plot", "small.h5", "-o", "all.png"]) == 0
    assert "the run has no energy" in refusal(capsys, "plot", "small.h5", "--kind", "energy")


def test_run_of_heads_goes_on_with_the_same_heads_only(
    heads: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run would go on with other weights than it began with."""
    assert main(["run", str(heads), "--quiet"]) == 0
    longer = ["--set", "time.end=1.0", "--set", "time.save=5", "--resume", "--quiet"]
    np.save("score.npy", SCORE + 1e-9)
    told = refusal(capsys, "run", heads, *longer)
    assert "[[heads]] 1 score differs from that of small.h5" in told
    np.save("score.npy", SCORE)
    assert main(["run", str(heads), *longer]) == 0
    assert main(["run", str(heads), *longer[:4], "-o", "whole.h5", "--quiet"]) == 0
    assert np.array_equal(mf.load("small.h5").moments, mf.load("whole.h5").moments)


def test_file_of_an_earlier_version_tells_its_normalization(
    heads: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Results of years would not load any more, or be called unnormalised."""
    heads.write_text(CONFIG.replace("softmax", "none").partition("[[heads]]")[0] + "[time]\nend=1")
    assert main(["run", str(heads), "--quiet", "--set", "problem.normalized=true"]) == 0
    with h5py.File("small.h5", "a") as file:
        del file.attrs["heads"], file.attrs["normalization"]
    told = lines(capsys, "info", "small.h5")
    assert told["normalization"] == "softmax" and "heads" not in told
    assert mf.load("small.h5").problem.flow == mf.SA


def test_heads_on_the_sphere_run(heads: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The commands would know the circle alone."""
    matrices = "[[0.8, -0.3, 0.1], [0.4, 0.6, -0.2], [0, 0.5, -0.7]]"
    sphere = f"problem.manifold=sphere|heads=[{{score={matrices}}}]|initial.modes=[[1, 0, 0.1]]"
    options = [each for pair in sphere.split("|") for each in ("--set", pair)]
    short = ["--set", "time.end=0.05", "--quiet"]
    assert main(["run", str(heads), *options, *short]) == 0
    assert lines(capsys, "info", "small.h5")["manifold"] == "sphere"
    assert main(["plot", "small.h5", "-o", "map.png"]) == 0


def test_heads_of_init_work_once_they_are_no_comments(heads: Path) -> None:
    """The first example of matrices that a user sees would be refused."""
    assert main(["init", str(heads.with_name("new.toml"))]) == 0
    text = heads.with_name("new.toml").read_text("utf-8")
    uncommented = re.sub(r"^# (?=\[\[heads|query|key|value|beta = 2)", "", text, flags=re.M)
    heads.write_text(uncommented)
    (head,) = load_config(heads).problem.attention.heads
    assert head == mf.Head(1.0, 1.0, [[0.8, -0.6], [0.6, 0.8]], beta=2.0)


def test_compare_and_ensemble(heads: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tokens are compared with a density of any heads; clusters are counted on a known clock."""
    text = heads.read_text() + "[compare]\ntokens = [5, 20]\nruns = 2\n"
    heads.write_text(text)
    assert main(["compare", str(heads), "--workers", "1", "--quiet", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["growth_rate_max"] is None and told["onset_times"] == [None, None]
    assert np.all(np.array(told["mean_distance"]) > 0)
    assert main(["plot", told["output"]]) == 0
    assert "heads move uniform itself" in refusal(capsys, "ensemble", heads, "--workers", "1")
