"""Tables for people, JSON for programs."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest

from meanfield.results.report import Report, facts, table


def test_columns_and_facts_are_aligned():
    """A table or a list of facts could not be read."""
    lines = table(["n", "value"], [[1, 0.5], [1000, None]]).splitlines()
    assert lines == ["   n  value", "   1    0.5", "1000      -"]
    assert facts([("a", 1), ("long", 0.1 + 0.2)]) == "a     1\nlong  0.3"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.arange(3.0), [0.0, 1.0, 2.0]),
        (np.array([[1 + 2j]]), [[[1.0, 2.0]]]),
        ([np.float64("nan"), float("inf"), np.inf], [None, None, None]),
        ({1: np.int64(2), "b": np.bool_(True)}, {"1": 2, "b": True}),
        ((None, "\udcff"), [None, "\udcff"]),
        (0.1 + 0.2, 0.1 + 0.2),
    ],
)
def test_json_is_strict_and_exact(value, expected):
    """Another program could not read it, or would read other numbers."""

    def refuse(constant):
        raise AssertionError(constant)

    assert json.loads(Report([], value).json(), parse_constant=refuse) == expected


REPORT = Report(
    [
        facts([("a|b", 0.5)]),
        table(["n", "x"], [[1, 0.1], [2, "<"]], "above", "below\nit"),
        "note & end",
    ],
    {"n": [1, 2]},
    {"n": np.array([1, 2]), "x": np.array([0.1, 1 / 3])},
    "<Study>",
)


def test_report_has_lines_around_its_tables():
    """A table would stand without its caption or its legend."""
    text = "a|b  0.5\n\nabove\nn    x\n1  0.1\n2    <\nbelow\nit\n\nnote & end"
    assert REPORT.text() == str(REPORT) == text


def test_report_is_a_page_of_tables():
    """A notebook would show a text, or run what a title holds."""
    page = ElementTree.fromstring(f"<div>{REPORT.html()}</div>")
    words = ["".join(each.itertext()) for each in page]
    assert words[0] == "<Study>" and words[2] == "above" and words[4:] == ["belowit", "note & end"]
    rows = [["".join(cell.itertext()) for cell in row] for row in page.iter("tr")]
    assert rows == [["a|b", "0.5"], ["n", "x"], ["1", "0.1"], ["2", "<"]]


def test_long_tables_are_short_on_pages():
    """A notebook would hold thousands of rows, or not say that rows are missing."""
    page = Report([table(["n"], [[n] for n in range(1000)])], {}).html()
    assert page.count("<tr>") == 62 and '<td style="text-align: left">...</td>' in page
    assert ">0<" in page and ">999<" in page and ">500<" not in page


def test_report_is_markdown_json_and_csv():
    """A note, a program and a spreadsheet would each need a renderer of their own."""
    assert REPORT.markdown().startswith("**<Study>**\n\n|  |  |\n| --- | --- |\n| a\\|b | 0.5 |")
    assert "above\n\n| n | x |\n| --- | --- |\n| 1 | 0.1 |" in REPORT.markdown()
    assert json.loads(REPORT.json()) == {"n": [1, 2]}
    assert REPORT.csv() == "n,x\n1,0.1\n2,0.3333333333333333\n"
