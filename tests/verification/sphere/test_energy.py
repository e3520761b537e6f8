"""Energy on the sphere: closed forms, its balance, and that it never goes the wrong way."""

from collections.abc import Callable

import numpy as np
import pytest
from oracles import gauss_nodes, harmonics, plain_field
from parameters import each

import meanfield as mf
from meanfield.kernels import KERNELS
from meanfield.observables import interaction_energy
from meanfield.representations import DensityRepresentation, Options, particles, represent
from meanfield.trajectory import trajectory

SPHERE = mf.Sphere()
FLOWS = {
    "USA": mf.USA,
    "SA": mf.SA,
    "repulsive USA": mf.Flow(strength=-1.0),
    "repulsive SA": mf.Flow(True, -0.5),
}
BETAS = [-4.0, 0.0, 5.0, 100.0]
MODES = [[1, 0, 0.1], [1, -1, 0.05], [2, 1, -0.1], [3, -2, 0.08], [4, 3, 0.05]]
LAW = mf.perturbed_uniform(MODES)


def on_sphere(beta: float, flow: mf.Flow = mf.USA, law: mf.Law = LAW) -> mf.Problem:
    """Problem with an initial density without symmetry."""
    return mf.Problem(SPHERE, KERNELS["exponential"](beta), flow, law)


def in_potential_units(problem: mf.Problem) -> float:
    """E[mu] = 1/2 int int W over the energy as observed, which is 1 for a Dirac (uniform)."""
    beta = problem.kernel.beta
    if beta == 0:
        return 0.5
    # W = a / beta is 1 / beta at s = 1; its mean is e^{-|beta|} sinh(beta) / beta^2.
    return 1 / (2 * beta) if beta > 0 else -np.expm1(-2 * abs(beta)) / (4 * beta * abs(beta))


@pytest.mark.parametrize(
    "beta, printed", [(1.0, 0.5876005968), (5.0, 1.4840642116), (10.0, 55.06616437)]
)
def test_energy_of_uniform_equals_the_printed_values(
    beta: float, printed: float, verified: Callable
) -> None:
    """It is sinh(beta) / (2 beta^2) in the papers' units; a Dirac has e^beta / (2 beta)."""
    found = interaction_energy(on_sphere(beta), SPHERE.resize(SPHERE.from_modes([]), 60))
    what = "energy of uniform as printed, sphere, relative"
    verified("exact solutions", what, found * np.exp(beta) / (2 * beta * printed) - 1, 1e-10)
    assert found == pytest.approx(-np.expm1(-2 * beta) / (2 * beta), rel=4e-15)


@pytest.mark.parametrize("beta", [1.0, 5.0, 300.0])
def test_energy_of_polytopes_is_a_sum_over_pairs(beta: float, verified: Callable) -> None:
    """Dirac, antipodal pair, triangle, tetrahedron, octahedron; far apart: sum of mass^2."""
    edge = np.sqrt(0.75)
    shapes = {
        "Dirac": ([[0.6, 0.0, 0.8]], [1.0]),
        "pair": ([[0, 0.6, 0.8], [0, -0.6, -0.8]], [1.0, -1.0]),
        "triangle": ([[1, 0, 0], [-0.5, edge, 0], [-0.5, -edge, 0]], [1.0, -0.5, -0.5]),
        "tetrahedron": ([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], [1.0] + 3 * [-1 / 3]),
        "octahedron": (np.vstack([np.eye(3), -np.eye(3)]), [1.0, -1.0, 0.0, 0.0, 0.0, 0.0]),
    }
    problem = on_sphere(beta)
    for points, similarities in shapes.values():
        measure = mf.Measure(SPHERE, np.array(points, dtype=float))
        found = interaction_energy(problem, measure.moments(problem.kernel_degree))
        expected = np.exp(beta * (np.array(similarities) - 1)).mean()
        what = "energy of polytopes, sphere, relative"
        verified("exact solutions", what, found / expected - 1, 5e-14)


@each("beta", BETAS, flow=FLOWS)
def test_energy_grows_at_the_rate_of_dissipation(
    flow: str, beta: float, verified: Callable
) -> None:
    """That is int |v|^2 dmu (USA), int Z |v|^2 dmu (SA), over the strength; asked are 1e-8."""
    problem = on_sphere(beta, FLOWS[flow])
    start = problem.initial_measure().coefficients
    state = SPHERE.resize(start, max(problem.kernel_degree, 48))
    carrier = DensityRepresentation(problem, state, 1e-10, SPHERE.degree_of(state))
    found = carrier.diagnostics(0.0, state)
    # Sources exact for the kernel times the density, targets for the density times |v|^2.
    y, w = gauss_nodes(36 if abs(beta) < 10 else 64)
    x, targets = gauss_nodes(24)
    partition, drift = plain_field(x, y, w * values(start, y), beta)
    squared = problem.flow.strength * (drift**2).sum(axis=1)
    if problem.flow.normalized:
        squared /= partition
    expected = targets @ (values(start, x) * squared)
    both = np.array([found["energy_dissipation"], found["energy_rate"]])
    what = "dE/dt is the dissipation, density, sphere, relative"
    verified("invariants", what, both / expected - 1, 1e-12)
    assert found["density_min"] > 0


