"""Time of two clusters, and the next merge of several, against integrals and atoms."""

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from atoms import angles_after
from parameters import each, refused
from scipy.integrate import solve_ivp

import meanfield as mf
from meanfield.engines.pairs.circle import exponential_velocity_circle
from meanfield.engines.pairs.sphere import exponential_velocity_sphere
from meanfield.papers.two_clusters import (
    MergeEstimate,
    attraction,
    next_merge_estimate,
    two_cluster_time,
)

CIRCLE, SPHERE = mf.Circle(), mf.Sphere()
# Two clusters at 0.8 radians, and three others.
FIVE = [[1, 0, 0], [np.cos(0.8), np.sin(0.8), 0], [-1, 0.2, 0], [0, 0, 1], [0, -1, -1]]
MET = math.acos(0.999)
SPLITS = [(0.5, 0.5), (0.3, 0.7), (0.999, 0.001), (1e-9, 1 - 1e-9), (0.1, 0.2), (0.0, 1.0)]

MORE = [pytest.param(beta, marks=pytest.mark.slow) for beta in (-5.0, 1.0, 25.0, 100.0)]


def problem(beta: float, flow: mf.Flow = mf.USA, space: Any = CIRCLE) -> mf.Problem:
    return mf.Problem(space, mf.exponential(beta) if beta else mf.linear(), flow)


def unnormalised(beta: float, angle: float, until: float) -> mpmath.mpf:
    """Theory 1.6 in scaled time: exponential integrals, beta > 0, total mass 1."""

    def antiderivative(phi: float) -> mpmath.mpf:
        near, far = (2 * beta * f(mpmath.mpf(phi) / 2) ** 2 for f in (mpmath.sin, mpmath.cos))
        return (mpmath.ei(near) + mpmath.exp(2 * mpmath.mpf(beta)) * mpmath.e1(far)) / 2

    return antiderivative(angle) - antiderivative(until)


def by_quadrature(beta: float, angle: float, until: float, masses: tuple[float, float]) -> float:
    """The integral of d phi / phi' under SA, as the model defines phi', in 18 digits."""
    first, second = map(mpmath.mpf, masses)

    def slowness(log_tangent: mpmath.mpf) -> mpmath.mpf:
        s = -mpmath.tanh(log_tangent)
        own, a = mpmath.exp(beta - abs(beta)), mpmath.exp(beta * s - abs(beta))
        return 1 / (a * (second / (first * own + second * a) + first / (second * own + first * a)))

    start, end = (mpmath.log(mpmath.tan(mpmath.mpf(phi) / 2)) for phi in (until, angle))
    pieces = [end - (end - start) * mpmath.mpf(0.5) ** i for i in range(14)] + [end]
    with mpmath.workdps(18):
        return float(mpmath.quad(slowness, pieces))


@pytest.mark.parametrize("beta, angle, printed", [
    (1.0, 2 * math.pi / 3, 2.4657476968), (5.0, 2 * math.pi / 3, 2.8393709166),
    (5.0, math.pi / 2, 0.2361724529), (10.0, math.pi / 2, 0.1024452894),
])  # fmt: skip
def test_time_of_any_split_is_the_printed_one(beta, angle, printed, verified):
    """USA, in the papers' time, for masses that sum to 1."""
    for masses in SPLITS[:4]:
        time = two_cluster_time(problem(beta), angle, MET, masses) * math.exp(-beta)
        what = "merging time of two clusters of any masses, as printed"
        verified("exact solutions", what, time - printed, 5.1e-11)


@each(
    "angle",
    [0.2, 1.0, 2.0, 3.0, math.pi - 1e-6],
    beta=[1e-6, 0.3, 1.0, 5.0, 25.0, 100.0, 350.0, 1e3, 1e4],
)
def test_usa_time_is_a_difference_of_exponential_integrals(beta, angle):
    """To rounding, from nearby angles to far ones, and up to 1e300."""
    with mpmath.workdps(60):
        for until in (angle * (1 - 1e-9), 0.9 * angle, 0.1 * angle, 1e-12):
            exact = unnormalised(beta, angle, until)
            time = two_cluster_time(problem(beta), angle, until)
            if exact < 1e300:
                # An error eps of beta sin^2(angle / 2) changes the time by its multiple.
                slack = 1e-15 * (4 + 2 * max(0, float(mpmath.log(exact))))
                assert abs(time / exact - 1) < slack
            elif exact > 1.8e308:
                assert time == math.inf


