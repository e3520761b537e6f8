"""Equiangular tokens against tables, exponential integrals, their equation and runs in R^n."""

import math
from typing import Any

import core
import mpmath
import numpy as np
import pytest
from parameters import each, refused

import meanfield as mf
from meanfield.papers.equiangular import log_late_gap


def problem(n: int, beta: float, flow: mf.Flow = mf.SA) -> mf.Problem:
    return mf.Problem(mf.Sphere(max(n, 2)), mf.exponential(beta) if beta else mf.linear(), flow)


def exact_time(n: int, beta: float, start: Any, until: Any, flow: mf.Flow) -> mpmath.mpf:
    """Closed form in exponential integrals, beta not 0."""
    b, g0, g, a = *map(mpmath.mpf, (beta, start, until)), mpmath.mpf(1) / (n - 1)
    inverse = mpmath.ei(b * (1 - g0)) - mpmath.ei(b * (1 - g))
    inverse += mpmath.exp(b * n * a) * (mpmath.e1(b * (g0 + a)) - mpmath.e1(b * (g + a)))
    logarithm = mpmath.log((g + a) * (1 - g0) / ((1 - g) * (g0 + a)))
    if flow.normalized:
        return mpmath.re(inverse + (n - 1) * logarithm) / (2 * n)
    return mpmath.exp(abs(b) - b) * mpmath.re(inverse) / 2


@pytest.mark.parametrize("n, beta, flow", [
    (2, 5.0, mf.SA), (8, 2.0, mf.SA), (8, 5.0, mf.SA), (32, 1.0, mf.SA), (32, 5.0, mf.SA),
    (32, 9.0, mf.SA), (128, 5.0, mf.SA), (8, 2.0, mf.USA), (8, 5.0, mf.USA), (32, 5.0, mf.USA),
    (128, 2.0, mf.USA),
])  # fmt: skip
def test_cosines_invert_the_closed_form(n, beta, flow):
    """Orthogonal tokens at times of both papers: the curve would leave the exact one."""
    scaled = math.exp(beta) * np.array([0.1, 0.25, 0.5, 1.0])
    times = np.array([0.5, 1.0, 2.0, 5.0, 10.0]) if flow.normalized else scaled
    result = mf.equiangular_cosine(problem(n, beta, flow), n, times)
    with mpmath.workdps(40):
        for time, cosine in zip(times.tolist(), result.tolist(), strict=True):
            # Newton's step to the root, where the slope of the time is a difference.
            gap, h = max(1 - mpmath.mpf(cosine), mpmath.mpf("1e-17")), mpmath.mpf("1e-12")
            off = exact_time(n, beta, 0, 1 - gap, flow) - time
            slope = (exact_time(n, beta, 0, 1 - gap * (1 - h), flow) - time - off) / (gap * h)
            assert abs(off / slope) < 1e-11


def test_two_tokens_without_scores_have_a_closed_form():
    """At beta = 0 and n = 2 the cosine is tanh t."""
    times = np.array([0.5, 1.0, 2.0, 5.0, 10.0])
    cosines = mf.equiangular_cosine(problem(2, 0.0), 2, times)
    np.testing.assert_allclose(cosines, np.tanh(times), rtol=0, atol=1e-11)


@pytest.mark.parametrize("n, beta, start, flow", [
    (8, 2.0, 0.0, mf.SA), (16, 5.0, -0.03, mf.USA), (8, -3.0, 0.3, mf.USA),
    (5, -4.0, -0.24, mf.Flow(True, 1.5)), (5, 0.0, -0.24, mf.Flow(False, 1.5)),
    (5, 6.0, -0.24, mf.Flow(False, 1.5)),
])  # fmt: skip
def test_all_tokens_stay_on_the_curve(n, beta, start, flow):
    """Direct sums over n tokens of R^n: every pair keeps the same cosine, that of the curve."""
    times = np.array([0.3, 2.0]) * (1.0 if flow.normalized else math.exp(abs(beta) - 1.0))
    one, tokens = np.eye(n), np.linalg.cholesky((1.0 - start) * np.eye(n) + start)
    head, normalization = (beta * one, flow.strength * one), flow.normalization
    of = core.Problem([core.attention([head], normalization, abs(beta))])
    states = core.evolve([(math.inf, of)], core.Points(tokens, np.full(n, 1 / n)), times, 1e-13)
    curve = mf.equiangular_cosine(problem(n, beta, flow), n, times, start)
    for x, cosine in zip(states, curve, strict=True):
        assert start + 1e-4 < cosine < 0.9999
        np.testing.assert_allclose((x @ x.T)[one == 0], cosine, rtol=0, atol=1e-11)


@each(
    "n, beta, start",
    [(2, 1e-6, 0.4), (8, -40.0, -0.1), (1000, 60.0, 0.4), (10**6, 700.0, 0.0)],
    flow=[mf.SA, mf.USA],
)
def test_times_are_exponential_integrals(n, beta, start, flow):
    """Short ways too, where differences of Ei keep no digit, and the way back."""
    of = problem(n, beta, flow)
    cosines = start + np.array([1e-9, 0.1, 0.3, 0.5995])
    times = mf.equiangular_time(of, n, cosines, start)
    with mpmath.workdps(60 if abs(beta) < 100 else 800):
        expected = [float(exact_time(n, beta, start, cosine, flow)) for cosine in cosines]
    # An error eps of beta is one of the exponent.
    tolerance = 1e-14 + 2e-15 * max(1.0, math.log(times[-1]))
    np.testing.assert_allclose(times, expected, rtol=tolerance)
    # Long times do not tell later cosines apart.
    back = mf.equiangular_cosine(of, n, times[:1], start)
    assert back[0] - start == pytest.approx(cosines[0] - start, rel=max(tolerance, 1e-13))


