"""`meanfield reproduce` without the scripts that it runs."""

from pathlib import Path

import pytest

import meanfield
from meanfield.commands.main import main


def test_reproduce_says_where_its_scripts_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An installed package would end in a traceback."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(meanfield, "__file__", str(tmp_path / "meanfield/__init__.py"))
    assert main(["reproduce", "--list"]) == 2
    error = capsys.readouterr().err
    assert "experiments/published of the source repository" in error and error.count("\n") == 1