@each("beta", [-60.0, 5.0, *MORE], masses=SPLITS)
def test_sa_time_is_the_integral_of_its_definition(beta, masses):
    """Partial fractions and panels against adaptive quadrature of 1 / phi'."""
    for angle, until in ((2.9, 0.02), (1.2, 0.7)):
        time = two_cluster_time(problem(beta, mf.SA), angle, until, masses)
        assert time == pytest.approx(by_quadrature(beta, angle, until, masses), rel=1e-12)


@each("masses", [(0.5, 0.5), (0.2, 0.8)], beta=[0.0, 1.0, 8.0, -2.0], flow=[mf.USA, mf.SA])
def test_atoms_take_that_time(beta, flow, masses):
    """Integrating the velocity of particles for the time given ends at the angle given."""
    angles, weights = np.array([0.0, 2.0]), np.array(masses)
    time = two_cluster_time(problem(beta, flow), 2.0, 0.3, masses)
    first, second = angles_after(time, angles, weights, beta, flow.normalized)
    assert second - first == pytest.approx(0.3, abs=1e-10)


def test_last_two_clusters_of_the_kinetic_figure_meet_when_theory_says():
    """Five tokens, beta = 4, SA: pairs by t = 30, then two clusters that meet at 328.364042."""
    angles = np.array([0.06219714, 0.21432297, 1.81912262, 2.91107101, -3.09524835])
    ends = np.sort(angles_after(30.0, angles, None, 4.0, True) % (2 * np.pi))
    gap = ends[2:].mean() - ends[:2].mean()
    assert np.ptp(ends[2:]) < 1e-9 and np.ptp(ends[:2]) < 1e-9
    rest = two_cluster_time(problem(4.0, mf.SA), gap, MET, (0.4, 0.6))
    assert 30.0 + rest == pytest.approx(328.364042, abs=5e-7)


@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
def test_linear_kernel_takes_the_logarithm_of_tangents(flow):
    """Kuramoto: phi' = -M sin phi, with M = 1 under SA."""
    expected = math.log(math.tan(1.4) / math.tan(0.05)) / (1.0 if flow.normalized else 0.5)
    time = two_cluster_time(problem(0.0, flow), 2.8, 0.1, (0.1, 0.4))
    assert time == pytest.approx(expected, rel=1e-14)


@each("beta", [-3.0, 1.0, 60.0], flow=[mf.USA, mf.SA])
def test_a_kernel_from_a_function_takes_the_same_time(beta, flow):
    """Other kernels have no closed form, and the same formula."""
    own = mf.Problem(SPHERE, mf.zonal(lambda s: np.exp(beta * s - abs(beta))), flow)
    for masses in SPLITS:
        expected = two_cluster_time(problem(beta, flow), 2.9, 0.01, masses)
        assert two_cluster_time(own, 2.9, 0.01, masses) == pytest.approx(expected, rel=1e-12)


def test_two_clusters_move_on_a_circle_in_every_dimension():
    """Nothing but the angle matters."""
    for flow in (mf.USA, mf.SA):
        high = mf.Problem(mf.Sphere(8), mf.exponential(3.0), flow)
        time = two_cluster_time(high, 2.0, 0.1, (0.2, 0.5))
        assert time == two_cluster_time(problem(3.0, flow), 2.0, 0.1, (0.2, 0.5))


@pytest.mark.parametrize("angle", [0.9, 1.0, 1.1])
def test_a_steep_kernel_from_a_function_gets_finer_panels(angle):
    """Beta = 600 falls by e^270 on two panels; its own rounding is 600 eps."""
    steep = mf.Problem(CIRCLE, mf.zonal(lambda s: np.exp(600 * (s - 1))), mf.USA)
    time = two_cluster_time(steep, angle, 0.5)
    assert time == pytest.approx(two_cluster_time(problem(600.0), angle, 0.5), rel=1e-12)


@each("beta", [-8.0, 3.0, 81.0], flow=[mf.USA, mf.SA])
def test_times_add_up_along_the_way(beta, flow):
    """From 2.5 to 1.1 and on to 1e-5."""
    first, second, whole = (
        two_cluster_time(problem(beta, flow), *ends, (0.2, 0.6))
        for ends in ((2.5, 1.1), (1.1, 1e-5), (2.5, 1e-5))
    )
    assert first + second == pytest.approx(whole, rel=5e-14)


