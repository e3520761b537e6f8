"""`meanfield compare`: what it prints, and how it goes on."""

import pytest

from meanfield.store.study_file import read_result, write_result


@pytest.fixture
def words(results, tmp_path):
    return results.words("compare", tmp_path / "x.h5")


@pytest.mark.slow
def test_json_is_one_object_with_the_study(words, tmp_path, cli):
    """A program that reads the output would find other keys, shapes or numbers than promised."""
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


def test_table_shows_the_headline(results, words, cli):
    """A reader would not find sizes, exponent or amplification."""
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


def test_resume_without_output_or_difference_goes_on(words, cli):
    """A script would have to know whether it runs for the first time, or not say what it means."""
    cli(*words, "--resume")
    cli(*words, "--resume", "--set", "problem.normalized=false")


def test_resume_of_a_file_that_ends_elsewhere_is_refused(results, words, tmp_path, cli):
    """Distances would be placed at other times."""
    study = read_result(results["compare"], "comparison")
    shorter = (study.times[:2], study.tokens, study.distances[:, :, :2], "W1")
    growth = (study.growth_rate_max, study.onset_times)
    running = study.attributes | {"status": "running"}
    write_result(tmp_path / "x.h5", type(study)(*shorter, *growth, attributes=running))
    assert "ends at another time" in cli.refused(*words, "--resume")


def test_end_of_the_density_is_noted(words, cli):
    """A study shorter than asked would look complete."""
    options = ("representation.max_degree=64", "time.end=60", "time.save=31")
    answer = cli.json(*words, *[word for each in options for word in ("--set", each)])
    assert len(answer["times"]) < 31
    assert "the density is resolved up to" in answer["note"]


def test_one_size_has_no_exponent(words, cli):
    """Tables would be full of nan, and JSON not be JSON."""
    output = cli(*words, "--set", "compare.tokens=[5]")
    assert "one size gives no exponent" in output and "nan" not in output
    assert cli.json(*words, "--set", "compare.tokens=[5]", "--resume")["exponent"] is None
