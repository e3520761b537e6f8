"""`meanfield init`: a run file that works as it is."""

import tomllib
from pathlib import Path

import pytest

from meanfield.commands.main import main
from meanfield.runfile import config as sections
from meanfield.store.run_file import load


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
def test_init_then_run_works_as_it_is(cli):
    """The first run of a new user would fail."""
    assert cli("init") == "run.toml: now try `meanfield run run.toml`.\n"
    cli("check", "run.toml")
    cli("run", "run.toml")
    run = load("run.h5")
    assert run.status == "completed"
    # It is about clusters: energy, order parameter and all modes have grown.
    assert run.observables["energy"][-1] > 1.3 * run.observables["energy"][0]


@pytest.mark.parametrize(
    "name", ["my", "my.toml", "my.run", "with space", 'quo"te', "b\\s", "\u00e4"]
)
def test_any_file_name_makes_a_valid_file(name):
    """A name with a quote would make a file that is no TOML."""
    assert main(["init", name]) == 0
    path = Path(name if name.endswith(".toml") else f"{name}.toml")
    with path.open("rb") as file:
        assert tomllib.load(file)["output"]["path"] == f"{path.stem}.h5"
    assert main(["run", str(path), "--quiet", "--set", "time.end=0.01"]) == 0
    assert Path(f"{path.stem}.h5").exists()


def test_existing_file_is_never_replaced(cli):
    """A user's work would be lost."""
    Path("run.toml").write_text("mine")
    assert cli.refused("init") == "meanfield: run.toml exists: choose another name.\n"
    assert Path("run.toml").read_text() == "mine"


@pytest.mark.parametrize("name", ["", ".", "..", "/", "new\nline", "nodir/run"])
def test_impossible_name_is_one_line(name, cli):
    """A slip would be a traceback."""
    said = cli.refused("init", name)
    assert "is no name of a file" in said or "cannot be written" in said
    assert list(Path().iterdir()) == []


def test_template_shows_every_section(cli):
    """A user would not learn of a section."""
    cli("init")
    text = Path("run.toml").read_text("utf-8")
    left_out = {"compare", "ensemble", "fluctuations"}
    keys = {f"[{name}]" for name in {*sections.SECTION_KEYS, "initial"} - left_out}
    assert {line for line in text.splitlines() if line.startswith("[")} == keys
