"""The cluster-count law in closed form, against printed tables, quadrature and limits."""

import math

import numpy as np
import pytest
from noise import noisy
from parameters import refused, together
from scipy.integrate import solve_ivp
from scipy.special import ive

import meanfield as mf
from meanfield.spectrum.cluster_counts import mean_maxima, potential_variances

# Inverse temperatures of the printed means.
BETAS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30, 50, 100)
SPHERE_MEANS = {1: 1.002, 2: 1.485, 3: 2.023, 5: 3.106, 8: 4.802, 12: 7.105}
PURE_DEGREES = {
    1: 1.0, 2: 2.0, 3: 3.711631, 4: 6.013774, 5: 8.897065, 6: 12.359237, 8: 21.017516,
    10: 31.986228, 15: 69.513037,
}  # fmt: skip


def circle(beta: float, flow: mf.Flow = mf.USA) -> mf.Problem:
    return mf.Problem(mf.Circle(), mf.exponential(beta), flow)


def test_mean_is_that_of_the_table():
    """Sphere, N = 1,000, three decimals; another growth rate or weight would move them."""
    problems = [mf.Problem(mf.Sphere(), mf.exponential(beta), mf.USA) for beta in SPHERE_MEANS]
    result = [mf.mean_clusters(problem, 1000) for problem in problems]
    assert result == pytest.approx(list(SPHERE_MEANS.values()), abs=6e-4)


@together("beta, time", [*((beta, None) for beta in BETAS), (10, 0.0), (50, 0.0), (100, 0.0)])
def test_mean_is_a_sum_of_bessel_functions(beta, time):
    """Circle, at the onset and at time 0, where the count is that of a kernel density estimate."""
    k = np.arange(1, 151)
    bessel = ive(k, beta)
    rates = k**2 * bessel / beta
    end = math.log(1000) / (2 * rates.max()) if time is None else 0.0
    w = bessel**2 * np.exp(2 * rates * end)
    exact = math.sqrt((k**4 * w).sum() / (k**2 * w).sum())
    # Degrees cut at 1e-12 of the curvature move the mean by half of that at most.
    assert mf.mean_clusters(circle(beta), 1000, time=time) == pytest.approx(exact, rel=2e-12)


def test_pure_degrees_have_their_maxima(verified):
    """Kac-Rice of random spherical harmonics, six decimals; a cosine of degree k has k."""
    assert mean_maxima(1, np.array([5.0, 0.0, 0.0, 0.0, 2.0])) == pytest.approx(4.0, rel=1e-15)
    means = [mean_maxima(2, 7.0 * (np.arange(l + 1) == l)) for l in PURE_DEGREES]
    what = "Kac-Rice mean number of maxima of random harmonics, sphere, as printed"
    verified("exact solutions", what, np.subtract(means, list(PURE_DEGREES.values())), 6e-7)


def test_sphere_formula_by_integration():
    """Mean density of maxima from the law of the Hessian, s I + R, integrated numerically."""
    # Var s = 2 C'' + C', |R|^2 exponential of mean 2 C'', gradient of variance C' a component;
    # the area of the sphere is 4 pi.
    first, second = 3.0, 5.5
    u = np.linspace(0.0, 12.0, 200_001)
    weights = np.exp(-(u**2) / 2) / math.sqrt(2 * math.pi)
    # E (s^2 - |R|^2)_+ over |R|^2 for one s.
    square = u**2 * (2 * second + first)
    inner = square - 2 * second * (1 - np.exp(-square / (2 * second)))
    expected = np.trapezoid(inner * weights, u)
    density = expected / (2 * math.pi * first)
    # Two degrees with these derivatives: v_2, v_3 from C' and C''.
    matrix = np.array([[5 * 6 / 2, 7 * 12 / 2], [5 * 24 / 8, 7 * 120 / 8]])
    v = np.linalg.solve(matrix, [first, second])
    mean = mean_maxima(2, np.array([0.0, 0.0, *v]))
    assert mean == pytest.approx(4 * math.pi * density, rel=1e-9)  # the trapezoidal rule's error


def test_wells_at_large_beta():
    """sqrt(3 beta / 2) wells on the circle and beta / sqrt(3) on the sphere, to first order."""
    beta = 4000.0
    sphere = mf.Problem(mf.Sphere(), mf.exponential(beta), mf.USA)
    result = [mf.mean_clusters(problem, 10, time=0.0) for problem in (circle(beta), sphere)]
    assert result[0] == pytest.approx(math.sqrt(1.5 * beta), rel=2 / beta)
    assert result[1] == pytest.approx(beta / math.sqrt(3.0), rel=4 / beta)


def test_softmax_changes_nothing_at_the_onset():
    """USA and SA differ by a factor of time, which the onset time takes out."""
    softmax = mf.mean_clusters(circle(9.0, mf.SA), 1000)
    assert softmax == pytest.approx(mf.mean_clusters(circle(9.0), 1000), rel=1e-13)


def test_linear_kernel_makes_one_cluster():
    """Only degree 1 acts: one well for every N, exactly."""
    for manifold in (mf.Circle(), mf.Sphere()):
        assert mf.mean_clusters(mf.Problem(manifold, mf.linear(), mf.USA), 50) == 1.0


