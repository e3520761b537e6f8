"""Rigorous statements about the collapse: late rates, metastability, cones."""

import math

import numpy as np
import pytest
from parameters import each

import meanfield as mf
from meanfield.spaces.neighbourhoods import mean_points

FLOWS = [pytest.param(mf.USA, id="USA"), pytest.param(mf.SA, id="SA")]
MANIFOLDS = [pytest.param(mf.Circle(), id="circle"), pytest.param(mf.Sphere(), id="sphere")]


def similarities(measure: mf.Measure, direction: np.ndarray) -> np.ndarray:
    """Inner products <x_i, w> with a unit vector, in the plane of the circle or in space."""
    points = measure.points
    if points.ndim == 1:
        points = np.column_stack([np.cos(points), np.sin(points)])
    return points @ direction[: points.shape[1]]


def spread(measure: mf.Measure) -> float:
    space, group = measure.manifold, np.zeros(len(measure.points), dtype=np.int64)
    centre = mean_points(space, measure.points, measure.mass, group, 1)[0]
    return math.sqrt(measure.mass @ space.distance(measure.points, centre) ** 2)


@pytest.mark.parametrize("manifold", MANIFOLDS)
@each("beta", [0.0, 2.0, 9.0], flow=FLOWS)
def test_spread_of_one_cluster_decays_at_rate_one(manifold, flow, beta, verified):
    """Like e^{-t} in scaled time (e^{-e^beta t} in paper time for USA), to 1e-3."""
    law = mf.from_points(_near_the_pole(manifold, 40))
    kernel = mf.exponential(beta) if beta else mf.linear()
    problem = mf.Problem(manifold, kernel, flow, law)
    times = [8.0, 9.0, 10.0, 11.0]
    run = mf.simulate(problem, until=11.0, save=times, tolerance=1e-12, representation="particles")
    rates = -np.diff(np.log([spread(measure) for measure in run.measures]))
    verified("exact solutions", f"decay rate of one cluster, {manifold.name}", rates - 1.0, 1e-3)


def _near_the_pole(manifold, count: int) -> np.ndarray:
    rng = np.random.default_rng(2)
    if manifold.dimension == 1:
        return rng.uniform(-0.6, 0.6, count)
    return manifold.retract(rng.uniform(-0.5, 0.5, (count, 3)) + np.array([0.0, 0.0, 1.0]))[0]


@pytest.mark.slow
@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize("beta", [1.0, 4.0])
def test_orthogonal_tokens_close_in_at_rate_two(flow, beta, verified):
    """Three orthogonal tokens keep one cosine gamma, and 1 - gamma ~ e^{-2t}."""
    problem = mf.Problem(
        mf.Sphere(), mf.exponential(beta), flow, mf.from_points(np.eye(3), name="atoms")
    )
    times = np.arange(1.0, 20.0 + math.exp(beta))
    run = mf.simulate(
        problem, until=times[-1], save=times, tolerance=1e-13, representation="particles"
    )
    points = np.array([measure.points for measure in run.measures])
    gaps = mf.Sphere().distance(points, np.roll(points, 1, axis=1))
    assert np.ptp(gaps, axis=1).max() < 1e-11
    # 1 - gamma = 2 sin^2(gap / 2), without its cancellation.
    late = (gaps[:, 0] < 0.01) & (gaps[:, 0] > 1e-7)
    assert late.sum() > 8
    what = "decay rate of the gap of orthogonal tokens, sphere"
    verified("exact solutions", what, -np.diff(np.log(gaps[late, 0])) - 1.0, 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("manifold", MANIFOLDS)
@each("beta", [12.0, 20.0], flow=FLOWS)
def test_separated_caps_stay_in_their_doubled_caps(manifold, flow, beta, verified):
    """Up to (eps / k) e^{beta (1 - alpha - 8 eps)}; and not for ever."""
    eps, k = 0.01, 3
    angles = 2.0 * np.pi * np.arange(k) / k + 0.1
    centres = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(k)])
    rng = np.random.default_rng(4)
    # Within arccos(1 - eps) of the centres.
    offsets = 0.99 * math.acos(1.0 - eps) * rng.uniform(-1.0, 1.0, (k, 25)) / math.sqrt(2.0)
    longitude = (angles[:, None] + offsets).ravel()
    if manifold.dimension == 1:
        points = longitude
    else:
        height = 0.99 * math.acos(1.0 - eps) / math.sqrt(2.0) * rng.uniform(-1, 1, longitude.shape)
        points = np.column_stack(
            [np.cos(height) * np.cos(longitude), np.cos(height) * np.sin(longitude), np.sin(height)]
        )
    law = mf.from_points(points)
    problem = mf.Problem(manifold, mf.exponential(beta), flow, law)
    # Largest inner product between different doubled caps.
    alpha = math.cos(2.0 * np.pi / k - 2.0 * math.acos(1.0 - 2.0 * eps))
    bound = eps / k * math.exp(beta * (1.0 - alpha - 8.0 * eps))
    times = [*np.geomspace(1.0, bound, 12)]
    times[-1] = bound
    run = mf.simulate(problem, until=1e40, save=[*times, 1e40])
    for measure in run.measures[:-1]:
        nearest = np.max([similarities(measure, centre) for centre in centres], axis=0)
        what = f"separated caps stay in their doubled caps, {manifold.name}: 1 - <x, w>"
        verified("invariants", what, 1.0 - nearest.min(), 2.0 * eps)
        assert len(run.events) >= k
    assert len(run.measures[-1].points) < k


@pytest.mark.slow
@pytest.mark.parametrize("manifold", MANIFOLDS)
@each("beta", [0.5, 6.0], flow=FLOWS)
def test_measures_in_a_hemisphere_collapse_to_a_dirac(manifold, flow, beta, verified):
    """The least <x_i, w> never falls, and one atom is left."""
    points = manifold.random_points(120, np.random.default_rng(7))
    pole = np.array([1.0, 0.0, 0.0])
    law = mf.from_points(points[similarities(mf.Measure(manifold, points), pole) > 0.02])
    problem = mf.Problem(manifold, mf.exponential(beta), flow, law)
    end = 1e6
    run = mf.simulate(problem, until=end, save=[0.0, *np.geomspace(0.1, end, 40)[:-1], end])
    lowest = np.array([similarities(measure, pole).min() for measure in run.measures])
    # Hand-overs may move an atom by the mean of those that met, within their extent of 3e-7.
    what = f"tokens in a hemisphere: the least <x_i, w> never falls, {manifold.name}"
    verified("invariants", what, min(np.diff(lowest).min(), 0.0), 1e-6)
    assert len(run.measures[-1].points) == 1
