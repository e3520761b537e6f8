"""Growth rates, and what follows from them, against printed tables, closed forms and limits."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from parameters import each, refused
from scipy.special import lambertw

import meanfield as mf
from meanfield.spaces.manifold import laplacian_eigenvalues
from meanfield.spectrum.stability import critical_degree, growth_rate_max
from meanfield.terms.kernels import KERNELS

FLOWS = [
    mf.USA, mf.SA, mf.Flow("none", strength=-1.0), mf.Flow(True, -0.5), mf.Flow(True, 1.0, 0.1),
]  # fmt: skip


def on(dimension: int, kernel: mf.Kernel, flow: mf.Flow = mf.USA) -> mf.Problem:
    manifold = mf.Circle() if dimension == 1 else mf.Sphere(dimension + 1)
    return mf.Problem(manifold, kernel, flow)


@pytest.mark.parametrize("d, beta", [
    (2, -30.0), (2, -5.0), (2, -2.0), (2, -0.3), (3, 0.01), (4, 5.0), (8, 200.0), (64, -5.0),
    # Betas of the tables of theory 1.1 and of repulsion.
    *((d, beta) for d in (2, 3) for beta in (1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 50.0)),
])  # fmt: skip
def test_rates_equal_bessel_functions_in_forty_digits(d, beta, verified):
    """lambda_l = l(l+d-2) Gamma(d/2) (2/b)^{d/2-1} I_{l+d/2-1}(b) / b to 14 digits."""
    usa = mf.growth_rates(on(d - 1, mf.exponential(beta)), 12)
    sa = mf.growth_rates(on(d - 1, mf.exponential(beta), mf.SA), 12)
    with mpmath.workdps(40):
        b, nu = mpmath.mpf(abs(beta)), mpmath.mpf(d) / 2 - 1
        front = mpmath.gamma(nu + 1) * (2 / b) ** nu * mpmath.exp(-b) / beta
        for l in range(1, 13):
            sign = (-1) ** l if beta < 0 else 1
            expected = sign * l * (l + d - 2) * front * mpmath.besseli(l + nu, b)
            mean = front * beta * mpmath.besseli(nu, b)
            errors = [float(usa[l] / expected - 1), float(sa[l] / (expected / mean) - 1)]
            what = "growth rates against 40-digit Bessel functions, dimensions 2 to 64, relative"
            verified("exact solutions", what, errors, 1e-14)


@pytest.mark.parametrize("name", KERNELS)
@each("flow", FLOWS, dimension=[1, 2, 6])
def test_rates_follow_from_the_multipliers(name, dimension, flow):
    """Strength, normalisation and diffusivity enter as l(l+d-2)(strength w_l/z - D)."""
    kernel = KERNELS[name](3.0)
    w = kernel.potential_multipliers(dimension, 9)
    z = kernel.attention_multipliers(dimension, 0)[0] if flow.normalized else 1.0
    expected = laplacian_eigenvalues(dimension, 9) * (flow.strength * w / z - flow.diffusivity)
    rates = mf.growth_rates(on(dimension, kernel, flow), 9)
    np.testing.assert_allclose(rates, expected, rtol=1e-15, atol=1e-16)


@each("flow", [mf.USA, mf.SA], dimension=[1, 2, 3, 7])
def test_rates_tend_to_kuramoto(dimension, flow):
    """As beta -> 0 lambda_1 -> (d-1)/d and the others vanish; linear() is there already."""
    d = dimension + 1
    for kernel, slack in ((mf.exponential(1e-9), 3e-9), (mf.linear(), 1e-15)):
        rates = mf.growth_rates(on(dimension, kernel, flow), 6)
        np.testing.assert_allclose(rates, [0, (d - 1) / d, 0, 0, 0, 0, 0], rtol=0, atol=slack)


@pytest.mark.parametrize(
    "dimension, printed", [(1, (0.733176, 0.735721)), (2, (0.732359, 0.735734))]
)
def test_largest_normalized_rate_tends_to_two_over_e(dimension, printed, verified):
    """As beta -> inf max lambda^SA -> 2/e on every sphere; printed at beta = 100 and 1e4."""
    rates = [mf.growth_rate_max(on(dimension, mf.exponential(beta), mf.SA)) for beta in (1e2, 1e4)]
    assert rates == pytest.approx(printed, rel=0, abs=6e-7)
    rate = mf.growth_rate_max(on(dimension, mf.exponential(1e6), mf.SA))
    # A maximum between integers costs O(1/beta), the asymptotic series as much.
    what = "largest rate under softmax tends to 2 / e, circle and sphere"
    verified("exact solutions", what, rate - 2 / np.e, 2e-6)


@pytest.mark.parametrize("beta", [1e-6, 1.0, 40.0])
def test_first_rate_on_the_sphere_is_elementary(beta):
    """SA, l = 1: 2 (coth beta - 1/beta) / beta, Langevin's function."""
    rate = mf.growth_rates(on(2, mf.exponential(beta), mf.SA), 1)[1]
    with mpmath.workdps(40):
        expected = float(2 * (mpmath.coth(beta) - 1 / mpmath.mpf(beta)) / beta)
    assert rate == pytest.approx(expected, rel=3e-15)


