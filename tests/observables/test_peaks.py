"""Peaks: maxima of the attention potential, counted and not made of rounding."""

import numpy as np
import pytest

import meanfield as mf
from meanfield.observables import peaks

ANGLES = 2 * np.pi * np.arange(3) / 3
THREE = mf.Measure(mf.Sphere(), np.stack([np.cos(ANGLES), np.sin(ANGLES), 0.0 * ANGLES], axis=-1))


def peaks_of(problem: mf.Problem, measure: mf.Measure | mf.Density) -> int:
    return peaks(problem, measure.moments(problem.moment_degree))


@pytest.mark.parametrize("manifold", [mf.Circle(), mf.Sphere()], ids=["circle", "sphere"])
def test_uniform_has_no_peaks(manifold):
    """The potential is constant: neither the density nor even tokens make peaks of rounding."""
    problem = mf.Problem(manifold, mf.exponential(beta=9.0), mf.USA)
    assert peaks_of(problem, problem.initial_measure()) == 0
    grid = manifold.grid(200)
    assert peaks_of(problem, mf.Measure(manifold, grid.points, grid.weights)) == 0


@pytest.mark.parametrize("beta", [9.0, 100.0])
def test_flat_valleys_hold_no_peaks(beta):
    """Two clusters of many tokens: the potential is below rounding between them at beta = 100."""
    rng = np.random.default_rng(0)
    points = np.repeat([0.0, 2.0], [6000, 4000]) + 1e-3 * rng.standard_normal(10_000)
    problem = mf.Problem(mf.Circle(), mf.exponential(beta), mf.USA)
    assert peaks_of(problem, mf.Measure(mf.Circle(), points)) == 2
    vectors = np.stack([np.cos(points), np.sin(points), 0.0 * points], axis=-1)
    problem = mf.Problem(mf.Sphere(), mf.exponential(beta), mf.USA)
    assert peaks_of(problem, mf.Measure(mf.Sphere(), vectors)) == 2


@pytest.mark.slow
def test_peaks_agree_with_a_fine_grid():
    """Peaks of random tokens would differ from signs of differences on 20,000 points."""
    theta = np.linspace(0.0, 2 * np.pi, 20_000, endpoint=False)
    problem = mf.Problem(mf.Circle(), mf.exponential(beta=12.0), mf.USA)
    for seed in range(5):
        points = np.random.default_rng(seed).uniform(0.0, 2 * np.pi, 200)
        potential = np.exp(12.0 * (np.cos(theta[:, None] - points) - 1.0)).sum(axis=1)
        higher = (potential > np.roll(potential, 1)) & (potential > np.roll(potential, -1))
        assert peaks_of(problem, mf.Measure(mf.Circle(), points)) == higher.sum()


def test_repulsion_turns_peaks_around():
    """Tokens that repel climb -W * mu: from three clusters on the equator to the poles."""
    for strength, expected in ((1.0, 3), (-1.0, 2)):
        problem = mf.Problem(mf.Sphere(), mf.exponential(9.0), mf.Flow("none", strength=strength))
        assert peaks_of(problem, THREE) == expected


def test_a_drift_and_frequencies_keep_the_potential_of_the_kernel():
    """exponential(beta) of strength 1 in its place would count 3 poles, and 1 zonal peak."""
    repelling, drift = mf.Flow("none", strength=-1.0), mf.LinearDrift(1e-6)
    problem = mf.Problem(mf.Sphere(), mf.exponential(9.0), repelling, drift=drift)
    assert peaks_of(problem, THREE) == 2
    # a(s) = s has W(s) = s^2 / 2: its potential is the same at opposite points.
    near = mf.Measure(mf.Circle(), np.array([0.0, 1.0]))
    for parts in ({"drift": drift}, {"frequencies": mf.Gaussian(0.1)}):
        problem = mf.Problem(mf.Circle(), mf.zonal(lambda s: s), mf.USA, **parts)
        assert peaks_of(problem, near) == 2


def test_linear_kernel_has_one_peak():
    """W * mu is a function of degree one."""
    problem = mf.Problem(mf.Sphere(), mf.linear(), mf.USA)
    points = mf.Sphere().random_points(30, np.random.default_rng(0))
    assert peaks_of(problem, mf.Measure(mf.Sphere(), points)) == 1
