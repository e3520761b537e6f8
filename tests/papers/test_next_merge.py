"""Which clusters meet first, against atoms integrated by SciPy."""

import numpy as np
import pytest
from parameters import each, refused
from scipy.integrate import solve_ivp

import meanfield as mf
from meanfield.engines.pairs.circle import exponential_velocity_circle
from meanfield.engines.pairs.sphere import exponential_velocity_sphere
from meanfield.papers.two_clusters import MergeEstimate, next_merge_estimate, two_cluster_time

CIRCLE, SPHERE = mf.Circle(), mf.Sphere()
# Two clusters at 0.8 radians, and three others.
FIVE = [[1, 0, 0], [np.cos(0.8), np.sin(0.8), 0], [-1, 0.2, 0], [0, 0, 1], [0, -1, -1]]


def problem(manifold: mf.Circle | mf.Sphere, beta: float, flow: mf.Flow = mf.USA) -> mf.Problem:
    return mf.Problem(manifold, mf.exponential(beta), flow)


def first_meeting(measure: mf.Measure, beta: float, normalized: bool, until: float) -> float:
    """Time at which the first gap of atoms falls to 0.25 / sqrt(beta), by an implicit method."""
    shape, (i, j) = measure.points.shape, np.triu_indices(len(measure.points), 1)
    sphere = len(shape) == 2
    velocity = exponential_velocity_sphere if sphere else exponential_velocity_circle

    def points(state: np.ndarray) -> np.ndarray:
        x = state.reshape(shape)
        return x / np.linalg.norm(x, axis=1)[:, None] if sphere else x

    def rhs(time: float, state: np.ndarray) -> np.ndarray:
        return velocity(points(state), measure.weights, beta, normalized).ravel()

    def meeting(time: float, state: np.ndarray) -> float:
        x = points(state)
        return float(measure.manifold.distance(x[i], x[j]).min() - 0.25 / np.sqrt(beta))

    meeting.terminal = True
    run = solve_ivp(
        rhs, (0.0, until), measure.points.ravel(), method="Radau", rtol=1e-7, atol=1e-10,
        events=meeting,
    )  # fmt: skip
    return float(run.t_events[0][0])


@pytest.mark.parametrize(
    ("points", "weights", "closest", "flow"),
    [
        ([0.0, 0.9, 2.4, 4.2], [0.25, 0.25, 0.25, 0.25], {0, 1}, mf.USA),
        ([5.9, 4.3, 0.4, 2.5], [0.1, 0.4, 0.2, 0.3], {0, 2}, mf.SA),
        ([0.1, 1.5, 3.4, 4.0, 5.2], [0.3, 0.1, 0.05, 0.25, 0.3], {2, 3}, mf.SA),
        (FIVE, [0.2, 0.3, 0.1, 0.2, 0.2], {0, 1}, mf.USA),
        (FIVE, [0.2, 0.3, 0.1, 0.2, 0.2], {0, 1}, mf.SA),
    ],
)
def test_estimate_is_what_separated_atoms_do(points, weights, closest, flow):
    """Where one gap is clearly the smallest the other clusters hardly matter."""
    space = SPHERE if np.ndim(points) == 2 else CIRCLE
    measure = mf.Measure(space, points, weights)
    estimate = next_merge_estimate(problem(space, 25.0, flow), measure)
    exact = first_meeting(measure, 25.0, flow.normalized, 2.0 * estimate.time)
    # Others, e^{-25 (cos 0.6 - cos 1.2)} or 1e-5, act a little; Radau has 1e-7.
    assert estimate.time == pytest.approx(exact, rel=1e-7)
    assert set(estimate.pair) == closest
    assert estimate.runner_up_time > 10 * estimate.time


@each(
    "beta, points, alone",
    [
        (9.0, [0.0, 0.9, 2.1, 4.0], 1.7e-2),
        (9.0, [[1, 0, 0], [0.7, 0.7, 0], [-1, 0.2, 0], [0, 0, 1], [0, -1, -1]], 2e-4),
        (25.0, [0.0, 0.9, 2.1, 4.0], 3.3e-4),
    ],
    flow=[mf.USA, mf.SA, mf.USA],
)
def test_other_clusters_act_to_second_order(beta, points, alone, flow):
    """A pair alone is off by a share delta, its motion among the others by delta^2."""
    space = SPHERE if np.ndim(points[0]) else CIRCLE
    measure, own = mf.Measure(space, points), problem(space, beta, flow)
    estimate = next_merge_estimate(own, measure)
    exact = first_meeting(measure, beta, flow.normalized, 2.0 * estimate.time)
    angle = float(space.distance(measure.points[0], measure.points[1]))
    mass = 1 / len(points)
    pair = two_cluster_time(own, angle, 0.25 / np.sqrt(beta), (mass, mass))
    delta = abs(pair / exact - 1)
    assert delta == pytest.approx(alone, rel=0.7)
    assert estimate.time == pytest.approx(exact, rel=2 * delta**2 + 1e-7)


