"""How clusters form from N independent tokens on the circle: growth, places and times."""

import math
from collections.abc import Iterator

import numpy as np
import pytest

import meanfield as mf
from meanfield.carriers.particles import ParticleRepresentation
from meanfield.observables.clusters import cluster_radius, clusters
from meanfield.spaces.maxima import maxima
from meanfield.studies.ensemble import CARRIERS, run_tokens
from meanfield.trajectory import trajectory

CIRCLE = mf.Circle()
# Steps are far more accurate than means of thousands of runs.
TOLERANCE = 1e-4


def on_circle(beta: float) -> mf.Problem:
    return mf.Problem(CIRCLE, mf.exponential(beta), mf.USA)


def squared_moments(problem, tokens, seeds, degree, carrier="particles"):
    """N |c_k|^2 of many runs at a quarter and a half of the onset time, and what it should be."""
    times = np.array([0.25, 0.5]) * mf.onset_time(problem, tokens)
    values = np.empty((seeds, 2, degree + 1))
    for seed in range(seeds):
        start = CARRIERS[carrier](problem, run_tokens(problem, tokens, seed, 5), TOLERANCE)
        carried = ParticleRepresentation(
            problem,
            start.points,
            start.weights,
            problem.kernel.degree(problem.manifold.dimension, TOLERANCE),
        )
        for j, snapshot in enumerate(trajectory(problem, carried, times, tolerance=TOLERANCE)):
            values[seed, j] = tokens * np.abs(snapshot.measure.moments(degree)) ** 2
    growth = np.exp(2.0 * np.outer(times, mf.growth_rates(problem, degree)))
    return values[:, :, 1:], growth[:, 1:]


@pytest.mark.slow
@pytest.mark.parametrize(
    "beta, tokens, seeds, degree, name",
    [
        (5.0, 20_000, 150, 4, ["density"]),
        pytest.param(2.0, 2000, 4000, 3, [], marks=pytest.mark.slow),
        pytest.param(5.0, 20_000, 1000, 4, ["density"], marks=pytest.mark.slow),
    ],
    ids=["few", "particles", "densities"],
)
def test_moments_grow_as_linear_theory_says(beta, tokens, seeds, degree, name, verified):
    """Mean |c_k|^2 = e^{2 lambda_k t} / N until half the onset time."""
    # An exponential variable: each mean has a relative standard error of 1 / sqrt(seeds), four of
    # which are allowed. A part N^{-1/2} is not linear any more: 1 % here.
    result, expected = squared_moments(on_circle(beta), tokens, seeds, degree, *name)
    what = "mean square of c_k of independent tokens in the linear phase, circle, relative"
    verified("statistics", what, result.mean(axis=0) / expected - 1, 4.0 / math.sqrt(seeds))


def formation(beta: float, time: float, runs: int) -> Iterator[tuple[np.ndarray, ...]]:
    """Runs of 20,000 tokens: tokens, wells and density at a paper time, clusters in the end.

    Yields (tokens, maxima of the potential, mass within two radii of a final centre, centres).
    """
    problem, tokens = on_circle(beta), 20_000
    degree = problem.kernel.degree(problem.manifold.dimension, TOLERANCE)
    times = [time * math.exp(beta), 2.0 * mf.onset_time(problem, tokens)]
    potential = problem.kernel.potential_multipliers(1, degree)
    for seed in range(runs):
        points = run_tokens(problem, tokens, seed, 0)
        start = CARRIERS["density"](problem, points, TOLERANCE)
        carried = ParticleRepresentation(problem, start.points, start.weights, degree)
        stream = trajectory(problem, carried, times, tolerance=TOLERANCE)
        formed, last = (snapshot.measure for snapshot in stream)
        centres = clusters(last, beta).centre
        near = arcs(formed.points, centres) < 2.0 * cluster_radius(beta)
        wells = maxima(CIRCLE, potential * formed.moments(degree))
        yield points, wells, formed.weights[near].sum(), centres


def arcs(points: np.ndarray, places: np.ndarray) -> np.ndarray:
    return np.abs(np.angle(np.exp(1j * (points[:, None] - places)))).min(axis=1)


@pytest.mark.slow
@pytest.mark.parametrize(("beta", "expected"), [(5.0, (14, 2)), (7.0, (10, 6))])
def test_three_clusters_of_twenty_thousand_tokens(beta, expected):
    """Published runs at beta = 7 show four; other code found three in ten of sixteen runs."""
    # At beta = 5 three in fourteen. Fisher's exact test at 0.27 %.
    from scipy.stats import fisher_exact  # a second on every worker, if above

    problem = on_circle(beta)
    ensemble = mf.ensemble(problem, tokens=20_000, runs=40, times=[2.0], representation="density")
    three = int((ensemble.counts == 3).sum())
    assert fisher_exact([[three, 40 - three], list(expected)]).pvalue > 0.0027


@pytest.mark.slow
@pytest.mark.parametrize(("beta", "time"), [(5.0, 0.30), (7.0, 0.05)])
def test_twenty_thousand_tokens_form_their_clusters_in_time(beta, time):
    """Paper time would be off: at times a little later than the onset, 0.2663 and 0.0425."""
    # Most tokens are then near where their cluster will be, within an arc that has a fifth of the
    # circle's length, and the potential has as many wells as there will be clusters.
    near, agree = [], []
    for _, wells, mass, centres in formation(beta, time, 20):
        near.append(mass)
        agree.append(len(wells) == len(centres))
    # At nine tenths of that time it would be 0.6, at eleven tenths 0.93.
    assert 0.75 < np.median(near) < 0.9
    assert np.mean(agree) >= 0.7


@pytest.mark.slow
def test_three_clusters_form_where_degree_three_says():
    """At (2 pi j - arg c_3) / 3: a wrong sign or conjugate would leave them anywhere."""
    # At random they would be pi / 6 = 0.52 away, in the median.
    in_wells, in_clusters = [], []
    for points, wells, _, centres in formation(5.0, 0.30, 20):
        third = np.exp(-3j * points).mean()
        expected = (2.0 * np.pi * np.arange(3) - np.angle(third)) / 3.0
        if len(centres) == 3:
            in_clusters.append(arcs(expected, centres).max())
        if len(wells) == 3:
            in_wells.append(arcs(expected, wells).max())
    # The furthest of three; the neighbouring degrees pull them, and later they attract each other.
    assert len(in_clusters) >= 14
    assert np.median(in_wells) < 0.25
    assert np.median(in_clusters) < 0.25