def test_repulsion_takes_the_time_of_attraction_backwards():
    """Strength -1/2 leads from 0.4 to 2 in twice the time that 1 takes back."""
    for normalized in (False, True):
        there = problem(4.0, mf.Flow(normalized, strength=-0.5))
        back = problem(4.0, mf.Flow(normalized))
        expected = 2.0 * two_cluster_time(back, 2.0, 0.4)
        assert two_cluster_time(there, 0.4, 2.0) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("beta", "angle", "until"),
    [(4e3, 0.41, 0.01), (4e3, 0.58, 0.01), (1e6, 2 * math.asin(math.sqrt(356e-6)), 0.001)],
)
def test_long_times_do_not_overflow(beta, angle, until):
    """Times above 1e140; at beta = 1e6 the integral of e^712 over a short way is 1e306."""
    usa, sa = (two_cluster_time(problem(beta, flow), angle, until) for flow in (mf.USA, mf.SA))
    with mpmath.workdps(40):
        assert abs(usa / unnormalised(beta, angle, until) - 1) < (1e-12 if beta < 1e6 else 2e-12)
    assert usa > 1e140
    # Under SA equal masses each have half of the attention to themselves.
    assert sa == pytest.approx(0.5 * usa, rel=1e-12)


@pytest.mark.parametrize("flow", [mf.USA, mf.SA, mf.Flow("none", strength=-1.0)])
def test_limits_take_for_ever_and_nothing_takes_no_time(flow):
    """Clusters neither coincide nor leave the angle pi in finite time."""
    one = problem(3.0, flow)
    ways = [(2.0, 0.0), (math.pi, 2.0)]
    for angle, until in ways if flow.strength > 0 else [way[::-1] for way in ways]:
        assert two_cluster_time(one, angle, until) == math.inf
    assert two_cluster_time(one, 1.0, 1.0) == 0.0


def test_a_zero_of_the_kernel_is_never_passed():
    """Attraction ends where attention does: at 1.266 for a(s) = s - 0.3."""
    own = mf.Problem(CIRCLE, mf.zonal(lambda s: s - 0.3), mf.USA)
    assert attraction(own, 1.0) > 0 > attraction(own, 2.0)
    assert 0 < two_cluster_time(own, 1.2, 0.1) < math.inf
    assert 0 < two_cluster_time(own, 1.4, 2.5) < math.inf
    # Attraction at both ends and repulsion between them.
    between = mf.Problem(CIRCLE, mf.zonal(lambda s: (s - 0.3) * (s - 0.6)), mf.USA)
    assert two_cluster_time(between, 1.5, 0.1) == math.inf


def test_what_has_no_time_is_refused():
    """Wrong angles and masses, or clusters that move apart, would have a time."""
    of, time = problem(1.0), two_cluster_time
    refused("angle must lie between 0 and pi, got 4", time, of, 4.0, 1.0)
    refused("until must lie between 0 and pi", time, of, 2.0, -1.0)
    refused("come closer: they never reach 2", time, of, 1.0, 2.0)
    repelled, noisy = mf.Flow("none", strength=-1.0), mf.Flow("none", diffusivity=0.1)
    refused("go apart: they never reach 1", time, problem(1.0, repelled), 2.0, 1.0)
    refused("no stationary states with diffusivity > 0", time, problem(1.0, noisy), 2.0, 1.0)
    refused("masses must be two", time, of, 2.0, 1.0, (0.0, 0.0))
    refused("sum up to 1", time, of, 2.0, 1.0, (0.9, 0.9))
    refused("not negative", time, of, 2.0, 1.0, (-0.1, 0.9))
    # A double zero on the way, which no panels resolve.
    square = mf.Problem(CIRCLE, mf.zonal(lambda s: s**2), mf.USA)
    refused("too rough, or vanishes between the two angles", time, square, 2.0, 0.1)


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
    estimate = next_merge_estimate(problem(25.0, flow, space), measure)
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
    measure, own = mf.Measure(space, points), problem(beta, flow, space)
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
    own, corners = problem(5.0), np.pi / 2 * np.arange(4)
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
    estimate = next_merge_estimate(problem(40.0), measure)
    assert (estimate.pair, estimate.runner_up) == ((2, 3), (0, 1))
    # Exactly so alone.
    assert estimate.runner_up_time / estimate.time == pytest.approx(0.7 / 0.3, rel=1e-8)


