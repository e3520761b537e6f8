"""Convergence studies: what they measure, and what they do not depend on."""

import dataclasses
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from parameters import refused, together

import meanfield as mf
from meanfield.errors import SimulationError
from meanfield.papers.contraction import softmax_source, softmax_stretch
from meanfield.spaces.maxima import gaussian_fields
from meanfield.studies.convergence import convergence_study, density_reference, system_distances
from meanfield.studies.convergence_results import ConvergenceStudy, fit_power_law
from meanfield.studies.corrected_law import quiet_start
from meanfield.transport import wasserstein

LAW = mf.perturbed_uniform([[1, 0.1, 0.05], [3, 0.0, 0.2]])
PROBLEM = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.USA, LAW)
UNIFORM = dataclasses.replace(PROBLEM, initial=mf.uniform())


def small(problem=PROBLEM, until=2.0, **options):
    chosen = {"save": 3, "tokens": (10, 40), "runs": 3, "tolerance": 1e-6} | options
    return convergence_study(problem, until, **chosen)


def synthetic(distances, onset=np.inf):
    """Study of given distances at times 0, 1, 2, ..."""
    sizes = np.arange(1, 1 + len(distances))
    times = np.arange(distances.shape[2]) * 1.0
    return ConvergenceStudy(times, 10**sizes, distances, "W1", 0.3, onset * sizes)


GAMMA = np.random.default_rng(0).gamma(5.0, size=(2, 7, 3))


@pytest.mark.slow
def test_mean_distance_falls_like_the_root_of_the_size(verified):
    """Particles would not approach the density at the rate of independent tokens."""
    # 40 systems a size: standard error of the exponent about 0.5 sqrt(2 / 40) / ln 100 = 0.024.
    study = small(until=8.0, tokens=(30, 3000), runs=40)
    exponent, (low, high) = study.exponent, study.exponent_interval
    what = "exponent of W1 from tokens to the density, circle"
    verified("statistics", what, exponent + 0.5, 3 * 0.024, measured=exponent)
    assert study.exponent_time == 8.0 and low < exponent < high < low + 0.15


@pytest.mark.slow
@pytest.mark.parametrize("tokens", [3, 50])
def test_mean_square_w2_of_uniform_tokens_is_exact(tokens, verified):
    """E W_2^2 = pi^2 / (3 n) for n uniform tokens: draws or distances would be biased."""
    # The standard deviation of W_2^2 is about 0.65 of its mean; 400 systems, four standard errors.
    study = small(UNIFORM, 1e-3, save=2, tokens=(tokens,), runs=400, metric="W2")
    squares = study.distances[0, :, 0] ** 2
    error = squares.std(ddof=1) / 20.0
    deviation = (squares.mean() - np.pi**2 / (3 * tokens)) / error
    verified("statistics", "E W2^2 of uniform tokens, circle, in standard errors", deviation, 4.0)


def test_times_of_papers_are_scaled():
    """Times of papers would be taken as scaled."""
    paper = small(until=2.0 * np.exp(-5.0), unit="paper")
    np.testing.assert_allclose(paper.times, [0.0, 1.0, 2.0], rtol=1e-15)


def test_seed_makes_the_study():
    """The study would not be reproducible, or ask for a Problem where a function made it."""
    study = small()
    np.testing.assert_array_equal(study.distances, small(lambda: PROBLEM).distances)
    assert np.all(study.distances != small(seed=1).distances)
    # The last line of a notebook cell would show arrays.
    assert repr(study).startswith("ConvergenceStudy(W1, n = 10 to 40, 3 runs, exponent -0")


def test_lambda_stays_in_its_process():
    """The user would read an error of pickle's, after the pool broke."""
    own = dataclasses.replace(PROBLEM, kernel=mf.zonal(lambda s: np.exp(5.0 * (s - 1.0)), beta=5.0))
    text = r"cannot be sent to other processes \(.*lambda"
    with ProcessPoolExecutor(1) as executor:
        refused(text, small, own, executor=executor, error=TypeError)


@together(
    ("option", "value", "message"),
    [
        ("tokens", (1, 10), r"tokens must all be at least 2, got \[1, 10\]"),
        ("runs", 1, "runs must lie between 2 and 1000000, got 1"),
        ("metric", "W3", "metric 'W3' is not known. Known: W1, W2"),
        ("tolerance", 1.0, "tolerance must lie between 1e-13 and 0.01, got 1"),
        ("max_degree", 0, "max_degree must be at least 1, got 0"),
    ],
)
def test_wrong_value_is_refused(option, value, message):
    """A mistake would surface after the density run, or never."""
    refused(message, small, **{option: value})


def test_statistics_are_those_of_the_samples():
    """Mean, standard error or amplification would be wrong."""
    study, mean = synthetic(GAMMA), GAMMA.mean(axis=1)
    np.testing.assert_allclose(study.mean_distance, mean, rtol=1e-14)
    expected = GAMMA.std(axis=1, ddof=1) / np.sqrt(7)
    np.testing.assert_allclose(study.standard_error, expected, rtol=1e-13)
    np.testing.assert_allclose(study.amplification, mean / mean[:, :1], rtol=1e-14)
    np.testing.assert_allclose(study.linear_amplification, np.exp([0.0, 0.3, 0.6]), rtol=1e-14)
    # An unfinished study would have no mean.
    holed = np.where(np.arange(7)[:, None] < 4, GAMMA, np.nan)
    few = synthetic(GAMMA[:, :4]).standard_error
    np.testing.assert_allclose(synthetic(holed).standard_error, few, rtol=1e-14)


