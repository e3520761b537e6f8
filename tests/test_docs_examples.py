"""Every example of the documentation runs and gives what the page shows.

A page is read from top to bottom in an empty folder: ```toml that begins with "# NAME.toml" is
saved there, ```console runs the commands after "$", and ```pycon is a doctest; its names live to
the end of the page. Other blocks are for reading.
"""

import contextlib
import doctest
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import meanfield
from meanfield.commands.main import main

DOCS = Path(__file__).parent.parent / "docs"
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


PAGES = [
    path.name
    for path in sorted(DOCS.glob("*.md"))
    if BLOCK.search(path.read_text(encoding="utf-8"))
]


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_examples_of_a_page_give_what_it_shows(name, tmp_path, monkeypatch):
    """A reader who repeats the page would see something else."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "meanfield.commands.main.listen", contextlib.ExitStack
    )  # signals are pytest's
    # How far a run is after five seconds depends on the machine, and on who else is at work.
    monkeypatch.setattr("meanfield.commands.progress._SECONDS_BETWEEN_LINES", 1e6)
    names: dict[str, Any] = {}
    status = 0
    text = (DOCS / name).read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        language, body = block.groups()
        line = text.count("\n", 0, block.start()) + 1
        if language == "toml":
            title = re.match(r"# (\S+\.toml)\n", body)
            if title:
                (tmp_path / title.group(1)).write_text(body, encoding="utf-8")
        elif language == "pycon":
            check_doctest(body, names, name, line)
        else:
            for command, page in commands(body):
                options, status = output(command, status)
                assert same(page, options), f"{name}:{line}: $ {command}\n{options}"


def check_doctest(body: str, names: dict[str, Any], name: str, line: int) -> None:
    """Run a block as a doctest; what it defines stays in `names`."""
    example = doctest.DocTestParser().get_doctest(body, names, name, name, line)
    report = io.StringIO()
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    runner = doctest.DocTestRunner(optionflags=flags)
    runner.run(example, out=report.write, clear_globs=False)
    names.update(example.globs)
    assert runner.failures == 0, report.getvalue()


def commands(body: str) -> Iterator[tuple[str, str]]:
    """Commands of a console block, each with what is shown below it."""
    for part in re.split(r"^\$ ", body, flags=re.M)[1:]:
        command, _, text = part.partition("\n")
        yield command, text


def output(command: str, status: int) -> tuple[str, int]:
    arguments = shlex.split(command)
    if arguments == ["echo", "$?"]:
        return f"{status}\n", 0
    assert arguments[0] == "meanfield", f"examples run meanfield only, not {command}"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        status = main(arguments[1:])
    return printed.getvalue(), status


def same(output: str, options: str) -> bool:
    """Equal words, and numbers to four digits: rounding differs between machines."""
    for pattern, word in VOLATILE:
        output = re.sub(pattern, word, output, flags=re.M)
        options = re.sub(pattern, word, options, flags=re.M)
    expected, got = output.split(), options.split()
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
def test_first_example_of_the_readme_prints_its_answer(capsys):
    """The first thing that a reader tries would answer something else, or not at all."""
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    snippet = re.search(r"^```python\n(.*?)^```\n\nprints `(.*?)`", text, re.M | re.S)
    assert snippet is not None
    exec(snippet.group(1), {})
    assert capsys.readouterr().out == f"{snippet.group(2)}\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "answer"),
    [(1, "1.0 0.28 0.07 0.03"), (2, "grows, rotating wave, angular velocity 0.5478")],
)
def test_other_examples_of_the_readme_print_theirs(number, answer, capsys):
    """A reader would meet an exception, or other numbers of clusters."""
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    snippets = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    assert len(snippets) == 3
    exec(snippets[number], {"mf": meanfield})
    assert answer in capsys.readouterr().out
