"""Compiled kernels in a wheel: used where they fit, ignored where they do not."""

from __future__ import annotations

import hashlib
import importlib
import json
import sys
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numba
import pytest
from fresh_process import run_python
from llvmlite.binding import get_host_cpu_features

from meanfield.engines import compiled, packaged

# A function calls a kernel of another module, and that takes a constant of a third one.
SOURCES = {
    "third": "FACTOR = 3.0\n",
    "below": "from meanfield.engines.compiled import njit\nfrom third import FACTOR\n"
    "@njit\ndef scaled(x):\n    return FACTOR * x\n",
    "above": "from below import scaled\ndef shifted(x):\n    return scaled(x) + 1.0\n",
}


class Installation:
    """Modules in a folder, imported from there, and an empty cache of numba's beside them."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder.mkdir()
        for name, source in SOURCES.items():
            (folder / f"{name}.py").write_text(source)
        self.folder, self.monkeypatch, self.caches = folder, monkeypatch, 0

    def kernel(self) -> Any:
        """Kernel as a new process would have it, without what another one has compiled."""
        for name in SOURCES:
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        packaged._archive.cache_clear()
        self.caches += 1
        cache = self.folder / f"cache{self.caches}"
        self.monkeypatch.setattr(numba.config, "CACHE_DIR", str(cache))
        with self.monkeypatch.context() as patch:
            patch.syspath_prepend(str(self.folder))
            return compiled.njit(importlib.import_module("above").shifted)

    def compilations(self, expected: float = 7.0) -> int:
        kernel = self.kernel()
        assert kernel(2.0) == expected
        return sum(kernel.stats.cache_misses.values())


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    monkeypatch.setattr(packaged, "LEVELS", {"any": ""})
    monkeypatch.setattr(packaged, "FOLDER", tmp_path / "kernels")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    kernel = Installation(tmp_path / "first", monkeypatch).kernel()
    kernel(2.0)
    packaged.write(packaged.FOLDER, "any", packaged.contents([kernel]))
    yield Installation(tmp_path / "second", monkeypatch)
    for name in SOURCES:
        sys.modules.pop(name, None)


def test_kernels_can_be_moved(installed):
    """A key with a path or a time would compile everything after an installation."""
    assert installed.compilations() == 0


def test_kernels_hold_no_paths(installed, tmp_path):
    """Names of folders of whoever made a wheel would be in it."""
    with zipfile.ZipFile(packaged.FOLDER / "any.zip") as archive:
        contents = [archive.read(name) for name in archive.namelist()]
    assert contents and not any(str(tmp_path).encode() in content for content in contents)


def test_kernels_are_used_where_nothing_can_be_written(installed, monkeypatch):
    """A container that may not write would compile at every start."""
    monkeypatch.setattr("numba.core.caching.CacheImpl._locator_classes", [])
    assert isinstance(installed.kernel()._cache, compiled.PackagedCache)
    assert installed.compilations() == 0


def _change_manifest(**changes: str) -> None:
    path = packaged.FOLDER / "any.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def _damage() -> None:
    path = packaged.FOLDER / "any.zip"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def _replace(content: bytes) -> None:
    (packaged.FOLDER / "any.zip").write_bytes(content)
    _change_manifest(sha256=hashlib.sha256(content).hexdigest())


def _replace_pickles() -> None:
    """Archive with the right hash of a numba that stores something else."""
    stream, old = BytesIO(), zipfile.ZipFile(packaged.FOLDER / "any.zip")
    with old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            new.writestr(name, b"\x80\x04N.")
    _replace(stream.getvalue())


UNFIT: dict[str, Callable[[], Any]] = {
    "numba": partial(_change_manifest, numba="0.0"),
    "llvmlite": partial(_change_manifest, llvmlite="0.0"),
    "numpy": partial(_change_manifest, numpy="1.0"),
    "python": partial(_change_manifest, python="cpython-30"),
    "target": partial(_change_manifest, target="riscv64-unknown-linux-gnu"),
    "options": partial(_change_manifest, options="OPT=0"),
    "new fact": partial(_change_manifest, fact="unknown"),
    "hash": partial(_change_manifest, sha256="0" * 64),
    "damage": _damage,
    "no archive": lambda: _replace(b"text"),
    "other pickles": _replace_pickles,
    "no pickles": lambda: (packaged.FOLDER / "any.zip").unlink(),
    "no manifest": lambda: (packaged.FOLDER / "any.json").unlink(),
    "empty manifest": lambda: (packaged.FOLDER / "any.json").write_bytes(b""),
    "list as manifest": lambda: (packaged.FOLDER / "any.json").write_bytes(b"[]"),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", UNFIT)
def test_kernels_that_do_not_fit_are_ignored(installed, what):
    """Code of another compiler or a damaged file would give wrong numbers, or a crash."""
    UNFIT[what]()
    assert installed.compilations() == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("owner", "setting", "value"),
    [
        (numba.config, "CPU_NAME", "generic"), (numba.config, "BOUNDSCHECK", 1),
        (numba.config, "OPT", 0), (packaged, "LEVELS", {"any": "time-travel"}),
    ],
)  # fmt: skip
def test_settings_and_processor_count(installed, monkeypatch, owner, setting, value):
    """NUMBA_BOUNDSCHECK=1 would check nothing; an older processor meet an illegal instruction."""
    monkeypatch.setattr(owner, setting, value)
    assert installed.compilations() == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "old", "new", "value"),
    [
        ("above", "+ 1.0", "+ 2.0", 8.0),
        ("above", "\n", "\n# comment\n", 7.0),
        ("below", "FACTOR * x", "FACTOR * x * 2.0", 13.0),
        ("third", "3.0", "4.0", 9.0),
    ],
)
def test_changed_source_is_compiled(installed, module, old, new, value):
    """Whoever edits an installed package would run the code from before."""
    path = installed.folder / f"{module}.py"
    path.write_text(path.read_text().replace(old, new))
    assert installed.compilations(value) == 1


def test_literals_count_without_the_source():
    """A file edited after its import would give old code the key of the new source."""
    texts = []
    for number in (0.5, 0.7):
        names: dict[str, Any] = {"__name__": "own"}
        exec(f"def scaled(x):\n    return [{number} * y for y in x]", names)
        texts.append(packaged._Content.of(names["scaled"]).text)
    assert texts[0] != texts[1]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["_rebuild", "_reduce"])
def test_kernels_work_where_numba_pickles_otherwise(installed, monkeypatch, name):
    """The next numba, with other internals, would break the package."""
    monkeypatch.delattr(f"numba.core.compiler.CompileResult.{name}")
    if name == "_reduce":
        (packaged.FOLDER / "any.zip").unlink()
    assert installed.compilations() == 1


WITHOUT = """\
import numba.core.ccallback
import numba.core.caching
for name in ("NullCache", "FunctionCache"):
    delattr(numba.core.caching, name)
