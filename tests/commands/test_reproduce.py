"""`meanfield reproduce` without the scripts that it runs."""

from meanfield.commands import start


def test_reproduce_says_where_its_scripts_are(tmp_path, monkeypatch, cli):
    """An installed package would end in a traceback."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(start, "__file__", str(tmp_path / "meanfield/commands/start.py"))
    said = cli.refused("reproduce", "--list")
    assert "experiments/published of the source repository" in said
