"""`python experiments`: what it runs, lists and refuses, its status; and imports of all scripts."""

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from parameters import together
from reporting import load_script

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "experiments"
SCRIPTS = sorted(
    path for room in ("experiments", "docs/examples", "tests/benchmarks")
    for path in (ROOT / room).rglob("*.py")
)  # fmt: skip
SCRIPT = '''"""One number: {about}.

More text.
"""

from claims import Claim

SECONDS = 300, {about}


def main(short: bool, *, {option}: bool = False) -> list[Claim]:
    print("short" if short else "whole", {option})
    return [Claim("number", 1, {about}, 0)]
'''


@pytest.fixture
def own(tmp_path, monkeypatch):
    for name, about, option in (("right_one", 1, "keep"), ("wrong_one", 2, "late")):
        (tmp_path / name).mkdir()
        script = SCRIPT.format(about=about, option=option)
        (tmp_path / name / "analyse.py").write_text(script)
        monkeypatch.delitem(sys.modules, f"{name}.analyse", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    module = load_script(FOLDER / "__main__.py")
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    monkeypatch.setattr(module, "OWN", {"keep": ("right_one",)})
    return module


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["right_one"], 0, "whole False"),
        (["right_one", "--short", "--keep"], 0, "short True"),
        (["wrong_one", "--short"], 1, "FAILED"),
    ],
)
def test_an_experiment_runs_in_both_forms(own, capsys, arguments, status, said):
    """An option would not arrive, or a claim that fails end with status 0."""
    assert own.main(arguments) == status
    assert said in capsys.readouterr().out


def test_all_run_after_one_fails(own, monkeypatch, capfd):
    """The first failure would hide the others, or the status say that all hold."""
    # Each runs in a process of its own, which would not find these experiments.
    done = lambda command: SimpleNamespace(returncode=int(command[2] == "wrong_one"))  # noqa: E731
    monkeypatch.setattr(own.subprocess, "run", done)
    assert own.main(["--all", "--short"]) == 1
    said = capfd.readouterr().out.splitlines()
    assert said == ["== right_one", "== wrong_one", "== FAILED: wrong_one"]


def test_list_has_times_and_first_lines(own, capsys):
    """Somebody would begin an hour's work without knowing, or not find an experiment."""
    assert own.main(["--list"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert rows[0].split() == ["name", "time", "--short", "compares"]
    assert rows[1].split() == ["right_one", "5", "min", "1", "s", "One", "number:", "1."]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["right"], "NAME 'right' is not known. Did you mean right_one? Known: right_one,"),
        ([], "NAME is missing: give names, --all, or --list to see them."),
        (["--all", "right_one"], "--all runs right_one, too: give names, or --all."),
        (["wrong_one", "--keep"], "--keep is an option of right_one alone."),
        (["--all", "--keep"], "--keep is an option of right_one alone."),
    ],
)
def test_wrong_command_lines_end_in_one_line(own, capsys, arguments, said):
    """A slip would end in a traceback, or run something else for an hour."""
    assert own.main(arguments) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_published_figures_run_the_same_way(own, capsys):
    """A reader of `python experiments --help` would get another list."""
    assert own.main(["published", "--list"]) == 0
    assert "eigenvalues " in capsys.readouterr().out


@pytest.mark.slow
def test_list_works_from_any_folder(tmp_path):
    """The scripts would be found from the checkout alone."""
    for options in (["--list"], ["published", "--list"]):
        done = subprocess.run(
            [sys.executable, str(FOLDER), *options], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0 and not done.stderr


@pytest.mark.slow
@together("name", load_script(FOLDER / "__main__.py").experiments())
def test_experiment_follows_the_protocol(name):
    """`python experiments --list` or NAME would end in a traceback, weeks later."""
    module = load_script(FOLDER / "__main__.py")
    about, seconds = module.described(FOLDER / name / "analyse.py")
    assert about.endswith(".") and all(time > 0 for time in seconds) and len(seconds) == 2
    short, *options = inspect.signature(importlib.import_module(f"{name}.analyse").main).parameters
    assert short == "short"
    assert options == [option for option, names in module.OWN.items() if name in names]


@pytest.mark.slow
@together("path", SCRIPTS)
def test_names_that_a_script_imports_are_there(path):
    """A name that has moved would be missed weeks later."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("meanfield"):
            module = importlib.import_module(node.module)
            for name in node.names:
                if not hasattr(module, name.name):
                    importlib.import_module(f"{node.module}.{name.name}")