from meanfield.engines import compiled
from meanfield.engines.elementary import exp2
print(exp2(3.0), type(exp2._cache).__name__, len(compiled.compilations))
"""


@pytest.mark.slow
def test_usual_cache_serves_where_that_of_numba_changed(tmp_path):
    """A numba without the classes that this package extends would not let it start."""
    for compilations in (1, 0):
        run = run_python(WITHOUT, NUMBA_CACHE_DIR=str(tmp_path))
        assert run.stdout == f"8.0 FunctionCache {compilations}\n"


SUMS = """\
import hashlib
import sys
from pathlib import Path
import numpy as np
from meanfield.engines import compiled, packaged
packaged.FOLDER = Path(sys.argv[1])
from meanfield.engines.fourier.recurrence import moments
from meanfield.engines.pairs.circle import exponential_velocity_circle
points = np.random.default_rng(0).uniform(-3.0, 3.0, 1000)
results = moments(points, None, 31)[0], exponential_velocity_circle(points, None, 9.0, True)
print(*(hashlib.sha256(result.tobytes()).hexdigest() for result in results))
if sys.argv[2:]:
    packaged.write(packaged.FOLDER, sys.argv[2], packaged.contents(compiled.kernels))
else:
    print(compiled.compilations)
"""


@pytest.mark.slow
@pytest.mark.parametrize("level", packaged.LEVELS)
def test_results_are_those_of_a_fresh_compilation(tmp_path, level):
    """Two users of one version would have different last digits."""
    features = get_host_cpu_features()
    if not all(features.get(name) for name in packaged.LEVELS[level].split()):
        pytest.skip(f"this processor cannot run {level}")

    kernels, cache = tmp_path / "kernels", {"NUMBA_CACHE_DIR": str(tmp_path / "numba")}
    fresh = run_python(SUMS, kernels, level, NUMBA_CPU_NAME=level, NUMBA_CPU_FEATURES="", **cache)
    assert run_python(SUMS, kernels, **cache).stdout == fresh.stdout + "[]\n"
