"""Fields of hardmax attention: exact, and as limits of softmax runs."""

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.papers.hardmax import (
    full_support_velocity,
    inclusion_distance,
    two_pole_moments,
    uniform_velocity,
)

POLES = [1.0, -1.0]


@pytest.mark.slow
def test_moments_of_softmax_runs_approach_those_of_two_poles():
    """c_2 and c_4 as printed; first order in 1 / beta is off by the second."""
    printed = {20.0: (0.4503196582, 0.1862100432), 80.0: (0.4589163361, 0.2056548810)}
    limit = two_pole_moments(4, 0.5)[[2, 4]]
    assert limit == pytest.approx([0.4621171573, 0.2135522671], abs=1e-10)
    off = {}
    for beta in (20.0, 80.0, 320.0):
        heads = mf.Attention([mf.Head(score=POLES)], beta=beta)
        problem = mf.Problem(mf.Circle(), heads, initial=mf.uniform())
        values = mf.simulate(problem, until=0.5, save=2).moments[-1, [2, 4]].real
        if beta in printed:
            assert values == pytest.approx(printed[beta], abs=2e-9)
        off[beta] = beta**2 * (values - two_pole_moments(4, 0.5, beta)[[2, 4]])
    assert off[320.0] == pytest.approx(off[80.0], rel=0.1)


@pytest.mark.parametrize("d", [2, 3])
def test_uniform_velocity_is_that_of_softmax_in_the_uniform_measure(d):
    """Quadrature of the definition, for matrices without symmetry."""
    rng = np.random.default_rng(d)
    score, value = rng.normal(size=(2, d, d))
    space = mf.Circle() if d == 2 else mf.Sphere()
    points, grid = space.random_points(3, rng), space.grid(200 if d == 2 else 80)
    x, y = space.vectors(points), space.vectors(grid.points)
    share = grid.weights * np.exp(4.0 * x @ score @ y.T)
    mean = share @ y / share.sum(axis=1)[:, None]
    expected = space.project(points, mean @ value.T)
    result = uniform_velocity(space, points, 4.0, score=score, value=value)
    assert result == pytest.approx(expected, abs=1e-12)
    steep = uniform_velocity(space, points, 4e6, score=score, value=value)
    limit = full_support_velocity(space, points, score=score, value=value)
    assert steep == pytest.approx(limit, rel=1e-5)


def test_a_mean_off_the_hull_of_tied_tokens_is_no_solution():
    """The distance is that of the nearest mean, here the end of the segment between the corners."""
    tokens = np.array([[1.0, 1.0], [-1.0, 1.0], [0.0, 0.5]])
    v = np.zeros((3, 2))
    v[2] = [2.0, 0.5]
    distances = inclusion_distance(mf.Euclidean(2), tokens, v)
    assert distances == pytest.approx([0.0, 0.0, 1.0], abs=1e-12)


def test_refusals():
    """One line each."""
    refused(r"no largest score", full_support_velocity, mf.Euclidean(2), np.ones((1, 2)))
    zero = [1.0, 0.0, 1.0]
    refused(
        r"score\^T x is 0 at point 1", full_support_velocity, mf.Sphere(), np.eye(3), score=zero
    )
