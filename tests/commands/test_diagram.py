"""`meanfield diagram`: output and resuming."""

import numpy as np
import pytest
from command_line import killed

import meanfield as mf
from meanfield.commands.main import main
from meanfield.store.result_file import load as load_merging

SMALL = ("--tokens", "6", "--dimension", "3", "--beta", "0.5", "4", "3", "--until", "4",
         "--save", "5", "--seed", "2")  # fmt: skip


def diagram(path, *options, workers="1"):
    return main(["diagram", *SMALL, "-o", str(path), "--quiet", "--workers", workers, *options])


@pytest.mark.slow
def test_file_and_json_hold_what_python_gives(tmp_path, cli):
    """Times, betas or facts would be lost on the way; a figure and `info` would fail."""
    path, figure = tmp_path / "d.h5", tmp_path / "d.png"
    words = ("diagram", *SMALL, "-o", path, "--workers", 1, "--runs", 12, "--plot", figure)
    facts = cli.json(*words, "--quiet")
    diagram = mf.merging_diagram(6, 3, betas=[0.5, 2.25, 4.0], times=[0.8, 1.6, 2.4, 3.2, 4.0],
                              runs=12, seed=2)  # fmt: skip
    stored = mf.load(path)
    for each in (stored.fraction, facts["fraction"]):
        np.testing.assert_array_equal(each, diagram.fraction)
    np.testing.assert_allclose(facts["times"], diagram.times)
    assert facts["finished"] == [12, 12, 12] and facts["betas"] == [0.5, 2.25, 4.0]
    assert repr(stored) == repr(diagram) and figure.read_bytes().startswith(b"\x89PNG")
    assert cli.json("info", path)["kind"] == "diagram"


@pytest.mark.slow
def test_resuming_equals_one_session(tmp_path):
    """Replicas would be counted twice, or draw other numbers in other processes."""
    grown, whole = tmp_path / "grown.h5", tmp_path / "whole.h5"
    more = ("--score", "goe", "--value", "minus_score", "--normalization", "none", "--until", "0.2")
    assert diagram(grown, "--runs", "5", *more) == 0
    assert diagram(grown, "--runs", "9", "--resume", *more) == 0
    assert diagram(whole, "--runs", "9", *more) == 0
    a, b = load_merging(grown), load_merging(whole)
    assert a.attributes["result_hash"] == b.attributes["result_hash"]
    assert a.attributes["matrices"] == "RandomHead(score='goe', value='minus_score')"


@pytest.mark.slow
def test_killed_at_any_moment_loses_nothing_written(tmp_path):
    """A kill would leave a broken file; another number of processes would give another result."""
    whole, path, done = tmp_path / "whole.h5", tmp_path / "killed.h5", 0
    more = ("--tokens", "64", "--runs", "500")
    words = ["diagram", *SMALL, "-o", path, "--resume", *more, "--workers", 1, "--quiet"]
    for _ in range(2):
        killed(lambda: path.exists() and load_merging(path).finished.sum() > done, *words)  # noqa: B023
        now = int(load_merging(path).finished.sum())
        assert done < now
        done = now
    assert done < 1500
    assert diagram(path, "--resume", *more) == 0
    assert diagram(whole, *more, workers="2") == 0
    a, b = load_merging(path), load_merging(whole)
    assert a.attributes["result_hash"] == b.attributes["result_hash"]
