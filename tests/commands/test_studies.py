"""`meanfield compare`, `ensemble` and `diagram`: what they print, draw and store."""

import numpy as np
import pytest
from run_folder import digest

import meanfield as mf
from meanfield.store.study_file import read_result, write_result


@pytest.mark.slow
def test_comparison_is_one_object_of_json(results, tmp_path, cli):
    """A program that reads the output would find other keys, shapes or numbers than promised."""
    words = results.words("compare", tmp_path / "x.h5")
    answer = cli.json(*words, "--plot", tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000
    study = read_result(tmp_path / "x.h5", "comparison")
    assert (answer["times"], answer["tokens"], answer["note"]) == ([0.0, 2.0, 4.0], [5, 20], "")
    for name in ("mean_distance", "standard_error", "amplification", "certified_distance"):
        assert answer[name] == getattr(study, name).tolist()
    assert answer["exponent"] == study.exponent
    assert answer["exponent_interval"] == list(study.exponent_interval)
    assert answer["exponent_time"] == study.exponent_time == 4.0
    assert answer["growth_rate_max"] == pytest.approx(0.1253, abs=1e-4)
    assert answer["certified_until"] == study.certified_until.tolist() == [0.0, 2.0]


def test_comparison_shows_the_headline(results, tmp_path, cli):
    """A reader would not find sizes, exponent or amplification."""
    words = results.words("compare", tmp_path / "x.h5")
    output = cli(*results.words("compare"), "--resume")
    study = read_result(results["compare"], "comparison")
    assert f"{study.mean_distance[1, study.headline]:.5g}" in output
    assert f"exponent       {study.exponent:.4f}, 95 % confidence" in output
    assert "normalization  none\n" in output and "mean W1 over that at t = 0" in output
    assert "> pi" in output
    assert "beyond pi it says nothing, of n = 20 after t = 2\n" in output
    nearest = "the saved time nearest to half the onset time of n = 5"
    assert f"scaled time    t = 4, {nearest}\n" in output
    half = 0.5 * study.onset_times[0]
    assert f"t = 2, {nearest}, {half:.6g}: it ends before\n" in cli(*words, "--set", "time.end=2")


def test_resume_without_output_or_difference_goes_on(results, tmp_path, cli):
    """A script would have to know whether it runs for the first time, or not say what it means."""
    words = results.words("compare", tmp_path / "x.h5")
    cli(*words, "--resume")
    cli(*words, "--resume", "--set", "problem.normalized=false")


def test_resume_of_a_file_that_ends_elsewhere_is_refused(results, tmp_path, cli):
    """Distances would be placed at other times."""
    words = results.words("compare", tmp_path / "x.h5")
    study = read_result(results["compare"], "comparison")
    shorter = (study.times[:2], study.tokens, study.distances[:, :, :2], "W1")
    growth = (study.growth_rate_max, study.onset_times)
    running = study.attributes | {"status": "running"}
    write_result(tmp_path / "x.h5", type(study)(*shorter, *growth, attributes=running))
    assert "ends at another time" in cli.refused(*words, "--resume")


def test_end_of_the_density_is_noted(results, tmp_path, cli):
    """A study shorter than asked would look complete."""
    words = results.words("compare", tmp_path / "x.h5")
    options = ("representation.max_degree=64", "time.end=60", "time.save=31")
    answer = cli.json(*words, *[word for each in options for word in ("--set", each)])
    assert len(answer["times"]) < 31
    assert "the density is resolved up to" in answer["note"]


def test_one_size_has_no_exponent(results, tmp_path, cli):
    """Tables would be full of nan, and JSON not be JSON."""
    words = results.words("compare", tmp_path / "x.h5")
    output = cli(*words, "--set", "compare.tokens=[5]")
    assert "one size gives no exponent" in output and "nan" not in output
    assert cli.json(*words, "--set", "compare.tokens=[5]", "--resume")["exponent"] is None


def test_ensemble_shows_means_and_shares(results, cli):
    """A reader would not find the answer."""
    output = cli(*results.words("ensemble"), "--resume")
    result = read_result(results["ensemble"], "ensemble")
    assert f"{result.mean_count[1, 1]:.3f} +- {result.standard_error[1, 1]:.3f}" in output
    assert "share of runs with k clusters, in per cent" in output
    for count, share in result.distribution(0, 1).items():
        assert f"k = {count}" in output and f"{100 * share:.1f}" in output


def test_keys_of_a_run_are_said_to_be_unused(results, tmp_path, cli):
    """A user who set the tokens of a run would wonder why nothing changed."""
    words = results.words("ensemble", tmp_path / "x.h5")
    words.remove("--quiet")
    out = cli(*words, "--set", "representation={name='particles', tokens=100}")
    assert "does not use [representation] tokens and [time]: set ensemble.tokens" in cli.err
    assert "T: onset time" in out
    cli(*words, "--set", "time=", "--overwrite")
    assert "does not use" not in cli.err


def test_negative_density_of_few_tokens_is_one_line(results, tmp_path, cli):
    """A user would see a traceback of the first run."""
    words = results.words("ensemble", tmp_path / "x.h5")
    options = ("--set", "ensemble.representation=density")
    assert "tokens is negative" in cli.refused(*words, *options)


@pytest.mark.slow
def test_ensemble_of_a_file_and_object_is_what_the_function_finds(results, tmp_path, cli):
    """The command and the library would give different answers, or other names than promised."""
    words = results.words("ensemble", tmp_path / "x.h5")
    answer = cli.json(*words, "--set", "initial=", "--plot", tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000
    stored = read_result(tmp_path / "x.h5", "ensemble")
    problem = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.USA)
    ensemble = mf.ensemble(problem, tokens=(20, 60), runs=3)
    np.testing.assert_array_equal(stored.counts, ensemble.counts)
    np.testing.assert_array_equal(stored.centre, ensemble.centre)
    assert (stored.attributes["status"], stored.attributes["title"]) == ("completed", "Small")
    assert (answer["tokens"], answer["runs"], answer["finished"]) == ([20, 60], 3, [3, 3])
    assert (answer["times"], answer["seed"]) == ([1.0, 2.0], 0)
    assert (answer["representation"], answer["tolerance"]) == ("particles", 1e-6)
    assert answer["predicted_mean"] == ensemble.predicted.tolist()
    for name in ("mean_count", "standard_error", "onset_times"):
        assert answer[name] == getattr(ensemble, name).tolist()
    shares = {str(k): p for k, p in ensemble.distribution(1, 0).items()}
    assert answer["distribution"][1][0] == shares


@pytest.mark.slow
def test_diagram_of_a_file_and_object_is_what_python_gives(results, tmp_path, cli):
    """Times, betas or facts would be lost on the way; a figure and `info` would fail."""
    path, figure = tmp_path / "d.h5", tmp_path / "d.png"
    facts = cli.json(*results.words("diagram", path), "--plot", figure)
    times, heads = [0.8, 1.6, 2.4, 3.2, 4.0], mf.RandomHead("goe")
    diagram = mf.merging_diagram(6, 3, betas=[0.5, 2.25, 4.0], times=times, runs=7, heads=heads)
    stored = mf.load(path)
    for each in (stored.fraction, facts["fraction"]):
        np.testing.assert_array_equal(each, diagram.fraction)
    np.testing.assert_allclose(facts["times"], diagram.times)
    assert facts["finished"] == [7, 7, 7] and facts["betas"] == [0.5, 2.25, 4.0]
    assert repr(stored) == repr(diagram) and figure.read_bytes().startswith(b"\x89PNG")
    assert cli.json("info", path)["kind"] == "diagram"


@pytest.mark.slow
def test_resumed_diagram_equals_one_session(results, tmp_path, cli):
    """Replicas would be counted twice, or draw other numbers in other processes."""
    grown, whole = tmp_path / "grown.h5", tmp_path / "whole.h5"
    more = ("--value", "minus_score", "--normalization", "none", "--until", "0.2", "--runs")
    cli(*results.words("diagram", grown), *more, 5)
    cli(*results.words("diagram", grown), *more, 9, "--resume")
    cli(*results.words("diagram", whole), *more, 9, "--workers", 2)
    assert digest(grown) == digest(whole)
    matrices = mf.load(grown).attributes["matrices"]
    assert matrices == "RandomHead(score='goe', value='minus_score')"
