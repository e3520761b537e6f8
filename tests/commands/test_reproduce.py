"""`meanfield reproduce` without the scripts that it runs."""

import meanfield


def test_reproduce_says_where_its_scripts_are(tmp_path, monkeypatch, cli):
    """An installed package would end in a traceback."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(meanfield, "__file__", str(tmp_path / "meanfield/__init__.py"))
    said = cli.refused("reproduce", "--list")
    assert "experiments/published of the source repository" in said
