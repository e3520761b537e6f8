"""Energy: closed forms, its balance, and that it never goes the wrong way."""

import numpy as np
import pytest
from oracles import gauss_nodes, harmonics, plain_field
from parameters import each
from scipy.special import ive
from snapshots import snapshots

import meanfield as mf
from meanfield.carriers import DensityRepresentation, particles
from meanfield.observables import interaction_energy
from meanfield.terms.kernels import KERNELS

CIRCLE, SPHERE = mf.Circle(), mf.Sphere()
SPACES = {"circle": CIRCLE, "sphere": SPHERE}
FLOWS = {
    "USA": mf.USA, "SA": mf.SA, "repulsive USA": mf.Flow("none", strength=-1.0),
    "repulsive SA": mf.Flow(True, -0.5),
}  # fmt: skip
BETAS = [-4.0, 0.0, 5.0, 100.0]
# No symmetry.
LAWS = {
    "circle": mf.perturbed_uniform([[1, 0.1, 0.05], [2, 0.0, 0.15], [3, -0.12, 0.05]]),
    "sphere": mf.perturbed_uniform(
        [[1, 0, 0.1], [1, -1, 0.05], [2, 1, -0.1], [3, -2, 0.08], [4, 3, 0.05]]
    ),
}


def posed(name: str, beta: float, flow: mf.Flow = mf.USA, law: mf.Law | None = None) -> mf.Problem:
    return mf.Problem(SPACES[name], KERNELS["exponential"](beta), flow, law or LAWS[name])


def in_potential_units(problem: mf.Problem) -> float:
    """E[mu] = 1/2 int int W over the energy as observed, which is 1 for a Dirac (uniform)."""
    beta = problem.kernel.beta
    if beta == 0:
        return 0.5
    # W = a / beta is 1 / beta at s = 1; for beta < 0 its mean counts.
    return (1.0 if beta > 0 else mean_attention(problem.manifold.name, abs(beta))) / (2 * beta)


def mean_attention(name: str, beta: float) -> float:
    """Mean of a: the energy of uniform where that of a Dirac is 1."""
    return float(ive(0, beta) if name == "circle" else -np.expm1(-2 * beta) / (2 * beta))


@pytest.mark.parametrize(
    "name, beta, printed",
    [("circle", 1.0, 0.6330329389), ("circle", 5.0, 2.7239871824), ("circle", 10.0, 140.7858314)]
    + [("sphere", 1.0, 0.5876005968), ("sphere", 5.0, 1.4840642116), ("sphere", 10.0, 55.06616437)],
)
def test_energy_of_uniform_equals_the_printed_values(name, beta, printed, verified):
    """Papers: I_0 / (2 beta), sinh(beta) / (2 beta^2); a Dirac has e^beta / (2 beta)."""
    uniform = mf.Density(SPACES[name], [1.0])
    energy = interaction_energy(posed(name, beta), uniform.moments(60))
    what = f"energy of uniform as printed, {name}, relative"
    # The rounding of the last printed digit.
    tolerance = {"circle": 4e-10, "sphere": 1e-10}[name]
    verified("exact solutions", what, energy * np.exp(beta) / (2 * beta * printed) - 1, tolerance)
    assert energy == pytest.approx(mean_attention(name, beta), rel=4e-15)


@each("beta", [1.0, 5.0, 300.0], k=[1, 2, 3, 7])
def test_energy_of_polygons_is_a_sum_of_bessel_functions(k, beta, verified):
    """sum_p I_{kp} / (2 beta) over e^beta / (2 beta); one point has energy 1."""
    problem = posed("circle", beta)
    measure = mf.Measure(CIRCLE, 2 * np.pi * np.arange(k) / k)
    energy = interaction_energy(problem, measure.moments(problem.kernel_degree))
    expected = ive(0, beta) + 2 * ive(k * np.arange(1, 300), beta).sum()
    verified(
        "exact solutions", "energy of polygons, circle, relative", energy / expected - 1, 2e-14
    )


