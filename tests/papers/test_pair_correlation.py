"""Pair correlations in theory: printed second order, orders of the closures, exact slopes."""

import mpmath
import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.papers.pair_correlation import (
    CLOSURES,
    _second_difference,
    initial_slopes,
    kirkwood_closure,
    linear_closure,
    linear_growth,
    next_order,
    next_order_share,
    third_cumulant_closure,
)
from meanfield.spaces.manifold import laplacian_eigenvalues

BETA = 2.0
USA = mf.Problem(mf.Circle(), mf.exponential(BETA), mf.USA)
HALF = [0.5 * np.exp(BETA)]


def test_orders_are_those_printed():
    """A sign or a factor in either order of E|c_k|^2 would show."""
    leading = [2.215146, 3.966551, 2.604732, 1.500545, 1.130682]
    second = [-4.60425443, -15.88337066, 3.76161653, 18.70648034, 16.44782008]
    np.testing.assert_allclose(linear_growth(USA, HALF, 5)[0, 1:], leading, atol=5e-7)
    np.testing.assert_allclose(next_order(USA, HALF, 5)[0, 1:], second, atol=5e-9)
    share = next_order_share(USA, 10, HALF, 5)[0, 1:]
    np.testing.assert_allclose(share, np.abs(second) / (10.0 * np.array(leading)), rtol=1e-6)


@pytest.mark.parametrize("width", [0.0, 1e-9, 0.3, 0.999, 1.001, 30.0])
def test_divided_differences_keep_their_digits(width):
    """Where exponents coincide, or nearly, quotients of differences have none."""
    points = np.array([-3.0, -3.0 + width / 3.0, -3.0 + width])
    with mpmath.workdps(60):
        a, b, c = (mpmath.mpf(float(x)) for x in points)
        exact = mpmath.exp(a) / 2
        if width > 0.0:
            below, at, above = map(mpmath.exp, (a, b, c))
            exact = ((above - at) / (c - b) - (at - below) / (b - a)) / (c - a)
    for order in ([0, 1, 2], [2, 0, 1]):
        assert _second_difference(*points[order]) == pytest.approx(float(exact), rel=3e-15)


def test_next_order_solves_its_equations():
    """Sums of exponentials against the equations of the cumulants, stepped."""
    from scipy.integrate import solve_ivp

    time, K, M = 0.7 * np.exp(BETA), 4, 24
    rates = USA.zonal.growth_rates(M)
    pull = np.arange(M + 1) * USA.zonal.couplings(M)
    l, g = (lambda m: rates[np.abs(m)]), (lambda m: np.sign(m) * pull[np.abs(m)])
    pairs = np.array([(k, m) for k in range(1, K + 1) for m in range(-18, 19) if m not in (0, k)])
    k, m = pairs.T
    n = k - m

    def speed(t: float, y: np.ndarray) -> np.ndarray:
        kappa, second = y[: len(k)], y[len(k) :]
        rate = (l(m) + l(n) + l(k)) * kappa
        rate += m * (g(k) - g(n)) * np.exp(2 * (l(n) + l(k)) * t)
        rate += n * (g(k) - g(m)) * np.exp(2 * (l(m) + l(k)) * t)
        rate += k * (g(m) + g(n)) * np.exp(2 * (l(m) + l(n)) * t)
        sums = np.bincount(k, weights=g(m) * kappa, minlength=K + 1)
        degrees = np.arange(K + 1)
        return np.concatenate([rate, 2 * l(degrees) * second + 2 * degrees * sums])

    start = np.concatenate([np.ones(len(k)), np.zeros(K + 1)])
    run = solve_ivp(speed, (0.0, time), start, method="DOP853", rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(next_order(USA, [time], K)[0], run.y[len(k) :, -1], rtol=1e-9)


def test_closures_part_at_the_second_order():
    """Linear and third-cumulant closures, and Kirkwood's, differ by O(1/N^2)."""
    gaps = {name: [] for name in ("linear", "Kirkwood")}
    for tokens in (1000, 2000):
        exact = third_cumulant_closure(USA, tokens, HALF, 12)
        for name, result in gaps.items():
            result.append(np.abs(CLOSURES[name](USA, tokens, HALF, 12) - exact).max())
    for coarse, fine in gaps.values():
        assert np.log2(coarse / fine) == pytest.approx(2.0, abs=0.02)


@pytest.mark.parametrize("name", ["third cumulant", "Kirkwood"])
def test_slopes_at_time_zero_are_exact(name):
    """The pair's own term has the factor that independent tokens have, for few tokens too."""
    tokens, h = 3, 1e-3
    first, second = CLOSURES[name](USA, tokens, [h, 2 * h], 8)[:, 1:]
    slopes = (2.0 * first - 0.5 * second) / h * (1.0 - 1.0 / tokens)
    np.testing.assert_allclose(slopes, initial_slopes(USA, tokens, 8)[1:], atol=1e-6)


@pytest.mark.parametrize("manifold", [mf.Circle(), mf.Sphere()])
def test_noise_feeds_every_degree(manifold):
    """C' = 2 lambda C + 2 D L: at infinite temperature nothing would change."""
    flow = mf.Flow(normalized=True, diffusivity=0.05)
    problem = mf.Problem(manifold, mf.exponential(3.0), flow)
    h, degrees = 1e-4, 6
    before, now, after = linear_growth(problem, [2.0 - h, 2.0, 2.0 + h], degrees)
    noise = 2 * 0.05 * laplacian_eigenvalues(manifold.dimension, degrees)
    expected = 2.0 * mf.growth_rates(problem, degrees) * now + noise
    np.testing.assert_allclose((after - before) / (2 * h), expected, atol=1e-7)


@pytest.mark.slow
def test_kirkwood_says_where_it_ends():
    """Its psi becomes a peak, which no series carries."""
    end = mf.onset_time(USA, 100)
    result = kirkwood_closure(USA, 100, [0.2 * end, 2.0 * end], 12)
    assert np.isfinite(result[0]).all() and np.isnan(result[1]).all()


def test_missing_theory_is_refused():
    """Numbers of no theory would be compared with runs."""
    softmax = mf.Problem(mf.Circle(), mf.exponential(BETA), mf.SA)
    noisy = mf.Problem(mf.Circle(), mf.exponential(BETA), mf.Flow("none", diffusivity=0.1))
    high = mf.Problem(mf.Sphere(8), mf.exponential(BETA), mf.USA)
    refused("known on the circle without normalisation", next_order, softmax, HALF)
    refused("without noise, got diffusivity = 0.1", next_order, noisy, HALF)
    refused("circle and the sphere, got dimension 7", linear_growth, high, HALF)
    refused("far beyond the linear phase", linear_closure, USA, 100, [1e5])
    refused(r"in order and not negative, got \[-1.0\]", linear_closure, USA, 100, [-1.0])
    refused("this flow is normalised", initial_slopes, softmax, 10)
    refused("tokens must be at least 2", linear_closure, USA, 1, [0.0])