def test_time_of_two_is_that_of_the_pair_alone():
    """And the gap may be chosen."""
    measure = mf.Measure(CIRCLE, [6.0, 0.5], [0.4, 0.6])
    for flow in (mf.USA, mf.SA):
        own = problem(9.0, flow)
        angle = float(CIRCLE.distance(0.5, 6.0))
        for gap, until in ((None, 0.25 / 3), (0.01, 0.01)):
            estimate = next_merge_estimate(own, measure, gap)
            assert estimate.pair == (0, 1)
            assert estimate.time == two_cluster_time(own, angle, until, (0.4, 0.6))


def test_only_neighbours_meet_on_the_circle():
    """A pair across a cluster between them meets that one first, however light it is."""
    measure = mf.Measure(CIRCLE, [0.0, 0.5, 0.95], [0.495, 0.01, 0.495])
    estimate = next_merge_estimate(problem(0.5), measure, 0.05)
    across, between = (
        two_cluster_time(problem(0.5), gap, 0.05, masses)
        for gap, masses in ((0.95, (0.495, 0.495)), (0.45, (0.01, 0.495)))
    )
    assert across < between
    assert (estimate.pair, estimate.runner_up) == ((1, 2), (0, 1))


@pytest.mark.parametrize("turn", [0.0, 3.0, -40.0])
def test_where_angles_are_counted_from_does_not_matter(turn):
    """Neighbours across the angle 0 are neighbours."""
    measure = mf.Measure(CIRCLE, np.array([6.1, 0.2, 2.0, 4.0]) + turn)
    estimate = next_merge_estimate(problem(25.0), measure)
    assert estimate.pair == (0, 1)


def test_clusters_that_have_met_take_no_time():
    """Nearer than the gap, or in one place even if written a turn apart."""
    for points in ([0.0, 0.01, 2.0], [1.0, 1.0 + 2 * np.pi, 3.0]):
        estimate = next_merge_estimate(problem(25.0), mf.Measure(CIRCLE, points))
        assert (estimate.pair, estimate.time) == ((0, 1), 0.0)


def test_nothing_meets_where_all_repel_or_time_has_no_number():
    """Pairs that go apart, beyond 1e308, and without mass do not meet."""
    pair = mf.Measure(CIRCLE, [0.0, 1.0])
    massless = mf.Measure(CIRCLE, [0.0, 1.0, 3.0], [0.0, 0.0, 1.0])
    repelled = next_merge_estimate(problem(3.0, mf.Flow("none", strength=-1.0)), pair)
    assert repelled == MergeEstimate(None, np.inf, None, np.inf)
    assert next_merge_estimate(problem(1e4), pair).pair is None
    assert next_merge_estimate(problem(3.0), massless).pair == (1, 2)


def test_repr_of_fewer_pairs():
    """One pair has no runner-up, and none may meet; the doctest shows two."""
    pair = next_merge_estimate(problem(25.0), mf.Measure(CIRCLE, [0.0, 1.0]))
    assert repr(pair).startswith("MergeEstimate(clusters (0, 1) at about ")
    assert " or " not in repr(pair)
    none = MergeEstimate(None, np.inf, None, np.inf)
    assert repr(none) == "MergeEstimate(no pair meets before 1e308)"


def test_what_cannot_merge_is_refused():
    """One cluster, no gap, another manifold, a density."""
    on_circle, pair = problem(1.0), mf.Measure(CIRCLE, [0.0, 1.0])
    one, density = mf.Measure(CIRCLE, [0.0]), mf.Density(CIRCLE, [1.0])
    refused("at least two clusters, got 1", next_merge_estimate, on_circle, one)
    refused("gap must lie between 0 and pi, got 0", next_merge_estimate, on_circle, pair, 0.0)
    message = "clusters live on the circle, the problem on the sphere"
    refused(message, next_merge_estimate, problem(1.0, space=SPHERE), pair)
    message = "measure must be weighted points, .*, got Density"
    refused(message, next_merge_estimate, on_circle, density, error=TypeError)
