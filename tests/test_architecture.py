"""The house: dependencies point downwards only, files are small, names are listed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import meanfield

PACKAGE = Path(meanfield.__file__).parent
# From the ground up; modules of one line may import each other.
FLOORS = [
    ["arrays", "compute", "events", "files", "flows"],
    ["kernels", "integrators"],
    ["manifolds"],
    ["measures"],
    ["initial", "sampling", "transport"],
    ["problem"],
    ["interaction", "theory", "observables"],
    ["stationary"],
    ["representations"],
    ["snapshot"],
    ["run", "trajectory"],
    ["simulate"],
    ["studies"],
    ["outputs"],
    ["config"],
    ["execute"],
    ["commands"],
    ["__main__"],
]
FLOOR = {name: level for level, names in enumerate(FLOORS) for name in names}
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def room(path: Path) -> str:
    """Top-level module or package of a file."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    """Rooms that a file imports when it is loaded (not inside functions, not for types)."""
    rooms = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            parts = node.module.split(".")
            if parts[0] == "meanfield":
                rooms |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            names = [name.name.split(".") for name in node.names]
            # `import meanfield` would be everything.
            rooms |= {(name + ["__main__"])[1] for name in names if name[0] == "meanfield"}
    return rooms


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_downwards(path: Path) -> None:
    """An import from a higher floor would let data flow back."""
    own = room(path)
    above = {
        name for name in imported_rooms(path) - {own, "__version__"} if FLOOR[name] > FLOOR[own]
    }
    assert not above


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_files_are_small(path: Path) -> None:
    """A file of more than 300 lines is probably two rooms."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 300


def test_public_names_are_listed() -> None:
    """A public name that is not listed, or listed and missing, would surprise its users."""
    assert sorted(meanfield.__all__) == sorted(set(meanfield.__all__))
    assert all(hasattr(meanfield, name) for name in meanfield.__all__)


def test_import_is_light() -> None:
    """`import meanfield` must not load what only some commands need."""
    import subprocess
    import sys

    heavy = (
        "numba h5py matplotlib scipy.integrate scipy.special scipy.fft ducc0 pyshtools ot tqdm "
        "xarray distributed"
    )
    code = f"import sys, meanfield; print(*[m for m in '{heavy}'.split() if m in sys.modules])"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.split() == []
