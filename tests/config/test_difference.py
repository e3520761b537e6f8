"""Where two run files differ and may not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from meanfield.config import ConfigError, load_config
from meanfield.config.difference import check_continues, config_difference

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


@pytest.mark.parametrize("stored", ["no TOML", "initial = 3", "time = 1", "[initial]\nname = 'x'"])
def test_stored_text_that_is_no_run_file_is_one_line(tmp_path: Path, stored: str) -> None:
    """A file that another program changed would be a traceback when it is resumed."""
    path = tmp_path / "run.toml"
    path.write_text('[problem]\nmanifold = "circle"\nbeta = 4.0\n[time]\nend = 1.0\n')
    with pytest.raises(ConfigError, match=r"x\.h5 does not tell the run file it was made from"):
        check_continues(load_config(path), stored, Path("x.h5"), FREE)
