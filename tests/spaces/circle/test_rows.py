"""Rows in LLVM's words against NumPy, compiled anew: caches would hide a mistake in them."""

import numpy as np
import pytest

from meanfield.engines.compiled import njit
from meanfield.engines.fourier.rows import add_16, quotients_16
from meanfield.engines.rows import ROW, empty_rows


@njit(cache=False)
def _written(table, numbers, offsets, powers, out):  # type: ignore[no-untyped-def]
    quotients_16(table, numbers, offsets, 0, out)
    add_16(table, 2, powers, 1)


@pytest.mark.slow
def test_rows_are_polynomials():
    """Lanes would be exchanged, or powers of the wrong token be added."""
    rng = np.random.default_rng(0)
    table = empty_rows(8)
    table[:] = rng.uniform(1.0, 2.0, table.size)
    before = table.reshape(-1, ROW).copy()
    numbers, offsets = rng.integers(0, 5, ROW), rng.uniform(-0.5, 0.5, ROW)
    t, weight = offsets[1], 0.3
    # Powers of each token: t, t^2, w, w t^4, t^8.
    powers = np.array([[9.0, x] for x in (t, t**2, weight, weight * t**4, t**8)])
    out = np.empty(ROW)
    _written(table, numbers, offsets, powers, out)
    value, below = (
        (before[[numbers + k, numbers + k + 1]].transpose(1, 0, 2).reshape(ROW, -1))
        @ offsets ** np.arange(2 * ROW)[:, None]
        for k in (0, 2)
    )
    np.testing.assert_allclose(out, np.diag(value) / np.diag(below), rtol=1e-14)
    added = table.reshape(-1, ROW) - before
    expected = np.zeros_like(before)
    expected[2:4] = weight * (t ** np.arange(2.0 * ROW)).reshape(2, ROW)
    # Rounding of numbers up to 2.
    np.testing.assert_allclose(added, expected, rtol=0, atol=5e-16)