def test_pairs_that_others_part_do_not_meet():
    """Pairs would meet in a square that pairs up, or in an exact one."""
    own, corners = problem(CIRCLE, 5.0), np.pi / 2 * np.arange(4)
    estimate = next_merge_estimate(own, mf.Measure(CIRCLE, corners - 0.02 * (np.arange(4) % 2)))
    assert {estimate.pair, estimate.runner_up} == {(0, 1), (2, 3)}
    # Alone they take half of the time.
    exact = mf.polygon_lifetime(own, 4).time(0.02)
    assert estimate.time == pytest.approx(exact, rel=0.1)
    assert two_cluster_time(own, np.pi / 2 - 0.02, 0.25 / 5**0.5, (0.25, 0.25)) < 0.7 * exact
    balance = next_merge_estimate(own, mf.Measure(CIRCLE, corners))
    alone = two_cluster_time(own, np.pi / 2, 0.25 / 5**0.5, (0.25, 0.25))
    assert balance.time == pytest.approx(alone, rel=1e-12)


def test_mass_decides_between_equal_gaps():
    """Under USA a pair of twice the mass meets in half the time."""
    measure = mf.Measure(CIRCLE, [0.0, 1.0, 3.0, 4.0], [0.1, 0.2, 0.3, 0.4])
    estimate = next_merge_estimate(problem(CIRCLE, 40.0), measure)
    assert (estimate.pair, estimate.runner_up) == ((2, 3), (0, 1))
    # Exactly so alone.
    assert estimate.runner_up_time / estimate.time == pytest.approx(0.7 / 0.3, rel=1e-8)


def test_time_of_two_is_that_of_the_pair_alone():
    """And the gap may be chosen."""
    measure = mf.Measure(CIRCLE, [6.0, 0.5], [0.4, 0.6])
    for flow in (mf.USA, mf.SA):
        own = problem(CIRCLE, 9.0, flow)
        angle = float(CIRCLE.distance(0.5, 6.0))
        for gap, until in ((None, 0.25 / 3), (0.01, 0.01)):
            estimate = next_merge_estimate(own, measure, gap)
            assert estimate.pair == (0, 1)
            assert estimate.time == two_cluster_time(own, angle, until, (0.4, 0.6))


def test_only_neighbours_meet_on_the_circle():
    """A pair across a cluster between them meets that one first, however light it is."""
    measure = mf.Measure(CIRCLE, [0.0, 0.5, 0.95], [0.495, 0.01, 0.495])
    estimate = next_merge_estimate(problem(CIRCLE, 0.5), measure, 0.05)
    across, between = (
        two_cluster_time(problem(CIRCLE, 0.5), gap, 0.05, masses)
        for gap, masses in ((0.95, (0.495, 0.495)), (0.45, (0.01, 0.495)))
    )
    assert across < between
    assert (estimate.pair, estimate.runner_up) == ((1, 2), (0, 1))


@pytest.mark.parametrize("turn", [0.0, 3.0, -40.0])
def test_where_angles_are_counted_from_does_not_matter(turn):
    """Neighbours across the angle 0 are neighbours."""
    measure = mf.Measure(CIRCLE, np.array([6.1, 0.2, 2.0, 4.0]) + turn)
    estimate = next_merge_estimate(problem(CIRCLE, 25.0), measure)
    assert estimate.pair == (0, 1)


def test_clusters_that_have_met_take_no_time():
    """Nearer than the gap, or in one place even if written a turn apart."""
    for points in ([0.0, 0.01, 2.0], [1.0, 1.0 + 2 * np.pi, 3.0]):
        estimate = next_merge_estimate(problem(CIRCLE, 25.0), mf.Measure(CIRCLE, points))
        assert (estimate.pair, estimate.time) == ((0, 1), 0.0)


def test_nothing_meets_where_all_repel_or_time_has_no_number():
    """Pairs that go apart, beyond 1e308, and without mass do not meet."""
    pair = mf.Measure(CIRCLE, [0.0, 1.0])
    massless = mf.Measure(CIRCLE, [0.0, 1.0, 3.0], [0.0, 0.0, 1.0])
    repelled = next_merge_estimate(problem(CIRCLE, 3.0, mf.Flow("none", strength=-1.0)), pair)
    assert repelled == MergeEstimate(None, np.inf, None, np.inf)
    assert next_merge_estimate(problem(CIRCLE, 1e4), pair).pair is None
    assert next_merge_estimate(problem(CIRCLE, 3.0), massless).pair == (1, 2)


def test_repr_of_fewer_pairs():
    """One pair has no runner-up, and none may meet; the doctest shows two."""
    pair = next_merge_estimate(problem(CIRCLE, 25.0), mf.Measure(CIRCLE, [0.0, 1.0]))
    assert repr(pair).startswith("MergeEstimate(clusters (0, 1) at about ")
    assert " or " not in repr(pair)
    none = MergeEstimate(None, np.inf, None, np.inf)
    assert repr(none) == "MergeEstimate(no pair meets before 1e308)"


def test_what_cannot_merge_is_refused():
    """One cluster, no gap, another manifold, a density."""
    on_circle, pair = problem(CIRCLE, 1.0), mf.Measure(CIRCLE, [0.0, 1.0])
    one, density = mf.Measure(CIRCLE, [0.0]), mf.Density(CIRCLE, [1.0])
    refused("at least two clusters, got 1", next_merge_estimate, on_circle, one)
    refused("gap must lie between 0 and pi, got 0", next_merge_estimate, on_circle, pair, 0.0)
    message = "clusters live on the circle, the problem on the sphere"
    refused(message, next_merge_estimate, problem(SPHERE, 1.0), pair)
    message = "measure must be weighted points, .*, got Density"
    refused(message, next_merge_estimate, on_circle, density, error=TypeError)
