"""`meanfield predict`: the promised numbers under the promised names, and what it refuses."""

import argparse

import numpy as np
import pytest

import meanfield as mf
from meanfield.commands import predict
from meanfield.observables.clusters import Clusters

CIRCLE = "--manifold circle --beta 5 --normalization none --samples 500"
# Few enough for one process.
FEW = ["--runs", "4"]


def at_equal_angles(manifold, count):
    angles = 2.0 * np.pi * np.arange(count) / count
    circle = np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1)
    return Clusters(np.full(count, 1.0 / count), angles if manifold.name == "circle" else circle)


@pytest.fixture(autouse=True)
def corrected(monkeypatch):
    def counts(problem, tokens, samples, seed, executor):
        yield range(4), [at_equal_angles(problem.manifold, count) for count in (2, 3, 3, 3)]

    monkeypatch.setattr("meanfield.studies.prediction.corrected_clusters", counts)
    # A sign of life after a second depends on the machine.
    monkeypatch.setattr(predict, "_FIRST_LINE", 1e6)


@pytest.fixture
def answer(cli):
    return lambda line: cli.json("predict", *line.split(), *FEW)


@pytest.fixture
def text_of(cli):
    return lambda line: cli("predict", *line.split(), *FEW)


def test_json_holds_both_laws(answer):
    """A program would find other names or numbers than promised."""
    result = answer(f"{CIRCLE} --tokens 1000 --seed 4")
    problem = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.USA)
    prediction = mf.predict_clusters(problem, 1000, samples=500, seed=4)
    assert result["dominant_degree"] == 3 and result["second_degree"] == 4
    assert result["onset_time"] == pytest.approx(mf.onset_time(problem, 1000), rel=1e-12)
    assert result["mean_clusters"] == pytest.approx(mf.mean_clusters(problem, 1000), rel=1e-12)
    assert {int(k): p for k, p in result["distribution"].items()} == prediction.linear.distribution
    assert result["standard_error"] == prediction.linear.standard_error
    assert result["corrected"]["mean"] == 2.75 == prediction.mean_clusters
    assert result["answer"] == prediction.answer
    assert result["formation_time"] == prediction.formation_time > result["onset_time"]
    assert result["corrected"]["distribution"] == {"2": 0.25, "3": 0.75}
    assert (result["samples"], result["seed"], result["tokens"]) == (500, 4, 1000)
    assert "message" not in result and "positions" not in result


@pytest.mark.parametrize(
    "line",
    [
        "--manifold circle --beta 5 --normalization none --strength -1",
        "--manifold sphere --beta 5 --normalization none --diffusivity 1",
        "--manifold sphere --beta 0 --normalization none --strength -1",
        "--manifold circle --beta -3 --diffusivity 1 --normalized",
    ],
)
def test_nothing_that_grows_is_said(answer, text_of, line):
    """A stable uniform measure is an answer, not a mistake."""
    result = answer(f"{line} --tokens 100")
    assert result["dominant_degree"] is None and result["onset_time"] is None
    assert result["mean_clusters"] == 0 and "uniform is stable" in result["message"]
    assert "none: uniform is stable" in text_of(f"{line} --tokens 100")


def test_table_has_the_facts_and_the_rows(text_of):
    """A reader would miss the rival degree, or one of the laws."""
    out = text_of(f"{CIRCLE} --tokens 1000")
    sentence = "3 clusters (75 +- 22 %) or 2 (25 +- 22 %), at t = 55.1 (scaled time); the last"
    lasting = "clusters form by about t = 59.5; half of the runs with 3 clusters have fewer by t = "
    assert out.splitlines()[0].startswith(f"{sentence} {lasting}")
    for line in (
        "dominant degree    3",
        "second degree      4, grows at 0.879022 of the rate",
        "dominance          degree 3 is ten times degree 4 from 3.4e+16 tokens on",
        "onset time         27.565 scaled time, 0.185732 paper time",
        "linear law         mean 3.0281 at the onset time, closed form",
        "corrected law      mean 2.7500 +- 0.25, 4 short runs",
        "+-: one standard error of the samples. The answer is the corrected law.",
    ):
        assert line in out
    row = next(line for line in out.splitlines() if line.startswith("       3 "))
    # Both bars: shares of the largest probability.
    assert "0.7500" in row and row.count("#") > 30