def test_nothing_grows_nothing_counts():
    """A repelling flow has a stable uniform state: no clusters, and no exception."""
    problem = circle(5.0, mf.Flow("none", strength=-1.0))
    assert mf.mean_clusters(problem, 1000) == 0.0
    assert not potential_variances(problem, 1000).any()
    assert mf.tokens_for_dominance(problem) == math.inf


def test_variance_of_sampled_tokens():
    """At time 0 the variances would differ from 4,000 draws of tokens by 4 standard errors."""
    problem, n, draws = circle(5.0), 50, 4000
    rng = np.random.default_rng(3)
    angles = rng.uniform(0, 2 * np.pi, (draws, n, 1))
    moments = np.exp(-1j * angles * np.arange(5)).mean(axis=1)
    fields = problem.kernel.potential_multipliers(1, 4) * moments
    measured = (np.abs(fields[:, 1:]) ** 2).mean(axis=0)
    expected = potential_variances(problem, n, time=0.0)[1:5]
    assert np.all(np.abs(measured / expected - 1) < 4 / math.sqrt(draws))


@pytest.mark.parametrize("manifold", [mf.Circle(), mf.Sphere()], ids=lambda m: m.name)
def test_noise_keeps_independent_tokens_independent(manifold):
    """Without attraction uniform tokens with noise stay iid: E|m_l|^2 = 1/N at every time."""
    flow = mf.Flow("none", strength=1e-12, diffusivity=0.03)
    problem = mf.Problem(manifold, mf.exponential(5.0), flow)
    still = mf.Problem(manifold, mf.exponential(5.0), mf.Flow("none", strength=1e-12))
    for time in (7.0, 1e5):
        variances = potential_variances(problem, 100, time)
        assert np.allclose(variances, potential_variances(still, 100, time=0.0), rtol=1e-9)


@pytest.mark.parametrize("share, time", [(0.3, 9.0), (0.95, 200.0), (1.05, 915.0), (2.0, 30.0)])
def test_noise_adds_what_the_tokens_draw(share, time):
    """Against the equation d/dt E|m|^2 = 2 lambda E|m|^2 + 2 D k^2 / N, integrated, all degrees."""
    problem = noisy(mf.Circle(), mf.exponential(20.0), share)
    diffusivity = problem.flow.diffusivity
    k = np.arange(problem.kernel_degree + 1)
    rates = mf.growth_rates(problem, problem.kernel_degree)
    grown = solve_ivp(
        lambda t, e: 2 * rates * e + 2 * diffusivity * k**2 / 50, (0, time),
        np.full(len(k), 1 / 50), method="LSODA", rtol=1e-11, atol=1e-14,
    ).y[:, -1]  # fmt: skip
    expected = problem.kernel.potential_multipliers(1, problem.kernel_degree) ** 2 * grown
    expected[0] = 0.0
    variances = potential_variances(problem, 50, time)
    assert np.allclose(variances, expected[: len(variances)], rtol=1e-7)
    # What was cut changes nothing.
    assert mean_maxima(1, variances) == pytest.approx(mean_maxima(1, expected), rel=1e-7)


def test_wells_of_noise_alone_are_those_of_independent_tokens():
    """Strong noise keeps tokens independent: wells at large times are those at the start."""
    problem = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.Flow("none", diffusivity=1e3))
    early, late = (mf.mean_clusters(problem, 10, time) for time in (1.0, 1e9))
    at_first = mf.mean_clusters(problem, 10, time=0.0)
    # Strong noise makes attraction a correction of relative size A_1 / D = 3e-5.
    assert early == pytest.approx(late, rel=1e-12)
    assert late == pytest.approx(at_first, rel=1e-4)


@pytest.mark.parametrize(
    ("beta", "exponent"), [(4, 13.8), (5, 16.5), (7, 33.0), (8, 17.8), (10, 202), (20, 107)]
)
def test_tokens_for_dominance(beta, exponent):
    """Powers of ten of the table: the gap of the spectrum is far from 10 to 1 at any real N."""
    result = math.log10(mf.tokens_for_dominance(circle(beta)))
    assert result == pytest.approx(exponent, abs=0.5 if exponent > 100 else 0.05)


def test_dominance_by_growth():
    """At that number of tokens the second amplitude really is ten times smaller at the onset."""
    problem = circle(2.0)
    n = mf.tokens_for_dominance(problem)
    first, second = np.sort(mf.growth_rates(problem))[:-3:-1]
    time = math.log(n) / (2 * first)
    assert math.exp((first - second) * time) == pytest.approx(10.0, rel=1e-12)


def test_wrong_values_are_refused():
    """Each says what is allowed."""
    refused("at least 2", mf.mean_clusters, circle(5.0), 1)
    refused("above 1", mf.tokens_for_dominance, circle(5.0), ratio=1.0)
    refused("far beyond the linear phase", mf.mean_clusters, circle(5.0), 100, time=1e6)
    refused("circle or the sphere", mean_maxima, 3, np.ones(3))
