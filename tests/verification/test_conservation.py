"""Conserved quantities of the equation: mass, mean angle or torque, symmetry, equilibria."""

from collections.abc import Callable

import numpy as np
import pytest
from oracles import gauss_nodes
from parameters import each
from scipy.spatial.transform import Rotation
from snapshots import snapshots

import meanfield as mf
from meanfield.carriers import density, particles
from meanfield.fields.mean_field import interaction
from meanfield.terms.kernels import KERNELS
from meanfield.trajectory import trajectory

SPHERE = mf.Sphere()
SPACES = {"circle": mf.Circle(), "sphere": SPHERE}
FLOWS = {
    "USA": mf.USA, "SA": mf.SA, "repulsive": mf.Flow("none", strength=-1.0),
    "repulsive SA": mf.Flow(True, -1.0),
}  # fmt: skip
LAWS = {
    "circle": mf.mixture([(0.6, 0.3, 2.0), (0.4, 2.0, 1.0)]),
    "sphere": mf.mixture([(0.6, [0.3, 0.2, 0.9], 2.0), (0.4, [-0.5, 0.8, 0.1], 1.0)]),
}
EDGE = np.sqrt(0.75)
GOLDEN = (1 + np.sqrt(5)) / 2
# Orbits of finite groups: the directions of these vectors.
ORBITS = {
    "point": [[0, 0, 1]],
    "pair": [[0, 0, 1], [0, 0, -1]],
    "triangle": [[1, 0, 0], [-0.5, EDGE, 0], [-0.5, -EDGE, 0]],
    "tetrahedron": [[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]],
    "octahedron": np.vstack([np.eye(3), -np.eye(3)]),
    "icosahedron": [
        np.roll([0, a, b * GOLDEN], shift) for shift in range(3) for a in (-1, 1) for b in (-1, 1)
    ],
}


@pytest.mark.parametrize("name", SPACES)
@each("beta", [-4.0, 0.0, 5.0, 100.0], flow=FLOWS)
def test_mass_of_a_density_is_exactly_one(name, flow, beta, verified):
    """The coefficient of degree 0 never changes, not by one bit, also when degrees double."""
    problem = mf.Problem(SPACES[name], KERNELS["exponential"](beta), FLOWS[flow], LAWS[name])
    until, tolerance = {"circle": (2.0, 1e-10), "sphere": (1.0, 1e-7)}[name]
    carrier = density(problem, problem.initial_measure(), tolerance=tolerance)
    assert carrier.rhs(0.0, carrier.state)[0] == 0.0
    for snapshot in trajectory(problem, carrier, [0.5 * until, until], tolerance=tolerance):
        what = f"mass of a density, to the bit, {name}"
        verified("invariants", what, snapshot.moments[0] - 1.0, 0.0)
        assert snapshot.measure.coefficients[0] == 1.0


@pytest.mark.parametrize("name", SPACES)
@each("flow", FLOWS, count=[60, 2000])
def test_mass_of_particles_is_one(name, flow, count, verified):
    """Weights are carried, not evolved."""
    rng = np.random.default_rng(0)
    law = mf.from_points(SPACES[name].random_points(count, rng), rng.dirichlet(np.ones(count)))
    problem = mf.Problem(SPACES[name], mf.exponential(5.0), FLOWS[flow], law)
    for snapshot in snapshots(problem, [0.0, 5.0], 1e-8, name="particles"):
        verified("invariants", f"mass of particles, {name}", snapshot.moments[0] - 1.0, 1e-14)


@each(
    "beta, strength",
    [(-4.0, 1.0), (0.0, 1.0), (5.0, 1.0), (5.0, -1.0)],
    count=[60, 2000],
    weighted=[False, True],
)
def test_unnormalized_flow_keeps_the_mean_lifted_angle(beta, strength, count, weighted, verified):
    """Forces between two tokens are opposite: the mean of unwrapped angles stays."""
    rng = np.random.default_rng(count)
    angles = rng.uniform(-10.0, 10.0, count)
    mass = rng.dirichlet(np.ones(count)) if weighted else np.full(count, 1.0 / count)
    law = mf.from_points(angles, mass if weighted else None)
    kernel = KERNELS["exponential"](beta)
    problem = mf.Problem(mf.Circle(), kernel, mf.Flow("none", strength=strength), law)
    run = mf.simulate(problem, until=20.0, save=5, representation="particles")
    means = [mass @ measure.points for measure in run.measures]
    what = "mean unwrapped angle of tokens without softmax, circle"
    verified("invariants", what, means - mass @ angles, 1e-12)
    moved = np.abs(run.measures[-1].points - angles).max()
    assert moved > 0.05


