"""Diffusion in the density: exact decay, linear growth, free energy, conservation, extremes."""

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from parameters import each
from snapshots import snapshots

import meanfield as mf
from meanfield.carriers import density
from meanfield.observables import free_energy
from meanfield.spaces.manifold import laplacian_eigenvalues
from meanfield.terms.kernels import KERNELS

MANIFOLDS = {"circle": mf.Circle(), "sphere": mf.Sphere()}
FLOWS = {"USA": (False, 1.0), "SA": (True, 1.0), "repulsive": (False, -1.0), "rSA": (True, -1.0)}
EPS = np.finfo(np.float64).eps
# No symmetry, no reflection of its own.
BUMPS = {
    "circle": mf.mixture([(0.5, 0.3, 2.0), (0.3, 2.0, 1.0), (0.2, 4.5, 4.0)]),
    "sphere": mf.mixture(
        [(0.5, [0.3, 0.2, 0.9], 1.0), (0.3, [-0.5, 0.8, 0.1], 2.0), (0.2, [0.1, -0.9, -0.6], 1.5)]
    ),
}


def posed(name, beta, flow, diffusivity, law=None):
    normalized, strength = FLOWS[flow]
    noisy = mf.Flow(normalized, strength, diffusivity)
    start = BUMPS[name] if law is None else law
    return mf.Problem(MANIFOLDS[name], KERNELS["exponential"](beta), noisy, start)


def every_mode(name: str, degree: int, size: float) -> mf.Law:
    """Uniform and all modes of a degree, both signs of m, cosine and sine; and one above it."""
    if name == "circle":
        return mf.perturbed_uniform([[degree, size, 2 * size], [degree + 2, -size, size]])
    orders = [[degree, m, size] for m in range(-degree, degree + 1)]
    return mf.perturbed_uniform([*orders, [degree + 2, 1 - degree, 2 * size]])


def assert_heat(problem: mf.Problem, until: float, verified: Callable) -> None:
    """Every coefficient decays by e^{-D l(l + d - 2) t}, relative to rounding.

    Numbers below 1e-290 have lost digits by underflow.
    """
    space, diffusivity = problem.manifold, problem.flow.diffusivity
    first, *later = snapshots(problem, [0.0, 0.3 * until, until])
    degree = space.degree_of(first.measure.coefficients)
    exponents = diffusivity * laplacian_eigenvalues(space.dimension, degree)
    for snapshot in later:
        coefficients = space.resize(snapshot.measure.coefficients, degree)
        decay = np.exp(-exponents * snapshot.time)
        expected = space.convolve(decay, first.measure.coefficients)
        # e^{-x} is known to x eps, and every step adds a rounding.
        share = space.convolve(10.0 * EPS * (1.0 + exponents * snapshot.time), np.abs(expected))
        what = f"decay like heat, {space.name}, in units of what rounding allows"
        verified("exact solutions", what, (coefficients - expected) / (share.real + 1e-290), 1.0)


@each(
    "diffusivity, until",
    [(0.05, 1.0), (1e-3, 30.0), (1e3, 1e-3)],
    name=MANIFOLDS,
    flow=["SA", "repulsive"],
)
def test_modes_that_nobody_feels_decay_like_heat(name, flow, diffusivity, until, verified):
    """Degree 3 under the linear kernel: any size, every order m, e^{-12000} included."""
    law = every_mode(name, 3, 0.04)
    assert_heat(posed(name, 0.0, flow, diffusivity, law), until, verified)


@each("diffusivity, until", [(0.02, 1.0), (1e3, 1e-3)], name=MANIFOLDS, flow=["USA", "rSA"])
def test_modes_above_the_degree_of_the_kernel_decay_like_heat(
    name, flow, diffusivity, until, verified
):
    """The kernel's multipliers end at 1e-16: what lies above moves nothing, and is not driven."""
    degree = posed(name, 0.3, flow, diffusivity).kernel_degree + 1
    law = every_mode(name, degree, 0.005)
    assert_heat(posed(name, 0.3, flow, diffusivity, law), until, verified)


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("name", MANIFOLDS)
def test_without_strength_everything_decays_like_heat(name, normalized, verified):
    """Every degree and order of an asymmetric density, strength 1e-300."""
    flow = mf.Flow(normalized, 1e-300, 0.3)
    problem = mf.Problem(MANIFOLDS[name], mf.exponential(5.0), flow, BUMPS[name])
    assert_heat(problem, 2.0, verified)


