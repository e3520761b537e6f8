"""Hardmax attention: exact paths, small steps, ridges, fields, and the limit of softmax."""

import numpy as np
import pytest
from head_oracle import components, velocity
from parameters import refused
from scipy.linalg import expm
from scipy.spatial import ConvexHull

import meanfield as mf
from meanfield.papers.hardmax import (
    full_support_velocity,
    inclusion_distance,
    two_pole_moments,
    uniform_velocity,
)

CORNERS = np.array([[1.0, 1.0], [-1.0, 1.0]])
SHARE = 1.0 - np.exp(-1.0)


def third(x: float, y: float = 0.0) -> np.ndarray:
    return np.vstack([CORNERS, [x, y]])


def softmax_end(tokens: np.ndarray, head: mf.Head, beta: float) -> np.ndarray:
    """Tokens at time 1 at finite beta, with the drift -x."""
    heads, law = mf.Attention([head], beta=beta), mf.from_points(tokens)
    problem = mf.Problem(mf.Euclidean(2), heads, initial=law, drift=mf.LinearDrift(-1.0))
    return mf.simulate(problem, until=1.0, save=2, tolerance=1e-9).measures[-1].points


def test_softmax_approaches_the_corner():
    """Tokens of the package at finite beta as printed; the limit is their last row."""
    printed = {
        (3.0, 0.0): (0.0, 0.537529), (10.0, 1e-3): (0.379910, 0.603493),
        (30.0, 1e-6): (0.475191, 0.625112), (100.0, 0.1): (0.668908, 0.632120),
    }  # fmt: skip
    for (beta, delta), expected in printed.items():
        end = softmax_end(third(delta), mf.Head(), beta)
        assert end[2] == pytest.approx(expected, abs=1.5e-6)
    for delta in (0.0, 1e-6, 0.1):
        end = mf.hardmax(mf.Euclidean(2), third(delta), until=1.0).points[-1, 2]
        assert end == pytest.approx([SHARE + delta / np.e, SHARE], abs=1e-12)


def test_three_solutions_begin_on_the_ridge():
    """Either corner or their mean, and each satisfies the inclusion at all times."""
    ends = []
    for order, ridge in (([0, 1, 2], "corner"), ([1, 0, 2], "corner"), ([0, 1, 2], "midpoint")):
        run = mf.hardmax(mf.Euclidean(2), third(0.0, 0.5)[order], until=1.0, ridge=ridge)
        assert run.ties[0].choices == 3 and run.ties[0].tied == (0, 1)
        for t in run.time:
            assert inclusion_distance(mf.Euclidean(2), run.at(t), run.velocities(t)).max() < 1e-11
        ends.append(run.points[-1, 2])
    assert np.allclose(
        ends, [[SHARE, y := 1 - 0.5 / np.e], [-SHARE, y], [0, y]], rtol=0, atol=1e-12
    )


@pytest.mark.parametrize(
    ("space", "seed", "slides"),
    [
        (mf.Circle(), 3, False), (mf.Sphere(4), 5, False), (mf.Euclidean(3), 3, False),
        (mf.Sphere(4), 1, True), (mf.Euclidean(3), 1, True),
    ],
    ids=str,
)  # fmt: skip
def test_events_and_paths_against_small_steps(space, seed, slides):
    """Euler with the argmax of every step, whose error falls as the step: it slides by chatter."""
    rng, d, steps = np.random.default_rng(seed), space.ambient, 4000
    score, value, x = rng.normal(size=(d, d)), rng.normal(size=(d, d)), rng.normal(size=(7, d))
    if space.is_sphere:
        x /= np.linalg.norm(x, axis=1)[:, None]
    run = mf.hardmax(space, space.points_of(x), score=score, value=value, until=1.0, save=5)
    leader, events = ((x @ score) @ x.T).argmax(axis=1), []
    for k in range(steps):
        now = ((x @ score) @ x.T).argmax(axis=1)
        events += [(k / steps, int(i), int(now[i])) for i in np.flatnonzero(now != leader)]
        leader, toward = now, x[now] @ value.T
        if space.is_sphere:
            x += (toward - (toward * x).sum(axis=1)[:, None] * x) / steps
            x /= np.linalg.norm(x, axis=1)[:, None]
        else:
            x += (toward - x @ value.T) / steps
    size = abs(x).max()
    assert space.vectors(run.points[-1]) / size == pytest.approx(x / size, abs=3e-3)
    assert slides == any(len(each.after) > 1 for each in run.events)
    if not slides:
        result = [(each.time, each.token, each.after[0]) for each in run.events]
        assert len(result) > 4 and [each[1:] for each in result] == [each[1:] for each in events]
        times = [each[0] for each in events]
        assert [each[0] for each in result] == pytest.approx(times, abs=3e-3)


