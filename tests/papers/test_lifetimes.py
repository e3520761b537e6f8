"""Lifetimes of polygons against printed ones, closed forms and atoms; where clusters meet."""

import math

import numpy as np
import pytest
from atoms import angles_after
from parameters import refused
from scipy.special import exp1, expi
from scipy.stats import kstest

import meanfield as mf
from meanfield.papers.lifetimes import (
    closest_pair_survival,
    log_pair_time,
    meeting_share,
    polygon_lifetime,
)

MET = math.acos(0.999)


def problem(beta: float, flow: mf.Flow = mf.USA) -> mf.Problem:
    return mf.Problem(mf.Circle(), mf.exponential(beta) if beta else mf.linear(), flow)


def first_gap(angles: np.ndarray, time: float, beta: float, flow: mf.Flow) -> float:
    first, second, *_ = angles_after(time, angles, None, beta, flow.normalized)
    return float(second - first)


@pytest.mark.parametrize(("beta", "flow", "constant", "printed"), [
    (1.0, mf.USA, 2.6349325056, 6.5468555001), (5.0, mf.USA, -0.1091726876, 0.6733718250),
    (9.0, mf.USA, -0.1596051608, 0.2753487002), (1.0, mf.SA, 4.0774601278, 9.0515779313),
    (5.0, mf.SA, -2.3781487070, 27.0491676342), (9.0, mf.SA, -321.583556859, 559.7503939756),
])  # fmt: skip
def test_square_lives_as_long_as_printed_and_as_atoms(beta, flow, constant, printed):
    """Pairs at pi / 2 - 0.02, in the papers' time, where rates are beta or beta / cosh^2."""
    unit = 1.0 if flow.normalized else math.exp(-beta)
    lifetime = polygon_lifetime(problem(beta, flow), 4, gap=MET)
    expected = beta / math.cosh(beta / 2) ** 2 if flow.normalized else beta
    assert lifetime.rate / unit == pytest.approx(expected, rel=1e-14)
    # To the printed digits.
    assert lifetime.constant / lifetime.rate * unit == pytest.approx(constant, rel=1e-11, abs=6e-11)
    assert lifetime.time(0.02) * unit == pytest.approx(printed, abs=6e-11)
    x = 0.02
    corners = np.array([0.0, math.pi / 2 - x, math.pi, 1.5 * math.pi - x])
    # Near their meeting an error of time grows into one of the gap by speeds of at most 0.05.
    assert first_gap(corners, lifetime.time(x), beta, flow) == pytest.approx(MET, abs=1e-11)


@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
def test_hexagon_lives_as_long_as_atoms(flow):
    """Six clusters, beta = 9, in pairs; the constant is what is left of ever smaller errors."""
    lifetime = polygon_lifetime(problem(9.0, flow), 6, gap=0.3)
    sixth, x = math.pi / 3, 0.05
    angles = np.arange(6) * sixth - x * (np.arange(6) % 2)
    assert first_gap(angles, lifetime.time(x), 9.0, flow) == pytest.approx(0.3, abs=1e-11)
    rest = lifetime.rate * lifetime.time(1e-5) - math.log(1e5)
    assert rest == pytest.approx(lifetime.constant, abs=1e-8)
    pairing = mf.cluster_rates(problem(9.0, flow), mf.Measure(mf.Circle(), np.arange(6) * sixth))
    assert lifetime.rate == pytest.approx(pairing.escape[0], rel=1e-12)


@pytest.mark.parametrize(
    ("k", "beta", "flow", "error", "gap", "exact"),
    # Integrated in 40 digits.
    [
        (4, 5.0, mf.SA, 0.02, 1e-6, 37.75984890875796),
        (6, 9.0, mf.USA, 0.05, 1e-8, 97.57345524209376),
        (4, 5.0, mf.USA, 0.02, 1e-12, 148.9924091232561),
    ],
)
def test_the_last_stretch_of_a_polygon_takes_its_time(k, beta, flow, error, gap, exact):
    """The speed falls with the gap: ln(1 / gap) over the rate of contraction."""
    lifetime = polygon_lifetime(problem(beta, flow), k, gap=gap)
    assert lifetime.time(error) == pytest.approx(exact, rel=2e-15)
    # The smallest double, too.
    smallest = lifetime.rate * lifetime.time(5e-324) + math.log(5e-324)
    assert smallest == pytest.approx(lifetime.constant, abs=1e-11)


@pytest.mark.parametrize(
    ("beta", "sa"), [(1.0, 1.237640184), (5.0, -0.689839406), (9.0, -1.011116214)]
)
def test_opposite_pair_has_its_constants(beta, sa):
    """Exponential integrals; any error is the time of two clusters."""
    own = problem(beta)
    lifetime = polygon_lifetime(own, 2, gap=MET)
    expected = -(np.euler_gamma + math.log(beta / 2)) / 2 - exp1(beta * 1.999) / 2
    expected += math.exp(-2 * beta) * (expi(2 * beta) - expi(beta * 0.001)) / 2
    assert lifetime.constant == pytest.approx(expected, abs=1e-13)
    normalized = polygon_lifetime(problem(beta, mf.SA), 2, gap=MET)
    assert normalized.constant == pytest.approx(sa, abs=3e-9)
    assert normalized.rate == pytest.approx(2 / (1 + math.exp(2 * beta)), rel=1e-14)
    for life, flow in ((lifetime, mf.USA), (normalized, mf.SA)):
        alone = mf.two_cluster_time(problem(beta, flow), math.pi - 0.2, MET)
        assert life.time(0.2) == pytest.approx(alone, rel=1e-12)