@pytest.mark.parametrize("name", MANIFOLDS)
@each("flow", FLOWS, degree=[1, 4])
def test_small_modes_grow_at_their_rates(name, flow, degree, verified):
    """Every order grows or decays by e^{lambda t}, diffusion included, from 1e-13 to 1e-11."""
    # On the sphere even degrees act back on themselves at second order: from 1e-8 the fit would be
    # 1e-8 off, and is. The product f grad Phi rounds relative to grad Phi, however small that is.
    sine = [[degree, 1e-13, 2e-13]]
    orders = [[degree, m, 1e-13] for m in range(-degree, degree + 1)]
    law = mf.perturbed_uniform(sine if name == "circle" else orders)
    problem = posed(name, 5.0, flow, 0.01, law)
    rate = mf.growth_rates(problem, degree)[degree]
    assert abs(rate) > 1e-3
    first, last = snapshots(problem, [0.0, 2.0 / abs(rate)], 1e-10)
    space, top = problem.manifold, degree
    before, after = (space.resize(s.measure.coefficients, top) for s in (first, last))
    carried = before != 0
    carried[0] = False
    assert carried.sum() == (degree + 1 if name == "sphere" else 1)
    result = np.log(after[carried] / before[carried]) / last.time
    what = f"growth of small modes with diffusion, {name}, relative"
    verified("exact solutions", what, result / rate - 1, 2e-11)


@pytest.mark.slow
@pytest.mark.parametrize("name", MANIFOLDS)
@each(
    "beta, flow",
    [(5.0, "USA"), (0.0, "SA"), (-3.0, "repulsive")],
    start=["concentrated", "perturbed", "bumps"],
)
def test_free_energy_never_increases(name, beta, flow, start, verified):
    """A gradient flow goes down in every saved step, to rounding; clusters form or spread."""
    laws = {"concentrated": mf.von_mises_fisher(5.0), "perturbed": every_mode(name, 2, 0.02)}
    problem = posed(name, beta, flow, 0.01 if beta else 0.1, laws.get(start))
    until = 3.0 / np.abs(mf.growth_rates(problem)).max()
    passed = snapshots(problem, list(np.linspace(0.0, until, 13)), 1e-8)
    values = np.array([free_energy(problem, s.measure, s.moments) for s in passed])
    # Rounding of sums of numbers of order 1 with the weight D, and of the energy W(1) / 2.
    weight = max(problem.flow.diffusivity, 0.5 / max(abs(beta), 1.0))
    what = f"free energy never rises, {name}"
    verified("invariants", what, max(np.diff(values).max(), 0.0), 4.0 * EPS * weight)
    # And it goes somewhere.
    assert values[0] - values[-1] > 1e-5 * np.abs(values).max()


