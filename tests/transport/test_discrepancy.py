"""The maximum mean discrepancy: sums over pairs, its mean over samples, what it refuses."""

import numpy as np
import pytest
from parameters import refused
from scipy.special import binom, ive

import meanfield as mf
from meanfield.transport.discrepancy import sampled_discrepancy

CIRCLE = mf.Circle()


@pytest.mark.parametrize("manifold", [CIRCLE, mf.Sphere(), mf.Sphere(6)])
def test_moments_and_pairs_agree(manifold):
    """The definition, written once more; points of different numbers and masses."""
    rng, beta = np.random.default_rng(2), 3.0
    one = mf.Measure(manifold, manifold.random_points(5, rng), rng.dirichlet(np.ones(5)))
    two = mf.Measure(manifold, manifold.random_points(8, rng))
    x = manifold.vectors(np.concatenate([one.points, two.points]))
    masses = np.concatenate([one.mass, -two.mass])
    expected = np.sqrt(masses @ np.exp(beta * (x @ x.T - 1.0)) @ masses)
    assert mf.maximum_mean_discrepancy(one, two, beta) == pytest.approx(expected, rel=1e-13)


def test_near_measures_keep_their_digits():
    """By energies the difference would be lost: MMD^2 = beta angle^2 of two Diracs, 1e-18 here."""
    one, two = (mf.Measure(CIRCLE, [1.0 + moved]) for moved in (0.0, 1e-9))
    distance = mf.maximum_mean_discrepancy(one, two, 4.0)
    # The angle itself is known to 2e-16 / 1e-9.
    assert distance == pytest.approx(2e-9, rel=1e-6)


@pytest.mark.parametrize("beta", [1.0, 9.0])
def test_mean_over_samples_is_exact(beta):
    """Uniform: (1 - e^{-beta} I_0) / n; a mixture of two points: all samples, enumerated."""
    uniform = mf.Density(CIRCLE, [1.0])
    assert sampled_discrepancy(uniform, beta, 7) == pytest.approx((1.0 - ive(0, beta)) / 7)
    law, mean = mf.Measure(CIRCLE, [0.0, 1.0], [0.3, 0.7]), 0.0
    for ones in range(4):
        sample = mf.Measure(CIRCLE, [0.0] * (3 - ones) + [1.0] * ones)
        square = mf.maximum_mean_discrepancy(sample, law, beta) ** 2
        mean += binom(3, ones) * 0.7**ones * 0.3 ** (3 - ones) * square
    assert sampled_discrepancy(law, beta, 3) == pytest.approx(mean, rel=1e-12)


@pytest.mark.slow
def test_comparisons_have_it_as_a_metric():
    """Independent tokens of the law at time 0: the mean of its square is known."""
    law = mf.perturbed_uniform([[3, 0.2, 0.0]])
    problem = mf.Problem(CIRCLE, mf.exponential(5.0), mf.USA, law)
    options = {"save": 2, "tokens": (20, 200), "runs": 100, "metric": "mmd"}
    study = mf.convergence_study(problem, 0.1, **options)
    squares = (study.distances[:, :, 0] ** 2).mean(axis=1)
    expected = [sampled_discrepancy(problem.initial_measure(), 5.0, n) for n in (20, 200)]
    # Six standard errors of 100 repetitions.
    assert np.allclose(squares, expected, rtol=0.25)
    assert "mmd" in repr(study)
    attractive = mf.Problem(CIRCLE, mf.linear(), mf.USA, law)
    refused("has beta = 0", mf.convergence_study, attractive, 0.1, **options)


def test_other_kernels_and_spaces_are_refused():
    """A kernel that is not positive, R^d, densities without a series."""
    uniform, flat = mf.Density(CIRCLE, [1.0]), mf.Measure(mf.Euclidean(2), np.eye(2))
    refused("beta must be positive", mf.maximum_mean_discrepancy, uniform, uniform, -1.0)
    refused("no such kernel", mf.maximum_mean_discrepancy, flat, flat, 1.0)
    refused("no such kernel", sampled_discrepancy, flat, 1.0, 3)
