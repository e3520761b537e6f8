"""`meanfield verify`: a table, JSON, and a status that scripts can use."""

import shutil

import h5py

from meanfield.commands import progress

TEXT = """\
problem = { normalization = "none", manifold = "circle", beta = 4.0 }
initial = { name = "perturbed_uniform", modes = [[1, 0.1, 0.0]] }
time = { end = 2.0, save = 5 }
"""


def test_sound_run_passes(output, cli):
    """Nobody could tell what was checked, or a script whether all is well."""
    text = cli("verify", output)
    assert text.split("\n")[0].split() == ["check", "result", "measured", "allowed"]
    assert text.splitlines()[-1].startswith("passed: ") and max(map(len, text.split("\n"))) < 80
    facts = cli.json("verify", output)
    assert facts["passed"] is True and facts["failed"] == []
    rows = {row["name"]: row for row in facts["checks"]}
    assert rows["hash"]["passed"] is True and rows["mean angle"]["passed"] is None
    assert rows["energy"]["measured"] <= rows["energy"]["allowed"]
    # The run file has no [representation] section: the usual options apply.
    assert rows["integrated again"]["passed"] is True


def test_altered_file_fails(output, tmp_path, cli, monkeypatch):
    """A script would go on with numbers that somebody changed."""
    # On a busy machine the checks take long enough for a line of progress.
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 1e6)
    path = tmp_path / "altered.h5"
    shutil.copy(output, path)
    with h5py.File(path, "r+") as file:
        file["observables/energy"][2] *= 1.0 + 1e-9
    out = cli("verify", path, status=1)
    assert cli.err == "" and out.splitlines()[-1].startswith("failed: seal, hash, energy (3 of ")


def test_wrong_input_is_one_line(output, tmp_path, cli):
    """A damaged file would count as a run that broke a law."""
    damaged = tmp_path / "damaged.h5"
    damaged.write_bytes(output.read_bytes()[:-200])
    for path in (damaged, tmp_path / "missing.h5", output.with_suffix(".toml")):
        cli.refused("verify", path)
