"""Pair correlations in theory and measured: orders of closures, exact slopes, growth in runs."""

from concurrent.futures import ThreadPoolExecutor

import mpmath
import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.fields.interactions import interaction_of
from meanfield.laws.sampling import tokens_of
from meanfield.papers.pair_correlation import (
    CLOSURES,
    _second_difference,
    initial_slopes,
    kirkwood_closure,
    linear_closure,
    linear_growth,
    next_order,
    next_order_share,
    pair_basis,
    third_cumulant_closure,
)
from meanfield.spaces.manifold import laplacian_eigenvalues
from meanfield.studies.corrected_law import quiet_time
from meanfield.studies.study import initial_density, rng_of
from meanfield.studies.token_runs import pair_velocity

BETA = 2.0
USA = mf.Problem(mf.Circle(), mf.exponential(BETA), mf.USA)
HALF = [0.5 * np.exp(BETA)]


def test_orders_are_those_printed():
    """A sign or a factor in either order of E|c_k|^2 would show."""
    leading = [2.215146, 3.966551, 2.604732, 1.500545, 1.130682]
    second = [-4.60425443, -15.88337066, 3.76161653, 18.70648034, 16.44782008]
    np.testing.assert_allclose(linear_growth(USA, HALF, 5)[0, 1:], leading, rtol=0, atol=5e-7)
    np.testing.assert_allclose(next_order(USA, HALF, 5)[0, 1:], second, rtol=0, atol=5e-9)
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
    np.testing.assert_allclose(slopes, initial_slopes(USA, tokens, 8)[1:], rtol=0, atol=1e-6)


@pytest.mark.parametrize("manifold", [mf.Circle(), mf.Sphere()])
def test_noise_feeds_every_degree(manifold):
    """C' = 2 lambda C + 2 D L: at infinite temperature nothing would change."""
    flow = mf.Flow(normalized=True, diffusivity=0.05)
    problem = mf.Problem(manifold, mf.exponential(3.0), flow)
    h, degrees = 1e-4, 6
    before, now, after = linear_growth(problem, [2.0 - h, 2.0, 2.0 + h], degrees)
    noise = 2 * 0.05 * laplacian_eigenvalues(manifold.dimension, degrees)
    expected = 2.0 * mf.growth_rates(problem, degrees) * now + noise
    np.testing.assert_allclose((after - before) / (2 * h), expected, rtol=0, atol=1e-7)


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


@pytest.mark.parametrize("tokens", [2, 3])
def test_slope_at_time_zero_is_that_of_the_exact_right_hand_side(tokens):
    """Mean of d|c_k|^2/dt over all places of the other tokens: trapezoidal sums, exact here."""
    nodes = np.linspace(0.0, 2.0 * np.pi, 48, endpoint=False)
    axes = np.meshgrid(*[nodes] * (tokens - 1), indexing="ij")
    angles = np.stack([np.zeros_like(axes[0]), *axes], axis=-1).reshape(-1, tokens)
    x = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    v = pair_velocity(USA)(x)
    speed = x[..., 0] * v[..., 1] - x[..., 1] * v[..., 0]
    for k, exact in enumerate(initial_slopes(USA, tokens, 4)):
        waves = np.exp(-1j * k * angles)
        moment, rate = waves.mean(axis=1), (-1j * k * speed * waves).mean(axis=1)
        assert 2.0 * (np.conj(moment) * rate).real.mean() == pytest.approx(exact, abs=1e-14)


