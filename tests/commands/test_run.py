"""`meanfield run`: outputs, resuming, and failures, as a user meets them."""

import re

import h5py
import numpy as np
import pytest
from run_folder import TEXT

from meanfield.commands.main import main
from meanfield.figures.draw.axes import facts_title
from meanfield.store.run_file import load

CONFIG = TEXT.replace("end = 20.0", "end = 2.0").replace("save = 9", "save = 5")


def run(config, *options):
    return main(["run", str(config), *options])


@pytest.mark.slow
def test_run_writes_beside_the_run_file_and_says_so(config, cli):
    """The user would not find the result."""
    output = config.with_suffix(".h5")
    assert cli("run", config, "--resume") == ""
    first, rest = cli.err.split("\n", 1)
    assert first == f"{output} does not exist yet: starting at t = 0"
    assert rest.startswith(f"{output}: t = 2 in ")
    assert cli("run", config, "--overwrite") == "" and cli.err.startswith(f"{output}: t = 2 in ")
    assert cli.err.count("\n") == 1 and load(output).status == "completed"
    assert sorted(path.name for path in config.parent.iterdir()) == ["small.h5", "small.toml"]
    # A script would collect lines that it asked not to have.
    assert cli.quiet("run", config, "--quiet", "--overwrite") == ""
    assert cli.quiet("run", config, "--quiet", "--resume") == ""


@pytest.mark.slow
def test_rule_that_ended_a_run_is_named(config, cli):
    """A run that ends at t = 9 of 20 looks like one that was cut off."""
    rule, output = "stopped: one_cluster", config.with_suffix(".h5")
    tokens = "representation={name='particles', tokens=50}"
    gathered = "initial={name='von_mises_fisher', concentration=1.0}"
    settings = (tokens, gathered, "problem.beta=1", "time={end=20, save=21, stop='one_cluster'}")
    options = [word for each in settings for word in ("--set", each)]
    cli("run", config, *options)
    assert f"({rule}) in " in cli.err
    cli("run", config, *options, "--resume")
    assert cli.err == f"{output} {rule}: nothing to do.\n"
    assert re.search(rf"^status +{rule}$", cli("info", output), re.M)
    assert cli.json("info", output)["status"] == rule
    assert facts_title(load(output).facts).endswith(f",  {rule}")


def test_stationary_run_says_so(config, cli):
    """The user would look for the mistake in flat figures."""
    cli("run", config, "--set", "initial={name='uniform'}")
    said = cli.err.splitlines()
    assert said[0].startswith(f"meanfield: {config}: uniform is stationary: nothing will happen.")
    assert len(said) == 2


def test_link_to_an_output_stays_a_link(config, tmp_path):
    """The result would replace the link, and the place it points to stay empty."""
    (tmp_path / "big").mkdir()
    link, target = tmp_path / "link.h5", tmp_path / "big" / "target.h5"
    link.symlink_to(target)
    assert run(config, "--quiet", "-o", str(link)) == 0
    assert link.is_symlink() and load(target).status == "completed"


@pytest.mark.slow
def test_under_resolved_run_fails_and_keeps_what_is_valid(config, cli):
    """A run would go on with garbage, or throw away what was good."""
    output, other = config.with_suffix(".h5"), config.with_name("finer.h5")
    long = ["--set", "time.end=300", "--set", "time.save=301"]
    coarse = [*long, "--set", "representation={name='density', max_degree=24, tolerance=1e-8}"]
    line = cli.refused("run", config, *coarse, status=1)
    assert line.startswith("meanfield: under-resolved: spectral tail ")
    for words in (
        '; raise max_degree, or take "characteristics"',
        "small.h5 is valid up to then",
        "(stopped at t = ",
    ):
        assert words in line
    stopped = load(output)
    assert stopped.status.startswith("under-resolved at t = ")
    assert 1 < len(stopped.time) < 301
    # Valid: a finer run agrees to the tolerance of both.
    assert run(config, "--quiet", *long, "-o", str(other)) in (0, 1)
    fine = load(other)
    n = min(len(stopped.time), len(fine.time))
    assert np.abs(stopped.moments[:n] - fine.moments[:n]).max() < 1e-6
    # Going on fails at the same place and adds nothing.
    assert run(config, *coarse, "--resume") == 1
    after = load(output)
    assert np.array_equal(after.time, stopped.time) and after.status == stopped.status


@pytest.mark.slow
def test_zonal_kernel_from_multipliers_and_from_a_file_agree(config):
    """A user's kernel would be another one than the file says."""
    (config.parent / "k.py").write_text("def f(s):\n    return 1.0 + 0.8 * s\n")
    own = ["--set", "problem.kernel=zonal", "--quiet"]
    first, second = config.with_name("a.h5"), config.with_name("b.h5")
    assert run(config, *own, "--set", "problem.multipliers=[1, 0.4]", "-o", str(first)) == 0
    assert run(config, *own, "--set", "problem.attention=k.py:f", "-o", str(second)) == 0
    # Quadrature of the two: 64 eps of the largest multiplier, over a time of 2.
    assert np.abs(load(first).moments - load(second).moments).max() < 1e-12


@pytest.mark.slow
def test_large_run_file_fits_the_output(config):
    """An attribute of more than 64 KiB would break the file."""
    config.write_text(
        "problem = {normalization = 'none', manifold = 'circle', beta = 4.0}\n"
        f"initial = {{name = 'atoms', angles = {np.linspace(0, 6, 6000).tolist()}}}\n"
        "time = {end = 0.1, save = 2}\nrepresentation = {name = 'particles'}\n"
    )
    assert run(config, "--quiet") == 0
    with h5py.File(config.with_suffix(".h5")) as file:
        assert len(file.attrs["config"]) > 2**16
    assert run(config, "--quiet", "--resume") == 0


def test_output_that_is_deleted_meanwhile_is_not_called_valid(config, cli, monkeypatch):
    """The line would praise a file that is not there."""
    output = config.with_suffix(".h5")
    monkeypatch.setattr("meanfield.runs.observe", lambda *_, **__: output.unlink() or {})
    error = cli.refused("run", config, "--quiet", status=1)
    text = f"meanfield: {output} is gone: it was moved or deleted meanwhile (stopped at t = 0, "
    assert error.startswith(text) and "valid" not in error
    assert [path.name for path in config.parent.iterdir()] == ["small.toml"]


@pytest.mark.parametrize("command", ["run", "ensemble", "compare"])
def test_file_of_the_user_is_not_replaced(config, command, cli):
    """A run file from somebody else, or a slip, would destroy any file."""
    notes = config.parent / "notes.h5"
    notes.write_text("mine")
    text = f"meanfield: {notes} was not written by meanfield and is not replaced. Delete it, or"
    assert cli.refused(command, config, "-o", notes, "--overwrite").startswith(text)
    assert notes.read_text() == "mine"
