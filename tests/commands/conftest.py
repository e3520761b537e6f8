"""The run file of a module, for all tests of commands."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def config(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A small run file: what `CONFIG` of the module says."""
    path = tmp_path / "small.toml"
    path.write_text(request.module.CONFIG)
    return path