@pytest.mark.parametrize(
    ("onset", "expected"), [(np.inf, 9), (8.0, 4), (2.2, 1), (0.9, 0), (30.0, 9)]
)
def test_headline_is_half_way_to_the_first_onset(onset, expected):
    """The headline exponent would be taken where small systems saturate."""
    study = synthetic(np.random.default_rng(0).gamma(5.0, size=(2, 3, 10)), onset)
    assert study.headline == expected
    assert study.exponent == study.exponents[expected]


def test_repulsion_has_no_onset():
    """Where nothing grows, ln n / (2 lambda) would be negative."""
    study = small(dataclasses.replace(PROBLEM, flow=mf.Flow("none", strength=-1.0)))
    assert np.isinf(study.onset_times).all()
    assert study.growth_rate_max < 0
    assert study.headline == len(study.times) - 1


SIZES = np.array([100.0, 1000.0, 10000.0])


def test_exact_law_is_recovered():
    """Slope or intercept would be wrong: a law without scatter leaves only rounding."""
    law = fit_power_law(SIZES, 3.0 * SIZES[:, None] ** -0.7 * np.ones(4))
    assert abs(law.exponent + 0.7) < 1e-14
    assert abs(law.prefactor - 3.0) < 1e-13
    assert np.ptp(law.interval) < 1e-14


def test_interval_of_two_sizes_is_that_of_welch():
    """Variance, freedom or quantile would be wrong."""
    # For two sizes the exponent is a difference of means, for which SciPy has Welch's interval;
    # with scatter 1e-6 the logarithm is linear, and the two agree to that order.
    from scipy.stats import ttest_ind

    rng = np.random.default_rng(1)
    sizes = np.array([10.0, 1000.0])
    samples = np.array([[2.0], [0.3]]) * (1.0 + 1e-6 * rng.standard_normal((2, 7)) * [[1.0], [3.0]])
    welch = ttest_ind(*np.log(samples[::-1]), equal_var=False).confidence_interval(0.95)
    expected = np.array([welch.low, welch.high]) / np.log(100.0)
    interval, width = fit_power_law(sizes, samples).interval, np.ptp(expected)
    np.testing.assert_allclose(interval, expected, rtol=0, atol=1e-4 * width)


def test_interval_covers_the_truth_in_95_per_cent():
    """The stated confidence would not be the real one."""
    # 2000 studies of skewed samples (the shape of W_1): standard error 0.5 %, four of them allowed.
    rng, truth, hits = np.random.default_rng(2), -0.5, 0
    for _ in range(2000):
        samples = SIZES[:, None] ** truth * rng.gamma(6.0, size=(3, 20))
        low, high = fit_power_law(SIZES, samples).interval
        hits += low <= truth <= high
    assert abs(hits / 2000 - 0.95) < 0.02


def test_missing_samples_are_left_out():
    """NaN must act as if it had not been there; a size with one sample has no variance."""
    samples = SIZES[:, None] ** -0.5 * np.random.default_rng(3).gamma(6.0, size=(3, 6))
    holed, single = samples.copy(), samples.copy()
    holed[:, 4:] = single[1, 1:] = np.nan
    assert fit_power_law(SIZES, holed) == fit_power_law(SIZES, samples[:, :4])
    assert fit_power_law(SIZES, single) == fit_power_law(SIZES[[0, 2]], samples[[0, 2]])


@pytest.mark.parametrize("sizes", [SIZES[:1], SIZES[:0]])
def test_fewer_than_two_sizes_have_no_exponent(sizes):
    """One point would be given a slope."""
    law = fit_power_law(sizes, np.ones((len(sizes), 3)))
    assert np.isnan([law.exponent, *law.interval, law.prefactor]).all()


def distances(problem, reference, tokens, metric="W1"):
    """Distances of the system of seed 7, with a loose step."""
    rng = np.random.default_rng(7)
    return system_distances(problem, reference, tokens, rng, metric=metric, tolerance=1e-6)


def reference(*times):
    """Density at 0 and a few times."""
    return density_reference(PROBLEM, np.array(times), tolerance=1e-8, max_degree=512)


def test_reference_is_the_density_run():
    """Particles would be compared with another density, or amplification begin elsewhere."""
    run = mf.simulate(PROBLEM, until=3.0, save=[0.0, 3.0], representation="density", tolerance=1e-8)
    coefficients = reference(3.0).densities[-1].coefficients
    np.testing.assert_array_equal(coefficients, run.measures[-1].coefficients)
    for times in ((1.0, 2.0), (0.0, 1.0, 2.0)):
        assert reference(*times).times.tolist() == [0.0, 1.0, 2.0]


