"""Time of two clusters against exponential integrals, quadrature in more digits, and runs."""

import math

import mpmath
import numpy as np
import pytest
from parameters import each, refused
from scipy.integrate import solve_ivp

import meanfield as mf
from meanfield.engines.pairs.circle import exponential_velocity_circle
from meanfield.papers.two_clusters import attraction, two_cluster_time

MET = math.acos(0.999)
SPLITS = [(0.5, 0.5), (0.3, 0.7), (0.999, 0.001), (1e-9, 1 - 1e-9), (0.1, 0.2), (0.0, 1.0)]

MORE = [pytest.param(beta, marks=pytest.mark.slow) for beta in (-5.0, 1.0, 25.0, 100.0)]


def problem(beta: float, flow: mf.Flow = mf.USA) -> mf.Problem:
    return mf.Problem(mf.Circle(), mf.exponential(beta) if beta else mf.linear(), flow)


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
    angle, until, weights = 2.0, 0.3, np.array(masses)
    time = two_cluster_time(problem(beta, flow), angle, until, masses)
    run = solve_ivp(
        lambda t, x: exponential_velocity_circle(x, weights, beta, flow.normalized), (0.0, time),
        [0.0, angle], method="DOP853", rtol=1e-13, atol=1e-14,
    )  # fmt: skip
    assert run.y[1, -1] - run.y[0, -1] == pytest.approx(until, abs=1e-10)


def test_last_two_clusters_of_the_kinetic_figure_meet_when_theory_says():
    """Five tokens, beta = 4, SA: pairs by t = 30, then two clusters that meet at 328.364042."""
    angles = [0.06219714, 0.21432297, 1.81912262, 2.91107101, -3.09524835]
    run = solve_ivp(
        lambda t, x: exponential_velocity_circle(x, None, 4.0, True), (0.0, 30.0), angles,
        method="DOP853", rtol=1e-12, atol=1e-13,
    )  # fmt: skip
    ends = np.sort(run.y[:, -1] % (2 * np.pi))
    gap = ends[2:].mean() - ends[:2].mean()
    assert np.ptp(ends[2:]) < 1e-9
    assert np.ptp(ends[:2]) < 1e-9
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
    own = mf.Problem(mf.Sphere(), mf.zonal(lambda s: np.exp(beta * s - abs(beta))), flow)
    for masses in SPLITS:
        time = two_cluster_time(own, 2.9, 0.01, masses)
        assert time == pytest.approx(
            two_cluster_time(problem(beta, flow), 2.9, 0.01, masses), rel=1e-12
        )


def test_two_clusters_move_on_a_circle_in_every_dimension():
    """Nothing but the angle matters."""
    for flow in (mf.USA, mf.SA):
        high = mf.Problem(mf.Sphere(8), mf.exponential(3.0), flow)
        time = two_cluster_time(high, 2.0, 0.1, (0.2, 0.5))
        assert time == two_cluster_time(problem(3.0, flow), 2.0, 0.1, (0.2, 0.5))


@pytest.mark.parametrize("angle", [0.9, 1.0, 1.1])
def test_a_steep_kernel_from_a_function_gets_finer_panels(angle):
    """Beta = 600 falls by e^270 on two panels; its own rounding is 600 eps."""
    steep = mf.Problem(mf.Circle(), mf.zonal(lambda s: np.exp(600 * (s - 1))), mf.USA)
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
        assert two_cluster_time(there, 0.4, 2.0) == pytest.approx(
            2.0 * two_cluster_time(back, 2.0, 0.4), rel=1e-14
        )


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
    own = mf.Problem(mf.Circle(), mf.zonal(lambda s: s - 0.3), mf.USA)
    assert attraction(own, 1.0) > 0 > attraction(own, 2.0)
    assert 0 < two_cluster_time(own, 1.2, 0.1) < math.inf
    assert 0 < two_cluster_time(own, 1.4, 2.5) < math.inf
    # Attraction at both ends and repulsion between them.
    between = mf.Problem(mf.Circle(), mf.zonal(lambda s: (s - 0.3) * (s - 0.6)), mf.USA)
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
    square = mf.Problem(mf.Circle(), mf.zonal(lambda s: s**2), mf.USA)
    refused("too rough, or vanishes between the two angles", time, square, 2.0, 0.1)
