"""The page says how many faults were made and what became of them."""

import json
from pathlib import Path

import pytest
from reporting import commit, load_script

REPORT = load_script(Path(__file__).with_name("report.py"))


def line(cases, **outcomes):
    """A line as `survived` writes it."""
    result = {"section": "damaged files", "what": "cut files", "cases": cases, "outcomes": outcomes}
    return result | {"test": "tests/faults/test_x.py::test_x", "commit": "1234567"}


def test_faults_are_written_down(survived, tmp_path, monkeypatch):
    """The page would show other counts than were made."""
    file = tmp_path / "lines.jsonl"
    monkeypatch.setenv("MEANFIELD_FAULTS", str(file))
    survived("damaged files", "cut files", 3, refused=2, right=1)
    own = "tests/faults/test_report.py::test_faults_are_written_down"
    written = json.loads(file.read_text())
    assert written == line(3, refused=2, right=1) | {"test": own, "commit": commit()}


@pytest.mark.parametrize(("cases", "outcomes"), [(0, {}), (3, {"right": 2})])
def test_missing_faults_do_not_count(cases, outcomes, survived):
    """A test that makes no fault would look like one that all survived."""
    with pytest.raises(AssertionError):
        survived("damaged files", "cut files", cases, **outcomes)


def test_page_adds_up_the_faults_of_a_kind(tmp_path):
    """A count would be that of one test among several."""
    text = REPORT.page([line(3, refused=2, right=1), line(5, refused=5)], tmp_path)
    assert "8 faults: all ended as they should" in text
    assert "| Cut files | 8 | 7 refused, 1 right | `faults/test_x.py` |" in text
    assert "\n## Damaged files\n" in text and "## Full disk" not in text


def test_page_names_the_tests_that_failed(tmp_path):
    """Faults that did harm would be left out unsaid."""
    failed = {"section": "failed tests", "test": "tests/faults/test_x.py::test_y"}
    text = REPORT.page([line(3), failed | {"commit": "89abcde"}], tmp_path)
    assert (
        "**1 tests failed**: `tests/faults/test_x.py::test_y`. Commits 1234567 and 89abcde" in text
    )


def test_page_has_no_section_of_another_name(tmp_path):
    """Faults with a misspelt section would be left out unsaid."""
    with pytest.raises(ValueError, match=r"sections \{'beauty'\} are not known. Known: signals"):
        REPORT.page([line(3) | {"section": "beauty"}], tmp_path)