def test_two_tokens_take_the_time_of_two_clusters():
    """Equal masses, another formula in another variable."""
    for beta, flow in ((-3.0, mf.USA), (4.0, mf.SA), (81.0, mf.Flow(True, strength=2.0))):
        of = mf.Problem(mf.Circle(), mf.exponential(beta), flow)
        time = mf.equiangular_time(of, 2, math.cos(0.1), math.cos(2.0))
        assert time == pytest.approx(mf.two_cluster_time(of, 2.0, 0.1), rel=2e-13)


@pytest.mark.parametrize("n, beta, constant", [
    (8, 2.0, 29.8796274), (32, 5.0, 195248.594), (128, 5.0, 4280.25546),
    (32, 9.0, 1.75491578e152),
])  # fmt: skip
def test_late_gaps_have_their_constant(n, beta, constant):
    """The constant as printed."""
    log_constant = log_late_gap(problem(n, beta), n)
    assert log_constant == pytest.approx(math.log(constant), abs=3e-9)


def test_tokens_start_at_the_speed_of_their_layer():
    """2 / (e^beta + n - 1) from orthogonal tokens, and no digit lost in a short time."""
    result = mf.equiangular_cosine(problem(8, 2.0), 8, 1e-12) / 1e-12
    assert result == pytest.approx(0.1389945237720, abs=1e-12)
    result = mf.equiangular_cosine(problem(10**6, 700.0), 10**6, 1.0)
    assert result == pytest.approx(2.0 * math.exp(-700.0), rel=1e-12)


def test_the_phase_curve_is_that_of_the_table():
    """Betas by which 1 - 1e-3 is reached; none before that of beta = 0."""
    times = np.array([6.0, 8, 10, 15, 20, 30])
    for n, printed in (
        (32, [3.146066216, 4.5155762011, 5.1099043094, 5.8940992297, 6.3447397385, 6.9064586476]),
        (128, [2.1872725485, 5.2027205212, 5.9123956937, 6.7570963812, 7.219827953, 7.7848772709]),
    ):
        result = mf.equiangular_beta(n, times)
        np.testing.assert_allclose(result, printed, rtol=0, atol=1e-9)
        first = 0.5 * math.log((0.999 * (n - 1) + 1) / 1e-3)
        assert math.isnan(mf.equiangular_beta(n, 0.999999 * first))
        assert 0 < mf.equiangular_beta(n, 1.000001 * first) < 1e-3
    # No beta is too large, no cosine too near 1.
    beta = mf.equiangular_beta(10**6, 1e300, delta=1e-30)
    assert mf.equiangular_time(problem(10**6, beta), 10**6, 1 - 1e-3) == pytest.approx(1e300, 1e-11)


def test_the_ends_of_time_are_the_ends_of_the_curve():
    """Nothing at time 0, one point at last, and nothing beyond range between."""
    for beta in (-1e6, -700.0, 0.0, 700.0, 1e6):
        for flow in (mf.SA, mf.USA):
            of = problem(2, beta, flow)
            cosines = mf.equiangular_cosine(of, 2, np.array([0.0, 1.0, 1e300, math.inf]), -0.9)
            assert cosines[0] == -0.9 and cosines[3] == 1.0 and np.all(np.diff(cosines) >= 0)
            times = mf.equiangular_time(of, 2, np.array([-0.9, 0.0, 0.7, 1.0]), -0.9)
            assert times[0] == 0.0 and times[3] == math.inf and np.all(times[1:] > 0)


def test_what_no_curve_describes_is_refused():
    """Too little room, other kernels, repulsion, noise, and values out of range."""
    of, cosine, time = problem(4, 1.0), mf.equiangular_cosine, mf.equiangular_time
    refused("d >= 5, got d = 4", cosine, of, 5, 1.0)
    refused("tokens must be at least 2", cosine, of, 1, 1.0)
    refused("times must not be negative", cosine, of, 4, -1.0)
    refused("= -0.333333 and 1, got", cosine, of, 4, 1.0, -0.5)
    refused("function of time", cosine, problem(4, lambda t: 1.0 + t), 4, 1.0)
    refused("between start = 0.2 and 1", time, of, 4, 0.1, 0.2)
    repelled, noisy = mf.Flow("none", strength=-1.0), mf.Flow("none", diffusivity=0.1)
    refused("a positive strength, got -1", time, problem(4, 1.0, repelled), 4, 0.5)
    refused("diffusivity > 0", time, problem(4, 1.0, noisy), 4, 0.5)
    own = mf.Problem(mf.Sphere(), mf.zonal(lambda s: s), mf.USA)
    refused("need mf.exponential", time, own, 2, 0.5)
    refused("times must be positive and finite", mf.equiangular_beta, 4, 0.0)
    refused("delta must lie between 0 and 1", mf.equiangular_beta, 4, 1.0, 1.0)
    refused("tokens must be at least 2", mf.equiangular_beta, 1, 1.0)
