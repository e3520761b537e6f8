"""The house: dependencies point downwards only, names are listed."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import meanfield

PACKAGE = Path(meanfield.__file__).parent
# From the ground up; modules of one line may import each other.
FLOORS = [
    ["arrays", "compute", "errors", "events", "files", "flows", "status", "version"],
    ["kernels", "integrators"],
    ["manifolds"],
    ["measures", "positivity"],
    ["initial", "sampling", "transport"],
    ["problem"],
    ["fields"],
    ["theory", "observables"],
    ["stationary"],
    ["representations"],
    ["snapshot", "schemes"],
    ["run", "trajectory"],
    ["simulation"],
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


def test_design_page_names_the_rooms() -> None:
    """The map of the house would lack a room, or have one that was torn down."""
    text = (PACKAGE.parent / "docs" / "design.md").read_text(encoding="utf-8")
    floors = text.split("## Floors")[1].split("Data are frozen")[0]
    lines = re.findall(r"^\d+\. (.*?)$", floors, re.M)
    rooms = set(re.findall(r"`([a-z_]+)`", " ".join(lines)))
    assert rooms == FLOOR.keys() - {"__main__"}


def test_public_names_are_listed() -> None:
    """A public name that is not listed, or listed and missing, would surprise its users."""
    assert sorted(meanfield.__all__) == sorted(set(meanfield.__all__))
    assert sorted(meanfield._HOMES) == sorted(meanfield.__all__)
    assert all(hasattr(meanfield, name) for name in meanfield.__all__)
    with pytest.raises(AttributeError, match="module 'meanfield' has no attribute 'simulat'"):
        _ = meanfield.simulat


def test_type_checkers_see_the_names_where_they_are() -> None:
    """An editor would complete other names than there are, or with other arguments."""
    tree = ast.parse(Path(meanfield.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    told = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert told == {name: f"meanfield.{module}" for name, module in meanfield._HOMES.items()}


def loaded(code: str) -> set[str]:
    """Names of the modules that a fresh process has loaded after some code."""
    script = f"import sys\n{code}\nprint('loaded', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


def test_import_loads_nothing_but_lists_everything() -> None:
    """`import meanfield` would take as long as its first use, or hide names from completion."""
    code = "import meanfield as mf\nassert {*mf.__all__, '__version__'} <= {*dir(mf)}"
    assert not loaded(code) & {"numpy", "scipy", "numba", "meanfield.problem"}


def test_names_are_not_modules() -> None:
    """A function would be the module of its name, depending on what was loaded before."""
    names = "import pkgutil, meanfield\nfor _ in pkgutil.iter_modules(meanfield.__path__): "
    code = names + "assert _.name not in meanfield.__all__, _.name"
    assert "meanfield" in loaded(code)


def test_all_names_load_nothing_heavy() -> None:
    """The first line of a script would wait for what only some functions need."""
    heavy = (
        "numba h5py matplotlib scipy.integrate scipy.special scipy.fft ducc0 pyshtools ot tqdm "
        "xarray distributed"
    )
    assert not loaded("from meanfield import *") & set(heavy.split())


def test_kernels_are_compiled_without_flags_for_the_arithmetic() -> None:
    """Each copy of a kernel would be contracted or reordered in its own way, in its own process."""
    flags = {"fastmath", "contract", "reassoc", "fast"}
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = node.arg if isinstance(node, ast.keyword) else getattr(node, "value", None)
            assert not (isinstance(name, str) and name in flags), f"{path}: {name}"
