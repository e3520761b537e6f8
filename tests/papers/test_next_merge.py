"""Which clusters meet first, against atoms integrated by SciPy."""

import numpy as np
import pytest
from parameters import each, refused, together
from scipy.integrate import solve_ivp

import meanfield as mf
from meanfield.engines.pairs.circle import exponential_velocity_circle
from meanfield.engines.pairs.sphere import exponential_velocity_sphere
from meanfield.papers.two_clusters import MergeEstimate, next_merge_estimate, two_cluster_time

CIRCLE, SPHERE = mf.Circle(), mf.Sphere()


def problem(manifold: mf.Circle | mf.Sphere, beta: float, flow: mf.Flow = mf.USA) -> mf.Problem:
    return mf.Problem(manifold, mf.exponential(beta), flow)


def first_meeting(measure: mf.Measure, beta: float, normalized: bool, until: float) -> float:
    """Time at which the first gap of atoms falls to 0.25 / sqrt(beta), by an implicit method."""
    shape, radius = measure.points.shape, 0.25 / np.sqrt(beta)
    sphere = len(shape) == 2
    pairs = np.triu_indices(len(measure.points), 1)

    def rhs(time: float, state: np.ndarray) -> np.ndarray:
        if not sphere:
            return exponential_velocity_circle(state, measure.weights, beta, normalized)
        x = state.reshape(shape)
        x = x / np.linalg.norm(x, axis=1)[:, None]
        return exponential_velocity_sphere(x, measure.weights, beta, normalized).ravel()

    def meeting(time: float, state: np.ndarray) -> float:
        x = state.reshape(shape)
        if sphere:
            x = x / np.linalg.norm(x, axis=1)[:, None]
        return float(measure.manifold.distance(x[pairs[0]], x[pairs[1]]).min() - radius)

    meeting.terminal = True
    run = solve_ivp(
        rhs, (0.0, until), measure.points.ravel(), method="Radau", rtol=1e-7, atol=1e-10,
        events=meeting,
    )  # fmt: skip
    return float(run.t_events[0][0])


@each(
    "points, weights",
    [
        ([0.0, 0.9, 2.4, 4.2], [0.25, 0.25, 0.25, 0.25]),
        ([5.9, 4.3, 0.4, 2.5], [0.1, 0.4, 0.2, 0.3]),
        ([0.1, 1.5, 3.4, 4.0, 5.2], [0.3, 0.1, 0.05, 0.25, 0.3]),
    ],
    flow=[mf.USA, mf.SA],
)
def test_estimate_is_what_separated_atoms_do_on_the_circle(points, weights, flow):
    """Where one gap is clearly the smallest the other clusters hardly matter."""
    measure = mf.Measure(CIRCLE, points, weights)
    estimate = next_merge_estimate(problem(CIRCLE, 25.0, flow), measure)
    exact = first_meeting(measure, 25.0, flow.normalized, 2.0 * estimate.time)
    # Others, e^{-25 (cos 0.6 - cos 1.2)} or 1e-5, are felt; Radau has 1e-7.
    assert estimate.time == pytest.approx(exact, rel=1e-7)
    gaps = measure.manifold.distance(*(measure.points[list(estimate.pair)]))
    assert gaps == pytest.approx(min_gap(measure))
    assert estimate.runner_up_time > 10 * estimate.time


def min_gap(measure: mf.Measure) -> float:
    i, j = np.triu_indices(len(measure.points), 1)
    return float(measure.manifold.distance(measure.points[i], measure.points[j]).min())


@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
def test_estimate_is_what_separated_atoms_do_on_the_sphere(flow):
    """Two clusters at 0.8 radians among five, of different masses."""
    points = [[1, 0, 0], [np.cos(0.8), np.sin(0.8), 0], [-1, 0.2, 0], [0, 0, 1], [0, -1, -1]]
    measure = mf.Measure(SPHERE, points, [0.2, 0.3, 0.1, 0.2, 0.2])
    estimate = next_merge_estimate(problem(SPHERE, 25.0, flow), measure)
    assert estimate.pair == (0, 1)
    exact = first_meeting(measure, 25.0, flow.normalized, 2.0 * estimate.time)
    assert estimate.time == pytest.approx(exact, rel=1e-7)


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


def test_repr_says_who_and_when():
    """One line for a shell."""
    points, own = [0.0, 1.0, 2.5], problem(CIRCLE, 25.0)
    three = repr(next_merge_estimate(own, mf.Measure(CIRCLE, points)))
    assert three.startswith("MergeEstimate(clusters (0, 1) at about ")
    assert ", or (1, 2) at about " in three
    assert " or " not in repr(next_merge_estimate(own, mf.Measure(CIRCLE, points[:2])))
    none = MergeEstimate(None, np.inf, None, np.inf)
    assert repr(none) == "MergeEstimate(no pair meets before 1e308)"


@together("call, error, message", [
    (lambda: next_merge_estimate(problem(CIRCLE, 1.0), mf.Measure(CIRCLE, [0.0])), ValueError,
     "at least two clusters, got 1"),
    (lambda: next_merge_estimate(problem(CIRCLE, 1.0), mf.Measure(CIRCLE, [0.0, 1.0]), 0.0),
     ValueError, "gap must lie between 0 and pi, got 0"),
    (lambda: next_merge_estimate(problem(SPHERE, 1.0), mf.Measure(CIRCLE, [0.0, 1.0])),
     ValueError, "clusters live on the circle, the problem on the sphere"),
    (lambda: next_merge_estimate(problem(CIRCLE, 1.0), mf.Density(CIRCLE, [1.0])), TypeError,
     "measure must be weighted points, .*, got Density"),
])  # fmt: skip
def test_what_cannot_merge_is_refused(call, error, message):
    """One cluster, no gap, another manifold, a density."""
    refused(message, call, error=error)