def test_slope_on_the_sphere_is_exact_for_two_tokens():
    """2 E[P_l'(s) d<x, y>/dt] / 4 over s uniform in [-1, 1]."""
    problem = mf.Problem(mf.Sphere(), mf.exponential(beta=3.0), mf.USA)
    s, weights = np.polynomial.legendre.leggauss(40)
    x = np.stack([np.array([np.sqrt(1 - s**2), 0 * s, s]).T, np.tile([0.0, 0, 1], (40, 1))], 1)
    v = pair_velocity(problem)(x)
    change = (x[:, 0] * v[:, 1] + x[:, 1] * v[:, 0]).sum(axis=1)
    for l, exact in enumerate(initial_slopes(problem, 2, 4)):
        slope = np.polynomial.legendre.Legendre.basis(l).deriv()(s)
        assert 0.5 * (0.5 * weights * slope * change).sum() == pytest.approx(exact, abs=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("manifold", "flow", "tokens", "runs", "step"),
    [
        (mf.Circle(), mf.SA, 100, 400, None),
        (mf.Circle(), mf.USA, 400, 100, None),
        (mf.Sphere(), mf.USA, 100, 200, None),
        (mf.Circle(), mf.Flow(normalized=True, diffusivity=0.05), 100, 400, 0.1),
    ],
)
def test_fluctuations_about_uniform_grow_as_the_linear_flow(manifold, flow, tokens, runs, step):
    """To 1/N beside them, which is taken as a twentieth, and four standard errors."""
    problem = mf.Problem(manifold, mf.exponential(beta=3.0), flow)
    time = 0.5 * np.log(2.0) / mf.growth_rate_max(problem)
    correlation = mf.pair_correlation(problem, tokens, times=[time], runs=runs, step=step)
    expected = linear_growth(problem, [time], 5)[0, 1:]
    error = 4.0 * tokens * correlation.standard_errors[0, 1:6] + 0.05 * expected
    assert expected.max() > 1.9
    assert np.all(np.abs(tokens * correlation.second_moments[0, 1:6] - expected) < error)


@pytest.mark.slow
def test_few_tokens_follow_the_next_order():
    """The next order would leave over a third of the linear closure's 15 per cent at 16 tokens."""
    time = [0.25 * np.exp(2.0)]
    correlation = mf.pair_correlation(USA, 16, times=[0.0, *time], runs=4000, seed=1)
    growth = linear_growth(USA, time, 6)[0]
    # What the draws had too much at time 0 has grown, and its mean is known.
    first, last = correlation.second_moments[:, :7]
    result = last - growth * (first - 1 / 16)
    result[0] = 1.0
    following = third_cumulant_closure(USA, 16, time, 6)[0]
    psi = (result - 1 / 16) / (1 - 1 / 16)
    linear = (growth - 1.0) / 16
    assert np.abs(psi - following)[1:].max() < 0.33 * np.abs(psi - linear)[1:].max()


def measured(tokens: int, time: float, runs: int) -> tuple[np.ndarray, np.ndarray]:
    """N^2 (E|c|^2 - lead / N) and errors, less what the draws had too much at time 0."""
    growth, result = linear_growth(USA, [time], 5)[0, 1:], []
    for seed in range(20):
        correlation = mf.pair_correlation(USA, tokens, times=[0.0, time], runs=runs, seed=seed)
        first, last = correlation.second_moments[:, 1:6]
        result.append(tokens**2 * (last - growth * (first - 1 / tokens)) - tokens * growth)
    return np.mean(result, axis=0), np.std(result, axis=0) / np.sqrt(19)


@pytest.mark.slow
def test_second_order_is_that_of_runs():
    """Extrapolated from two sizes; what is left is a fiftieth of the largest, O(1/N^2)."""
    time = 0.5 * np.exp(2.0)
    small, of_small = measured(32, time, 1000)
    large, of_large = measured(64, time, 1000)
    exact = next_order(USA, [time], 5)[0, 1:]
    error = np.hypot(2.0 * of_large, of_small)
    assert np.all(error < 1.5)
    assert np.all(np.abs(2.0 * large - small - exact) < 4.0 * error + 0.02 * np.abs(exact).max())


