"""What the equation conserves: mass, mean angle, symmetry, equilibria."""

from collections.abc import Callable

import numpy as np
from parameters import each

import meanfield as mf
from meanfield.kernels import KERNELS
from meanfield.representations import density, particles

FLOWS = {
    "USA": mf.USA,
    "SA": mf.SA,
    "repulsive": mf.Flow(strength=-1.0),
    "repulsive SA": mf.Flow(True, -1.0),
}
LAW = mf.mixture([(0.6, 0.3, 2.0), (0.4, 2.0, 1.0)])


@each("beta", [-4.0, 0.0, 5.0, 100.0], flow=FLOWS)
def test_mass_of_a_density_is_exactly_one(flow: str, beta: float, verified: Callable) -> None:
    """The coefficient of degree 0 never changes, not by one bit, also when degrees double."""
    problem = mf.Problem(mf.Circle(), KERNELS["exponential"](beta), FLOWS[flow], LAW)
    carrier = density(problem, problem.initial_measure(), tolerance=1e-10)
    assert carrier.rhs(0.0, carrier.state)[0] == 0.0
    run = mf.simulate(problem, until=2.0, save=5, representation="density")
    what = "mass of a density, to the bit, circle"
    verified("invariants", what, run.moments[:, 0] - 1.0, 0.0)


@each("flow", FLOWS, count=[60, 2000])
def test_mass_of_particles_is_one(flow: str, count: int, verified: Callable) -> None:
    """Weights are carried, not evolved."""
    rng = np.random.default_rng(0)
    measure = mf.from_points(rng.uniform(0, 6, count), rng.dirichlet(np.ones(count)))
    problem = mf.Problem(mf.Circle(), mf.exponential(5.0), FLOWS[flow], measure)
    run = mf.simulate(problem, until=5.0, save=3)
    what = "mass of particles, circle"
    verified("invariants", what, run.moments[:, 0] - 1.0, 1e-14)


@each(
    "beta, strength",
    [(-4.0, 1.0), (0.0, 1.0), (5.0, 1.0), (5.0, -1.0)],
    count=[60, 2000],
    weighted=[False, True],
)
def test_unnormalized_flow_keeps_the_mean_lifted_angle(
    beta: float, strength: float, count: int, weighted: bool, verified: Callable
) -> None:
    """Forces between two tokens are opposite: the mean of unwrapped angles stays."""
    rng = np.random.default_rng(count)
    angles = rng.uniform(-10.0, 10.0, count)
    mass = rng.dirichlet(np.ones(count)) if weighted else np.full(count, 1.0 / count)
    law = mf.from_points(angles, mass if weighted else None)
    kernel = KERNELS["exponential"](beta)
    problem = mf.Problem(mf.Circle(), kernel, mf.Flow(strength=strength), law)
    run = mf.simulate(problem, until=20.0, save=5, representation="particles")
    means = [mass @ measure.points for measure in run.measures]
    what = "mean unwrapped angle of tokens without softmax, circle"
    verified("invariants", what, means - mass @ angles, 1e-12)
    moved = np.abs(run.measures[-1].points - angles).max()
    assert moved > 0.05


def test_normalized_flow_moves_the_mean_lifted_angle() -> None:
    """Do not test the other flow for it: divided by Z the forces are not opposite any more."""
    angles = np.array([0.0, 0.5, 2.0])
    problem = mf.Problem(mf.Circle(), mf.exponential(3.0), mf.SA, mf.from_points(angles))
    run = mf.simulate(problem, until=3.0, save=2)
    assert abs(run.measures[-1].points.mean() - angles.mean()) > 1e-2


@each("beta, fold", [(5.0, 2), (5.0, 3), (10.0, 4), (100.0, 3)], flow=FLOWS)
def test_fold_symmetry_is_kept(flow: str, beta: float, fold: int, verified: Callable) -> None:
    """c_m = 0 unless k divides m, although other modes would grow if they were there."""
    law = mf.perturbed_uniform([[fold, 0.2, 0.1], [2 * fold, 0.0, 0.1]])
    problem = mf.Problem(mf.Circle(), mf.exponential(beta), FLOWS[flow], law)
    run = mf.simulate(problem, until=2.5 / max(abs(mf.growth_rates(problem))), save=6)
    degrees = np.arange(run.moments.shape[1])
    others = run.moments[:, degrees % fold != 0]
    # Rounding, grown by e^2.5.
    what = "k-fold symmetry of a density, circle"
    verified("symmetry", what, others, 2e-14)
    assert np.abs(run.moments[-1, fold] - run.moments[0, fold]) > 1e-3


@each("k", [1, 2, 3, 7, 64, 500], beta=[-4.0, 0.0, 5.0, 40.0], flow=FLOWS)
def test_regular_polygon_is_stationary(k: int, beta: float, flow: str, verified: Callable) -> None:
    """Every regular polygon is an equilibrium of both flows, few tokens or many."""
    angles = 0.1 + 2 * np.pi * np.arange(k) / k
    problem = mf.Problem(mf.Circle(), KERNELS["exponential"](beta), FLOWS[flow])
    velocity = particles(problem, mf.Measure(mf.Circle(), angles)).rhs(0.0, angles)
    # Of a velocity of about 1 where the balance is disturbed.
    what = "velocity of regular polygons, circle"
    verified("invariants", what, velocity, 4e-15)


def test_dirac_stays_where_it_is() -> None:
    """All tokens at one place stay there under attraction; moments alone must not push them."""
    angles = np.full(300, 1.2345)
    for flow in (mf.USA, mf.SA):
        problem = mf.Problem(mf.Circle(), mf.exponential(30.0), flow, mf.from_points(angles))
        run = mf.simulate(problem, until=1e3, save=2, representation="particles")
        np.testing.assert_allclose(run.measures[-1].points, angles, rtol=0, atol=1e-14)
