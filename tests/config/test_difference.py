"""Where two run files differ and may not."""

from __future__ import annotations

from typing import Any

import pytest

from meanfield.config.difference import config_difference

BEFORE: dict[str, Any] = {"title": "a", "time": {"end": 1.0, "save": 3}, "output": {"path": "x"}}
FREE = {"time": ("end",), "output": None}


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (BEFORE, None),
        (BEFORE | {"title": "b"}, None),
        (BEFORE | {"output": {"path": "y", "state": "all"}}, None),
        (BEFORE | {"time": {"end": 2.0, "save": 3}}, None),
        (BEFORE | {"time": {"end": 1.0, "save": 4}}, "[time] save"),
        (BEFORE | {"time": {"end": 1.0}}, "[time] save"),
        (BEFORE | {"problem": {"beta": 1.0}}, "[problem] beta"),
        (BEFORE | {"problem": 3}, "problem"),
    ],
)
def test_difference_is_found_unless_free(after: dict[str, Any], expected: str | None) -> None:
    """A run would be continued with another problem, or refused for a new title."""
    assert config_difference(BEFORE, after, FREE) == expected
    assert config_difference(after, BEFORE, FREE) == expected