@pytest.mark.parametrize("beta", [1.0, 5.0, 300.0])
def test_energy_of_polytopes_is_a_sum_over_pairs(beta, verified):
    """Dirac, antipodal pair, triangle, tetrahedron, octahedron; far apart: sum of mass^2."""
    edge = np.sqrt(0.75)
    shapes = {
        "Dirac": ([[0.6, 0.0, 0.8]], [1.0]),
        "pair": ([[0, 0.6, 0.8], [0, -0.6, -0.8]], [1.0, -1.0]),
        "triangle": ([[1, 0, 0], [-0.5, edge, 0], [-0.5, -edge, 0]], [1.0, -0.5, -0.5]),
        "tetrahedron": ([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], [1.0] + 3 * [-1 / 3]),
        "octahedron": (np.vstack([np.eye(3), -np.eye(3)]), [1.0, -1.0, 0.0, 0.0, 0.0, 0.0]),
    }
    problem = posed("sphere", beta)
    for points, similarities in shapes.values():
        measure = mf.Measure(SPHERE, np.array(points, dtype=float))
        energy = interaction_energy(problem, measure.moments(problem.kernel_degree))
        expected = np.exp(beta * (np.array(similarities) - 1)).mean()
        what = "energy of polytopes, sphere, relative"
        verified("exact solutions", what, energy / expected - 1, 5e-14)


