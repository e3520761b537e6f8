"""Atoms: meeting, events, stability."""

from dataclasses import replace

import numpy as np
import pytest
from parameters import refused
from scipy.integrate import solve_ivp

import meanfield as mf
from meanfield.carriers.atoms import AtomRepresentation, atoms
from meanfield.carriers.meeting import reach
from meanfield.engines.pairs.circle import exponential_velocity_circle
from meanfield.spectrum.cluster_rates import cluster_rates

PAIR = mf.from_points([0.0, 1.0], np.array([0.3, 0.7]), name="atoms")


def problem_of(points, beta: float = 9.0, flow: mf.Flow = mf.USA, manifold=None, mass=None):
    """Problem of atoms at the points (or of a law), on the circle unless said otherwise."""
    law = points if hasattr(points, "build") else mf.from_points(points, mass, name="atoms")
    return mf.Problem(manifold or mf.Circle(), mf.exponential(beta), flow, law)


def merges(run: mf.Run) -> list:
    return [event for event in run.events if event.kind == "merge"]


def carrier_of(problem: mf.Problem, tolerance: float = 1e-10) -> AtomRepresentation:
    return atoms(problem, problem.initial_measure(), tolerance=tolerance)


@pytest.mark.slow
@pytest.mark.parametrize(("flow", "mean"), [(mf.USA, 0.7), (mf.SA, None)])
def test_atoms_that_have_met_become_one_at_their_mean_point(flow, mean):
    """Two stay two for ever otherwise, and hold steps short; USA conserves the mean angle."""
    run = mf.simulate(problem_of(PAIR, flow=flow), until=1e6, save=2, tolerance=1e-12)
    (point,) = run.measures[-1].points
    assert mean is None or point == pytest.approx(mean, abs=1e-12)
    assert run.measures[-1].weights == pytest.approx([1.0], abs=1e-15)
    assert run.diagnostics["steps"][-1] < 300


@pytest.mark.slow
def test_atoms_do_not_meet_while_others_pull_them_apart():
    """Two light atoms astride the midpoint of two heavy ones part, however near they are."""
    extent = 0.4 * reach(problem_of(PAIR, 4.0), 1e-10)
    mass = [0.499, 0.499, 0.001, 0.001]
    problem = problem_of([-0.9, 0.9, -extent, extent], 4.0, mass=mass)
    carrier = carrier_of(problem)
    assert carrier.adapt(0.0, carrier.state) is None
    run = mf.simulate(problem, until=200.0, save=[150.0], tolerance=1e-10)
    assert {event.mass for event in merges(run)[:2]} != {(0.001, 0.001)}


def test_atoms_near_each_other_meet_when_they_contract_by_themselves():
    """The same two far from all others are one."""
    extent = 0.4 * reach(problem_of(PAIR, 25.0), 1e-10)
    carrier = carrier_of(problem_of([3.0, -extent, extent], 25.0, mass=[0.9, 0.05, 0.05]))
    adapted = carrier.adapt(0.0, carrier.state)
    assert len(adapted.weights) == 2


@pytest.mark.parametrize("flow", [mf.Flow("none", strength=-1.0), mf.Flow(True, -1.0)])
def test_repelling_atoms_never_meet(flow):
    """They leave each other, however near they start."""
    carrier = carrier_of(problem_of([0.0, 1e-8], flow=flow))
    assert carrier.adapt(0.0, carrier.state) is None


@pytest.mark.parametrize(
    ("manifold", "points"),
    [
        (mf.Circle(), np.array([0.5, 2.0, 0.5, 0.5 + 2 * np.pi])),
        (mf.Sphere(), np.array([[1.0, 0, 0], [0, 1.0, 0], [1.0, 0, 0], [2.0, 0, 0]])),
    ],
)
def test_coincident_atoms_are_one_from_the_start(manifold, points):
    """They can never part; a note says so."""
    carrier = carrier_of(problem_of(points, manifold=manifold))
    assert carrier.weights.tolist() == [0.75, 0.25]
    notes = [event.text for event in carrier.arrival() if event.kind == "note"]
    assert notes == ["atoms 0, 2, 3 start in one place: they are one atom"]