def test_normalized_flow_moves_the_mean_lifted_angle():
    """Do not test the other flow for it: divided by Z the forces are not opposite any more."""
    angles = np.array([0.0, 0.5, 2.0])
    problem = mf.Problem(mf.Circle(), mf.exponential(3.0), mf.SA, mf.from_points(angles))
    run = mf.simulate(problem, until=3.0, save=2)
    assert abs(run.measures[-1].points.mean() - angles.mean()) > 1e-2


@each("beta, fold", [(5.0, 2), (5.0, 3), (10.0, 4), (100.0, 3)], flow=FLOWS)
def test_fold_symmetry_is_preserved(flow, beta, fold, verified):
    """c_m = 0 unless k divides m, although other modes would grow if they were there."""
    law = mf.perturbed_uniform([[fold, 0.2, 0.1], [2 * fold, 0.0, 0.1]])
    problem = mf.Problem(mf.Circle(), mf.exponential(beta), FLOWS[flow], law)
    run = mf.simulate(problem, until=2.5 / max(abs(mf.growth_rates(problem))), save=6)
    degrees = np.arange(run.moments.shape[1])
    others = run.moments[:, degrees % fold != 0]
    # Rounding, grown by e^2.5.
    verified("symmetry", "k-fold symmetry of a density, circle", others, 2e-14)
    assert np.abs(run.moments[-1, fold] - run.moments[0, fold]) > 1e-3


@each("k", [1, 2, 3, 7, 64, 500], beta=[-4.0, 0.0, 5.0, 40.0], flow=FLOWS)
def test_regular_polygon_is_stationary(k, beta, flow, verified):
    """Every regular polygon is an equilibrium of both flows, few tokens or many."""
    angles = 0.1 + 2 * np.pi * np.arange(k) / k
    problem = mf.Problem(mf.Circle(), KERNELS["exponential"](beta), FLOWS[flow])
    velocity = particles(problem, mf.Measure(mf.Circle(), angles)).rhs(0.0, angles)
    # The velocity is about 1 where the balance is disturbed.
    verified("invariants", "velocity of regular polygons, circle", velocity, 4e-15)


@each("beta", [-4.0, 0.0, 5.0, 60.0], count=[2, 60, 2000])
def test_unnormalized_tokens_exert_no_torque(beta, count, verified):
    """Forces between two tokens are opposite: int x wedge v dmu = 0; asked are 1e-12."""
    rng = np.random.default_rng(count)
    x, mass = SPHERE.random_points(count, rng), rng.dirichlet(np.ones(count))
    for strength in (1.0, -1.0):
        problem = mf.Problem(
            SPHERE, KERNELS["exponential"](beta), mf.Flow("none", strength=strength)
        )
        v = particles(problem, mf.Measure(SPHERE, x, mass)).rhs(0.0, x.ravel()).reshape(-1, 3)
        what = "torque of tokens without softmax, sphere"
        verified("invariants", what, mass @ np.cross(x, v), 1e-16)
        assert np.abs(v).max() > 1e-4 or count == 2


@pytest.mark.parametrize("beta", [-4.0, 0.0, 5.0, 60.0])
def test_unnormalized_density_exerts_no_torque(beta, verified):
    """The same of a density, its velocity at the nodes of an exact rule; SA exerts one."""
    x, weights = gauss_nodes(80)
    torques = []
    for flow in (mf.USA, mf.Flow("none", strength=-1.0), mf.SA):
        problem = mf.Problem(SPHERE, KERNELS["exponential"](beta), flow, LAWS["sphere"])
        start = problem.initial_measure().coefficients
        v = interaction(problem).field(start).velocity(x)
        mass = weights * SPHERE.evaluate(start, x)
        torques.append(np.abs(mass @ np.cross(x, v)).max())
    verified("invariants", "torque of a density without softmax, sphere", torques[:2], 1e-15)
    # At beta = 0 the partition function is constant.
    assert torques[2] > 1e-6 or beta == 0


def moments_along(beta: float, flow: str, law: mf.Law) -> np.ndarray:
    """Moments, as users see them (4, 2, L + 1, L + 1), over 1.2 e-folds."""
    problem = mf.Problem(SPHERE, mf.exponential(beta), FLOWS[flow], law)
    times = np.linspace(0.0, 1.2 / max(abs(mf.growth_rates(problem))), 4)
    passed = snapshots(problem, times, 1e-9, "auto")
    return np.array([SPHERE.unpacked(snapshot.moments) for snapshot in passed])


