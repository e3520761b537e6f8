"""The report says what the checks found, and deliberate mistakes follow the code."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reporting import load_script

HERE = Path(__file__).parent
REPORT, MUTATIONS = (load_script(HERE / f"{name}.py") for name in ("report", "mutations"))


def line(error: float, **changes: Any) -> dict[str, Any]:
    """A line as `verified` writes it."""
    result = {"section": "symmetry", "what": "turned density", "error": error, "tolerance": 1e-9}
    test = "tests/verification/test_x.py::test_x"
    return result | {"test": test, "measured": None, "commit": "1234567"} | changes


def lines_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for text in file.read_text().splitlines()]


def test_check_is_written_down_with_its_error(verified, tmp_path, monkeypatch):
    """The report would show another error than the one that was checked."""
    monkeypatch.setenv("MEANFIELD_VERIFICATION", str(tmp_path / "lines.jsonl"))
    verified("symmetry", "something", np.array([1e-3, -2e-3j]), 2e-3)
    (result,) = lines_of(tmp_path / "lines.jsonl")
    assert (result["error"], result["tolerance"], result["section"]) == (2e-3, 2e-3, "symmetry")
    own = "tests/verification/test_report.py::test_check_is_written_down_with_its_error"
    assert result["test"] == own


@pytest.mark.parametrize("error", [1.1e-9, np.nan, np.inf])
def test_check_fails_above_its_tolerance_and_is_written_down(
    error, verified, tmp_path, monkeypatch
):
    """A check that cannot fail checks nothing; what is not a number is no small error."""
    monkeypatch.setenv("MEANFIELD_VERIFICATION", str(tmp_path / "lines.jsonl"))
    with pytest.raises(AssertionError, match="turned density: error .*, tolerance 1e-09"):
        verified("symmetry", "turned density", np.array([0.0, error]), 1e-9)
    (result,) = lines_of(tmp_path / "lines.jsonl")
    (check,) = REPORT.checks([result], "symmetry")
    assert not check.passed


def test_page_shows_the_worst_case_of_a_check(tmp_path):
    """A failure among many cases would be hidden, or a tolerance shown that is not its own."""
    cases = [line(1e-10), line(5e-10, tolerance=1e-8), line(2e-12)]
    text = REPORT.page(cases, tmp_path)
    assert "1 checks of 3 cases: all pass" in text
    assert "| Turned density | 3 | 1.0e-10 | 1.0e-09 | `verification/test_x.py` |" in text
    text = REPORT.page([*cases, line(float("nan"))], tmp_path)
    assert "1 checks of 4 cases: 1 fail" in text and "**nan**" in text


@pytest.mark.slow
def test_page_draws_the_curves(tmp_path):
    """A page would show a figure that is not there."""
    curve = [[0.1, 0.2], [1e-9, 0.0]]
    text = REPORT.page(
        [line(0.01, section="order in time", what="A, circle", measured=4.0, curve=curve)], tmp_path
    )
    assert "| A, circle: 4 |" in text
    assert "](images/verification/order_in_time.png)" in text
    assert (tmp_path / "images" / "verification" / "order_in_time.png").stat().st_size > 1000


def test_page_has_no_section_of_another_name(tmp_path):
    """A check with a misspelt section would be left out unsaid."""
    with pytest.raises(ValueError, match=r"sections \{'beauty'\} are not known. Known: exact"):
        REPORT.page([line(0.0, section="beauty")], tmp_path)


def test_page_names_the_mistakes_that_nobody_saw(tmp_path):
    """The page would promise more than was found."""
    result = {"section": "mutations", "what": "a sign", "file": "meanfield/x.py"}
    records, unseen = (result | {"caught": c, "by": "test_x" * c} for c in (True, False))
    text = REPORT.page([line(0.0), records, unseen], tmp_path)
    assert "1 of 2 are caught" in text
    assert "| a sign | `meanfield/x.py` | **nobody** |" in text


def test_mutations_fit_the_code():
    """The list would be of code that is gone; a mistake must change a line, and compile."""
    assert [line for result in MUTATIONS.MUTATIONS for line in MUTATIONS.to_mend(result)] == []
    assert all(result.text != result.wrong for result in MUTATIONS.MUTATIONS)


def test_moved_code_is_named():
    """Whoever moves a line must read where it went, before an hour of runs."""
    first = MUTATIONS.MUTATIONS[0]
    gone = "".join(["test_", "gone"])  # in no file of tests, nor in this one
    moved = dataclasses.replace(first, file="flows.py", tests=f"tests/{gone}.py::{gone}")
    assert MUTATIONS.to_mend(moved) == [
        f"{first.what}: flows.py holds {first.text!r} 0 times, expected once; it stands in "
        f"{first.file}.",
        f"{first.what}: tests/{gone}.py has no 'def {gone}('; no file of tests holds it.",
    ]
    (line,) = MUTATIONS.to_mend(dataclasses.replace(first, wrong="potential = = 1"))
    assert "does not compile" in line
