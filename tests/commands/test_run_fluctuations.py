"""Section [fluctuations]: what N tokens do stands beside the run, or the user learns why not."""

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.commands import run as command
from meanfield.commands.main import main
from meanfield.finite import fluctuations

CONFIG = """\
problem = { manifold = "circle", beta = 4.0, normalization = "softmax" }
initial = { name = "perturbed_uniform", modes = [[1, 0.1, 0.0], [3, 0.0, 0.05]] }
time = { end = 1.0, unit = "growth", save = 3 }
fluctuations = { degree = 2, tokens = 500 }
"""


def run(config, *options):
    return main(["run", str(config), "--quiet", *options])


@pytest.mark.slow
def test_file_holds_what_the_function_finds(config):
    """The file would differ from the function, or change when it is read and saved again."""
    assert run(config) == 0
    result = mf.load(config.with_suffix(".h5"))
    fluctuations = result.fluctuations
    of = mf.fluctuations(result.problem, until=1.0, unit="growth", save=3, degree=2)
    for name in ("times", "limit", "covariance", "relation", "shift"):
        values, expected = getattr(fluctuations, name), getattr(of, name)
        np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-12)
    assert (fluctuations.tokens, fluctuations.note, fluctuations.degree) == (500, "", 2)
    variance, expected = (each.of(lambda m: m[1].real).variance for each in (fluctuations, of))
    np.testing.assert_allclose(variance, expected, rtol=1e-9)
    np.testing.assert_allclose(fluctuations.limit, result.moments[:, :3], rtol=0, atol=1e-7)
    copy = config.with_name("copy.h5")
    result.save(copy)
    again = mf.load(copy).fluctuations.covariance
    np.testing.assert_allclose(again, fluctuations.covariance, rtol=1e-14, atol=1e-14)
    # Hashes of results are those of runs without them.
    assert run(config, "--overwrite", "--set", "fluctuations=") == 0
    plain = mf.load(config.with_suffix(".h5"))
    assert plain.fluctuations is None
    assert plain.attributes["result_hash"] == result.attributes["result_hash"]


@pytest.mark.slow
def test_python_doors_have_them_too(config, tmp_path):
    """In memory, in a file, and of a run file: the same."""
    result = mf.run(config)
    assert result.fluctuations.tokens == 500
    calls = {"until": 1.0, "unit": "growth", "save": 3, "fluctuations": 2, "tolerance": 1e-8}
    for options in ({}, {"output": tmp_path / "made.h5"}):
        run = mf.simulate(result.problem, **calls, **options)
        covariance = run.fluctuations.covariance
        np.testing.assert_allclose(covariance, result.fluctuations.covariance, rtol=0, atol=1e-12)
    assert np.array_equal(run.to_xarray().fluctuations_shift, run.fluctuations.shift)
    refused("degree must be at least 1", mf.simulate, result.problem, until=1.0, fluctuations=0)


@pytest.mark.slow
def test_info_and_check_tell_of_them(config, cli):
    """The size before, the numbers after."""
    facts = cli("check", config, "--set", "fluctuations.max_degree=50")
    assert "linearised, moments to degree 2; a covariance of up to 100 x 100" in facts
    assert facts.rstrip().endswith("finding fluctuations comes on top")
    assert run(config) == 0
    output, words = config.with_suffix(".h5"), "sizes of moments, sd with N = 500"
    assert f"fluctuations of N tokens at t = 1: {words}" in cli("info", output)
    facts, result = cli.json("info", output)["fluctuations"], stored(config)
    assert facts["tokens"] == 500 and facts["resolved_until"] == 1.0
    variance = np.diag(result.covariance[-1]).real[1:]
    np.testing.assert_allclose(facts["variance"], variance, rtol=1e-12)
    np.testing.assert_allclose(facts["shift"], np.abs(result.shift[-1, 1:]), rtol=1e-12)


def stored(config):
    run = mf.load(config.with_suffix(".h5"))
    assert run.status == "completed"
    return run.fluctuations


@pytest.mark.slow
def test_interrupted_fluctuations_leave_a_whole_run(config, monkeypatch, capsys):
    """--resume finds them, once; of a longer run again; of other tokens without work."""
    calls = command.with_progress

    def interrupted(stream, total, label, **more):
        for item in calls(stream, total, label, **more):
            yield item
            if label == "fluctuations":
                raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(command, "with_progress", interrupted)
        assert run(config) == 130
    assert "holds the run, --resume finds its fluctuations" in capsys.readouterr().err
    assert stored(config) is None
    assert run(config, "--resume") == 0
    first = stored(config)
    assert first.tokens == 500
    assert run(config, "--resume", "--set", "time.end=1.5") == 0
    longer = stored(config)
    assert longer.times[-1] > first.times[-1]
    np.testing.assert_allclose(longer.covariance[:3], first.covariance, rtol=1e-8, atol=1e-10)
    monkeypatch.setattr(fluctuations, "fluctuations_at", None)
    more = ["--set", "time.end=1.5", "--set", "fluctuations.tokens=50"]
    assert run(config, "--resume", *more) == 0
    assert stored(config).tokens == 50


@pytest.mark.slow
def test_run_to_clusters_says_up_to_when(config, capsys):
    """Later rows are NaN, and never silently so."""
    options = ["--set", "time.end=4", "--set", "fluctuations.max_degree=40"]
    assert main(["run", str(config), *options]) == 0
    said = capsys.readouterr().err.splitlines()[-1]
    result = stored(config)
    assert 0 < result.resolved_until < result.times[-1]
    assert f"2 of 3 times are resolved: {result.note.split(': ', 1)[1]}" in said
    assert np.isnan(result.covariance[-1]).all() and np.isfinite(result.covariance[1]).all()
