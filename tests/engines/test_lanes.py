"""Lanes: the same compiled and as Python, in the order that is written."""

import numba
import numpy as np
import pytest

from meanfield.engines import lanes
from meanfield.engines.compiled import njit
from meanfield.engines.elementary import exp2, fma

LOAD = {8: lanes.load_8, 16: lanes.load_16}
SPREAD = {8: lanes.spread_8, 16: lanes.spread_16}
load_8 = lanes.load_8


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
    result = worked(x, y)
    a, b = x[:width], x[width:]
    c = 2 * a - b - 1.5 + (1 - a * b)
    np.testing.assert_allclose(y, [0 * a, c * a + b], rtol=1e-15, atol=1e-15)
    assert result == pytest.approx(c.sum(), rel=1e-14)


def test_sum_is_of_halves_and_halves():
    """Another order would be another last bit."""
    values = np.random.default_rng(1).normal(size=16)
    result = njit(cache=False)(lambda x: lanes.lane_sum(lanes.load_16(x, 0)))(values)
    while len(values) > 1:
        values = values[: len(values) // 2] + values[len(values) // 2 :]
    assert result == values[0]


def test_eight_sums_are_those_of_one():
    """A lane of one of them would be counted to another."""

    @njit(cache=False)
    def sums(x, y):  # type: ignore[no-untyped-def]
        a, b, c, d = load_8(x, 0), load_8(x, 8), load_8(x, 16), load_8(x, 24)
        e, f, g, h = load_8(x, 32), load_8(x, 40), load_8(x, 48), load_8(x, 56)
        lanes.store(y, 0, lanes.lane_sums(a, b, c, d, e, f, g, h))
        lanes.store(y, 8, lanes.lane_sums(h, g, f, e, d, c, b, a))

    one = njit(cache=False)(lambda x: lanes.lane_sum(load_8(x, 0)))
    x, y = np.random.default_rng(2).normal(size=(8, 8)), np.empty((2, 8))
    sums(x, y)
    expected = [one(row) for row in x]
    np.testing.assert_array_equal(y, [expected, expected[::-1]])


@pytest.mark.parametrize("width", [8, 16])
def test_signs_and_powers_of_lanes_are_those_of_numbers(width):
    """A zero below zero has a sign, which no comparison shows."""
    load = LOAD[width]

    @njit(cache=False)
    def worked(x, y):  # type: ignore[no-untyped-def]
        a, b = load(x, 0), load(x, width)
        lanes.store(y, 0, lanes.times_sign(a, b))
        lanes.store(y, width, lanes.times_sign(2, b))
        lanes.store(y, 2 * width, exp2(a))

    @njit(cache=False)
    def one(a, b):  # type: ignore[no-untyped-def]
        return lanes.times_sign(a, b), lanes.times_sign(2, b), exp2(a)

    x = np.resize([3.0, -0.25, 0.0, -0.0, 1e300, -1e300, -1021.0, -1020.5, np.nan], (2, width))
    x[0, 4], x[1] = 500.0, x[1, ::-1]
    y = np.empty((3, width))
    worked(x, y)
    expected = np.transpose([one(*pair) for pair in x.T])
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(np.signbit(y), np.signbit(expected))
    np.testing.assert_array_equal(expected[0], x[0] * np.copysign(1.0, x[1]))


def test_complex_numbers_are_read_backwards():
    """Real and imaginary parts would be mixed up, or one lane be lost."""

    @njit(cache=False)
    def reversed_conjugate(x, y):  # type: ignore[no-untyped-def]
        real, imag = lanes.load_complex_8(x, 2)
        lanes.store_complex_8(y, 1, lanes.reverse(real), -lanes.reverse(imag))

    x = np.random.default_rng(2).normal(size=(12, 2)) @ [1, 1j]
    y = np.zeros(10, complex)
    reversed_conjugate(x, y)
    assert np.array_equal(y, [0, *x[9:1:-1].conj(), 0])


def test_lanes_are_written_transposed():
    """Every one of 64 numbers has its own place."""

    @njit(cache=False)
    def transpose(x, y):  # type: ignore[no-untyped-def]
        a, b, c, d = load_8(x, 0), load_8(x, 8), load_8(x, 16), load_8(x, 24)
        e, f, g, h = load_8(x, 32), load_8(x, 40), load_8(x, 48), load_8(x, 56)
        lanes.store_transposed_8(y, 1, a, b, c, d, e, f, g, h)

    x, y = np.arange(1.0, 65.0).reshape(8, 8), np.zeros(66)
    transpose(x, y)
    assert np.array_equal(y, [0, *x.T.ravel(), 0])


def test_strided_arrays_have_no_lanes():
    """Numbers between the array's would be read."""
    with pytest.raises(numba.TypingError):
        njit(cache=False)(lambda x: lanes.lane_sum(load_8(x, 0)))(np.ones(16)[::2])
