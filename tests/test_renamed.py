"""Old names of arguments, keys and options work like today's, and one line says so."""

import pytest
from parameters import refused

import meanfield as mf
from meanfield.commands.main import main
from meanfield.renamed import RenamedWarning
from meanfield.runfile import ConfigError, load_config

PROBLEM = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.USA)
CONFIG = """\
problem = { manifold = "circle", beta = 5.0, normalization = "none" }
time = { end = 1.0, save = 2 }
"""


@pytest.mark.slow
def test_old_arguments_are_those_of_today():
    """A script of the last release would fail, or be given other numbers."""
    new = mf.ensemble(PROBLEM, tokens=20, runs=2, representation="particles")
    with pytest.warns(RenamedWarning, match=r"^ensemble: carrier is called representation now: "):
        old = mf.ensemble(PROBLEM, tokens=20, runs=2, carrier="particles")
    assert (old.counts == new.counts).all()
    with pytest.warns(RenamedWarning, match="merging_diagram: replicas is called runs") as said:
        diagram = mf.merging_diagram(4, 2, betas=[1.0], times=[1.0], replicas=3)
    assert diagram.finished.tolist() == [3] and len(said) == 1
    # The line of the caller, which Python shows.
    assert said[0].filename == __file__
    with pytest.warns(RenamedWarning, match="predict_clusters: corrected_samples is called runs"):
        mf.predict_clusters(PROBLEM, 100, samples=5, corrected=False, corrected_samples=3)


def test_old_name_is_refused_where_it_has_no_place():
    """One of two numbers would be dropped silently, or a slip taken for an old name."""
    both = {"carrier": "particles", "representation": "density"}
    refused("^ensemble: carrier is an old name of representation: ", mf.ensemble, PROBLEM, **both)
    message = "growth_rates: repetitions is not known"
    refused(message, mf.growth_rates, PROBLEM, repetitions=3, error=TypeError)


@pytest.mark.parametrize(
    ("old", "section", "key", "value"),
    [
        ("compare.repetitions=7", "compare", "runs", 7),
        ('ensemble.carrier="density"', "ensemble", "representation", "density"),
        ("compare={repetitions=7}", "compare", "runs", 7),
    ],
)
def test_old_keys_are_those_of_today(config, old, section, key, value):
    """A run file of the last release could not be run, by either way to set a key."""
    match = f".* is called {key} now: the old name goes with the next release"
    file = rf"small\.toml: \[{section}\]"
    for start, text, changes in (("--set", CONFIG, [old]), (file, CONFIG + old, [])):
        config.write_text(text)
        with pytest.warns(RenamedWarning, match=start + match):
            loaded = load_config(config, changes)
        assert getattr(getattr(loaded, section), key) == value
        # What a result stores has names of today.
        assert f"{key} = " in loaded.text


def test_old_key_takes_the_place_of_the_file_s_but_stands_beside_no_other(config):
    """An override would be refused for what it overrides, or one of two numbers be dropped."""
    config.write_text(CONFIG + "compare = { runs = 3 }\n")
    for change in ({"overrides": ["compare.repetitions=4"]},
                   {"sections": {"compare": {"repetitions": 4}}}):  # fmt: skip
        with pytest.warns(RenamedWarning):
            assert load_config(config, **change).compare.runs == 4
    config.write_text(CONFIG + "compare = { runs = 3, repetitions = 4 }\n")
    match = r"small\.toml: \[compare\] repetitions is an old name of runs: give runs alone"
    refused(match, load_config, config, error=ConfigError)


def test_old_option_is_that_of_today(capsys, monkeypatch):
    """A script of the last release would fail, or give no warning that it soon will."""
    # A sign of life after a second depends on the machine.
    monkeypatch.setattr("meanfield.commands.predict._FIRST_LINE", 1e6)
    line = "predict --manifold circle --beta 2 --tokens 100 --samples 5 --json"
    assert main([*line.split(), "--corrected-samples=0"]) == 0
    old = capsys.readouterr()
    assert old.err == (
        "meanfield predict: --corrected-samples is called --runs now: the old name goes with the "
        "next release.\n"
    )
    assert main([*line.split(), "--runs", "0"]) == 0
    assert capsys.readouterr() == (old.out, "")


def test_command_says_old_keys_in_one_line(config, cli):
    """Python hides such warnings from users of commands."""
    config.write_text(CONFIG + "compare = { repetitions = 3 }\n")
    cli("check", config)
    # A sign of life after a second depends on the machine.
    (line,) = (line for line in cli.err.splitlines() if "timing the first steps" not in line)
    assert line.startswith(f"meanfield: {config}: [compare] repetitions is called runs now: ")


def test_until_is_end(config):
    """The word of Python would be unknown in run files, or two ends would be given."""
    config.write_text(CONFIG.replace("end", "until"))
    assert load_config(config).times[-1] == 1.0
    assert load_config(config, ["time.end=2"]).times[-1] == 2.0
    config.write_text(CONFIG)
    assert load_config(config, ["time.until=2"]).times[-1] == 2.0
    assert load_config(config, sections={"time": {"until": 3.0}}).times[-1] == 3.0
    negative = ["time.until=-1"]
    refused(r"\[time\] until must be positive", load_config, config, negative, error=ConfigError)
    config.write_text(CONFIG.replace("end", "until = 1.0, end"))
    message = r"\[time\] end and until are one key of two names"
    refused(message, load_config, config, error=ConfigError)


@pytest.mark.slow
def test_until_continues_a_run_with_an_end(config, capsys):
    """A run would be refused for another word."""
    few = "compare = { tokens = [5, 8], runs = 2 }\ninitial = { modes = [[2, 0.0, 0.2]] }\n"
    config.write_text(CONFIG + few)
    assert main(["compare", str(config), "--quiet", "--workers", "1"]) == 0
    config.write_text(config.read_text().replace("end", "until"))
    assert main(["compare", str(config), "--quiet", "--workers", "1", "--resume"]) == 0
    capsys.readouterr()


@pytest.mark.parametrize(("old", "new"), [("Drift", "LinearDrift"), ("Space", "Euclidean")])
def test_old_classes_are_those_of_today(old, new):
    """A script of the last release would not find its class."""
    with pytest.warns(RenamedWarning, match=rf"^mf\.{old} is called mf\.{new} now: ") as said:
        assert getattr(mf, old) is getattr(mf, new)
    assert said[0].filename == __file__
