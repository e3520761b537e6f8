"""Transforms of real fields on the circle, against sums in more digits."""

import numpy as np
import pytest

from meanfield.engines.fourier import transform as fft

SIZES = [size for size in range(72, 1300, 8) if fft.transform_size(size) == size]
LARGE = [1536, 1800, 3240, 4320, 7200]


def exact_turns(steps, size):
    """e^{2 pi i steps / size} in long doubles."""
    return np.exp(2j * np.arccos(np.longdouble(-1)) * (steps % size) / size)


def rows(size):
    return np.full((2, 2, size + fft.SPARE), np.nan)


def test_sizes_are_those_of_the_passes():
    """A pass of radix 4 over what is left of another factor would write beyond its array."""
    for least in (0, 1, 72, 73, 385, 1537, 2041, 2050, 6145):
        size = fft.transform_size(least)
        assert size >= max(least, 72) and size % 2048 != 0
        left = size // 8
        for radix in (5, 3, 4):
            while left % radix == 0:
                left //= radix
        assert size % 8 == 0 and left == 1
    assert len(SIZES) == 20 and max(np.divide(SIZES[1:], SIZES[:-1])) < 1.34


@pytest.mark.parametrize("size", SIZES + LARGE)
def test_transform_is_the_sum(size):
    """Every order of the passes; a twiddle or an index that is off is off by one."""
    x, y = rows(size)
    x[:, :size] = np.random.default_rng(size).normal(size=(2, size))
    values = x[0, :size] + 1j * x[1, :size]
    j = np.random.default_rng(0).integers(size, size=16)
    expected = exact_turns(np.outer(j, np.arange(size)), size) @ values
    result = fft.transform(x, y, fft.roots_of_unity(size))
    error = np.abs(result[0, j] + 1j * result[1, j] - expected)
    # Two to four passes, each with rounding of 1e-16 of the root mean square.
    assert error.max() < 2e-15 * np.sqrt(2 * size)


@pytest.mark.parametrize("size", [72, 96, 480, 1800])
def test_nodes_have_the_values_of_the_series(size):
    """Degrees would be taken at the wrong nodes, or be lost where lanes are not full."""
    for degree in (0, 1, 7, 8, size // 2, size - fft.SPARE):
        series = np.random.default_rng(degree).normal(size=(degree + 1, 2)) @ [1, 1j]
        turns = exact_turns(np.outer(np.arange(2 * size), np.arange(degree + 1)), 2 * size)
        expected = 2 * (turns[:, 1:] @ series[1:]).real + 3.0
        x, y = rows(size)
        result = fft.to_nodes(series, 3.0, x, y, fft.roots_of_unity(size))[:, :size]
        bound = 2e-16 * np.log2(size) * np.sqrt(degree + 9)
        np.testing.assert_allclose(result.T.ravel(), expected, rtol=0, atol=10 * bound)


@pytest.mark.parametrize("size", [72, 96, 480, 1800])
def test_derivative_of_values(size):
    """Parts of the packed transform would be mixed up; degree 0 would not be exactly zero."""
    values = np.random.default_rng(size).normal(size=2 * size)
    for degree in (0, 1, 7, 8, size - fft.SPARE):
        k = np.arange(degree + 1)
        turns = exact_turns(-np.outer(k, np.arange(2 * size)), 2 * size)
        expected = -1.5j * k * (turns @ values) / (2 * size)
        x, y = rows(size)
        x[1, :size], x[0, :size] = values[::2], values[1::2]
        result = fft.derivative(x, y, degree, -1.5, fft.roots_of_unity(size))
        assert result.shape == (degree + 1,) and result[0] == 0.0
        bound = 2e-16 * np.log2(size) / np.sqrt(size) * (degree + 1)
        np.testing.assert_allclose(result, expected.astype(complex), rtol=0, atol=bound)
