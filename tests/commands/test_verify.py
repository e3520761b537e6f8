"""`meanfield verify`: a table, JSON, and a status that scripts can use."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import h5py
import pytest

from meanfield.commands.main import main

TEXT = """\
[problem]
normalization = "none"
manifold = "circle"
beta = 4.0
[initial]
name = "perturbed_uniform"
modes = [[1, 0.1, 0.0]]
[time]
end = 2.0
save = 5
"""


def test_sound_run_passes(output: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody could tell what was checked, or a script whether all is well."""
    assert main(["verify", str(output)]) == 0
    text = capsys.readouterr().out
    assert text.split("\n")[0].split() == ["check", "result", "measured", "allowed"]
    assert text.splitlines()[-1].startswith("passed: ") and max(map(len, text.split("\n"))) < 80
    assert main(["verify", str(output), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["passed"] is True and found["failed"] == []
    rows = {row["name"]: row for row in found["checks"]}
    assert rows["hash"]["passed"] is True and rows["mean angle"]["passed"] is None
    assert rows["energy"]["measured"] <= rows["energy"]["allowed"]
    # The run file has no [representation] section: the usual options apply.
    assert rows["integrated again"]["passed"] is True


def test_altered_file_fails(
    output: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A script would go on with numbers that somebody changed."""
    path = tmp_path / "altered.h5"
    shutil.copy(output, path)
    with h5py.File(path, "r+") as file:
        file["observables/energy"][2] *= 1.0 + 1e-9
    assert main(["verify", str(path)]) == 1
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.splitlines()[-1].startswith("failed: seal, hash, energy (3 of ")


def test_wrong_input_is_one_line(
    output: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A damaged file would count as a run that broke a law."""
    damaged = tmp_path / "damaged.h5"
    damaged.write_bytes(output.read_bytes()[:-200])
    for path in (damaged, tmp_path / "missing.h5", output.with_suffix(".toml")):
        assert main(["verify", str(path)]) == 2
        captured = capsys.readouterr()
        assert captured.out == "" and len(captured.err.splitlines()) == 1