def nodes(name: str, rings: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights of a rule that is exact up to degree 2 rings - 1."""
    if name == "sphere":
        return gauss_nodes(rings)
    return np.pi * np.arange(2 * rings) / rings, np.full(2 * rings, 0.5 / rings)


def values(name: str, coefficients: np.ndarray, points: np.ndarray) -> np.ndarray:
    degree = SPACES[name].degree_of(coefficients)
    if name == "circle":
        waves, alone = np.exp(1j * np.outer(points, np.arange(degree + 1))), 0
    else:
        waves, alone = harmonics(points, degree), degree
    twice = np.where(np.arange(len(coefficients)) <= alone, 1.0, 2.0)
    return (waves @ (twice * coefficients)).real


@pytest.mark.slow
@pytest.mark.parametrize("name", SPACES)
@each("beta", BETAS, flow=FLOWS)
def test_energy_grows_at_the_rate_of_dissipation(name, flow, beta, verified):
    """dE/dt = int |v|^2 dmu (USA), int Z |v|^2 dmu (SA), over the strength; asked are 1e-8."""
    problem = posed(name, beta, FLOWS[flow])
    start = problem.initial_measure().coefficients
    state = problem.manifold.resize(start, max(problem.kernel_degree, 48))
    carrier = DensityRepresentation(problem, state, 1e-10, problem.manifold.degree_of(state))
    result = carrier.diagnostics(0.0, state)
    # Sources exact for the kernel times the density, targets for the density times |v|^2.
    y, w = nodes(name, 36 if abs(beta) < 10 else 64)
    x, targets = nodes(name, 24 if name == "sphere" else 128)
    partition, drift = plain_field(x, y, w * values(name, start, y), beta)
    squared = problem.flow.strength * (drift.reshape(len(x), -1) ** 2).sum(axis=1)
    if problem.flow.normalized:
        squared /= partition
    expected = targets @ (values(name, start, x) * squared)
    both = np.array([result["energy_dissipation"], result["energy_rate"]])
    what = f"dE/dt is the dissipation, density, {name}, relative"
    verified("invariants", what, both / expected - 1, 1e-12)
    assert result["density_min"] > 0


@pytest.mark.parametrize("name", SPACES)
@each("beta", BETAS, flow=FLOWS, count=[37, 1000])
def test_dissipation_of_particles_equals_plain_sums(name, flow, beta, count, verified):
    """The diagnostic of a particle run, weights included."""
    rng = np.random.default_rng(2)
    x, weights = SPACES[name].random_points(count, rng), rng.dirichlet(np.ones(count))
    problem = posed(name, beta, FLOWS[flow])
    carrier = particles(problem, mf.Measure(SPACES[name], x, weights))
    partition, drift = plain_field(x, x, weights, beta)
    squared = problem.flow.strength * (drift.reshape(count, -1) ** 2).sum(axis=1)
    if problem.flow.normalized:
        squared /= partition
    result = carrier.diagnostics(0.0, x.ravel())["energy_dissipation"]
    what = f"dissipation of particles by plain sums, {name}, relative"
    verified("invariants", what, result / (weights @ squared) - 1, 1e-12)


@each(
    "flow, beta",
    [("USA", -4.0), ("USA", 5.0), ("USA", 100.0), ("SA", 5.0), ("SA", 100.0)]
    + [("repulsive USA", 5.0), ("repulsive SA", -4.0)],
    name=SPACES,
)
def test_energy_is_monotone_along_a_density_run(name, flow, beta, verified):
    """Attraction never lowers it, repulsion never raises it; its rate is the dissipation."""
    problem = posed(name, beta, FLOWS[flow])
    until = 1.2 / max(abs(mf.growth_rates(problem)))
    run = snapshots(problem, np.linspace(0.0, until, 9), 1e-10)
    energies = np.array([interaction_energy(problem, s.moments) for s in run])
    change = np.diff(energies) * np.sign(problem.flow.strength * in_potential_units(problem))
    what = f"energy never goes the wrong way, density, {name}"
    verified("invariants", what, min(change.min(), 0.0), 1e-15)
    assert change.max() > 1e-6
    rates = [s.diagnostics["energy_rate"] for s in run]
    dissipation = [s.diagnostics["energy_dissipation"] for s in run]
    np.testing.assert_allclose(rates, dissipation, rtol=1e-11)


@pytest.mark.parametrize("name", ["circle", pytest.param("sphere", marks=pytest.mark.slow)])
@each("flow", ["USA", "SA", "repulsive USA"], count=[50, 900])
def test_energy_is_monotone_along_a_particle_run(name, flow, count, verified):
    """From 50 or 900 tokens into clusters, pair sums and moments."""
    points = SPACES[name].random_points(count, np.random.default_rng(5))
    problem = posed(name, 9.0, FLOWS[flow], mf.from_points(points))
    run = snapshots(problem, np.linspace(0.0, 30.0, 16), 1e-10, name="particles")
    energies = [interaction_energy(problem, snapshot.moments) for snapshot in run]
    change = np.diff(energies) * np.sign(problem.flow.strength)
    # The tolerance of the run, 1e-10, shows when nothing moves any more.
    what = f"energy never goes the wrong way, particles, {name}"
    verified("invariants", what, min(change.min(), 0.0), 1e-12)
    assert abs(change).max() > 1e-4


@pytest.mark.parametrize("name", SPACES)
@each("flow", FLOWS, kind=["density", "particles"])
def test_slope_of_the_energy_is_the_dissipation(name, flow, kind, verified):
    """Differences of observed energies in time against the diagnostic, along a run."""
    law = None
    if kind == "particles":
        law = mf.from_points(SPACES[name].random_points(60, np.random.default_rng(1)))
    problem = posed(name, 5.0, FLOWS[flow], law)
    h = 0.04
    times = 1.0 + h * np.arange(-4, 5)
    run = snapshots(problem, times, 1e-13, name=kind)
    observed = np.array([interaction_energy(problem, s.moments) for s in run])
    e = in_potential_units(problem) * observed
    odd = (e[5:] - e[3::-1]) / h
    slope = odd @ np.array([4 / 5, -1 / 5, 4 / 105, -1 / 280])
    # Eighth-order differences: h^8 and rounding eps / h.
    dissipation = run[4].diagnostics["energy_dissipation"]
    what = f"slope of the energy in time, {kind}, {name}, relative"
    verified("invariants", what, slope / dissipation - 1, 1e-10)
