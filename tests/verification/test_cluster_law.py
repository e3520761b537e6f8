"""The cluster-count law against runs of tokens: means and distributions.

Tables are of particle systems run beforehand by other code, with their standard errors; runs have
N = 1,000 tokens unless they say otherwise and are counted at twice the onset time. Agreement is
within three standard errors of the difference of two independent means: one seed in 370 is
further away, and the seeds are fixed.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest

import meanfield as mf
from meanfield.spaces.manifold import Manifold
from meanfield.spaces.maxima import count_maxima, gaussian_fields
from meanfield.spectrum.stability import formation_time
from meanfield.studies.ensemble import clusters_of_run
from meanfield.studies.ensemble_results import Ensemble

CIRCLE, SPHERE = mf.Circle(), mf.Sphere()

# beta: mean, its standard error, runs with each number of clusters.
ON_CIRCLE = {
    1: (1.23, 0.05, {1: 79, 2: 19, 3: 2}),
    2: (1.99, 0.02, {1: 2, 2: 97, 3: 1}),
    3: (2.22, 0.04, {2: 79, 3: 20, 4: 1}),
    4: (2.76, 0.05, {2: 25, 3: 74, 4: 1}),
    5: (3.00, 0.04, {2: 9, 3: 82, 4: 9}),
    6: (3.19, 0.05, {2: 1, 3: 81, 4: 16, 5: 2}),
    7: (3.43, 0.05, {2: 1, 3: 56, 4: 42, 5: 1}),
    8: (3.71, 0.05, {3: 30, 4: 69, 5: 1}),
    10: (4.14, 0.05, {3: 5, 4: 76, 5: 19}),
    12: (4.59, 0.05, {4: 43, 5: 55, 6: 2}),
    15: (5.13, 0.07, {4: 15, 5: 58, 6: 26, 7: 1}),
    20: (5.85, 0.06, {5: 25, 6: 65, 7: 10}),
    30: (6.95, 0.10, {6: 17, 7: 30, 8: 12, 9: 1}),
    50: (9.25, 0.10, {7: 1, 8: 8, 9: 28, 10: 21, 11: 2}),
    100: (12.85, 0.11, {11: 1, 12: 21, 13: 26, 14: 10, 15: 2}),
}
ON_SPHERE = {
    1: (1.00, 0.00, {1: 40}), 2: (1.50, 0.09, {1: 21, 2: 18, 3: 1}), 3: (2.03, 0.02, {2: 39, 3: 1}),
    5: (2.98, 0.09, {2: 7, 3: 27, 4: 6}), 8: (4.50, 0.11, {3: 2, 4: 18, 5: 18, 6: 2}),
    12: (6.68, 0.16, {5: 6, 6: 10, 7: 15, 8: 9}),
}  # fmt: skip
BUMP = mf.zonal(lambda s: np.exp(-8.0 * (s - 0.5) ** 2), beta=9.0, name="bump")


def exponential(space: Manifold, beta: float, flow: mf.Flow = mf.USA) -> mf.Problem:
    return mf.Problem(space, mf.exponential(float(beta)), flow)


def run(problem: mf.Problem, runs: int, tokens: int = 1000) -> Ensemble:
    return mf.ensemble(problem, tokens=tokens, runs=runs, times=[2.0])


def assert_mean(verified: Callable, result: Ensemble, mean: float, error: float) -> None:
    """Within three standard errors of the difference; equal where neither scatters."""
    both = math.hypot(error, float(result.standard_error[0, -1]))
    what = f"mean number of clusters against runs of other code, {result.attributes['manifold']}"
    verified("statistics", what, result.mean_count[0, -1] - mean, 3.0 * both)


def assert_distribution(built: Ensemble, expected: dict[int, int]) -> None:
    """Counts of both could come from one law: chi-squared test of homogeneity at 0.27 %."""
    from scipy.stats import chi2_contingency  # a second on every worker, if above

    values, occurrences = np.unique(built.counts[0, :, -1], return_counts=True)
    result = dict(zip(values.tolist(), occurrences.tolist(), strict=True))
    columns: list[list[int]] = [[0, 0]]
    for count in sorted({*result, *expected}):
        # The test is asymptotic: rare counts are joined with their neighbours.
        if sum(columns[-1]) >= 10:
            columns.append([0, 0])
        columns[-1][0] += result.get(count, 0)
        columns[-1][1] += expected.get(count, 0)
    if sum(columns[-1]) < 10 and len(columns) > 1:
        last = columns.pop()
        columns[-1] = [columns[-1][0] + last[0], columns[-1][1] + last[1]]
    assert sum(map(sum, columns)) == built.counts.shape[1] + sum(expected.values())
    assert len(columns) == 1 or chi2_contingency(np.array(columns).T).pvalue > 0.0027


@pytest.mark.slow
@pytest.mark.parametrize(
    ("space", "table", "beta", "runs"),
    [(CIRCLE, ON_CIRCLE, beta, 40) for beta in (2, 5, 20)]
    + [pytest.param(SPHERE, ON_SPHERE, *few, marks=pytest.mark.slow) for few in ((2, 8), (8, 5))],
)
def test_few_runs_give_the_mean(space, table, beta, runs, verified):
    """Tokens would make another number of clusters than other code."""
    mean, error, _ = table[beta]
    assert_mean(verified, run(exponential(space, beta), runs), mean, error)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("space", "table", "beta", "runs"),
    [(CIRCLE, ON_CIRCLE, beta, 100) for beta in ON_CIRCLE]
    + [(SPHERE, ON_SPHERE, beta, 40) for beta in ON_SPHERE],
)
def test_runs_give_the_table(space, table, beta, runs, verified):
    """Mean, distribution, and a prediction that is within 10 % of the runs at these betas."""
    mean, error, expected = table[beta]
    result = run(exponential(space, beta), runs)
    assert_mean(verified, result, mean, error)
    assert_distribution(result, expected)
    assert result.predicted[0] == pytest.approx(result.mean_count[0, 0], rel=0.1)


@pytest.mark.parametrize(
    ("space", "table"), [(CIRCLE, ON_CIRCLE), (SPHERE, ON_SPHERE)], ids=["circle", "sphere"]
)
def test_prediction_is_within_ten_per_cent(space, table, verified):
    """A user would plan for clusters that do not come, at any beta of the tables."""
    for beta, (mean, _, _) in table.items():
        means = mf.mean_clusters(exponential(space, beta), 1000)
        what = f"predicted mean number of clusters against runs, {space.name}, relative"
        verified("statistics", what, means / mean - 1, 0.1)


@pytest.mark.slow
def test_prediction_is_not_the_dominant_degree():
    """At beta = 7 degree 4 grows fastest, and yet three clusters are the more frequent number."""
    problem = exponential(CIRCLE, 7.0)
    result = run(problem, 40, tokens=2000)
    assert mf.dominant_degree(problem) == 4
    shares = result.distribution(0, 0)
    # 3 and 4 have 0.6 and 0.4 of the runs: below 0.2 either is four standard errors away.
    assert min(shares[3], shares[4]) > 0.2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "runs"),
    [
        (exponential(CIRCLE, 9.0, mf.SA), 40),
        (exponential(CIRCLE, -8.0), 40),
        (exponential(CIRCLE, -8.0, mf.Flow("none", strength=-1.0)), 40),
        (mf.Problem(CIRCLE, BUMP, mf.USA), 40),
        (exponential(SPHERE, 5.0, mf.SA), 8),
        (exponential(SPHERE, -3.0), 8),
    ],
    ids=["SA", "odd degrees", "even degrees", "zonal", "SA, sphere", "odd degrees, sphere"],
)
def test_law_holds_for_other_problems(problem, runs, verified):
    """The law would be one of the attractive exponential kernel without softmax only."""
    result = run(problem, runs)
    # Three standard errors, and the 7 % by which wells that merge bring runs below the law.
    slack = 3.0 * float(result.standard_error[0, 0]) + 0.07 * result.predicted[0]
    what = "mean number of clusters against the law, other kernels and flows"
    verified("statistics", what, result.mean_count[0, 0] - result.predicted[0], slack)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "tokens", "samples"),
    [
        (exponential(CIRCLE, 3.0), 50, 4000),
        (exponential(CIRCLE, 12.0), 10**4, 4000),
        (exponential(CIRCLE, 50.0), 10**9, 2000),
        (exponential(CIRCLE, 7.0, mf.SA), 1000, 4000),
        (exponential(CIRCLE, -12.0), 1000, 4000),
        (exponential(CIRCLE, -12.0, mf.Flow("none", strength=-1.0)), 1000, 4000),
        (mf.Problem(CIRCLE, BUMP, mf.USA), 1000, 4000),
        (exponential(SPHERE, 3.0), 50, 800),
        (exponential(SPHERE, 5.0), 10**4, 800),
        (exponential(SPHERE, 20.0), 1000, 100),
        (exponential(SPHERE, 8.0, mf.SA), 1000, 400),
        (exponential(SPHERE, -5.0), 1000, 400),
        (exponential(SPHERE, -5.0, mf.Flow("none", strength=-1.0)), 1000, 400),
        (mf.Problem(SPHERE, BUMP, mf.USA), 1000, 400),
    ],
    ids=str,
)
def test_counted_maxima_agree_with_the_closed_form(problem, tokens, samples):
    """Fields, counts or the formula would be of another law."""
    prediction = mf.predict_clusters(problem, tokens, samples=samples, corrected=False)
    law = prediction.linear
    # Counts that do not scatter have a standard error of 0, and a closed form near an integer.
    assert abs(law.mean - prediction.mean_clusters) <= 3.0 * law.standard_error + 3.0 / samples


@pytest.mark.slow
@pytest.mark.parametrize(
    ("degree", "mean", "draws"), [(3, 3.711631, 1500), (4, 6.013774, 1000), (5, 8.897065, 700)]
)
def test_random_spherical_harmonics(degree, mean, draws, verified):
    """Kac-Rice and counted maxima of fields of one degree are two ways to one number."""
    counts = count_maxima(SPHERE, harmonics(degree, draws))
    error = counts.std(ddof=1) / math.sqrt(draws)
    what = "maxima of random harmonics against Kac-Rice, sphere, in standard errors"
    verified("statistics", what, (counts.mean() - mean) / error, 3.0)


@pytest.mark.parametrize("degree", [1, 2])
def test_lowest_spherical_harmonics_draw_by_draw(degree):
    """A dipole has one maximum and a quadrupole two, whatever was drawn."""
    assert (count_maxima(SPHERE, harmonics(degree, 500)) == degree).all()


def harmonics(degree: int, draws: int) -> np.ndarray:
    variances = np.zeros(degree + 1)
    variances[degree] = 1.0
    return gaussian_fields(SPHERE, variances, draws, np.random.default_rng(degree))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("manifold", "beta"),
    [(CIRCLE, 4.0), (CIRCLE, 9.0), (CIRCLE, 25.0), (SPHERE, 3.0), (SPHERE, 5.0), (SPHERE, 10.0)],
    ids=str,
)
def test_clusters_have_formed_when_predicted(manifold, beta, verified):
    """The time told by `predict` would be too early, or another power of N or of the rate."""
    # 93 to 97 % of 100 to 200 runs had their final count by then, half of them two growth times
    # before: of 40 runs at least 80 %.
    problem, tokens, runs = mf.Problem(manifold, mf.exponential(beta), mf.USA), 1000, 40
    formed, growth_time = formation_time(problem, tokens), 1.0 / mf.growth_rates(problem).max()
    times = formed + growth_time * np.array([-4.0, 0.0, 0.5])
    settled = np.zeros((runs, 2))
    for seed in range(runs):
        start = mf.Measure(manifold, manifold.random_points(tokens, np.random.default_rng(seed)))
        result = clusters_of_run(problem, start, times, tokens, 1e-4)
        counts = np.array([clusters.count for clusters in result])
        settled[seed] = counts[:2] == counts[2]
    # At the onset time, most have not.
    assert settled[:, 0].mean() < 0.5
    what = f"runs whose clusters have not formed when predicted, {manifold.name}, beta = {beta:g}"
    verified("statistics", what, 1.0 - settled[:, 1].mean(), 0.2)