def test_clusters_are_announced_with_their_masses():
    """The tree of clusters has no leaves otherwise; stragglers belong to the heavy one."""
    events = carrier_of(problem_of([0.0, 0.01, 2.0], mass=[0.2, 0.3, 0.5])).arrival()
    assert [event.kind for event in events] == ["cluster", "cluster"]
    assert [event.mass[0] for event in events] == [0.5, 0.5]
    assert {event.clusters[0] for event in events} == {0, 2}


def test_atoms_that_part_again_have_not_met():
    """Two light atoms near each other that heavy ones pull apart stay two clusters."""
    problem = problem_of([-0.9, 0.9, -0.02, 0.02], 4.0, mass=[0.49, 0.49, 0.01, 0.01])
    assert [event.kind for event in carrier_of(problem).arrival()] == ["cluster"] * 4
    run = mf.simulate(problem, until=1e4, save=2)
    masses = [sorted(event.mass) for event in merges(run)]
    assert masses == [pytest.approx(m) for m in ([0.01, 0.49], [0.01, 0.49], [0.5, 0.5])]


@pytest.mark.slow
def test_every_merge_of_a_dense_cloud_is_an_event_once():
    """The clusters that are left have the masses that the merges leave."""
    rng = np.random.default_rng(3)
    angles, weights = np.sort(rng.uniform(0, 2 * np.pi, 60)), rng.dirichlet(np.full(60, 0.5))
    problem = problem_of(angles, 25.0, mass=weights)
    run = mf.simulate(problem, until=1e12, save=2)
    mass = {e.clusters[0]: e.mass[0] for e in run.events if e.kind == "cluster"}
    for event in merges(run):
        for number, expected in zip(event.clusters, event.mass, strict=True):
            assert mass[number] == pytest.approx(expected, abs=1e-14)
        first, second = sorted(event.clusters)
        mass[first] += mass.pop(second)
    assert sorted(mass.values()) == pytest.approx(sorted(run.measures[-1].mass), abs=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
def test_meeting_time_is_that_of_a_stiff_reference(flow):
    """Found within a long step, it would be off by a part of it."""
    problem = problem_of([0.0, 0.9, 2.1], 25.0, flow, mass=[0.2, 0.3, 0.5])
    measure = problem.initial_measure()
    run = mf.simulate(problem, until=1e9, save=2, tolerance=1e-12)
    first = merges(run)[0]
    solution = solve_ivp(
        lambda t, y: exponential_velocity_circle(y, measure.weights, 25.0, flow.normalized),
        (0.0, 2.0 * first.time), measure.points, "Radau", rtol=1e-11, atol=1e-12,
        events=lambda t, y: y[1] - y[0] - 0.05,
    )  # fmt: skip
    assert first.time == pytest.approx(solution.t_events[0][0], rel=1e-7)
    assert sorted(first.mass) == pytest.approx([0.2, 0.3], abs=1e-15)


def test_three_clusters_that_meet_in_one_step_meet_one_after_another():
    """Masses are those just before each meeting."""
    problem = problem_of([-0.5, 0.0, 0.5001], 4.0, mf.SA, mass=[0.3, 0.3, 0.4])
    first, last = merges(mf.simulate(problem, until=50.0, save=2))
    assert first.time <= last.time
    assert sum(last.mass) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.slow
def test_steps_are_bounded_by_the_rates_between_atoms():
    """Explicit steps beyond 6.4 over the fastest rate amplify what they should damp."""
    rng = np.random.default_rng(3)
    for flow in (mf.USA, mf.SA, mf.Flow("none", strength=-2.0)):
        for manifold in (mf.Circle(), mf.Sphere()):
            carrier = carrier_of(problem_of(manifold.random_points(12, rng), 9.0, flow, manifold))
            step = carrier.largest_step(0.0, carrier.state)
            jacobian = np.empty((len(carrier.state), len(carrier.state)))
            for i, row in enumerate(np.eye(len(carrier.state)) * 1e-6):
                plus, minus = carrier.state + row, carrier.state - row
                jacobian[:, i] = (carrier.rhs(0, plus) - carrier.rhs(0, minus)) / 2e-6
            assert step * np.abs(np.linalg.eigvals(jacobian)).max() < 6.4


@pytest.mark.parametrize(
    "escape, modes, lifetime",
    [
        ([3.0, 1.0], [[1.0, 1.0], [1.0, -1.0]], 1.0),
        ([2.0 + 1.0j, 2.0 - 1.0j], [[1.0 + 1.0j, 1.0 - 1.0j], [1.0 - 1.0j, 1.0 + 1.0j]], 0.5),
    ],
    ids=["real", "complex"],
)
def test_rates_of_a_symmetric_run_are_of_its_own_modes(escape, modes, lifetime, monkeypatch):
    """Modes were left unsorted beside their rates, and imaginary parts ignored."""
    # The mirror forbids displacements (1, 1), the real parts of the complex modes.
    carrier = replace(carrier_of(problem_of([-1.0, 1.0])), symmetric=lambda rate: rate - rate[::-1])
    measure = carrier.measure(carrier.state)
    given = {"escape": np.array(escape), "modes": np.array(modes)}
    near = replace(cluster_rates(carrier.problem, measure), **given)
    monkeypatch.setitem(AtomRepresentation._rates.__globals__, "cluster_rates", lambda *_: near)
    rates = carrier._rates(measure)
    assert rates.lifetime == pytest.approx(lifetime, rel=1e-15)
    assert np.abs(rates.modes[0] - rates.modes[0][::-1]).max() > 0.1


def test_single_atom_rests_at_any_time():
    """Nothing limits its steps."""
    run = mf.simulate(problem_of([1.0]), until=1e300, save=2)
    assert run.time[-1] == 1e300
    assert run.measures[-1].points.tolist() == [1.0]


def test_atoms_refuse_diffusion():
    """Noise spreads atoms."""
    noisy = problem_of(PAIR, flow=mf.Flow("none", diffusivity=0.1))
    refused("atoms cannot carry diffusion: got .* = 0.1. Use", carrier_of, noisy)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("manifold", "flow", "beta"),
    [
        (mf.Circle(), mf.Flow("none", strength=-1.0), 9.0),
        (mf.Circle(), mf.Flow(True, -1.0), 2.0),
        (mf.Circle(), mf.USA, -3.0),  # the triangle, stable for beta < -2/3
        (mf.Sphere(), mf.Flow("none", strength=-1.0), 9.0),
        (mf.Sphere(), mf.Flow(True, -1.0), 2.0),
    ],
)
def test_atoms_that_repel_come_to_rest(manifold, flow, beta):
    """A stable configuration would bound explicit steps for ever: 1e60 would never come."""
    angles = 2.0 * np.pi * np.arange(3) / 3 + np.array([0.0, 0.2, -0.3])
    vectors = np.column_stack([np.cos(angles), np.sin(angles), 0.1 * np.arange(3)])
    points = angles if manifold.dimension == 1 else vectors
    problem = problem_of(points, beta, flow, manifold)
    run = mf.simulate(problem, until=1e60, save=[1e50, 1e60])
    assert run.diagnostics["steps"][-1] < 2000
    points = run.measures[-1].points
    gaps = manifold.distance(points, np.roll(points, 1, axis=0))
    assert gaps == pytest.approx(2.0 * np.pi / 3.0, abs=1e-9)