@pytest.mark.parametrize(
    ("manifold", "mode"), [(mf.Circle(), [1, 0.3, 0.2]), (mf.Sphere(), [1, 0, 0.4])]
)
def test_second_moments_are_means_over_pairs(manifold, mode):
    """E|c_l|^2 = 1/N + (1 - 1/N) psi^_l holds to rounding for whatever was drawn."""
    law = mf.perturbed_uniform([mode])
    problem = mf.Problem(manifold, mf.exponential(beta=2.0), mf.USA, law)
    correlation = mf.pair_correlation(problem, 5, times=[0.0], runs=3, seed=7)
    density, length = initial_density(problem), 2**15 // 5
    points = tokens_of(problem.manifold, density, 5 * length, rng_of(7, 5, 0))[:15]
    cosines = np.array([x @ x.T for x in problem.manifold.vectors(points).reshape(3, 5, -1)])
    others = np.arccos(np.clip(cosines[:, ~np.eye(5, dtype=bool)], -1.0, 1.0)).ravel()
    values = pair_basis(manifold.dimension, correlation.max_degree, np.append(0.0, others))
    direct = values[:, 1:].mean(axis=1) / values[:, 0]
    np.testing.assert_allclose(correlation.correlations[0], direct, rtol=0, atol=1e-13)


def test_tokens_of_any_density_start_independent():
    """psi^_l(0) = |f_l|^2, and energies follow."""
    problem = mf.Problem(mf.Circle(), mf.exponential(beta=2.0), mf.USA, mf.von_mises_fisher(1.5))
    correlation = mf.pair_correlation(problem, 20, times=[0.0], runs=500)
    expected = np.abs(initial_density(problem).moments(correlation.max_degree)) ** 2
    error = 4.0 * correlation.correlation_errors[0] + 1e-14
    assert np.all(np.abs(correlation.correlations[0] - expected) < error)
    angles = np.array([0.0, 1.0, 3.0])
    psi, spread = correlation.psi(angles)
    series = expected @ pair_basis(1, correlation.max_degree, angles)
    assert np.all(np.abs(psi[0] - series) < 4.0 * spread[0])
    moments = initial_density(problem).moments(problem.kernel_degree)
    energy = 1 / 20 + 19 / 20 * mf.observables.interaction_energy(problem, moments)
    assert abs(correlation.energy[0] - energy) < 4.0 * correlation.energy_error[0]


@pytest.mark.slow
def test_runs_do_not_depend_on_who_computes():
    """Blocks draw their own tokens, and sums are taken in one order."""
    options = {"times": [0.0, 0.01, 0.02], "runs": 700}
    alone = mf.pair_correlation(USA, 50, **options)
    with ThreadPoolExecutor(2) as executor:
        beside = mf.pair_correlation(USA, 50, **options, executor=executor, progress=True)
    assert np.array_equal(alone.second_moments, beside.second_moments)
    assert "700 runs, 3 times up to 0.02" in repr(alone)


@pytest.mark.parametrize(("manifold", "tokens"), [(mf.Circle(), 10**5), (mf.Sphere(), 10**6)])
def test_random_phases_start_as_the_linear_flow(manifold, tokens):
    """Moments of every order have the variance C_l / N, and grow with their degree."""
    problem = mf.Problem(manifold, mf.exponential(beta=4.0), mf.USA)
    times = quiet_time(problem, tokens) * np.array([0.5, 1.0])
    correlation = mf.pair_correlation(problem, tokens, times=times, runs=100, start="random phase")
    growth = linear_growth(problem, times, 6)[:, 1:]
    early = tokens * correlation.second_moments[:, 1:7]
    np.testing.assert_allclose(early[1] / early[0], growth[1] / growth[0], rtol=1e-12)
    assert np.all(np.abs(early - growth) < 4.0 * tokens * correlation.standard_errors[:, 1:7])


