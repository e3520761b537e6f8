"""Every example of the documentation runs, in an empty folder, and gives what the page shows."""

import contextlib
import doctest
import io
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import meanfield
from meanfield.commands.main import main

DOCS = Path(__file__).parent.parent / "docs"
README = (DOCS.parent / "README.md").read_text(encoding="utf-8")
# Blocks of other languages are for reading.
BLOCK = re.compile(r"^```(toml|console|pycon)\n(.*?)^```$", re.M | re.S)

# What differs from run to run or from machine to machine.
VOLATILE = [
    (r"^meanfield: compiling kernels.*\n", ""),
    (r"^\w+ law: +(begun|\d+ %).*\n", ""),  # progress, if it takes more than a second
    (r"\d{4}-\d\d-\d\dT\S+", "DATE"),
    (r"^time +about.*$", "SECONDS"),
    (r"\b[\d.]+ s\b", "SECONDS"),
    (r"\b\d+ steps|step \d+|^(steps|rejected) +\d+", "STEPS"),
    (r"\d+ MiB", "MEMORY"),
]


PAGES = {path.name: path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md"))}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, text in PAGES.items() if BLOCK.search(text)])
def test_examples_of_a_page_give_what_it_shows(name, tmp_path, monkeypatch):
    """A reader who repeats the page would see something else."""
    monkeypatch.chdir(tmp_path)
    # Signals are pytest's.
    monkeypatch.setattr("meanfield.commands.main.listen", contextlib.ExitStack)
    # How far a run is after five seconds depends on the machine, and on who else is at work.
    monkeypatch.setattr("meanfield.commands.progress._SECONDS_BETWEEN_LINES", 1e6)
    names: dict[str, Any] = {}
    status = 0
    for block in BLOCK.finditer(PAGES[name]):
        language, body = block.groups()
        line = PAGES[name].count("\n", 0, block.start()) + 1
        if language == "toml":
            if title := re.match(r"# (\S+\.toml)\n", body):
                (tmp_path / title.group(1)).write_text(body, encoding="utf-8")
        elif language == "pycon":
            check_doctest(body, names, name, line)
        else:
            for part in re.split(r"^\$ ", body, flags=re.M)[1:]:
                command, _, shown = part.partition("\n")
                printed, status = output(command, status)
                assert same(shown, printed), f"{name}:{line}: $ {command}\n{printed}"


def check_doctest(body: str, names: dict[str, Any], name: str, line: int) -> None:
    """Run a block as a doctest; what it defines stays in `names`."""
    example = doctest.DocTestParser().get_doctest(body, names, name, name, line)
    report = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    runner.run(example, out=report.write, clear_globs=False)
    names.update(example.globs)
    assert runner.failures == 0, report.getvalue()


def output(command: str, status: int) -> tuple[str, int]:
    arguments = shlex.split(command)
    if arguments == ["echo", "$?"]:
        return f"{status}\n", 0
    assert arguments[0] == "meanfield", f"examples run meanfield only, not {command}"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        status = main(arguments[1:])
    return printed.getvalue(), status


def same(shown: str, printed: str) -> bool:
    """Equal words, and numbers to four digits: rounding differs between machines."""
    for pattern, word in VOLATILE:
        shown = re.sub(pattern, word, shown, flags=re.M)
        printed = re.sub(pattern, word, printed, flags=re.M)
    expected, got = shown.split(), printed.split()
    return len(expected) == len(got) and all(map(same_word, expected, got))


def same_word(expected: str, got: str) -> bool:
    if expected == got:
        return True
    try:
        a, b = float(expected.strip(",()")), float(got.strip(",()"))
    except ValueError:
        return False
    # Spectral tails below 1e-9 are rounding, or on their way up by orders a time unit.
    return abs(a - b) <= 1e-4 * abs(a) + 1e-9


@pytest.mark.slow
def test_examples_of_the_readme_print_their_answers(capsys):
    """A reader would meet an exception, or other numbers of clusters."""
    first, second, third = re.findall(r"^```python\n(.*?)^```", README, re.M | re.S)
    exec(first, {})
    answer = re.search(r"^```\n\nprints `(.*?)`", README, re.M)
    assert answer and capsys.readouterr().out == f"{answer.group(1)}\n"
    exec(second, {"mf": meanfield})
    assert "1.0 0.28 0.07 0.03" in capsys.readouterr().out
    exec(third, {"mf": meanfield})
    assert "grows, rotating wave, angular velocity 0.5478" in capsys.readouterr().out
