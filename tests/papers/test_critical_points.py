"""Critical points of tokens on the circle against closed forms and topology; what is proved."""

import numpy as np
import pytest
from parameters import refused, together

import meanfield as mf
from meanfield.papers.critical_points import _sorted, critical_points, single_cluster_proof


def test_linear_kernel_has_its_saddles():
    """Opposite groups of p > m tokens: index m, eigenvalues 1 and R, energy (1 + R^2) / 2."""
    points = critical_points(0.0, 7, starts=200)
    for m in (0, 1, 2, 3):
        shape = (m, 7 - m) if m else (7,)
        (at,) = [i for i, each in enumerate(points.multiplicities) if each == shape]
        mean = (7 - 2 * m) / 7
        assert (points.index[at], points.nullity[at]) == (m, 0)
        assert points.energy[at] == pytest.approx((1 + mean**2) / 2, rel=1e-12)
        if m:
            assert points.largest[at] == pytest.approx(1.0, rel=1e-12)
            assert points.smallest[at] == pytest.approx(mean if m > 1 else 1.0, rel=1e-12)
    # The others have R = 0, and are not isolated.
    rest = points.energy < 0.5 + 1e-9
    assert np.all(points.nullity[rest] == 4)
    assert not points.spurious.size
    assert points.euler_sum is None


@pytest.mark.slow
@pytest.mark.parametrize(("beta", "tokens"), [(5.0, 6), (1.0, 5)])
def test_points_are_critical_and_none_is_missing(beta, tokens):
    """Rates by another code, and the Euler characteristic of the torus, which one lost breaks."""
    points = critical_points(beta, tokens, starts=400)
    assert points.euler_sum == 0
    assert not points.spurious.size
    assert "no maximum but one cluster" in points.certificate
    problem = mf.Problem(mf.Circle(), mf.exponential(beta), mf.USA)
    for i, angles in enumerate(points.angles):
        rates = mf.cluster_rates(problem, mf.Measure(mf.Circle(), angles))
        assert rates.drift < 1e-12
        assert (rates.escape > 1e-12).sum() == points.index[i]
        assert rates.escape[0] == pytest.approx(points.largest[i], rel=1e-9, abs=1e-13)
    # Two opposite groups are left at e^{-2 beta}, whatever their sizes; a polygon by all its modes.
    opposite = [points.largest[i] for i, each in enumerate(points.multiplicities) if len(each) == 2]
    np.testing.assert_allclose(opposite, np.exp(-2 * beta), rtol=1e-9)
    assert points.index[points.multiplicities.index((1,) * tokens)] == tokens - 1


def test_certificate_has_four_digits_of_the_euler_sum():
    """For 64 tokens it has some 60 digits."""
    points = critical_points(2.0, 12, starts=20)
    assert f"(Euler sum {points.euler_sum:.3e}: there are more)" in points.certificate


def test_what_rounding_hides_is_no_maximum():
    """Opposite groups are left at e^{-2 beta} as far as beta goes; at 0 nothing is decided."""
    points = critical_points(14.5, 4, starts=200)
    opposite = [points.largest[i] for i, each in enumerate(points.multiplicities) if len(each) == 2]
    np.testing.assert_allclose(opposite, np.exp(-29.0), rtol=2e-3)
    assert not (points.spurious.size or points.undecided.size)
    triangle = 2 * np.pi / 3 * np.arange(3)[None]
    turn = _sorted(-2 / 3, 3, 1, 0, triangle, np.array([[-1.0, 0.0, 1e-17]]))
    assert (list(turn.spurious), list(turn.undecided), turn.euler_sum) == ([], [0], None)
    assert "rounding does not say: (1, 1, 1)" in turn.certificate


@pytest.mark.slow
def test_search_finds_the_exact_maximum():
    """Beta < -2/3 has a stable triangle, of three tokens or of three pairs."""
    for tokens, shape in ((3, (1, 1, 1)), (6, (2, 2, 2))):
        points = critical_points(-1.0, tokens, starts=200)
        assert shape in [points.multiplicities[i] for i in points.spurious]
        assert f"maxima besides one cluster: {shape}" in repr(points)
    assert not critical_points(-0.6, 3, starts=100).spurious.size


@together(
    ("manifold", "tokens", "beta", "proved", "said"),
    [
        (mf.Circle(), 32, 5.0, True, "beta >= -0.16"),
        (mf.Circle(), 7, 3.4642, True, "beta > 3.464"),
        (mf.Circle(), 9, 0.5, True, "0 <= beta <= 1"),
        (mf.Circle(), 9, -0.3, None, "a share 0.03516 of all"),
        (mf.Circle(), 9, -0.7, False, "multiple of 3"),
        (mf.Circle(), 10, -0.7, None, "hemisphere"),
        (mf.Sphere(), 100, 50.0, True, "d >= 3"),
        (mf.Sphere(8), 8, -4.0, True, "n <= d"),
        (mf.Sphere(8), 9, -4.0, None, "a share 0.9961 of all"),
    ],
)
def test_what_is_proved_is_said(manifold, tokens, beta, proved, said):
    """One row per theorem, its range, and what is open."""
    result = single_cluster_proof(manifold, tokens, beta)
    assert result.proved is proved
    assert said in repr(result)
    assert result.probability == (1 if proved else mf.hemisphere_probability(manifold, tokens))


def test_what_cannot_be_searched_is_refused():
    """No tokens, no starts."""
    refused("tokens must be at least 2, got 1", critical_points, 1.0, 1)
    refused("tokens must be at most 64", critical_points, 1.0, 65)
    refused("starts must be at least 1", critical_points, 1.0, 3, starts=0)
    refused("seed must be at least 0", critical_points, 1.0, 3, seed=-1)
    refused("3 tokens .* rounding .* at most 15.3 in modulus", critical_points, 25.0, 3)
    refused("at most 13.8 in modulus", critical_points, -1e4, 64)
    refused("tokens must be at least 1", single_cluster_proof, mf.Circle(), 0, 1.0)