@pytest.mark.parametrize("beta", [-600.0, 600.0])
def test_steps_are_bounded_where_the_attention_underflows(beta):
    """0/0 would be no bound, and a warning."""
    carrier = carrier_of(problem_of([0.0, 0.001, 0.002], beta, mf.SA))
    assert 0.0 < carrier.largest_step(0.0, carrier.state) < 10.0


@pytest.mark.slow
@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
def test_times_of_meetings_do_not_depend_on_the_steps(flow):
    """Three near each other: whether a step ended between two meetings decided when they met."""
    problem = problem_of([0.0, 0.35, 0.9], 4.0, flow, mass=[0.2, 0.2, 0.6])
    runs = [mf.simulate(problem, 1e4, save=2, tolerance=each) for each in (1e-8, 1e-10, 1e-12)]
    times = [[event.time for event in merges(run)] for run in runs]
    assert times[0] == pytest.approx(times[2], rel=1e-7)
    assert times[1] == pytest.approx(times[2], rel=1e-8)


@pytest.mark.parametrize("points", [[0.0, 1e-7, 0.2, 0.4, 0.6], [0.0, 1e-7, 0.04, 0.08, 0.12, 3]])
def test_atoms_of_two_clusters_that_become_one_have_met(points):
    """The tree would keep a cluster that is gone."""
    run = mf.simulate(problem_of(points, 25.0), until=1e4, save=2)
    kinds = [event.kind for event in run.events]
    assert kinds.count("cluster") - kinds.count("merge") == len(run.measures[-1].points)


