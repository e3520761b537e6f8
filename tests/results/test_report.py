"""Tables for people, JSON for programs."""

from __future__ import annotations

import json

import numpy as np
import pytest

from meanfield.results.report import facts, table, to_json


def test_columns_are_aligned() -> None:
    """A table could not be read."""
    lines = table(["n", "value"], [[1, 0.5], [1000, None]]).splitlines()
    assert lines == ["   n  value", "   1    0.5", "1000      -"]


def test_facts_are_aligned() -> None:
    """A list of facts could not be read."""
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
def test_json_is_strict_and_exact(value: object, expected: object) -> None:
    """Another program could not read it, or would read other numbers."""

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    assert json.loads(to_json(value), parse_constant=refuse) == expected
