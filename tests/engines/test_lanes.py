"""Lanes: the same compiled and as Python, in the order that is written."""

import numba
import numpy as np
import pytest

from meanfield.engines import lanes
from meanfield.engines.compiled import njit
from meanfield.engines.elementary import fma

LOAD = {8: lanes.load_8, 16: lanes.load_16}
SPREAD = {8: lanes.spread_8, 16: lanes.spread_16}


@pytest.mark.parametrize("width", [8, 16])
def test_arithmetic_of_lanes_and_numbers(width):
    """A number would be put in one lane only, or a difference be taken the wrong way round."""
    load, spread, store = LOAD[width], SPREAD[width], lanes.store

    @njit(cache=False)
    def worked(x, y):  # type: ignore[no-untyped-def]
        a, b = load(x, 0), load(x, width)
        c = fma(2, a, -b) - 3.0 * spread(0.5) + (1 - a * b)
        store(y, width, fma(c, a, b))
        return lanes.lane_sum(c)

    x, y = np.random.default_rng(0).normal(size=2 * width), np.zeros((2, width))
    found = worked(x, y)
    a, b = x[:width], x[width:]
    c = 2 * a - b - 1.5 + (1 - a * b)
    np.testing.assert_allclose(y, [0 * a, c * a + b], rtol=1e-15, atol=1e-15)
    assert found == pytest.approx(c.sum(), rel=1e-14)


def test_sum_is_of_halves_and_halves():
    """Another order would be another last bit."""
    values = np.random.default_rng(1).normal(size=16)
    found = njit(cache=False)(lambda x: lanes.lane_sum(lanes.load_16(x, 0)))(values)
    while len(values) > 1:
        values = values[: len(values) // 2] + values[len(values) // 2 :]
    assert found == values[0]


def test_strided_arrays_have_no_lanes():
    """Numbers between the array's would be read."""
    with pytest.raises(numba.TypingError):
        njit(cache=False)(lambda x: lanes.lane_sum(lanes.load_8(x, 0)))(np.ones(16)[::2])