def test_diffusion_has_no_corrected_law(answer, text_of):
    """A law of runs that cannot be made would be an error instead of a note."""
    line = f"{CIRCLE} --tokens 100 --diffusivity 0.001"
    result = answer(line)
    assert result["corrected"] is None and "diffusivity = 0.001" in result["note"]
    assert "note: no corrected law: its runs cannot carry diffusion" in text_of(line)


@pytest.mark.parametrize("beta", ["1e4", "-300"])
def test_wide_laws_are_cut(answer, text_of, beta):
    """Hundreds of rows would run over the screen."""
    line = f"--manifold circle --beta {beta} --normalization none --tokens 100 --samples 300"
    assert text_of(line).count("\n") < 50 and len(answer(line)["distribution"]) > 5


def test_input_gives_positions_and_masses(answer, text_of, tmp_path):
    """A square of tokens would be predicted elsewhere, or with other masses."""
    path = tmp_path / "square.npy"
    np.save(path, np.repeat(0.5 + np.pi * np.arange(4) / 2, [3, 3, 3, 3]))
    line = f"--manifold circle --beta 8 --normalization none --samples 50 --input {path}"
    result = answer(line)
    corners = 0.5 + np.pi * np.arange(-2, 2) / 2
    assert np.sort(result["positions"]) == pytest.approx(corners, abs=1e-10)
    assert result["dominant_positions"] == pytest.approx(corners, abs=1e-12)
    assert (result["tokens"], result["masses"]) == (12, [0.25] * 4)
    out = text_of(line)
    assert "4 clusters of these tokens" in out and "0.2500" in out
    assert "the dominant degree alone: -2.6416, -1.0708, 0.5000, 2.0708" in out


def test_sphere_positions_are_vectors(answer, text_of, tmp_path):
    """Angles would be printed on the sphere."""
    path = tmp_path / "poles.npy"
    np.save(path, np.repeat([[0.0, 0.0, 2.0], [0.0, 0.0, -1.0]], 5, axis=0))
    line = f"--manifold sphere --beta 3 --normalization none --samples 20 --input {path}"
    result, out = answer(line), text_of(line)
    assert np.sort(np.array(result["positions"])[:, 2]) == pytest.approx([-1.0, 1.0], abs=1e-9)
    assert result["dominant_positions"] == []
    assert "the dominant degree alone" not in out and "1.000000" in out


def test_processes_are_started_where_runs_are_long():
    """A second core would idle at beta = 50, or processes take longer to start than to work."""
    options = argparse.Namespace(workers=None, runs=None)
    small, large = (mf.Problem(mf.Sphere(), mf.exponential(beta), mf.USA) for beta in (5.0, 50.0))
    assert predict._processes(small, 1000, options) <= 1
    assert predict._processes(large, 100_000, options) >= 2
    circle = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.USA)
    assert predict._processes(circle, 1000, options) == 0


@pytest.mark.slow
def test_file_of_runs_gives_the_same_prediction(cli, tmp_path, monkeypatch):
    """Runs that a file keeps would be others, or grow into others."""
    monkeypatch.undo()
    monkeypatch.setattr(predict, "_FIRST_LINE", 1e6)
    path = tmp_path / "x.h5"
    options = ["predict", *f"{CIRCLE} --tokens 200 --workers 1".split()]
    wanted = cli.json(*options, "--runs", 30)
    assert len(wanted["corrected"]["distribution"]) > 1 and wanted["merge_times"]
    cli(*options, "-o", path, "--runs", 10, "--quiet")
    assert cli.json(*options, "-o", path, "--runs", 30, "--resume", "--quiet") == wanted
    assert mf.load(path).finished.tolist() == [30]
    picture = mf.load(path).plot()
    shares = [bar.get_height() for bar in picture.axes[0].patches]
    assert shares == [*mf.load(path).law.distribution.values()]
