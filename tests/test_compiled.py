"""Compilation: caching and the notice."""

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np

from meanfield.compiled import njit
from meanfield.elementary import economised, exp2, small_sine_cosine


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
    code = "from meanfield.elementary import *; print(exp2(3.0), small_sine_cosine(0.0))"
    first, second = _run(tmp_path, code), _run(tmp_path, code)
    assert first.stdout == second.stdout == "8.0 (0.0, 1.0)\n"
    assert first.stderr.count("\n") == 1
    assert first.stderr.startswith("meanfield: compiling kernels")
    assert second.stderr == ""


def test_notice_is_silent_for_kernels_of_others(tmp_path: Path) -> None:
    """Users compile functions of their own: not ours to announce."""
    code = "import numba, meanfield.compiled; print(numba.njit(lambda x: x + 1)(1))"
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


def test_economised_polynomial_is_chebyshevs() -> None:
    """Dropping T_4 from x^4 = (3 T_0 + 4 T_2 + T_4) / 8 leaves x^2 - 1/8."""
    assert economised([Fraction(0)] * 4 + [Fraction(1)], 1.0, 2) == (-0.125, 0.0, 1.0)


@njit
def _elementary(angles, exponents):  # type: ignore[no-untyped-def]
    sines, cosines, powers = np.empty(angles.size), np.empty(angles.size), np.empty(angles.size)
    for i in range(angles.size):
        sines[i], cosines[i] = small_sine_cosine(angles[i])
        powers[i] = exp2(exponents[i])
    return sines, cosines, powers


def test_elementary_functions_are_accurate_to_two_units() -> None:
    """A wrong coefficient would cost digits everywhere."""
    rng = np.random.default_rng(0)
    angles = np.concatenate([rng.uniform(-np.pi / 4, np.pi / 4, 4000), [0.0, 1e-200, np.pi / 4]])
    exponents = np.concatenate([rng.uniform(-1020.0, 900.0, 4000), [0.0, 1.0, -2000.0]])
    sines, cosines, powers = _elementary(angles, exponents)
    # 2 units in the last place of ours and half a unit of NumPy's.
    tolerance = {"rtol": 2.5 * np.finfo(float).eps, "atol": 0.0}
    np.testing.assert_allclose(sines, np.sin(angles), **tolerance)
    np.testing.assert_allclose(cosines, np.cos(angles), **tolerance)
    np.testing.assert_allclose(powers, np.exp2(exponents), **tolerance)


def test_exp2_of_zero_is_one_and_underflows_to_zero() -> None:
    """Equal tokens must feel exactly the weight 1; far ones nothing, not garbage bits."""
    exponents = np.array([0.0, -1022.0, -1e6, -1e300])
    np.testing.assert_array_equal(_elementary(np.zeros(4), exponents)[2], [1.0, 0.0, 0.0, 0.0])
