"""Uniform tokens in any dimension: halves, caps, centres and cosines."""

import math

import mpmath
import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.papers.random_tokens import (
    almost_orthogonal_bounds,
    cap_mass,
    expected_centres,
    hemisphere_probability,
    log_pair_tail,
)


def test_wendel_is_a_sum_of_integers():
    """2^{n-1} P is an integer; up to d vectors of R^d are all on one side of a plane."""
    for d, n in ((2, 10), (3, 10), (700, 1500), (30, 40)):
        exact = sum(math.comb(n - 1, k) for k in range(d)) / 2 ** (n - 1)
        assert hemisphere_probability(mf.Sphere(d), n) == pytest.approx(exact, rel=1e-13)
    assert hemisphere_probability(mf.Sphere(300), 300) == 1.0


@pytest.mark.parametrize(
    ("d", "c"),
    [(2, 0.3), (8, 0.99), (121, 0.95), (1024, 0.2), (1024, 0.9), (10**6, 0.05), (100, 1 - 1e-7)],
)
def test_pair_tail_is_the_incomplete_beta_function(d, c):
    """Digits of mpmath, from 0.8 to e^{-1250}."""
    with mpmath.workdps(40):
        x = 1 - mpmath.mpf(c) ** 2
        a = mpmath.mpf(d - 1) / 2
        # The hypergeometric function in which it is one positive series.
        series = mpmath.hyp2f1(a + 0.5, 1, a + 1, x)
        exact = x**a * mpmath.sqrt(1 - x) * series / (a * mpmath.beta(a, 0.5))
        exact = float(mpmath.log(exact))
    # ln p is conditioned like d c^2.
    assert log_pair_tail(mf.Sphere(d), c) == pytest.approx(exact, rel=2e-14, abs=2e-14)


def test_small_cosines_have_a_tail():
    """1 - c^2 rounds to 1, of which half of the digits of c would be left, or none."""
    d, c = 8, 1e-9
    height = math.gamma(d / 2) / (math.gamma((d - 1) / 2) * math.sqrt(math.pi))
    assert log_pair_tail(mf.Sphere(d), c) == pytest.approx(-2.0 * height * c, rel=1e-8)


def test_bounds_of_almost_orthogonal_tokens_hold():
    """Five tokens in R^6, 20,000 draws; the bounds differ by some (N p)^2."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((20_000, 5, 6))
    x /= np.linalg.norm(x, axis=2, keepdims=True)
    cosines = np.abs(np.einsum("rid,rjd->rij", x, x) - np.eye(5)).max(axis=(1, 2))
    for c in (0.6, 0.8, 0.9):
        lower, upper = almost_orthogonal_bounds(mf.Sphere(6), 5, c)
        share = np.mean(cosines <= c)
        error = 4 * math.sqrt(share * (1 - share) / 20_000)
        assert lower - error < share < upper + error
    assert upper - lower < 4e-3  # (N p)^2


def test_caps_and_centres_have_their_formulas():
    """Angle / pi on the circle, sin^2(angle / 2) on S^2, and 2 pi centres of 200 tokens at 1/2."""
    for angle in (1e-6, 0.5, 2.5):
        assert cap_mass(mf.Circle(), angle) == pytest.approx(angle / math.pi, rel=1e-13)
        assert cap_mass(mf.Sphere(), angle) == pytest.approx(math.sin(angle / 2) ** 2, rel=1e-13)
    assert expected_centres(mf.Circle(), 200, 0.5) == pytest.approx(6.283185, abs=5e-7)
    assert expected_centres(mf.Circle(), 200, 0.0) == 200
    assert expected_centres(mf.Circle(), 200, math.pi) == 1
    # The sum of the chances of each token.
    q = cap_mass(mf.Sphere(5), 0.7)
    chances = (1 - q) ** np.arange(50)
    assert expected_centres(mf.Sphere(5), 50, 0.7) == pytest.approx(chances.sum(), rel=1e-13)


def test_impossible_tokens_are_refused():
    """Numbers out of range."""
    circle, space = mf.Circle(), mf.Euclidean(3)
    refused("tokens must be at least 1, got 0", hemisphere_probability, circle, 0)
    refused(r"no law is uniform on Euclidean\(3\)", hemisphere_probability, space, 9)
    refused("angle must lie between 0 and pi, got 4", cap_mass, circle, 4.0)
    refused("cosine must lie between 0 and 1, got 1.1", log_pair_tail, circle, 1.1)
    refused("tokens must be at least 2", almost_orthogonal_bounds, circle, 1, 0.1)
    refused("tokens must be at least 0", expected_centres, circle, -1, 0.1)
