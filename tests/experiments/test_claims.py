"""Claims: which hold, what the table says, and what is refused."""

import pytest
from claims import Claim, near_zero, report


@pytest.mark.parametrize(
    ("beside", "here", "within", "holds"),
    [
        (1.0, 1.5, 0.5, True),
        (1.0, 1.5, 0.4, False),
        (3, 3, 0, True),
        (3, 4, 0, False),
        (1.0, float("nan"), 0.5, False),
        (0.0, float("inf"), 1.0, False),
        ("four", 4.0, None, True),
        (1.0, 2.0, None, True),
    ],
)
def test_claim_holds_within_its_distance(beside, here, within, holds):
    """A wrong or missing number would pass, or a right one fail."""
    assert Claim("x", beside, here, within).holds == holds


def test_only_values_of_the_source_are_published():
    """A page would call our number published; a claim on a text hold whatever comes out."""
    own, source = Claim("x", 1.0, 2.0), Claim("x", 1.0, 2.0, printed=True)
    assert (own.published, own.reference) == (None, 1.0)
    assert (source.published, source.reference) == (1.0, None)
    with pytest.raises(ValueError, match="x: within = 0.1 compares with a number, got 'four'"):
        Claim("x", "four", 4.0, within=0.1)


def test_report_marks_failures_and_returns_the_status(capsys):
    """A failed experiment would end with status 0, or not say why."""
    claims = near_zero({"drift": (2e-14, 1e-14), "tail": (1e-12, 1e-10)})
    assert report(claims) == 1
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert rows == [["drift", "0", "2e-14", "1e-14", "FAILED"], ["tail", "0", "1e-12", "1e-10"]]
    assert report(claims[1:]) == report([]) == 0
    assert "FAILED" not in capsys.readouterr().out


def test_report_has_columns_with_values_only(capsys):
    """A column of dashes would hide the others."""
    report([Claim("$R$", 3, 3, 0.5, printed=True)])
    header, row = capsys.readouterr().out.splitlines()
    assert header.split() == ["published", "here", "within"] and row.split()[0] == "R"
