"""Kernels of the circle: the same compiled and as Python, where every index is checked."""

import numpy as np
import pytest
from advection import circle_advection
from parameters import each

from meanfield.engines.fourier.transform import roots_of_unity

POINTS = "engines.fourier"


def _angles(count: int) -> np.ndarray:
    return np.random.default_rng(count).uniform(-9.0, 9.0, count)


def _weights(count: int) -> np.ndarray:
    return np.random.default_rng(count).dirichlet(np.ones(count))


@pytest.mark.parametrize("method", ["recurrence", "cells"])
@pytest.mark.parametrize("weighted", [False, True])
def test_moments(agree, method, weighted):
    """Blocks, or their ends, would be read beyond: 201 tokens are more than one, and odd."""
    weights = _weights(201) if weighted else None
    agree(f"{POINTS}.{method}:moments", _angles(201), weights, 13, atol=1e-14)


@pytest.mark.parametrize("radius", [0.05, 0.6, 1.5])
def test_neighbourhoods(agree, radius):
    """Angles beyond a turn would be read, or cells behind the last be counted."""
    agree("spaces.circle.neighbourhoods:dense_groups", _angles(300), _weights(300), radius, 0.01)
    for points in (_angles(300), _angles(1)):
        agree("spaces.circle.neighbourhoods:dense", points, None, radius, 0.01)
    agree("engines.fourier.neighbourhood_kernels:is_filled", _angles(4000), radius, 0.01)


SERIES = [np.array([4.0, 1.0 - 0.5j, 0.3j, 0.1, 0.2, 0.05]), np.array([3.0, 0.5j])]


@pytest.mark.parametrize("count", [1, 2])
def test_values(agree, count):
    """A degree would be missed at the border of a group of nine, rows of eight tokens be mixed."""
    agree(f"{POINTS}.recurrence:evaluate", SERIES[:count], _angles(20), atol=1e-14)
    for tokens in (24, 37):
        for depth in (1, 2):
            args = (SERIES[:count], _angles(tokens), depth)
            agree(f"{POINTS}.cells:evaluate", *args, atol=1e-14)


@pytest.mark.parametrize("normalized", [False, True])
def test_velocity_in_the_own_field(agree, normalized):
    """Multipliers would be read beyond their end."""
    attention = np.array([4.0, 1.0, 0.3, 0.1, 0.02, 0.01]) if normalized else None
    args = (_angles(20), _weights(20), np.array([0.0, 1.0, 0.3, 0.1, 0.02, 0.01]), attention)
    agree("engines.fourier.tokens:own_velocity", *args, atol=1e-14)


@pytest.mark.parametrize("targets", [None, np.array([0.5, 3.0])])
@each("beta", [5.0, -5.0, 2e4], normalized=[False, True])
def test_pairs(agree, beta, normalized, targets):
    """Tokens would be met twice or not at all; beta = 2e4 takes the way around underflow."""
    args = (_angles(6), _weights(6), beta, normalized, targets)
    # Rounding of exponents up to 4e4.
    agree("engines.pairs.circle:exponential_velocity_circle", *args, rtol=1e-10, atol=1e-300)


def test_pairs_at_huge_angles(agree):
    """Angles that are not reduced exactly would not be sent the other way."""
    args = (np.array([2e9, 1.0, 2.0]), np.full(3, 1.0 / 3.0), 2.0, True)
    agree("engines.pairs.circle:exponential_velocity_circle", *args)


def test_advection(agree):
    """Lanes would be read or written beyond the last, radix 3, 4 and 5."""
    rng = np.random.default_rng(0)
    density = rng.normal(size=50) + 1j * rng.normal(size=50)
    density[0] = 1.0
    partition = np.array([9.0, 0.5 + 0.0j])
    for degree, divisor, size in ((5, None, 72), (45, None, 120), (45, partition, 128)):
        potential = rng.normal(size=degree + 1) + 1j * rng.normal(size=degree + 1)
        args = (density, potential, divisor, 49, roots_of_unity(size))
        agree(circle_advection, *args, rtol=1e-9, atol=1e-10)


def _moments_of_a_run(normalized: bool, diffusivity: float) -> np.ndarray:
    import meanfield as mf

    flow = mf.Flow(normalized=normalized, diffusivity=diffusivity)
    law = mf.perturbed_uniform([[1, 0.2, 0.0]])
    problem = mf.Problem(mf.Circle(), mf.exponential(1.0), flow, law)
    return mf.simulate(problem, until=0.5, save=2, tolerance=1e-6).moments


@pytest.mark.slow
@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("diffusivity", [0.0, 0.1])
def test_runs(agree, normalized, diffusivity):
    """Multipliers would be read beyond the kernel's degree, or stages of a step be exchanged."""
    # Steps may differ in their last digit: their errors are below the tolerance.
    agree(_moments_of_a_run, normalized, diffusivity, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("potential", [0.0, np.inf])
@pytest.mark.parametrize("partition", [None, np.array([9.0, 0.5 + 0.0j])])
def test_advection_by_nothing(agree, potential, partition):
    """A velocity of zero would not be zero, one that is not finite would be."""
    density, roots = np.ones(50, complex), roots_of_unity(72)
    args = (density, np.full(46, potential + 0j), partition, 49, roots)
    agree(circle_advection, *args)


def _fields() -> np.ndarray:
    rng = np.random.default_rng(3)
    fields = np.zeros((5, 9), complex)
    fields[1:] = rng.normal(size=(4, 9)) + 1j * rng.normal(size=(4, 9))
    fields[2, 3:] = 0.0
    # A maximum of fourth order: the derivative touches zero.
    fields[3] = 0.0
    fields[3, 1], fields[3, 2] = 0.5, -0.125
    # A narrow bump with no tail left.
    fields[4] = np.exp(-0.5 * np.arange(9) ** 2)
    return fields


@pytest.mark.slow
def test_maxima(agree):
    """The stack of intervals would overflow, or a sign be read from nothing."""
    agree("spaces.circle.maxima:count_maxima", _fields())
    for field in _fields()[1:]:
        agree("spaces.circle.maxima:maxima", field, rtol=1e-7, atol=1e-9)
        agree("spaces.circle.maxima:basins", field, np.linspace(0.1, 6.0, 7))


def test_maximum_at_the_first_guess(agree):
    """Where p is zero there is no side to go on; where it is zero everywhere, no maximum."""
    slopes = np.array([0.0, 1j])
    agree("engines.fourier.maxima_kernels:polish", slopes, 1, -1.0, 1.0)
    nothing, some = np.zeros(0), np.zeros(8)
    args = (0.0 * slopes, 1, some, some, np.ones(3), 1e-15, nothing, nothing)
    agree("engines.fourier.maxima_kernels:falls", *args)