@pytest.mark.slow
def test_paths_are_products_of_matrix_exponentials():
    """R^d between events is linear: 59 of them, at which two scores are equal."""
    x = np.random.default_rng(6).normal(size=(24, 2))
    score, value = np.array([[0.6, 0.8], [-0.8, 0.6]]), np.array([[1.0, 0.3], [-0.2, 0.7]])
    run = mf.hardmax(mf.Euclidean(2), x, score=score, value=value, until=3.0, save=2)
    leaders, since = ((x @ score) @ x.T).argmax(axis=1), 0.0
    for time, event in [*((each.time, each) for each in run.events), (3.0, None)]:
        linear = np.kron(np.eye(24)[leaders] - np.eye(24), value)
        x, since = (expm((time - since) * linear) @ x.ravel()).reshape(24, 2), time
        if event is not None:
            (old,), (new,) = event.before, event.after
            assert leaders[event.token] == old
            assert x[event.token] @ score @ (x[new] - x[old]) == pytest.approx(0.0, abs=1e-11)
            leaders[event.token] = new
    assert run.points[-1] == pytest.approx(x, abs=1e-11) and len(run.events) == 59


@pytest.mark.slow
def test_softmax_tokens_approach_at_first_order():
    """Eight tokens of R^2 over five events: four times the beta, a quarter of the difference."""
    x = np.random.default_rng(6).normal(size=(8, 2))
    head = mf.Head(score=[[0.6, 0.8], [-0.8, 0.6]])
    limit = mf.hardmax(mf.Euclidean(2), x, score=head.score, until=1.0, save=2)
    ends = [softmax_end(x, head, beta) for beta in (160.0, 640.0)]
    off = [np.abs(end - limit.points[-1]).max() for end in ends]
    assert len(limit.events) == 5
    assert np.log(off[0] / off[1]) / np.log(4.0) == pytest.approx(1.0, abs=0.01)


@pytest.mark.slow
def test_tokens_at_equal_angles_have_the_moments_of_their_limit():
    """B = diag(1, -1): token theta attends to that at -theta, and c_2 = tanh t to rounding."""
    angles = 2.0 * np.pi / 128 * (np.arange(128) + 0.5)
    run = mf.hardmax(mf.Circle(), angles, score=[1.0, -1.0], until=0.5, save=2)
    assert abs(np.exp(2j * run.points[-1]).mean() - np.tanh(0.5)) < 1e-13 and not run.events
    # At a quarter of a gap two tokens are as near to -theta, of every token.
    ties = mf.hardmax(mf.Circle(), angles[::4] + np.pi / 128, score=[1.0, -1.0], until=0.1)
    assert len(ties.events) >= 32
    for t in ties.time:
        points, velocities = ties.at(t), ties.velocities(t)
        distances = inclusion_distance(mf.Circle(), points, velocities, score=[1.0, -1.0])
        assert distances.max() < 1e-11


def test_repelled_tokens_slide_along_ridges_into_the_origin():
    """V = -1 between the corners of a square, h_K = |x_1| + |x_2|: x_k' = x_k - sign x_k."""
    square = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0], [0.5, 0.1]])
    run = mf.hardmax(mf.Euclidean(2), square, value=-1.0, until=1.0, save=11)
    assert [each.time for each in run.events] == pytest.approx(np.log([10 / 9, 2.0]), abs=1e-11)
    assert run.events[0].after == (1, 0) and run.events[1].after == (4,)
    exact = np.maximum(1.0 - np.exp(run.time)[:, None] * [0.5, 0.9], 0.0)
    assert run.points[:, 4] == pytest.approx(exact, abs=1e-11) and not run.ties


def test_hull_of_tokens_does_not_grow():
    """V = 1 in R^d: tokens move towards others; those that attend to themselves rest."""
    x = np.random.default_rng(1).normal(size=(20, 3))
    run = mf.hardmax(mf.Euclidean(3), x, until=4.0, save=9)
    for before, after in zip(run.points[:-1], run.points[1:], strict=True):
        hull = ConvexHull(before).equations
        assert (after @ hull[:, :3].T + hull[:, 3]).max() < 1e-12
    assert np.linalg.norm(run.velocities(4.0), axis=1).max() < 0.2


def test_tokens_at_rest_have_rates_of_rounding():
    """V = -1 on a line: all end at the origin, where velocities, their own measure, are 1e-16."""
    x = np.random.default_rng(99)
    n = int(x.integers(2, 12))
    x.normal(size=(1, 1)), x.normal(size=1)
    tokens = x.normal(size=(n, 1))
    run = mf.hardmax(mf.Euclidean(1), tokens, value=-1.0, until=1.5, save=2)
    rest = np.abs(run.points[-1]) < 1e-11
    assert rest.sum() == n - 2 and np.abs(run.velocities(1.5)).max() < 1e-11


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
    expected = components(points, velocity(x, y, grid.weights, [(4.0 * score, value)], "softmax"))
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
    refused("save holds no times", mf.hardmax, mf.Circle(), [0.0, 1.0], until=1.0, save=[])
    refused(r"no largest score", full_support_velocity, mf.Euclidean(2), np.ones((1, 2)))
    message, flat = r"score\^T x is 0 at point 1", [1.0, 0.0, 1.0]
    refused(message, full_support_velocity, mf.Sphere(), np.eye(3), score=flat)