@pytest.mark.parametrize("beta, last", [(0.1, 12), (7.0, 12), (100.0, 32)])
def test_default_degree_shows_the_dominant_one(beta, last):
    """L = max(12, 2 x dominant + 4) is what the command line prints."""
    assert len(mf.growth_rates(on(1, mf.exponential(beta)))) == last + 1


@pytest.mark.parametrize("d, beta", [(1000, 1e5), (64, 1e6)])
def test_normalized_rates_do_not_underflow(d, beta):
    """On S^999 at beta = 1e5 the mean of the kernel is below 1e-308, the quotient is not."""
    rates = mf.growth_rates(on(d - 1, mf.exponential(beta), mf.SA), 5)
    with mpmath.workdps(40):
        nu = mpmath.mpf(d) / 2 - 1
        mean = mpmath.besseli(nu, beta)
        for l in range(1, 6):
            expected = l * (l + d - 2) * mpmath.besseli(l + nu, beta) / (mean * beta)
            assert abs(float(rates[l] / expected - 1)) < 1e-14


THRESHOLDS = {  # by dimension d of the space R^d, degrees 1 -> 2, 2 -> 3, ...
    2: "1.0444568621078 3.1654344427006 6.2112983794320 10.228483162986 15.236276728521 "
    "21.240451963642 28.242957185718 36.244583046742 45.245700253437 55.246502042675 "
    "66.247097495422 78.247552118586 91.247907246350 105.24819003749 120.24841894952 "
    "136.24860689050",
    3: "1.8161545254359 4.4252930123956 7.9623798515463 12.477433109401 17.984893952723 "
    "24.489146808471 31.991810193342 40.493593017624 49.994847051253 60.495763646090 "
    "71.996454446195 84.496988285112 97.997409538014 112.49774788652 127.99802380903 "
    "144.49825181298",
    4: "2.52852031879 5.65582321706 9.6987862733 14.7176117492 20.7275555721",
    8: "5.25111070404 10.5003416829 16.5950434151 23.6427038967 31.6706318872",
    16: "10.6055648566 20.1214184176 30.3321235702 41.4448170916 53.5142161305",
    64: "42.618439455 77.7365985202 112.63663686 148.133743782 184.448634656",
}
FAR = {2: {20: "210.24910109999"}, 3: {20: "220.49885846545"}}


@pytest.mark.parametrize("d", THRESHOLDS)
def test_threshold_equals_the_table(d, verified):
    """To the last printed digit, 11 to 14 of them: the root of a ratio of Bessel functions."""
    for degree, text in (dict(enumerate(THRESHOLDS[d].split(), 1)) | FAR.get(d, {})).items():
        threshold = mf.switching_threshold(mf.Sphere(d), degree)
        decimals = len(text.partition(".")[2])
        # Half a unit of the last digit, and the rounding of the threshold itself.
        slack = 0.51 * 10.0**-decimals + 4e-16 * threshold
        what = "switching thresholds of the dominant degree, dimensions 2 to 64, as printed"
        verified("exact solutions", what, threshold - float(text), slack)


@each("d, degree", [(2, 1), (2, 4), (3, 3), (8, 2), (64, 1)], flow=[mf.USA, mf.SA])
def test_dominant_degree_switches_at_the_threshold(d, degree, flow):
    """Rates and thresholds are computed apart; USA and SA must switch at the same beta."""
    manifold = mf.Sphere(d)
    beta = mf.switching_threshold(mf.Sphere(d), degree)
    for side, expected in ((1 - 1e-9, degree), (1 + 1e-9, degree + 1)):
        problem = mf.Problem(manifold, mf.exponential(side * beta), flow)
        assert mf.dominant_degree(problem) == expected
    rates = mf.growth_rates(mf.Problem(manifold, mf.exponential(beta), flow), degree + 1)
    assert rates[degree] == pytest.approx(rates[degree + 1], rel=2e-14)