def test_reference_ends_where_the_density_does():
    """A density that left its grid would be trusted, or its good part thrown away."""
    short = density_reference(PROBLEM, np.arange(0.0, 40.0), tolerance=1e-8, max_degree=64)
    assert 2 < len(short.times) == len(short.densities) < 40
    assert f"resolved up to scaled time {short.times[-1]:g} only (under-resolved" in short.note
    # What nobody can do here is no advice.
    assert "auto" not in short.note and short.note.endswith("raise max_degree, or end there")


def test_reference_of_an_unresolved_law_fails():
    """There would be a study without a single trusted time."""
    problem = dataclasses.replace(PROBLEM, initial=mf.perturbed_uniform([[64, 0.5, 0.0]]))
    with pytest.raises(SimulationError, match="under-resolved"):
        density_reference(problem, np.array([1.0]), tolerance=1e-8, max_degree=64)


def test_distance_at_zero_is_that_of_the_tokens():
    """Another measure than the drawn tokens would be compared, or with another density."""
    at = reference(1.0)
    points = mf.sample_tokens(at.densities[0], 50, np.random.default_rng(7))
    expected = wasserstein(mf.Measure(mf.Circle(), points), at.densities[0])
    assert distances(PROBLEM, at, 50)[0].tolist() == [expected, 0.0]


def test_distance_grows_as_linear_theory_says():
    """Particles or density would run on another clock, or W_2 be measured at the wrong time."""
    # About uniform W_2^2(t) = 2 sum_k |c_k(0)|^2 e^{2 lambda_k t} / k^2 with the moments of the
    # drawn tokens. What is left out is of relative order |c_k(t)|, here 3e-3 to 1e-2, and the
    # degrees above 300, 0.3 % of W_2^2 at time 0.
    at = density_reference(UNIFORM, np.array([5.0, 10.0]), tolerance=1e-8, max_degree=512)
    points = mf.sample_tokens(at.densities[0], 100_000, np.random.default_rng(7))
    k = np.arange(1, 301)
    modulus = np.abs(mf.Circle().moments(points, None, 300)[1:])
    rates = mf.growth_rates(UNIFORM, 300)[1:]
    grown = modulus / k * np.exp(rates * at.times[:, None])
    expected = np.sqrt(2.0 * np.sum(grown**2, axis=1))
    assert expected[-1] > 2.0 * expected[0]
    result = distances(UNIFORM, at, 100_000, "W2")[:, 0]
    np.testing.assert_allclose(result, expected, rtol=0.01)


@pytest.mark.parametrize("space", [mf.Circle(), mf.Sphere()], ids=str)
def test_moments_are_right_to_first_order(space):
    """Halving the amplitude quarters the error: order 2, measured between 1e-3 and 5e-4."""
    variances, errors = np.array([0.0, 1.0, 1.0, 1.0, 1.0]), []
    field = gaussian_fields(space, variances, 1, np.random.default_rng(5))[0]
    for amplitude in (1e-3, 5e-4):
        start = quiet_start(space, amplitude * field, 32)
        moments = space.moments(start.points, start.weights, 4)
        moments[0] = 0.0
        errors.append(np.abs(moments - amplitude * field).max())
    assert 1.9 < np.log2(errors[0] / errors[1]) < 2.1
    # Zero moments leave the grid, whose own moments vanish to rounding.
    start = quiet_start(space, np.zeros_like(field), 16)
    moments = space.moments(start.points, start.weights, 8)
    assert np.abs(moments[1:]).max() < 1e-14


def test_weights_are_positive_for_any_target():
    """A density of amplitude 3 would be negative; displaced nodes are not."""
    start = quiet_start(mf.Circle(), np.array([0.0, 0.0, 1.5]), 32)
    assert start.weights.min() > 0


def test_certified_distance_bounds_every_system():
    """W_1 and W_2 from their distances at time 0; half of a width counts, other metrics do not."""
    problem = dataclasses.replace(PROBLEM, initial=mf.perturbed_uniform([[3, 0.1, 0.0]]))
    for metric, p in (("W1", 1), ("W2", 2)):
        study = small(problem, metric=metric, runs=2)
        rate = mf.contraction_rates(problem, p).upper
        factor = np.exp(rate * study.times)
        np.testing.assert_allclose(study.certified_distance, study.mean_distance[:, :1] * factor)
        assert np.all(study.distances <= study.distances[..., :1] * factor)
    wide = dataclasses.replace(study, widths=np.full((), 0.2))
    np.testing.assert_allclose(wide.certified_distance, study.certified_distance + 0.1 * factor)
    study = small(problem, metric="sobolev", runs=2)
    assert np.isnan(study.certified_distance).all() and np.isnan(study.certified_until).all()
    study = small(dataclasses.replace(problem, flow=mf.SA), 0.2, runs=2)
    assert np.all(study.distances <= study.certified_distance.max(axis=0) * 2.0)
    # Uniform has Z = a_0 everywhere, and this law not much less.
    z = problem.own_kernel.attention_multipliers(1, 0)[0]
    expected = softmax_stretch(5.0) + softmax_source(5.0) / z
    assert 1.0 < study.certified_exponents[-1] / (0.2 * expected) < 1.6