def test_laplace_series_has_its_orders():
    """Relative errors of one to four terms, as printed, and without overflow."""
    for beta, printed in (
        (20.0, [-5e-2, -1.2e-2, -3.0e-3, -1.2e-3]),
        (81.0, [-1.1e-2, -5.9e-4, -3.1e-5, -2.6e-6]),
    ):
        exact = math.log(mf.two_cluster_time(problem(beta), 1.2, MET))
        errors = [
            math.expm1(log_pair_time(problem(beta), 1.2, orders=n) - exact) for n in (1, 2, 3, 4)
        ]
        np.testing.assert_allclose(errors, printed, rtol=0.06)
    steep, masses = problem(200.0, mf.SA), (0.2, 0.3)
    exact = math.log(mf.two_cluster_time(steep, 1.0, 0.01, masses))
    assert log_pair_time(steep, 1.0, masses) == pytest.approx(exact, abs=1e-6)
    assert mf.two_cluster_time(problem(1e4), 1.0, 0.01) == math.inf
    assert log_pair_time(problem(1e4), 1.0) == pytest.approx(1e4 * (1 - math.cos(1)), rel=0.01)


@pytest.mark.parametrize(
    ("beta", "printed"), [(10.0, 0.788236), (40.0, 0.816826), (81.0, 0.825171)]
)
def test_light_cluster_walks_its_printed_share(beta, printed):
    """SA, masses 0.3 and 0.7; what is printed is of a run that ended at 1e-4, of all of the way."""
    walked = meeting_share(problem(beta, mf.SA), 1.2, (0.3, 0.7), 1e-4) * (1.2 - 1e-4)
    assert walked / 1.2 == pytest.approx(printed, abs=1e-6)


@pytest.mark.parametrize("beta", [10.0, 40.0])
def test_light_cluster_walks_the_share_of_atoms(beta):
    """An integration, and the two shares add up."""
    own, masses = problem(beta, mf.SA), (0.3, 0.7)
    time = mf.two_cluster_time(own, 1.2, 0.2, masses)
    first, second = angles_after(time, np.array([0.0, 1.2]), np.array(masses), beta, True)
    # The gap they have come to: times of 1e10 leave little of their last digits.
    left = float(second - first)
    walked = meeting_share(own, 1.2, masses, left) * (1.2 - left)
    assert first == pytest.approx(walked, abs=1e-10)
    other = meeting_share(own, 1.2, masses[::-1])
    assert other == pytest.approx(1 - meeting_share(own, 1.2, masses), abs=1e-13)
    assert meeting_share(problem(beta), 1.2, masses) == 0.7


def closest(cosines: np.ndarray) -> np.ndarray:
    n = cosines.shape[-1]
    pairs = cosines[:, *np.triu_indices(n, 1)]
    return np.asarray(np.arccos(np.minimum(pairs.max(axis=1), 1.0)))


@pytest.mark.slow
def test_nearest_two_on_the_circle_have_their_law():
    """Kolmogorov and Smirnov, 10,000 draws of five tokens; the exact law has p-values above 1 %."""
    angles = 2 * np.pi * np.random.default_rng(5).random((10_000, 5))
    gaps = closest(np.cos(angles[:, :, None] - angles[:, None]))
    test = kstest(gaps, lambda g: 1 - closest_pair_survival(mf.Circle(), 5, np.minimum(g, np.pi)))
    assert test.pvalue > 0.01


@pytest.mark.slow
def test_nearest_two_on_the_sphere_nearly_have_their_law():
    """20 tokens: the mean of 1 - cos is 0.949(15) of 4 / (n (n - 1)); of two the law is exact."""
    space, rng = mf.Sphere(), np.random.default_rng(7)

    def widths(draws: int, tokens: int) -> np.ndarray:
        x = rng.standard_normal((draws, tokens, 3))
        x /= np.linalg.norm(x, axis=2, keepdims=True)
        return np.asarray(1 - np.cos(closest(x @ x.transpose(0, 2, 1))))

    assert widths(5_000, 20).mean() * 20 * 19 / 4 == pytest.approx(0.949, abs=0.04)
    # Two tokens are one pair: exactly.
    two = np.arccos(1 - widths(10_000, 2))
    assert kstest(two, lambda g: 1 - closest_pair_survival(space, 2, g)).pvalue > 0.01


def test_what_has_no_lifetime_is_refused():
    """Odd polygons, gaps and angles out of range, modes that do not grow."""
    of = problem(5.0)
    refused("must be even to meet in pairs, got 5", polygon_lifetime, of, 5)
    refused("gap must lie between 0 and 2 pi / 4", polygon_lifetime, of, 4, 2.0)
    refused("4 clusters do not pair up at beta = 0", polygon_lifetime, problem(0.0), 4)
    refused("2 clusters live longer than 1e308", polygon_lifetime, problem(400.0), 2)
    refused("error must be positive", polygon_lifetime(of, 4).time, 0.0)
    refused("0 <= until < angle <= pi", meeting_share, of, 1.0, (0.5, 0.5), 2.0)
    refused("beta > 0, strength > 0", log_pair_time, problem(-5.0), 1.0)
    refused("angle must lie between 0 and pi, got 4", log_pair_time, of, 4.0)
    refused("too near 0 or pi for a series", log_pair_time, problem(0.1), 3.0)
    refused("series in 1 / beta at beta = 1e-08", log_pair_time, problem(1e-8), 1.2)
    # One term is 18 % wrong, four are 4 %.
    refused("beta = 30 with orders = 1: two", log_pair_time, problem(30.0), 2.6, orders=1)
    refused("no small share of a time", log_pair_time, problem(9.0, mf.SA), 2.0, (1e-4, 0.9))
    refused("a time of e.-inf", log_pair_time, problem(50.0, mf.SA), 2.0, (0.0, 1.0))
    refused("tokens must be at least 2", closest_pair_survival, mf.Circle(), 1, np.ones(1))
