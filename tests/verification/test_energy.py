"""Energy: closed forms, its balance, and that it never goes the wrong way."""

from collections.abc import Callable

import numpy as np
import pytest
from parameters import each
from scipy.special import ive

import meanfield as mf
from meanfield.kernels import KERNELS
from meanfield.observables import interaction_energy
from meanfield.representations import density, particles

FLOWS = {
    "USA": mf.USA,
    "SA": mf.SA,
    "repulsive USA": mf.Flow(strength=-1.0),
    "repulsive SA": mf.Flow(True, -0.5),
}
LAW = mf.perturbed_uniform([[1, 0.1, 0.05], [2, 0.0, 0.15], [3, -0.12, 0.05]])


def on_circle(beta: float, flow: mf.Flow = mf.USA, law: mf.Law = LAW) -> mf.Problem:
    """Problem with an initial density without symmetry."""
    return mf.Problem(mf.Circle(), KERNELS["exponential"](beta), flow, law)


@pytest.mark.parametrize(
    "beta, printed", [(1.0, 0.6330329389), (5.0, 2.7239871824), (10.0, 140.7858314)]
)
def test_energy_of_uniform_equals_the_printed_values(
    beta: float, printed: float, verified: Callable
) -> None:
    """I_0(beta) / (2 beta) in the papers' units, where a Dirac has e^beta / (2 beta)."""
    problem = on_circle(beta)
    found = interaction_energy(problem, mf.Density(mf.Circle(), [1.0]).moments(60))
    what = "energy of uniform as printed, circle, relative"
    verified("exact solutions", what, found * np.exp(beta) / (2 * beta * printed) - 1, 4e-10)


@each("beta", [1.0, 5.0, 300.0], k=[1, 2, 3, 7])
def test_energy_of_polygons_is_a_sum_of_bessel_functions(
    k: int, beta: float, verified: Callable
) -> None:
    """sum_p I_{kp} / (2 beta) over e^beta / (2 beta); one point has energy 1."""
    problem = on_circle(beta)
    measure = mf.Measure(mf.Circle(), 2 * np.pi * np.arange(k) / k)
    found = interaction_energy(problem, measure.moments(problem.kernel_degree))
    expected = ive(0, beta) + 2 * ive(k * np.arange(1, 300), beta).sum()
    what = "energy of polygons, circle, relative"
    verified("exact solutions", what, found / expected - 1, 2e-14)


def derivative_of_energy(beta: float, flow: mf.Flow) -> tuple[float, float, dict[str, float]]:
    """dE/dt from dc/dt, the dissipation by plain sums, and what the package says of both."""
    problem = on_circle(beta, flow)
    carrier = density(problem, problem.initial_measure(), tolerance=1e-12)
    c, rate = carrier.state, carrier.rhs(0.0, carrier.state)
    k = np.arange(1, len(c))
    w = ive(k, beta) / beta if beta else 0.5 * (k == 1)
    balance = 2.0 * np.sum(w * (np.conj(c[1:]) * rate[1:]).real)
    theta = 2 * np.pi * np.arange(600) / 600
    f = 1.0 + 2.0 * (np.exp(1j * np.outer(theta, k)) @ c[1:]).real
    d = theta[:, None] - theta
    a = np.exp(beta * np.cos(d) - abs(beta))
    z = (a * f).mean(axis=1) if flow.normalized else np.ones(600)
    v = -flow.strength * (a * np.sin(d) * f).mean(axis=1) / z
    return balance, float(np.mean(f * z * v**2)) / flow.strength, carrier.diagnostics(0.0, c)