@pytest.mark.parametrize(
    "dimension, approximation",
    [
        (1, lambda k: k * (k + 1) / 2 + 1 / 4 - 3 / (8 * (k + 1 / 2) ** 2)),
        (2, lambda l: (l + 1) ** 2 / 2 - 1 / (2 * (l + 1) ** 2)),
    ],
)
def test_thresholds_follow_their_asymptotics(dimension, approximation):
    """A bracket that found another root would show far out, up to degree 300."""
    for degree in (3, 10, 50, 300):
        threshold = mf.switching_threshold(mf.Sphere(dimension + 1), degree)
        assert threshold == pytest.approx(approximation(degree), abs=0.01)


@pytest.mark.parametrize("dimension, beta, count", [
    (1, 0.1, 0), (1, 1.044, 0), (1, 1.045, 1), (1, 28.2, 6), (1, 28.3, 7), (1, 250.0, 21),
    (2, 50.0, 9),
    # k_max of theory, table 1.7, less 1.
    (1, 1.0, 0), (1, 2.0, 1), (1, 4.0, 2), (1, 5.0, 2), (1, 7.0, 3), (1, 10.0, 3), (1, 12.0, 4),
    (1, 20.0, 5), (1, 30.0, 7), (1, 50.0, 9), (1, 100.0, 13),
])  # fmt: skip
def test_thresholds_of_a_problem_are_all_up_to_its_beta(dimension, beta, count):
    """One would be missing or out of order, or depend on the normalisation a_0."""
    usa, sa = (on(dimension, mf.exponential(beta), flow) for flow in (mf.USA, mf.SA))
    result = mf.switching_thresholds(usa)
    expected = [mf.switching_threshold(usa.manifold, k + 1) for k in range(count)]
    assert result == pytest.approx(expected, rel=1e-14)
    assert np.all(np.diff(result) > 0) and mf.switching_thresholds(sa) == result
    assert mf.dominant_degree(usa) == mf.dominant_degree(sa) == count + 1


@pytest.mark.parametrize("kernel, flow", [
    (mf.linear(), mf.USA), (mf.exponential(-9.0), mf.USA),
    (mf.exponential(9.0), mf.Flow("none", strength=-1.0)), (mf.zonal(np.exp, beta=9.0), mf.USA),
])  # fmt: skip
def test_no_thresholds_where_the_formula_does_not_hold(kernel, flow):
    """They belong to the attractive exponential kernel with beta > 0."""
    assert mf.switching_thresholds(on(1, kernel, flow)) == []


@pytest.mark.parametrize(
    "kernel, flow",
    [
        (mf.linear(), mf.Flow("none", strength=-1.0)),
        (mf.linear(), mf.Flow("none", diffusivity=0.5)),
        (mf.exponential(9.0), mf.Flow(True, -1.0)),
        (mf.exponential(9.0), mf.Flow("none", diffusivity=1.0)),
    ],
)
def test_dominant_degree_is_none_where_nothing_grows(kernel, flow):
    """Degree 0 has rate 0 and must not win, nor rounding of a marginal mode."""
    problem = on(1, kernel, flow)
    assert mf.dominant_degree(problem) is None
    assert mf.onset_time(problem, 1000) == np.inf
    # A negative one would mean nothing.
    assert (mf.critical_diffusivity(problem) == 0.0) == (flow.strength < 0.0)


@pytest.mark.parametrize("kernel, flow", [
    (mf.exponential(9.0), mf.USA), (mf.exponential(9.0), mf.SA), (mf.exponential(-3.0), mf.USA),
    (mf.linear(), mf.SA), (mf.zonal(multipliers=[1.0, 0.2, 0.3]), mf.USA),
])  # fmt: skip
def test_critical_diffusivity_makes_the_first_degree_marginal(kernel, flow):
    """Just below it one degree grows, just above it none."""
    critical = mf.critical_diffusivity(on(1, kernel, flow))
    below, above = (
        on(1, kernel, mf.Flow(flow.normalized, flow.strength, factor * critical))
        for factor in (1 - 1e-9, 1 + 1e-9)
    )
    assert growth_rate_max(below) > 0 > growth_rate_max(above)


