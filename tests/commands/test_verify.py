"""`meanfield verify`: a table, JSON, and a status that scripts can use."""

import shutil

import h5py

from meanfield.commands import progress


def test_sound_run_passes(results, cli):
    """Nobody could tell what was checked, or a script whether all is well."""
    text = cli("verify", results["run"])
    assert text.split("\n")[0].split() == ["check", "result", "measured", "allowed"]
    assert text.splitlines()[-1].startswith("passed: ") and max(map(len, text.split("\n"))) < 80
    facts = cli.json("verify", results["run"])
    assert facts["passed"] is True and facts["failed"] == []
    rows = {row["name"]: row for row in facts["checks"]}
    assert rows["hash"]["passed"] is True and rows["mean angle"]["passed"] is None
    assert rows["energy"]["measured"] <= rows["energy"]["allowed"]
    # The run file has no [representation] section: the usual options apply.
    assert rows["integrated again"]["passed"] is True


def test_altered_file_fails(results, tmp_path, cli, monkeypatch):
    """A script would go on with numbers that somebody changed."""
    # On a busy machine the checks take long enough for a line of progress.
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 1e6)
    path = tmp_path / "altered.h5"
    shutil.copy(results["run"], path)
    with h5py.File(path, "r+") as file:
        file["observables/energy"][2] *= 1.0 + 1e-9
    out = cli("verify", path, status=1)
    assert cli.err == "" and out.splitlines()[-1].startswith("failed: seal, hash, energy (3 of ")


def test_wrong_input_is_one_line(results, tmp_path, cli):
    """A damaged file would count as a run that broke a law."""
    damaged = tmp_path / "damaged.h5"
    damaged.write_bytes(results["run"].read_bytes()[:-200])
    for path in (damaged, tmp_path / "missing.h5", results.config):
        cli.refused("verify", path)