@each("beta", [-4.0, 0.0, 5.0, 100.0], flow=FLOWS)
def test_energy_grows_at_the_rate_of_dissipation(
    flow: str, beta: float, verified: Callable
) -> None:
    """dE/dt = int |v|^2 dmu (USA), int Z |v|^2 dmu (SA), over the strength; asked are 1e-8."""
    balance, dissipation, diagnostics = derivative_of_energy(beta, FLOWS[flow])
    found = np.array([balance, diagnostics["energy_rate"], diagnostics["energy_dissipation"]])
    what = "dE/dt is the dissipation, density, circle, relative"
    verified("invariants", what, found / dissipation - 1, 1e-12)


@each("beta", [-4.0, 0.0, 5.0, 100.0], flow=FLOWS, count=[37, 1000])
def test_dissipation_of_particles_equals_plain_sums(
    flow: str, beta: float, count: int, verified: Callable
) -> None:
    """The diagnostic of a particle run, weights included."""
    rng = np.random.default_rng(2)
    x, weights = rng.uniform(0, 7, count), rng.dirichlet(np.ones(count))
    problem = on_circle(beta, FLOWS[flow])
    carrier = particles(problem, mf.Measure(mf.Circle(), x, weights))
    d = x[:, None] - x
    a = np.exp(beta * np.cos(d) - abs(beta)) * weights
    z = a.sum(axis=1) if FLOWS[flow].normalized else np.ones(count)
    v = FLOWS[flow].strength * (a * np.sin(d)).sum(axis=1) / z
    expected = np.sum(weights * z * v**2) / FLOWS[flow].strength
    found = carrier.diagnostics(0.0, x)["energy_dissipation"]
    what = "dissipation of particles by plain sums, circle, relative"
    verified("invariants", what, found / expected - 1, 1e-11)


@each("beta", [-4.0, 0.0, 5.0, 100.0], flow=FLOWS)
def test_energy_is_monotone_along_a_density_run(flow: str, beta: float, verified: Callable) -> None:
    """Attraction never lowers it, repulsion never raises it, not even by rounding's tenfold."""
    problem = on_circle(beta, FLOWS[flow])
    run = mf.simulate(problem, until=2.0 / max(abs(mf.growth_rates(problem))), save=41)
    change = np.diff(run.observables["energy"]) * np.sign(problem.flow.strength)
    # For beta < 0 energies are in units of the uniform one, and W = a / beta is negative.
    change *= -1.0 if beta < 0 else 1.0
    what = "energy never goes the wrong way, density, circle"
    verified("invariants", what, min(change.min(), 0.0), 1e-15)
    assert change.max() > 1e-6


@each("count", [50, 300], flow=["USA", "SA", "repulsive USA"])
def test_energy_is_monotone_along_a_particle_run(flow: str, count: int, verified: Callable) -> None:
    """From 50 or 300 tokens through the collapse to clusters."""
    points = np.random.default_rng(5).uniform(0, 2 * np.pi, count)
    problem = on_circle(9.0, FLOWS[flow], mf.from_points(points))
    run = mf.simulate(problem, until=60.0, save=61)
    change = np.diff(run.observables["energy"]) * np.sign(problem.flow.strength)
    # The tolerance of the run, 1e-10, shows when nothing moves any more.
    what = "energy never goes the wrong way, particles, circle"
    verified("invariants", what, min(change.min(), 0.0), 1e-12)
    assert abs(change).max() > 1e-4


def test_energy_rate_is_the_slope_of_the_energy(verified: Callable) -> None:
    """The stored rate against differences of stored energies in time."""
    problem = on_circle(5.0)
    h = 0.05
    run = mf.simulate(
        problem, until=2.1, save=[2 - 2 * h, 2 - h, 2.0, 2 + h, 2 + 2 * h], tolerance=1e-13
    )
    e = run.observables["energy"] / (2 * 5.0)  # in units of W: E[Dirac] = 1 / (2 beta)
    slope = (e[0] - 8 * e[1] + 8 * e[3] - e[4]) / (12 * h)
    what = "slope of the energy in time, density, circle, relative"
    verified("invariants", what, slope / run.diagnostics["energy_rate"][2] - 1, 1e-8)