def values(coefficients: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Density at points, by SciPy."""
    degree = SPHERE.degree_of(coefficients)
    twice = np.where(np.arange(len(coefficients)) <= degree, 1.0, 2.0)
    return (harmonics(points, degree) @ (twice * coefficients)).real


@each("beta", BETAS, flow=FLOWS, count=[37, 1000])
def test_dissipation_of_particles_equals_plain_sums(
    flow: str, beta: float, count: int, verified: Callable
) -> None:
    """The diagnostic of a particle run, weights included."""
    rng = np.random.default_rng(2)
    x, weights = SPHERE.random_points(count, rng), rng.dirichlet(np.ones(count))
    problem = on_sphere(beta, FLOWS[flow])
    carrier = particles(problem, mf.Measure(SPHERE, x, weights))
    partition, drift = plain_field(x, x, weights, beta)
    squared = problem.flow.strength * (drift**2).sum(axis=1)
    if problem.flow.normalized:
        squared /= partition
    found = carrier.diagnostics(0.0, x.ravel())["energy_dissipation"]
    what = "dissipation of particles by plain sums, sphere, relative"
    verified("invariants", what, found / (weights @ squared) - 1, 1e-12)


@pytest.mark.parametrize(
    "flow, beta",
    [("USA", -4.0), ("USA", 5.0), ("USA", 100.0), ("SA", 5.0), ("SA", 100.0)]
    + [("repulsive USA", 5.0), ("repulsive SA", -4.0)],
)
def test_energy_is_monotone_along_a_density_run(flow: str, beta: float, verified: Callable) -> None:
    """Attraction never lowers it, repulsion never raises it; its rate is the dissipation."""
    problem = on_sphere(beta, FLOWS[flow])
    until = 1.2 / max(abs(mf.growth_rates(problem)))
    carrier = represent(problem, Options(name="density"))
    times = np.linspace(0.0, until, 9)
    run = list(trajectory(problem, carrier, times, tolerance=1e-10))
    energies = np.array([interaction_energy(problem, s.moments) for s in run])
    change = np.diff(energies) * np.sign(problem.flow.strength * in_potential_units(problem))
    what = "energy never goes the wrong way, density, sphere"
    verified("invariants", what, min(change.min(), 0.0), 1e-15)
    assert change.max() > 1e-6
    rates = [s.diagnostics["energy_rate"] for s in run]
    dissipation = [s.diagnostics["energy_dissipation"] for s in run]
    np.testing.assert_allclose(rates, dissipation, rtol=1e-11)


@pytest.mark.slow
@each("count", [50, 900], flow=["USA", "SA", "repulsive USA"])
def test_energy_is_monotone_along_a_particle_run(flow: str, count: int, verified: Callable) -> None:
    """From 50 or 900 tokens into clusters, pair sums and moments."""
    points = SPHERE.random_points(count, np.random.default_rng(5))
    problem = on_sphere(9.0, FLOWS[flow], mf.from_points(points))
    carrier = represent(problem, Options(name="particles"))
    run = trajectory(problem, carrier, np.linspace(0.0, 30.0, 16), tolerance=1e-10)
    energies = [interaction_energy(problem, snapshot.moments) for snapshot in run]
    change = np.diff(energies) * np.sign(problem.flow.strength)
    # The tolerance of the run, 1e-10, shows when nothing moves any more.
    what = "energy never goes the wrong way, particles, sphere"
    verified("invariants", what, min(change.min(), 0.0), 1e-12)
    assert abs(change).max() > 1e-4


@each("flow", FLOWS, kind=["density", "particles"])
def test_slope_of_the_energy_is_the_dissipation(flow: str, kind: str, verified: Callable) -> None:
    """Differences of observed energies in time against the diagnostic, along a run."""
    law = LAW
    if kind == "particles":
        law = mf.from_points(SPHERE.random_points(60, np.random.default_rng(1)))
    problem = on_sphere(5.0, FLOWS[flow], law)
    h = 0.05
    times = 1.0 + h * np.arange(-4, 5)
    carrier = represent(problem, Options(name=kind, tolerance=1e-13))
    run = list(trajectory(problem, carrier, times, tolerance=1e-13))
    e = in_potential_units(problem) * np.array(
        [interaction_energy(problem, s.moments) for s in run]
    )
    odd = (e[5:] - e[3::-1]) / h
    slope = odd @ np.array([4 / 5, -1 / 5, 4 / 105, -1 / 280])
    # Eighth-order differences: h^8 and rounding eps / h.
    dissipation = run[4].diagnostics["energy_dissipation"]
    what = f"slope of the energy in time, {kind}, sphere, relative"
    verified("invariants", what, slope / dissipation - 1, 1e-10)