@pytest.mark.parametrize("dimension, beta, kappa", [
    (1, 5.0, 0.2054599575), (1, 2.4, 1.044330156), (1, 10.0, 0.003743932531),
    (2, 5.0, 0.4210930111), (2, 1.7, 2.27190295), (2, 10.0, 0.01008887326),
])  # fmt: skip
def test_critical_diffusivity_equals_the_noisy_papers(dimension, beta, kappa, verified):
    """The papers' threshold kappa_# = beta / a_1: noise 1/kappa is diffusivity e^beta (2.7)."""
    problem = on(dimension, mf.exponential(beta))
    result = 1.0 / (mf.critical_diffusivity(problem) * np.exp(beta))
    what = "critical diffusivity as printed, circle and sphere, relative"
    verified("exact solutions", what, result / kappa - 1, 6e-10)


@pytest.mark.parametrize("beta, tokens, printed", [(5.0, 20_000, 0.2663), (7.0, 20_000, 0.0425)])
def test_onset_time_equals_the_published_runs(beta, tokens, printed):
    """T = ln N / (2 lambda_max) in paper time: clusters of the published figures form there."""
    result = mf.onset_time(on(1, mf.exponential(beta)), tokens) * np.exp(-beta)
    assert result == pytest.approx(printed, abs=0.6e-4)


def test_onset_time_is_when_the_noise_of_tokens_has_grown_to_one():
    """|c_k|^2 starts at 1/N: e^{2 lambda T} / N = 1."""
    problem = on(1, mf.exponential(3.0), mf.SA)
    time = mf.onset_time(problem, 500)
    assert np.exp(2 * growth_rate_max(problem) * time) / 500 == pytest.approx(1.0, rel=1e-14)
    refused("tokens must be at least 2, got 1", mf.onset_time, problem, 1)


def test_rates_of_heads_know_what_else_moves_tokens():
    """A drift that strains, or a later stage, would be left out of the unit of time."""
    heads = mf.Attention([mf.Head(), mf.Head(score=0.5)], beta=3.0)
    alone = mf.Problem(mf.Circle(), heads)
    turned = replace(alone, drift=mf.LinearDrift([[0, -1], [1, 0]]))
    assert growth_rate_max(turned) == pytest.approx(growth_rate_max(alone), rel=1e-13)
    strained = replace(alone, drift=mf.LinearDrift([1, 0]))
    refused("heads and fixed fields move uniform itself", growth_rate_max, strained)
    staged = replace(alone, stages=[mf.Stage(1.0), mf.Stage(kernel=mf.exponential(9.0))])
    for rate in (growth_rate_max, mf.linear_operator):
        refused("the problem has 2 stages", rate, staged)


@pytest.mark.parametrize(
    "layers", [mf.Layers(0.1, 20), mf.Layers(0.0, placement="pre")], ids=["steps", "pre"]
)
def test_times_of_the_flow_are_not_those_of_layers(layers):
    """Times and rates of attention alone would stand for layers with another clock."""
    problem = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.SA, layers=layers)
    pair = mf.Measure(mf.Circle(), [0.0, 1.0])
    for ask in (
        lambda: mf.onset_time(problem, 1000),
        lambda: mf.two_cluster_time(problem, 2.0, 1.0),
        lambda: mf.next_merge_estimate(problem, pair),
        lambda: mf.cluster_rates(problem, pair),
        lambda: mf.phase_point(problem),
    ):
        refused("rest on the flow of attention", ask)
    thin = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.SA, layers=mf.Layers(0.0))
    assert mf.onset_time(thin, 1000) == mf.onset_time(replace(thin, layers=None), 1000)