@pytest.mark.slow
@pytest.mark.parametrize("manifold", [mf.Circle(), mf.Sphere()])
def test_velocities_too_small_to_be_squared_are_followed(manifold):
    """SciPy's error norm underflows below 1e-154: steps then went anywhere."""
    angles = np.array([0.3, 3.3])
    space = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(2)])
    problem = problem_of(angles if manifold.dimension == 1 else space, 200.0, manifold=manifold)
    exact = mf.two_cluster_time(problem, 3.0, 0.25 / np.sqrt(200.0))
    run = mf.simulate(problem, until=2e172, save=[1e172, 2e172])
    (merge,) = merges(run)
    assert merge.time == pytest.approx(exact, rel=1e-8)
    assert exact > 1e172


@pytest.mark.slow
def test_exact_equilibrium_rests():
    """Opposite points on the sphere have velocity 0 to the last bit, and a rate that is not."""
    problem = problem_of([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]], 1.0, manifold=mf.Sphere())
    run = mf.simulate(problem, until=1e60, save=[1e60])
    assert run.diagnostics["steps"][-1] < 200
    assert len(run.measures[-1].points) == 2


def test_zonal_atoms_are_summed_by_pairs():
    """The noise of moments, 1e-17, would move them where the kernel is 1e-20."""
    problem = problem_of([0.0, 2.0, 4.3], 25.0)
    own = replace(problem, kernel=mf.zonal(lambda s: np.exp(25.0 * (s - 1.0))))
    exact, rate = (each.rhs(0.0, each.state) for each in map(carrier_of, (problem, own)))
    assert rate == pytest.approx(exact, rel=1e-12)


def test_weak_flows_are_slow_and_nothing_else():
    """A first step that is far too short was taken for one that vanishes."""
    problem = problem_of([0.0, 2.0], 1.0, mf.Flow("none", strength=1e-20))
    run = mf.simulate(problem, until=1e30, save=[1e30])
    assert len(run.measures[-1].points) == 1


def test_massless_atoms_in_one_place_are_one():
    """Their mean point is no number."""
    carrier = carrier_of(problem_of([0.0, 2.0, 2.0], mass=[1.0, 0.0, 0.0]))
    assert carrier.state.tolist() == [0.0, 2.0]


@pytest.mark.parametrize(("tolerance", "beta"), [(1e-3, 100.0), (1e-6, 1e4), (1e-8, 25.0)])
def test_meeting_changes_moments_by_less_than_the_tolerance(tolerance, beta):
    """Points that become one too early lose what lies between them."""
    extent = 0.99 * reach(problem_of(PAIR, beta), tolerance)
    problem = problem_of([0.0, extent, 2.0], beta, mass=[0.3, 0.2, 0.5])
    carrier = carrier_of(problem, tolerance)
    adapted = carrier.adapt(0.0, carrier.state)
    assert len(adapted.weights) == 2
    degree = problem.moment_degree
    change = adapted.moments(adapted.state, degree) - carrier.moments(carrier.state, degree)
    assert 1e-3 * tolerance < np.abs(change).max() < 0.2 * tolerance
