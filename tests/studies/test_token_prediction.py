"""Where given tokens will cluster: symmetric sets that are known exactly, and runs."""

from dataclasses import replace

import numpy as np
import pytest
from parameters import each, refused

import meanfield as mf
from meanfield.problem import Problem
from meanfield.spaces.maxima import maxima
from meanfield.studies.prediction import predict_clusters, predict_positions

RNG = np.random.default_rng(5)


def circle(beta: float, flow: mf.Flow = mf.USA) -> Problem:
    return Problem(mf.Circle(), mf.exponential(beta), flow)


@each("beta", [2.0, 9.0], k=[1, 2, 3, 5, 8])
def test_polygon_stays_where_it_is(k, beta):
    """The potential of a k-gon of clusters has its maxima there, by symmetry."""
    corners = 0.3 + 2 * np.pi * np.arange(k) / k
    points = np.repeat(corners, 4)
    prediction = predict_positions(circle(beta), points)
    assert len(prediction.positions) == k
    assert prediction.masses == pytest.approx(np.full(k, 1 / k), abs=1e-15)
    # 1e-10: positions to 1e-13, where rounding of the moments moves a flat maximum.
    gaps = np.angle(np.exp(1j * (prediction.positions[prediction.labels] - points)))
    assert np.abs(gaps).max() < 1e-10


def test_dominant_positions_are_none_where_the_moment_vanishes():
    """The argument of rounding would look like a prediction."""
    triangle = 2 * np.pi * np.arange(3) / 3
    assert len(predict_positions(circle(8.0), triangle).dominant_positions) == 0


def test_masses_are_the_shares_of_the_labels():
    """Masses and labels would contradict each other."""
    prediction = predict_positions(circle(9.0), RNG.uniform(-9.0, 9.0, 500))
    shares = [np.mean(prediction.labels == i) for i in range(len(prediction.positions))]
    assert prediction.masses == pytest.approx(shares, abs=1e-15)
    assert prediction.masses.sum() == pytest.approx(1.0, abs=1e-14)


def test_positions_turn_with_the_tokens():
    """The prediction would depend on where angles are counted from."""
    points = RNG.uniform(0.0, 2 * np.pi, 300)
    still, turned = (predict_positions(circle(9.0), points + by) for by in (0.0, 1.234))
    gaps = np.angle(np.exp(1j * (turned.positions - still.positions - 1.234)))
    assert np.abs(gaps).max() < 1e-9
    assert turned.masses == pytest.approx(still.masses, abs=1e-15)


@pytest.mark.parametrize(
    "problem",
    [circle(5.0), circle(5.0, mf.SA), circle(-5.0), circle(-5.0, mf.Flow("none", strength=-1.0))],
    ids=["USA", "SA", "beta < 0", "both negative"],
)
def test_potential_is_that_of_the_grown_moments(problem):
    """Signs of strength or multipliers would be lost: minima would be taken for maxima."""
    n = 200
    points = RNG.uniform(0.0, 2 * np.pi, n)
    prediction = predict_positions(problem, points)
    degree = len(prediction.potential) - 1
    rates = mf.growth_rates(problem, degree)
    grown = np.exp(rates * mf.onset_time(problem, n))
    grown *= problem.flow.strength * problem.kernel.potential_multipliers(1, degree)
    expected = grown[1:] * [np.mean(np.exp(-1j * k * points)) for k in range(1, degree + 1)]
    expected /= np.abs(expected).max()
    assert prediction.potential[1:] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", [0, 1])
def test_clusters_of_a_run_form_near_the_positions(seed):
    """Linear theory would not be about the tokens: a run of the same tokens is another way."""
    problem = circle(9.0)
    points = np.random.default_rng(seed).uniform(0.0, 2 * np.pi, 1000)
    prediction = predict_positions(problem, points)
    until, initial = 2.0 * mf.onset_time(problem, 1000), mf.from_points(points)
    run = mf.simulate(replace(problem, initial=initial), until, save=2, representation="particles")
    centres, masses = (run.observables[f"clusters/{name}"][-1] for name in ("centre", "mass"))
    formed = np.isfinite(centres)
    assert formed.sum() == len(prediction.positions) == 4
    gaps = np.abs(np.angle(np.exp(1j * (centres[formed][:, None] - prediction.positions))))
    # They drift while they gather: less than a quarter of the distance between two clusters.
    assert gaps.min(axis=1).max() < 0.25 * 2 * np.pi / 4
    # Borders move meanwhile, by less than a third of a cluster.
    assert masses[formed] == pytest.approx(prediction.masses[gaps.argmin(axis=1)], abs=0.08)


def test_maxima_without_tokens_are_no_clusters():
    """Ripples far from all tokens would be listed as clusters of mass 0."""
    prediction = predict_positions(circle(9.0), np.array([0.1, 0.1, 0.2]))
    assert prediction.masses == pytest.approx([1.0]) and list(prediction.labels) == [0, 0, 0]
    assert len(maxima(mf.Circle(), prediction.potential)) > 1


def test_octahedron_stays_where_it_is():
    """The potential of an octahedron of clusters has its maxima there, by symmetry."""
    corners = np.concatenate([np.eye(3), -np.eye(3)])
    prediction = predict_positions(
        Problem(mf.Sphere(), mf.exponential(9.0), normalization="none"), np.repeat(corners, 3, 0)
    )
    assert len(prediction.positions) == 6
    assert prediction.masses == pytest.approx(np.full(6, 1 / 6), abs=1e-15)
    assert prediction.positions[prediction.labels] == pytest.approx(
        np.repeat(corners, 3, 0), abs=1e-9
    )
    assert len(prediction.dominant_positions) == 0


def test_tokens_without_a_potential_are_refused():
    """Rounding would be drawn as clusters: a regular 400-gon has no relevant moments."""
    even = 2 * np.pi * np.arange(400) / 400
    text = "placed so evenly that their moments up to degree"
    refused(text, predict_positions, circle(5.0), even)


@pytest.mark.parametrize("points", [np.zeros((5, 3)), np.array([0.0, np.nan]), np.zeros(0)])
def test_points_that_are_none_are_refused(points):
    """Angles and vectors would be mixed up."""
    refused("point", predict_clusters, circle(5.0), points)
