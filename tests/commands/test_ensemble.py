"""`meanfield ensemble`: output, resuming, and what it refuses."""

import numpy as np
import pytest

import meanfield as mf
from meanfield.commands.main import main
from meanfield.store.study_file import read_result

CONFIG = """\
title = "Small"
problem = { normalization = "none", manifold = "circle", beta = 5.0 }
ensemble = { tokens = [20, 60], runs = 3 }
"""


def ensemble(config, *options):
    return main(["ensemble", str(config), "--workers", "1", "--quiet", *options])


def test_table_shows_means_and_shares(config, cli):
    """A reader would not find the answer."""
    output = cli("ensemble", config, "--workers", 1, "--quiet")
    result = read_result(config.with_name("small-ensemble.h5"), "ensemble")
    assert f"{result.mean_count[1, 1]:.3f} +- {result.standard_error[1, 1]:.3f}" in output
    assert "share of runs with k clusters, in per cent" in output
    for count, share in result.distribution(0, 1).items():
        assert f"k = {count}" in output and f"{100 * share:.1f}" in output


def test_keys_of_a_run_are_said_to_be_unused(config, cli):
    """A user who set the tokens of a run would wonder why nothing changed."""
    options = ("representation={name='particles', tokens=100}", "time.end=3.0")
    words = ("ensemble", config, "--workers", 1)
    out = cli(*words, *[word for each in options for word in ("--set", each)])
    assert "does not use [representation] tokens and [time]: set ensemble.tokens" in cli.err
    assert "T: onset time" in out
    cli(*words, "--overwrite")
    assert "does not use" not in cli.err


def test_resume_of_a_finished_ensemble_runs_nothing(config, capsys):
    """A report could not be had again without paying for the runs."""
    assert ensemble(config) == 0
    path = config.with_name("small-ensemble.h5")
    before = path.stat().st_mtime_ns
    assert main(["ensemble", str(config), "--resume"]) == 0
    assert path.stat().st_mtime_ns == before
    assert "holds all the runs asked for: nothing to do" in capsys.readouterr().err


@pytest.mark.parametrize(("options", "message"), [
    ("", "small-ensemble.h5 exists: use --overwrite to replace it or --resume"),
    ("--resume --runs 1", "[ensemble] runs = 1 is fewer than"),
    ("--resume --set ensemble.tokens=[60]", "[ensemble] tokens lacks 20, which"),
    ("--resume --set ensemble.times=[1.0]", "[ensemble] times differs from that of"),
    ("--resume --set problem.beta=6", "[problem] beta differs from that of"),
    ("--resume --set ensemble.representation=density", "[ensemble] representation differs from"),
    ("--resume --set representation.tolerance=1e-10",
     "[representation] tolerance differs from that of"),
])  # fmt: skip
def test_an_ensemble_is_not_replaced_or_mixed(config, options, message, cli):
    """Runs of two problems would share a file, or an output be lost."""
    assert ensemble(config) == 0
    assert message in cli.refused("ensemble", config, "--workers", 1, "--quiet", *options.split())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("problem.strength=-1", "nothing grows: uniform is stable, there is no onset time"),
        ("ensemble.times=[-1.0]", "[ensemble] times must be positive multiples of the onset"),
        ("ensemble.representation=atoms", '[ensemble] representation = "atoms" is not known'),
        ("ensemble.representation=density", "tokens is negative"),
        ("ensemble.tokens=[10000000000]", "[ensemble] 10000000000 tokens"),
        ("ensemble.size=3", "size is not a key of [ensemble]. Known: representation, runs, seed, "),
    ],
)
def test_mistakes_are_one_line(config, change, message, cli):
    """A user would see a traceback, or wait for runs that cannot be."""
    words = ("ensemble", config, "--workers", 1, "--quiet", "--set", change)
    assert message in cli.refused(*words)


def test_other_commands_still_need_a_time(config, cli):
    """A run would end at a time that the user did not choose."""
    assert "[time] is missing" in cli.refused("run", config)


@pytest.mark.slow
def test_plot_is_drawn(config, tmp_path):
    """The figure would be missing, or come only after the runs were paid for."""
    assert ensemble(config, "--plot", str(tmp_path / "figure.txt")) == 2
    assert not config.with_name("small-ensemble.h5").exists()
    assert ensemble(config, "--plot", str(tmp_path / "figure.png")) == 0
    assert (tmp_path / "figure.png").stat().st_size > 10_000


def test_file_and_object_hold_what_the_function_finds(config, cli):
    """The command and the library would give different answers, or other names than promised."""
    answer = cli.json("ensemble", config, "--workers", 1, "--quiet")
    stored = read_result(config.with_name("small-ensemble.h5"), "ensemble")
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
