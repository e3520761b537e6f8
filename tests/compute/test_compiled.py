"""Compilation: caching and the notice."""

import os
import subprocess
import sys
from pathlib import Path

from meanfield.compute.compiled import njit


def _run(cache: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh process that caches its kernels in a folder of its own."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )


def test_notice_appears_once_when_compiling_and_not_from_the_cache(tmp_path: Path) -> None:
    """A wrong event would print on every start, or leave the user to wonder in silence."""
    code = "from meanfield.compute.elementary import *; print(exp2(3.0), small_sine_cosine(0.0))"
    first, second = _run(tmp_path, code), _run(tmp_path, code)
    assert first.stdout == second.stdout == "8.0 (0.0, 1.0)\n"
    assert first.stderr.count("\n") == 1
    assert first.stderr.startswith("meanfield: compiling kernels")
    assert second.stderr == ""


def test_notice_is_silent_for_kernels_of_others(tmp_path: Path) -> None:
    """Users compile functions of their own: not ours to announce."""
    code = "import numba, meanfield.compute.compiled; print(numba.njit(lambda x: x + 1)(1))"
    run = _run(tmp_path, code)
    assert run.stdout == "2\n"
    assert run.stderr == ""


def test_njit_caches_and_releases_the_lock_by_default() -> None:
    """Without nogil threads would take turns; without cache every start would compile."""
    kernel = njit(lambda x: x)
    assert kernel.targetoptions["nogil"]
    assert type(kernel._cache).__name__ == "FunctionCache"


def test_njit_works_where_nothing_can_be_cached(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    """A read-only installation without a home must compute all the same."""
    import numba.core.caching as caching

    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])

    @njit
    def double(x):  # type: ignore[no-untyped-def]
        return 2 * x

    assert double(2) == 4
