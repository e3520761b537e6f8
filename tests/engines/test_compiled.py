"""Compilation: caching and the notice."""

import importlib
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
import pytest
from fresh_process import run_python

from meanfield.engines.compiled import KernelCache, njit


@pytest.mark.slow
def test_notice_appears_once_when_compiling_and_not_from_the_cache(tmp_path):
    """A wrong event would print on every start, or leave the user to wonder in silence."""
    code = "from meanfield.engines.elementary import *; print(exp2(3.0), small_sine_cosine(0.0))"
    first, second = (run_python(code, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert first.stdout == second.stdout == "8.0 (0.0, 1.0)\n"
    assert first.stderr.count("\n") == 1
    assert first.stderr.startswith("meanfield: compiling kernels")
    assert second.stderr == ""


@pytest.mark.slow
def test_notice_is_silent_for_kernels_of_others(tmp_path):
    """Users compile functions of their own: not ours to announce."""
    code = "import numba, meanfield.engines.compiled; print(numba.njit(lambda x: x + 1)(1))"
    run = run_python(code, NUMBA_CACHE_DIR=str(tmp_path))
    assert (run.stdout, run.stderr) == ("2\n", "")


def test_njit_caches_and_releases_the_lock_by_default():
    """Without nogil threads would take turns; without cache every start would compile."""
    kernel = njit(lambda x: x)
    assert kernel.targetoptions["nogil"]
    assert isinstance(kernel._cache, KernelCache)


def test_njit_works_where_nothing_can_be_cached(monkeypatch):
    """A read-only installation without a home must compute all the same."""
    monkeypatch.setattr("numba.core.caching.CacheImpl._locator_classes", [])
    assert njit(lambda x: 2 * x)(2) == 4


def test_kernel_is_compiled_once_for_constants_and_numbers():
    """A call with a constant would compile a kernel again that is there for numbers."""
    inner = njit(cache=False)(lambda x: x + 1)
    outer = njit(cache=False)(lambda n: inner(n) + inner(3))
    assert outer(1) == 6
    assert len(inner.signatures) == 1


SPOILT = {
    "empty index": ("*.nbi", lambda path: path.write_bytes(b"")),
    "cut index": ("*.nbi", lambda path: path.write_bytes(path.read_bytes()[:40])),
    "empty code": ("*.nbc", lambda path: path.write_bytes(b"")),
    "cut code": ("*.nbc", lambda path: path.write_bytes(path.read_bytes()[:300])),
    "no index": ("*.nbi", lambda path: path.write_bytes(b"no pickle")),
}


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A function of a module of its own that calls a kernel of another, and a cache for both."""
    decorated = "from meanfield.engines.compiled import njit\n"
    (tmp_path / "below.py").write_text(f"{decorated}@njit\ndef one(x):\n    return x + 1.0\n")
    above = "from below import one\ndef two(x):\n    return one(one(x))\n"
    (tmp_path / "above.py").write_text(above)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    yield importlib.import_module("above").two
    del sys.modules["above"], sys.modules["below"]


def _compilations(function: Any) -> int:
    kernel = njit(function)
    assert kernel(1.0) == 3.0
    return sum(kernel.stats.cache_misses.values())


@pytest.mark.parametrize("what", SPOILT)
def test_spoilt_cache_costs_the_compilation_only(two, tmp_path, what):
    """A power cut or a full disk would leave an installation that fails until files are deleted."""
    pattern, spoil = SPOILT[what]
    assert _compilations(two) == 1
    spoilt = list(tmp_path.rglob(f"above.{pattern}"))
    assert spoilt
    for path in spoilt:
        spoil(path)
    assert _compilations(two) == 1
    # What was compiled has taken the place of what was spoilt.
    assert _compilations(two) == 0


def test_full_disk_costs_the_compilation_only(two, tmp_path, capsys):
    """Every run would fail where the cache's disk is full; half a file would be left."""
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, usual[1]))
    try:
        assert _compilations(two) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert "compiled kernels cannot be kept in" in message
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_kernel_is_compiled_again_after_a_change_below(two, tmp_path):
    """After an upgrade a process with an old cache would have other results than one without."""
    assert _compilations(two) == 1
    with (tmp_path / "below.py").open("a") as below:
        below.write("# changed\n")
    assert _compilations(two) == 1
    assert _compilations(two) == 0
