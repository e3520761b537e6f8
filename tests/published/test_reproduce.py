"""`meanfield reproduce`: files, the page of cards, the status, and what is refused."""

from __future__ import annotations

import csv
import dataclasses

import numpy as np
import pytest
from claims import Claim
from published import pages, reproduce
from published.entry import Entry, Reproduction

from meanfield.commands.main import main

LINE = Entry(
    name="line", source="a paper", title="A line", parameters="two points", shows="both",
    differs="They do not.", seconds=1.0, module="", published_seconds=100.0,
)  # fmt: skip


class Line:
    """Makes a figure at once; by the source's scheme its number is another one."""

    def compute(self, short, published, progress):
        result = sum(progress([1.0, 2.0], 2, "points")) + published
        return Reproduction((Claim("sum", 3, result, 0.5, printed=True),), {"x": np.arange(2.0)})

    def draw(self, figure, reproduction):
        figure.subplots().plot(reproduction.data["x"])


@pytest.fixture(autouse=True)
def entries(monkeypatch):
    """Two figures; the second one has no scheme of its own."""
    for module in (reproduce, pages):
        monkeypatch.setattr(module, "maker_of", lambda entry: Line())
    plain = dataclasses.replace(LINE, name="plain", published_seconds=None)
    monkeypatch.setattr(reproduce, "ENTRIES", {"line": LINE, "plain": plain})


@pytest.mark.slow
def test_files_hold_what_was_computed(tmp_path, capsys):
    """A number would be lost on its way to the files, or a card lead nowhere."""
    folder = tmp_path / "new"
    assert main(["reproduce", "--all", "-o", str(folder), "--index"]) == 0
    assert "sum          3     3     0.5" in capsys.readouterr().out
    files = {f"{name}{ending}" for name in ("line", "plain") for ending in (".csv", ".md", ".npz",
                                                                           ".png")}  # fmt: skip
    assert {path.name for path in folder.iterdir()} == files | {"index.md"}
    with (folder / "line.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert (row["what"], row["published"], row["here"], row["within"]) == ("sum", "3", "3.0",
                                                                          "0.5")  # fmt: skip
    np.testing.assert_array_equal(np.load(folder / "line.npz")["x"], [0.0, 1.0])
    assert "| sum | 3 | - | 3 | 0.5 |  |" in (folder / "line.md").read_text()
    index = (folder / "index.md").read_text()
    assert index.count("grid-item-card") == 2 and "sum: published 3, here 3" in index
    assert index.endswith("line\nplain\n```\n")


def test_bars_of_formulas_part_no_cells():
    """A page would show a number in the column of another one."""
    result = Reproduction((Claim("$|x|$", 1.0, 2.0, why="|a| = 1"),), {})
    page = pages.page_of(LINE, result, published=False)
    assert r"| $\|x\|$ | - | 1 | 2 | - | \|a\| = 1 |" in page


@pytest.mark.slow
def test_page_of_a_short_form_says_so(tmp_path):
    """A coarse figure would be taken for the whole one."""
    assert main(["reproduce", "line", "--short", "-o", str(tmp_path), "--quiet"]) == 0
    page = (tmp_path / "line.md").read_text()
    assert "    meanfield reproduce line --short\n" in page and "This is the short form" in page
    assert main(["reproduce", "line", "-o", str(tmp_path), "--quiet", "--overwrite"]) == 0
    assert "short" not in (tmp_path / "line.md").read_text()


def test_numbers_that_differ_are_reported_and_files_of_the_scheme_stand_apart(tmp_path, capsys):
    """A wrong figure would pass, or be taken for that of this package."""
    assert main(["reproduce", "--all", "--published", "-o", str(tmp_path), "--quiet"]) == 1
    output = capsys.readouterr()
    assert "FAILED" in output.out and not output.err
    assert (tmp_path / "line-published.md").exists() and not (tmp_path / "line.md").exists()


@pytest.mark.slow
def test_only_our_files_are_replaced_with_overwrite(tmp_path, cli):
    """Somebody's file would be lost."""
    words = ["reproduce", "line", "-o", tmp_path, "--quiet"]
    cli(*words)
    cli(*words, status=2)
    assert "line.npz exists: use --overwrite to replace it" in cli.err
    cli(*words, "--overwrite")
    (tmp_path / "line.csv").write_text("my numbers")
    cli(*words, "--overwrite", status=2)
    assert "line.csv was not written by meanfield reproduce" in cli.err
    assert (tmp_path / "line.csv").read_text() == "my numbers"


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("lime", "NAME 'lime' is not known. Did you mean line? Known: line, plain."),
        ("plain --published", "plain has no scheme of its own to run: --published is for"),
        ("--all line", "--all makes line, too: give names, or --all."),
        ("", "NAME is missing: give names of figures, --all, or --list to see them."),
        ("line -o no/where", "-o no/where is no folder to write to: No such file"),
    ],
)
def test_what_is_refused(line, text, tmp_path, monkeypatch, cli):
    """A slip would take a minute, or a traceback."""
    monkeypatch.chdir(tmp_path)
    cli("reproduce", *line.split(), status=2)
    assert text in cli.err and not list(tmp_path.iterdir())


def test_list_has_times(cli):
    """Somebody would begin what takes minutes without knowing."""
    lines = cli("reproduce", "--list").splitlines()
    assert lines[1].split() == ["line", "A", "line", "a", "paper", "1", "s", "2", "min"]