def test_random_phases_go_on_where_the_linear_flow_ends():
    """Nodes have the moments of their draw to first order; then clusters form."""
    problem = mf.Problem(mf.Circle(), mf.exponential(beta=4.0), mf.USA)
    quiet, end = quiet_time(problem, 10**5), 2.0 * mf.onset_time(problem, 10**5)
    times = [quiet, 1.001 * quiet, end]
    correlation = mf.pair_correlation(problem, 10**5, times=times, runs=6, start="random phase")
    before, after = correlation.second_moments[:2, 1:6]
    # The amplitude of the start is 0.08; its square is that of what is left out.
    assert np.abs(after - before).max() < 0.03 * before.max()
    assert correlation.energy[2] > 2.0 * correlation.energy[0]


HEADS = [mf.Head(score=[[0.5, 1.0], [-1.0, 0.5]], value=[1.0, -0.3]), mf.Head(value=0.5)]


@pytest.mark.parametrize(
    "problem",
    [
        mf.Problem(mf.Circle(), mf.zonal(lambda s: 1.0 + 0.5 * s), mf.Flow("none", strength=-2.0)),
        mf.Problem(mf.Sphere(), mf.exponential(3.0), mf.Flow(normalized=True, strength=-2.0)),
        mf.Problem(mf.Circle(), mf.Attention(HEADS, beta=2.0, normalization="none")),
        mf.Problem(mf.Circle(), mf.Attention(HEADS, beta=2.0)),
    ],
)
def test_runs_together_move_as_single_ones(problem):
    """Strength, scale and normalisation of kernels and heads, against the field of moments."""
    space = problem.manifold
    points = space.random_points(30, np.random.default_rng(0)).reshape(2, 15, *space.point_shape)
    x = np.array([space.vectors(each) for each in points])
    for own, each in zip(pair_velocity(problem)(x), points, strict=True):
        v = interaction_of(problem).of_points(each, None).velocity(each)
        h = 1e-4
        moved = space.vectors(each + h * v) - space.vectors(each - h * v)
        expected = v if space.dimension == 2 else moved / (2.0 * h)
        np.testing.assert_allclose(own, expected, rtol=0, atol=1e-7)


def test_wrong_questions_are_refused():
    """One line each."""
    ask = mf.pair_correlation
    refused(r"times must be increasing and not negative, got \[1.0", ask, USA, 10, times=[1.0, 1.0])
    refused("runs must lie between 2", ask, USA, 10, times=[1.0], runs=1)
    refused("step = 0.1 is for particles with noise", ask, USA, 10, times=[1.0], step=0.1)
    high = mf.Problem(mf.Sphere(8), mf.exponential(2.0), mf.USA)
    refused("circle and the sphere, got", ask, high, 10, times=[1.0])
    heads = mf.Attention([mf.Head()], beta=2.0, normalization="sinkhorn")
    sinkhorn = mf.Problem(mf.Circle(), heads)
    refused("attention alone, softmax or none", ask, sinkhorn, 10, times=[1.0])
    message = "fluctuations of 100 tokens are not small at time 0"
    refused(message, ask, USA, 100, times=[1.0], start="random phase")
    result = ask(USA, 10, times=[0.0], runs=2)
    refused("'cubic' is not known. Known: Kirkwood, linear, third", result.closure, "cubic")
    refused("angles must be a list of finite numbers", result.psi, np.nan)
    peaked = mf.Problem(mf.Circle(), mf.exponential(2.0), mf.USA, mf.von_mises_fisher(1.0))
    refused("closures start from uniform tokens", ask(peaked, 10, times=[0.0], runs=2).closure)
    message = "random phases are those of uniform tokens"
    refused(message, ask, peaked, 10, times=[0.0], runs=2, start="random phase")


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_runs_that_cannot_go_on_say_so():
    """Velocities beyond the doubles."""
    fast = mf.Problem(mf.Circle(), mf.exponential(2.0), mf.Flow("none", strength=1e80))
    with pytest.raises(mf.SimulationError, match="steps fell below rounding"):
        mf.pair_correlation(fast, 10, times=[1.0], runs=2)
