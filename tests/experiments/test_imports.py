"""Imports of scripts that rarely run exist in the package."""

import ast
from importlib import import_module
from pathlib import Path

import pytest
from parameters import together

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(
    path for room in ("experiments", "docs/examples", "tests/benchmarks")
    for path in (ROOT / room).rglob("*.py")
)  # fmt: skip


@pytest.mark.slow
@together("path", SCRIPTS)
def test_names_that_a_script_imports_are_there(path):
    """A name that has moved would be missed weeks later."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("meanfield"):
            module = import_module(node.module)
            for name in node.names:
                assert hasattr(module, name.name) or import_module(f"{node.module}.{name.name}")
