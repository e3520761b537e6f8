"""The cluster-count law in closed form, against printed tables, quadrature and limits."""

import math

import mpmath
import numpy as np
import pytest
from parameters import refused
from scipy.integrate import solve_ivp

import meanfield as mf
from meanfield.spectrum.cluster_counts import mean_maxima, potential_variances

CIRCLE_MEANS = {
    1: 1.204, 2: 1.981, 3: 2.278, 4: 2.721, 5: 3.028, 6: 3.311, 7: 3.585, 8: 3.837, 10: 4.296,
    12: 4.708, 15: 5.271, 20: 6.092, 30: 7.468, 50: 9.650, 100: 13.657,
}  # fmt: skip
SPHERE_MEANS = {1: 1.002, 2: 1.485, 3: 2.023, 5: 3.106, 8: 4.802, 12: 7.105}
PURE_DEGREES = {
    1: 1.0, 2: 2.0, 3: 3.711631, 4: 6.013774, 5: 8.897065, 6: 12.359237, 8: 21.017516,
    10: 31.986228, 15: 69.513037,
}  # fmt: skip


def circle(beta: float, flow: mf.Flow = mf.USA) -> mf.Problem:
    return mf.Problem(mf.Circle(), mf.exponential(beta), flow)


@pytest.mark.parametrize(
    ("manifold", "means"),
    [(mf.Circle(), CIRCLE_MEANS), (mf.Sphere(), SPHERE_MEANS)],
    ids=["circle", "sphere"],
)
def test_mean_is_that_of_the_table(manifold, means):
    """N = 1,000, three decimals; another growth rate or weight would move them."""
    problems = [mf.Problem(manifold, mf.exponential(beta), mf.USA) for beta in means]
    result = [mf.mean_clusters(problem, 1000) for problem in problems]
    assert result == pytest.approx(list(means.values()), abs=6e-4)


def test_mean_by_extended_precision():
    """The sum with mpmath's Bessel functions and 30 digits: agreement to rounding of exponents."""
    beta, n = 9, 1000
    with mpmath.workdps(30):
        rates = [k**2 * mpmath.besseli(k, beta) / beta for k in range(41)]
        time = mpmath.log(n) / (2 * max(rates))
        w = [mpmath.besseli(k, beta) ** 2 * mpmath.exp(2 * r * time) for k, r in enumerate(rates)]
        fourth, second = (sum(k**p * w[k] for k in range(1, 41)) for p in (4, 2))
        exact = mpmath.sqrt(fourth / second)
        # Degrees cut at 1e-12 of the curvature move the mean by half of that at most.
        assert mf.mean_clusters(circle(beta), n) == pytest.approx(float(exact), rel=2e-12)


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


@pytest.mark.parametrize(("beta", "wells"), [(10, 3.8587), (50, 8.6532), (100, 12.2424)])
def test_wells_before_any_motion(beta, wells):
    """At time 0 the count is that of a kernel density estimate, near sqrt(3 beta / 2)."""
    assert mf.mean_clusters(circle(beta), 1000, time=0.0) == pytest.approx(wells, abs=6e-5)


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
    """Only degree 1 is felt: one well for every N, exactly."""
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
    w = problem.kernel.potential_multipliers(1, 4)
    fields = np.array(
        [w * problem.manifold.moments(rng.uniform(0, 2 * np.pi, n), None, 4) for _ in range(draws)]
    )
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
    bare = mf.Problem(mf.Circle(), mf.exponential(20.0), mf.USA)
    diffusivity = share * mf.critical_diffusivity(bare)
    problem = mf.Problem(mf.Circle(), bare.kernel, mf.Flow("none", diffusivity=diffusivity))
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
    # What was cut is not felt.
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
