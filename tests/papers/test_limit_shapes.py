"""Limit shapes of tokens of R^d: polytopes, hyperplanes, products, the origin."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from head_oracle import B3, V3
from parameters import refused, together
from scipy.integrate import quad
from scipy.linalg import expm

import meanfield as mf
from meanfield.papers.limit_shapes import (
    LimitShape,
    hull_vertices,
    hull_volume,
    listed_limits,
    rescaled,
)

SIX = [(2, 0.3), (-1.5, 1.2), (-0.4, -1.8), (0.5, 0.6), (0.2, -0.3), (-0.6, 0.4)]
LINE = [[-1.2], [-0.3], [0.1], [0.4], [1.5]]


def problem_of(value: Any, points: Any = SIX, score: Any = 1.0) -> mf.Problem:
    """Tokens of one softmax head with beta = 1."""
    d = np.shape(points)[1]
    attention = mf.Attention([mf.Head(value=value, score=score)], beta=1.0)
    return mf.Problem(mf.Euclidean(d), attention, initial=mf.from_points(points))


def shapes(problem: mf.Problem, times: list[float]) -> list[LimitShape]:
    run = mf.simulate(problem, times[-1], save=[0.0, *times], tolerance=1e-12, observables=[])
    result = zip(run.measures[1:], times, strict=True)
    return [mf.limit_shape(problem, measure, time) for measure, time in result]


@pytest.mark.slow
def test_hull_shrinks_to_a_polytope():
    """V = 1: vertices freeze where LSODA has them, the rest follow one each, like e^{-t}."""
    result = shapes(problem_of(1.0), [0.5, 1.0, 3.0, 5.0, 10.0])
    volumes = [hull_volume(each.points) for each in result]
    assert np.all(np.diff(volumes) <= 1e-9) and volumes[0] - volumes[-1] > 0.002
    early, boolean, late = result[2:]
    assert late.theorem == "polytope" and late.vertices.tolist() == [0, 1, 2]
    vertices = [
        [1.980834873366, 0.300221225290],
        [-1.474972159385, 1.180104171659],
        [-0.394245769216, -1.779553028990],
    ]
    np.testing.assert_allclose(late.points[:3], vertices, rtol=0, atol=1e-8)
    assert early.points[3] == pytest.approx([1.884615203372, 0.316441172293], abs=1e-8)
    assert boolean.leaders.tolist() == [0, 1, 2, 0, 0, 1] and boolean.attention_error < 1e-6
    # Half of e^{-10} from their leaders, in the scores that decide the limit set.
    assert 1e-5 < late.distance < 1e-4
    gaps = [np.linalg.norm(each.points[3:] - each.points[[0, 0, 1]], axis=1) for each in result[3:]]
    np.testing.assert_allclose(gaps[1] / gaps[0], np.exp(-5.0), rtol=1e-6)


@pytest.mark.slow
def test_tokens_gather_on_hyperplanes():
    """V = diag(1, 0.4): first coordinates meet at two values, second ones stay apart."""
    (result,) = shapes(problem_of([1.0, 0.4]), [16.0])
    assert result.theorem == "hyperplanes" and result.distance < 1e-6
    np.testing.assert_allclose(result.levels, [-1.469201065497, 1.980745346979], rtol=0, atol=1e-8)
    assert np.ptp(result.points[[1, 2, 5], 1]) > 1e-3
    # In other axes, of which none is orthogonal, phi* is the same number.
    turn = np.array([[1.0, 0.7], [0.2, 0.9]])
    back = np.linalg.inv(turn)
    value = turn @ np.diag([1.0, 0.4]) @ back
    (turned,) = shapes(problem_of(value, np.array(SIX) @ turn.T, back.T @ back), [16.0])
    phi = turned.limits.basis[:, 0]
    assert abs(phi @ (value @ phi) - 1.0) < 1e-12 and turned.theorem == "hyperplanes"
    expected = result.levels * np.linalg.norm(turn[:, 0])
    np.testing.assert_allclose(turned.levels, expected, rtol=1e-7)


def test_attention_of_a_line_becomes_boolean():
    """Order is kept, and rows have a single 1."""
    result = shapes(problem_of(1.0, LINE), [2.0, 3.0, 4.0])
    late = [-1.019132439168, -0.986577885497, 1.356601914686, 1.372508826571, 1.402956651737]
    np.testing.assert_allclose(result[-1].points[:, 0], late, rtol=0, atol=1e-8)
    assert result[1].leaders.tolist() == [0, 0, 4, 4, 4] and result[1].attention_error < 1e-8
    assert 1e-6 < result[0].attention_error < 1e-4
    assert result[-1].vertices.tolist() == [0, 4]


@pytest.mark.slow
def test_products_have_a_polytope_in_the_leading_space():
    """V = diag(1, 1, 0.3): tokens at the polytope in F, anywhere in G."""
    points = 2.0 * np.random.default_rng(3).standard_normal((9, 3))
    (result,) = shapes(problem_of([1.0, 1.0, 0.3], points), [12.0])
    assert result.theorem == "product" and result.coordinates.shape == (9, 2)
    assert result.distance < 1e-4 and result.attention_error < 1e-12
    assert np.ptp(result.points[:, 2]) > 0.1


@pytest.mark.slow
def test_repulsive_tokens_fall_to_the_origin_like_powers():
    """V = -1: max norms of six tokens by LSODA; of a pair beta |x|^2 t tends to 1/2."""
    run = mf.simulate(problem_of(-1.0), 20.0, save=[0.0, 1.0, 5.0, 20.0])
    norms = [np.linalg.norm(each.points, axis=1).max() for each in run.measures[1:]]
    assert norms == pytest.approx([1.07616701, 0.56460294, 0.30184645], abs=1e-7)
    shape = mf.limit_shape(run.problem, run.measures[-1], 20.0)
    assert shape.theorem == "origin" and shape.distance == norms[-1]
    pair = problem_of(-1.0, [[0.6, 0.0, 0.8], [-0.6, 0.0, -0.8]])
    run = mf.simulate(pair, 100.0, save=[0.0, 10.0, 100.0])
    squares = [each.points[0] @ each.points[0] for each in run.measures[1:]]
    assert squares[0] == pytest.approx(0.048333020689, abs=1e-9)
    # w = |x|^2 has w' = -2 w tanh w.
    passed = [quad(lambda w: 0.5 / (w * np.tanh(w)), square, 1.0)[0] for square in squares]
    assert passed == pytest.approx([10.0, 100.0])
    assert squares[1] * 100.0 == pytest.approx(0.5, abs=0.01)


def test_consensus_follows_the_value_and_rests_when_rescaled():
    """x(t) = e^{tV} x_0 of equal tokens, whatever Q and K; e^{tV} itself may be no number."""
    start = np.array([1.0, 2.0, 2.0]) / 3.0
    problem = problem_of(V3, np.tile(start, (3, 1)), B3)
    (last,) = mf.simulate(problem, 3.0, save=[3.0]).measures
    np.testing.assert_allclose(last.points, np.tile(expm(3.0 * V3) @ start, (3, 1)), rtol=1e-8)
    result = rescaled(problem, last.points, 3.0)
    np.testing.assert_allclose(result, np.tile(start, (3, 1)), rtol=1e-7)
    far = problem_of(1.0, [[1.0, 2.0]])
    result = rescaled(far, np.array([[1e300, 2e300]]), 300.0 * np.log(10.0))
    np.testing.assert_allclose(result, [[1.0, 2.0]], rtol=1e-12)


@together(("value", "score", "theorem"), [
    (2.0, [[2.0, 1.0], [1.0, 3.0]], "polytope"), (2.0, [[2.0, 1.0], [0.0, 3.0]], "hull"),
    ([2.0, -1.0], [-1.0, 3.0], "none"), ([2.0, -3.0], 1.0, "none"),
    ([[1.0, 1.0], [0.0, 1.0]], 1.0, "none"), ([[0.0, -1.0], [1.0, 0.0]], 1.0, "none"),
    (-0.5, 2.0, "origin"), (-0.5, [2.0, 1.0], "none"),
])  # fmt: skip
def test_theorems_follow_from_matrices(value, score, theorem):
    """A shape would be promised that no theorem knows."""
    assert listed_limits(problem_of(value, score=score)).theorem == theorem


def test_hulls_without_qhull_are_the_same():
    """In a plane of R^3, and in R^8, by linear programmes."""
    plane = np.random.default_rng(0).standard_normal((20, 2))
    expected = hull_vertices(plane)
    result = hull_vertices(plane @ (np.ones((2, 3)) + np.eye(2, 3)))
    np.testing.assert_array_equal(result, expected)
    corners = np.vstack([np.zeros(8), np.eye(8), 0.1 * np.ones((2, 8)), np.eye(8)[:1]])
    assert hull_vertices(corners).tolist() == list(range(9))


def test_limit_shapes_say_what_they_need():
    """One line each."""
    tokens = mf.Measure(mf.Euclidean(2), SIX)
    message = r"of tokens in R\^d, mf.Euclidean\(d\), got Sphere"
    sphere = mf.Problem(mf.Sphere(), mf.exponential(1.0), mf.USA)
    refused(message, mf.limit_shape, sphere, tokens, 1.0)
    two = mf.Attention([mf.Head(), mf.Head()], beta=1.0)
    stages = [mf.Stage(1.0), mf.Stage(kernel=mf.exponential(2.0))]
    changing = mf.Attention([mf.Head(value=lambda t: 1.0 - 0.9 * t)], beta=1.0)
    staged = replace(problem_of(1.0), stages=stages)
    for other in (*(mf.Problem(mf.Euclidean(2), each) for each in (two, changing)), staged):
        refused("one head under softmax", mf.limit_shape, other, tokens, 1.0)
    with pytest.raises(ValueError, match="on the space:3, the problem on the space:2"):
        mf.limit_shape(problem_of(1.0), mf.Measure(mf.Euclidean(3), np.ones((1, 3))), 1.0)
    refused("take an earlier time", mf.limit_shape, problem_of([1.0, -1.0]), tokens, 500.0)


@pytest.mark.slow
def test_runs_end_before_scores_leave_the_range_of_numbers():
    """Squares would overflow, and attention be 0 / 0."""
    with pytest.raises(mf.SimulationError, match=r"tokens are beyond 1e\+140"):
        mf.simulate(problem_of(1.0), 400.0, save=2, tolerance=1e-4)