# Name: modes, and whether a coefficient (sine, l, m) is allowed by the symmetry.
SYMMETRIES: dict[str, tuple[list, Callable]] = {
    "2-fold": ([[2, 2, 0.1], [3, -2, 0.1], [1, 0, 0.1]], lambda s, l, m: m % 2 == 0),
    "3-fold": ([[3, 3, 0.1], [4, -3, 0.1], [1, 0, 0.1]], lambda s, l, m: m % 3 == 0),
    "5-fold": ([[5, 5, 0.1], [6, -5, 0.1], [1, 0, 0.1]], lambda s, l, m: m % 5 == 0),
    "axial": ([[1, 0, 0.1], [2, 0, 0.1], [3, 0, -0.1]], lambda s, l, m: m == 0),
    "antipodal": ([[2, 0, 0.1], [2, 1, 0.1], [4, -3, 0.1]], lambda s, l, m: l % 2 == 0),
    "z to -z": ([[1, 1, 0.1], [2, -2, 0.1], [3, -1, 0.1]], lambda s, l, m: (l + m) % 2 == 0),
    "y to -y": ([[1, 1, 0.1], [2, 1, 0.1], [3, 2, 0.1]], lambda s, l, m: s == 0),
}


@each("symmetry", SYMMETRIES, flow=["USA", "SA"])
def test_symmetry_is_preserved(flow, symmetry, verified):
    """Forbidden coefficients stay 0, although they would grow if they were there."""
    modes, allowed = SYMMETRIES[symmetry]
    moments = moments_along(5.0, flow, mf.perturbed_uniform(modes))
    forbidden = ~np.fromfunction(np.vectorize(allowed), moments.shape[1:], dtype=int)
    forbidden &= np.tril(np.ones(moments.shape[2:], dtype=bool))
    assert forbidden.sum() > 100
    # Rounding; asked are 1e-12.
    verified("symmetry", "seven symmetries of a density, sphere", moments[:, forbidden], 1e-14)
    assert np.abs(moments[-1] - moments[0]).max() > 0.05


@each("fold", [3, 7], flow=FLOWS)
def test_symmetry_of_tokens_is_preserved(flow, fold, verified):
    """Ten random tokens and their images under turns about a generic axis."""
    axis = np.array([0.48, -0.6, 0.64])
    turns = Rotation.from_rotvec(2 * np.pi / fold * np.arange(fold)[:, None] * axis)
    first = SPHERE.random_points(10, np.random.default_rng(fold))
    law = mf.from_points(np.concatenate([turn.apply(first) for turn in turns]))
    problem = mf.Problem(SPHERE, mf.exponential(5.0), FLOWS[flow], law)
    times = [2.5 / max(abs(mf.growth_rates(problem)))]
    (last,) = snapshots(problem, times, 1e-9, name="particles")
    result = last.measure.points.reshape(fold, 10, 3)
    for turn, points in zip(turns, result, strict=True):
        what = "k-fold symmetry of tokens about a generic axis, sphere"
        verified("symmetry", what, points - turn.apply(result[0]), 1e-13)
    assert np.abs(result[0] - first).max() > 0.05


@each("copies", [1, 200], beta=[-4.0, 0.0, 5.0, 40.0], flow=FLOWS)
def test_orbits_are_stationary(copies, beta, flow, verified):
    """Orbits of groups without a fixed direction balance, in any position, few tokens or many."""
    problem = mf.Problem(SPHERE, KERNELS["exponential"](beta), FLOWS[flow])
    turn = Rotation.from_quat([0.1, -0.4, 0.7, 0.2])
    for vectors in ORBITS.values():
        points = SPHERE.check_points(np.repeat(turn.apply(vectors), copies, axis=0))
        rate = particles(problem, mf.Measure(SPHERE, points)).rhs(0.0, points.ravel())
        # The velocity is about 1 where the balance is disturbed.
        verified("invariants", "velocity of polytopes, sphere", rate, 4e-15)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, place, count",
    [("circle", 1.2345, 300)]
    + [("sphere", x, 30) for x in ([0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [0.48, -0.6, 0.64])],
)
def test_dirac_stays_where_it_is(name, place, count):
    """All tokens at one place stay there for ever, the poles included."""
    points = np.array([place] * count)
    for flow in (mf.USA, mf.SA):
        problem = mf.Problem(SPACES[name], mf.exponential(30.0), flow, mf.from_points(points))
        carrier = particles(problem, problem.initial_measure())
        (last,) = trajectory(problem, carrier, [1e3], tolerance=1e-10)
        np.testing.assert_allclose(last.measure.points, points, rtol=0, atol=1e-14)
