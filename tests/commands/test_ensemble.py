"""`meanfield ensemble`: what it prints, draws and stores."""

import numpy as np
import pytest

import meanfield as mf
from meanfield.store.study_file import read_result


@pytest.fixture
def words(results, tmp_path):
    return results.words("ensemble", tmp_path / "x.h5")


def test_table_shows_means_and_shares(results, cli):
    """A reader would not find the answer."""
    output = cli(*results.words("ensemble"), "--resume")
    result = read_result(results["ensemble"], "ensemble")
    assert f"{result.mean_count[1, 1]:.3f} +- {result.standard_error[1, 1]:.3f}" in output
    assert "share of runs with k clusters, in per cent" in output
    for count, share in result.distribution(0, 1).items():
        assert f"k = {count}" in output and f"{100 * share:.1f}" in output


def test_keys_of_a_run_are_said_to_be_unused(words, cli):
    """A user who set the tokens of a run would wonder why nothing changed."""
    words.remove("--quiet")
    out = cli(*words, "--set", "representation={name='particles', tokens=100}")
    assert "does not use [representation] tokens and [time]: set ensemble.tokens" in cli.err
    assert "T: onset time" in out
    cli(*words, "--set", "time=", "--overwrite")
    assert "does not use" not in cli.err


def test_negative_density_of_few_tokens_is_one_line(words, cli):
    """A user would see a traceback of the first run."""
    options = ("--set", "ensemble.representation=density")
    assert "tokens is negative" in cli.refused(*words, *options)


@pytest.mark.slow
def test_plot_is_drawn(words, tmp_path, cli):
    """The figure would be missing."""
    cli(*words, "--plot", tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000


def test_file_and_object_hold_what_the_function_finds(words, tmp_path, cli):
    """The command and the library would give different answers, or other names than promised."""
    answer = cli.json(*words, "--set", "initial=")
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
