"""`meanfield compare`: output, resuming, and what it refuses."""

import pytest

from meanfield.commands.main import main
from meanfield.store.study_file import read_result, write_result

CONFIG = """\
title = "Small"
problem = { normalization = "none", manifold = "circle", beta = 5.0 }
initial = { name = "perturbed_uniform", modes = [[3, 0.0, 0.2]] }
representation = { tolerance = 1e-6 }
time = { end = 4.0, save = 3 }
compare = { tokens = [5, 20], runs = 3 }
"""


def compare(config, *options):
    return main(["compare", str(config), "--workers", "1", "--quiet", *options])


@pytest.mark.slow
def test_json_is_one_object_with_the_study(config, tmp_path, cli):
    """A program that reads the output would find other keys, shapes or numbers than promised."""
    figure = tmp_path / "figure.png"
    words = ("--workers", 1, "--quiet", "--plot", figure)
    answer = cli.json("compare", config, *words)
    assert figure.stat().st_size > 10_000
    study = read_result(config.with_name("small-compare.h5"), "comparison")
    assert (answer["times"], answer["tokens"], answer["note"]) == ([0.0, 2.0, 4.0], [5, 20], "")
    for name in ("mean_distance", "standard_error", "amplification", "certified_distance"):
        assert answer[name] == getattr(study, name).tolist()
    assert answer["exponent"] == study.exponent
    assert answer["exponent_interval"] == list(study.exponent_interval)
    assert answer["exponent_time"] == study.exponent_time == 4.0
    assert answer["growth_rate_max"] == pytest.approx(0.1253, abs=1e-4)
    assert answer["certified_until"] == study.certified_until.tolist() == [0.0, 2.0]


def test_table_shows_the_headline(config, capsys):
    """A reader would not find sizes, exponent or amplification."""
    assert compare(config) == 0
    output = capsys.readouterr().out
    study = read_result(config.with_name("small-compare.h5"), "comparison")
    assert f"{study.mean_distance[1, study.headline]:.5g}" in output
    assert f"exponent       {study.exponent:.4f}, 95 % confidence" in output
    assert "normalization  none\n" in output and "mean W1 over that at t = 0" in output
    assert "> pi" in output
    assert "beyond pi it says nothing, of n = 20 after t = 2\n" in output
    nearest = "the saved time nearest to half the onset time of n = 5"
    assert f"scaled time    t = 4, {nearest}\n" in output
    assert compare(config, "--overwrite", "--set", "time.end=2") == 0
    half = 0.5 * study.onset_times[0]
    assert f"t = 2, {nearest}, {half:.6g}: it ends before\n" in capsys.readouterr().out


def test_resume_without_output_or_difference_goes_on(config):
    """A script would have to know whether it runs for the first time, or not say what it means."""
    assert compare(config, "--resume") == 0
    assert compare(config, "--resume", "--set", "problem.normalized=false") == 0


def test_existing_output_stays(config, refused):
    """A finished study would be lost."""
    assert compare(config) == 0
    before = config.with_name("small-compare.h5").read_bytes()
    assert "exists: use --overwrite" in refused()
    assert config.with_name("small-compare.h5").read_bytes() == before
    assert compare(config, "--overwrite") == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("problem.beta=6.0", "[problem] beta differs"),
        ("time.end=5.0", "[time] end differs"),
        ("compare.seed=1", "[compare] seed differs"),
        ("compare.tokens=[5, 30]", "[compare] tokens lacks 20"),
        ("compare.runs=2", "[compare] runs = 2 is fewer than"),
    ],
)
def test_resume_of_another_study_is_refused(config, refused, change, message):
    """Distances of two problems would be mixed in one file, or some be dropped."""
    assert compare(config) == 0
    assert message in refused("--resume", "--set", change)


def test_resume_of_a_file_that_ends_elsewhere_is_refused(config, refused):
    """Distances would be placed at other times."""
    assert compare(config) == 0
    path = config.with_name("small-compare.h5")
    of = read_result(path, "comparison")
    shorter = (of.times[:2], of.tokens, of.distances[:, :, :2], "W1", of.growth_rate_max)
    running = of.attributes | {"status": "running"}
    write_result(path, type(of)(*shorter, of.onset_times, attributes=running))
    assert "ends at another time" in refused("--resume")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        # Tokens would be drawn from tokens.
        (
            ["--set", 'initial={name = "atoms", angles = [0.0, 2.0]}'],
            "small.toml: initial law 'atoms' gives points",
        ),
        # The study would be run before the figure is found impossible.
        (["--plot", "figure.bmp"], "figures end in"),
    ],
)
def test_mistake_is_reported_before_the_study(config, options, message, refused):
    """A slip would cost hours, or a traceback reach the user."""
    assert message in refused(*options)
    assert not config.with_name("small-compare.h5").exists()


def test_end_of_the_density_is_noted(config, cli):
    """A study shorter than asked would look complete."""
    options = ("representation.max_degree=64", "time.end=60", "time.save=31")
    arguments = [word for each in options for word in ("--set", each)]
    answer = cli.json("compare", config, "--workers", 1, "--quiet", *arguments)
    assert len(answer["times"]) < 31
    assert "the density is resolved up to" in answer["note"]


def test_one_size_has_no_exponent(config, cli):
    """Tables would be full of nan, and JSON not be JSON."""
    one = ("compare", config, "--set", "compare.tokens=[5]", "--workers", 1, "--quiet")
    output = cli(*one)
    assert "one size gives no exponent" in output and "nan" not in output
    assert cli.json(*one, "--resume")["exponent"] is None


@pytest.fixture
def refused(cli, config):
    """Complaint of a command that ends with status 2, one line."""
    return lambda *options: cli.refused("compare", config, "--workers", 1, "--quiet", *options)