SINKHORN_RATES = {  # lambda_1 ... lambda_6 by (dimension, beta)
    (1, 1): "0.3086235223 0.3873487170 0.1548754166 0.0345159364 0.0053592188 0.0006394434",
    (1, 5): "0.0943689758 0.3129811067 0.4949577977 0.5053263689 0.3670293599 0.2034968881",
    (1, 10): "0.0486810998 0.1790397108 0.3459792229 0.4854735989 0.5407798876 0.4953993114",
    (2, 5): "0.1777889876 0.4104980171 0.5252127977 0.4530898148 0.2868540656 0.1426966780",
    (2, 10): "0.0947368423 0.2531791905 0.4182410448 0.5245296889 0.5309658218 0.4464642555",
}
SINKHORN_THRESHOLDS = {
    1: "0.8025282516 2.4588793398 4.8468235730 7.9958961089 11.9171142559 16.6159775696 "
    "22.0947999301 28.3546033043 35.3958859183 43.2189130430",
    2: "1.3778646353 3.4389266284 6.2171427254 9.7555468766 14.0672432839 19.1570812664 "
    "25.0270413147 31.6780284657 39.1105010850 47.3247113439",
}
SINKHORN_LARGEST = {  # By dimension, at beta = 1e2 and 1e4.
    1: (0.5553276370, 0.5569125824),
    2: (0.5540028125, 0.5569040210),
}


def doubly_stochastic(dimension: int, beta: float, *heads: mf.Head, **options: float) -> mf.Problem:
    """Problem of doubly stochastic heads, by default of B = V = 1."""
    of = mf.Attention(heads or [mf.Head()], "sinkhorn", beta=beta, **options)
    return mf.Problem(mf.Sphere(dimension + 1) if dimension > 1 else mf.Circle(), of)


@pytest.mark.parametrize(("dimension", "beta"), SINKHORN_RATES)
def test_doubly_stochastic_rates_equal_the_table(dimension, beta):
    """To the last printed digit: w_l / a_0 divided by 1 + alpha_l, not by 2."""
    result = mf.growth_rates(doubly_stochastic(dimension, beta), 6)[1:]
    values = np.array(SINKHORN_RATES[dimension, beta].split(), dtype=float)
    np.testing.assert_allclose(result, values, rtol=0, atol=0.6e-10)


@pytest.mark.parametrize("dimension", [1, 2])
def test_doubly_stochastic_thresholds_equal_the_table(dimension):
    """Betas at which degrees switch; the list of a problem ends at its own."""
    values = np.array(SINKHORN_THRESHOLDS[dimension].split(), dtype=float)
    problem = doubly_stochastic(dimension, 47.4)
    np.testing.assert_allclose(mf.switching_thresholds(problem)[:10], values, rtol=0, atol=1e-9)
    beta = mf.switching_threshold(problem.manifold, 10, "sinkhorn")
    assert mf.dominant_degree(doubly_stochastic(dimension, beta * (1 - 1e-9))) == 10
    assert mf.dominant_degree(doubly_stochastic(dimension, beta * (1 + 1e-9))) == 11


def test_far_doubly_stochastic_threshold_is_detected():
    """The bracket holds far out: L = 2 (1 + W(1/e)) beta as beta grows."""
    slope = 2.0 * (1.0 + float(lambertw(np.exp(-1.0)).real))
    beta = mf.switching_threshold(mf.Sphere(), 500, "sinkhorn")
    assert beta * slope == pytest.approx(501**2, rel=1e-5)
    message = "degree must be at most 10000, got 10001"
    refused(message, mf.switching_threshold, mf.Sphere(), 10_001, "sinkhorn")


@pytest.mark.parametrize("dimension", [1, 2])
def test_largest_doubly_stochastic_rate_equals_its_limit(dimension):
    """It tends to 2 W(1/e), where softmax has 2 / e."""
    result = [mf.growth_rate_max(doubly_stochastic(dimension, beta)) for beta in (1e2, 1e4)]
    np.testing.assert_allclose(result, SINKHORN_LARGEST[dimension], rtol=0, atol=0.6e-10)
    assert result[1] == pytest.approx(2.0 * float(lambertw(np.exp(-1.0)).real), rel=1e-4)


def test_heads_without_theory_are_refused():
    """No thresholds of several heads; one line for matrices and for what cannot grow."""
    assert mf.switching_thresholds(doubly_stochastic(1, 9.0, mf.Head(), mf.Head(2.0))) == []
    repelled = doubly_stochastic(1, 9.0, strength=-1.0)
    assert mf.switching_thresholds(repelled) == []
    assert mf.dominant_degree(repelled) is None
    refused("no transition: .* with these heads", critical_degree, repelled)
    turned = doubly_stochastic(1, 9.0, mf.Head(score=[1.0, -1.0]))
    refused("heads move uniform itself", mf.growth_rate_max, turned)
    for call in (mf.switching_thresholds, mf.dominant_degree):
        refused(r"the attention has heads: mf.linear_operator", call, turned)