@pytest.mark.slow
@each("name", MANIFOLDS, flow=FLOWS)
def test_mass_is_exactly_one_and_the_energy_balances(name, flow, verified):
    """dE/dt from the moments and from the grid agree, and with the difference in time."""
    problem = posed(name, 4.0, flow, 0.03)
    middle, h = 0.3, 0.07
    passed = snapshots(problem, list(middle + h * np.arange(-4, 5)))
    assert all(s.measure.coefficients[0] == 1.0 for s in passed)
    diagnostics = passed[4].diagnostics
    assert diagnostics["energy_rate"] == pytest.approx(diagnostics["energy_dissipation"], rel=1e-10)
    w = problem.kernel.potential_multipliers(problem.manifold.dimension, problem.kernel_degree)
    space = problem.manifold
    energies = [0.5 * space.inner(space.convolve(w, s.moments), s.moments) for s in passed]
    slope = np.array([3, -32, 168, -672, 0, 672, -168, 32, -3]) @ energies / (840 * h)
    what = f"slope of the energy in time with diffusion, {name}, relative"
    verified("invariants", what, slope / diagnostics["energy_rate"] - 1, 1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("flow", FLOWS)
def test_unnormalised_flow_has_no_mean_velocity(flow):
    """Mean int v dmu = 0 for opposite forces, noise or not; divided by Z they are not opposite."""
    # The phase of c_1 is not conserved: the mean angle of a density on the circle has no meaning.
    last = snapshots(problem := posed("circle", 5.0, flow, 0.02), [0.0, 4.0])[1]
    theta = 2 * np.pi * np.arange(400) / 400
    c, k = last.measure.coefficients, np.arange(len(last.measure.coefficients))
    waves = np.exp(1j * np.outer(theta, k)) * np.where(k > 0, 2.0, 1.0)
    carrier = density(problem, last.measure, tolerance=1e-10)
    velocity = carrier.interaction.field(carrier.state).velocity(theta)
    mean = np.mean((waves @ c).real * velocity)
    assert (abs(mean) < 1e-15) == (not FLOWS[flow][0])


@each("fold", [2, 3], flow=FLOWS)
def test_fold_symmetry_is_preserved(flow, fold, verified):
    """c_m = 0 unless k divides m, although mode 1 would grow if it were there."""
    law = mf.perturbed_uniform([[fold, 0.2, 0.1], [2 * fold, 0.0, 0.1]])
    problem = posed("circle", 5.0, flow, 0.01, law)
    until = 2.5 / np.abs(mf.growth_rates(problem)).max()
    for snapshot in snapshots(problem, [0.5 * until, until]):
        c = snapshot.measure.coefficients
        # Rounding, grown by e^2.5.
        what = "k-fold symmetry of a density with diffusion, circle"
        verified("symmetry", what, c[np.arange(len(c)) % fold != 0], 2e-15)


@pytest.mark.slow
@pytest.mark.parametrize("flow", FLOWS)
def test_mirror_symmetry_is_preserved(flow, verified):
    """Even about 0.8: c_k e^{0.8 ik} stays real, and the phase of c_1 where it was."""
    k = np.arange(4)
    law = mf.from_density(np.array([1.0, 0.3, -0.1, 0.05]) * np.exp(-0.8j * k))
    last = snapshots(posed("circle", 5.0, flow, 0.02, law), [0.0, 5.0])[1].measure.coefficients
    turned = last * np.exp(0.8j * np.arange(len(last)))
    verified("symmetry", "mirror symmetry of a density with diffusion, circle", turned.imag, 2e-15)
    assert abs(turned[1].real - 0.3) > 1e-3


@pytest.mark.parametrize("name", MANIFOLDS)
@each("beta", [0.0, 5.0], normalized=[False, True])
def test_uniform_stays_uniform_to_the_bit(name, beta, normalized):
    """Also at the critical diffusivity, where every rate of the linear kernel vanishes."""
    bare = mf.Problem(MANIFOLDS[name], KERNELS["exponential"](beta), mf.Flow(normalized))
    for diffusivity in (mf.critical_diffusivity(bare), 1e-3, 1e3):
        flow = mf.Flow(normalized, 1.0, diffusivity)
        problem = mf.Problem(bare.manifold, bare.kernel, flow)
        last = snapshots(problem, [0.0, 50.0])[1].measure.coefficients
        assert last[0] == 1.0 and not last[1:].any()


@pytest.mark.parametrize("beta", [1e-3, 400.0])
@each("diffusivity", [1e-6, 0.05, 1e3], strength=[1.0, -3.0], normalized=[False, True])
def test_extremes_need_few_steps(normalized, strength, diffusivity, beta):
    """Fast decay is exact and limits no step: 300,000 steps were taken at beta = 400."""
    flow = mf.Flow(normalized, strength, diffusivity)
    problem = mf.Problem(mf.Circle(), mf.exponential(beta), flow, BUMPS["circle"])
    last = snapshots(problem, [0.0, 1.0], 1e-10)[1]
    assert last.diagnostics["steps"] < 400
    assert last.diagnostics["density_min"] > 0.0
    assert last.diagnostics["tail"] < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("name", ["auto", "density"])
def test_narrow_clusters_end_the_run_with_advice(name):
    """Width 1e-3 does not fit into 100 degrees; nothing that the line says may be refused."""
    law = mf.perturbed_uniform([[1, 0.3, 0.1]])
    problem = posed("circle", 5.0, "SA", 1e-6, law)
    with warnings.catch_warnings(), pytest.raises(mf.SimulationError) as caught:
        warnings.simplefilter("error")
        mf.simulate(problem, until=60.0, save=3, representation=name, max_degree=100)
    reason = caught.value.reason
    assert reason.startswith("under-resolved: spectral tail") and "raise" in reason
    # Nobody takes over from a density with noise, so "auto" is no way out.
    assert "auto" not in reason
    assert 1.0 < caught.value.time < 20.0
