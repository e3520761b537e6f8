"""Noisy densities on the sphere: a Legendre code of its own, rotations, stationary states."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from scipy.special import eval_legendre, spherical_in
from snapshots import snapshots

import meanfield as mf
from meanfield.fields.mean_field import interaction
from meanfield.observables import free_energy
from meanfield.stationary.states import stationary_state
from meanfield.terms.kernels import KERNELS

SPHERE = mf.Sphere()
MODES = 30
FLOWS = {"USA": (False, 1.0), "SA": (True, 1.0), "repulsive": (True, -2.0)}
NORTH, TILTED = [0.0, 0.0, 1.0], [0.36, -0.48, -0.8]
CASES = [
    (5.0, "USA", 0.02, 10.0, TILTED), (5.0, "SA", 0.06, 1.0, TILTED),
    (3.0, "repulsive", 0.03, 0.3, NORTH), (0.0, "USA", 0.1, 1.0, NORTH),
]  # fmt: skip
TURN = Rotation.from_quat([0.1, -0.4, 0.7, 0.2]).as_matrix()
MIRROR = np.eye(3) - 2 * np.outer([0.48, -0.6, 0.64], [0.48, -0.6, 0.64])
# No symmetry, no reflection of its own.
BUMPS = [(0.5, [0.3, 0.2, 0.9], 1.0), (0.3, [-0.5, 0.8, 0.1], 2.0), (0.2, [0.1, -0.9, -0.6], 1.5)]
# About one axis, heavier at one end.
TWO = [(0.7, 1.0, 2.0), (0.3, -1.0, 1.0)]


def legendre(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """p_l = sqrt(2l + 1) P_l and its slope at t inside (-1, 1), shape (MODES + 1, n)."""
    l = np.arange(MODES + 1)[:, None]
    p = eval_legendre(l, t)
    slope = l * (eval_legendre(np.maximum(l - 1, 0), t) - t * p) / (1.0 - t**2)
    return np.sqrt(2 * l + 1) * p, np.sqrt(2 * l + 1) * slope


def scaled_bessel(beta: float) -> tuple[np.ndarray, np.ndarray]:
    """Multipliers of W and a; beta = 0 is the linear kernel."""
    l = np.arange(MODES + 1)
    if beta == 0:
        return np.where(l == 1, 1.0 / 3.0, 0.0), np.where(l == 0, 1.0, 0.0)
    a = spherical_in(l, beta) * np.exp(-beta)
    return a / beta, a


def legendre_code(beta, normalized, strength, diffusivity):
    """Right-hand side d f_l / dt = int (1 - t^2) p_l' (f Phi' / Z - D f') dt / 2."""
    t, weights = np.polynomial.legendre.leggauss(2 * MODES)
    (p, slope), (w, a) = legendre(t), scaled_bessel(beta)
    tested = 0.5 * weights * (1.0 - t**2) * slope

    def rhs(time: float, f: np.ndarray) -> np.ndarray:
        velocity = strength * (w * f) @ slope
        if normalized:
            velocity /= (a * f) @ p
        return tested @ ((f @ p) * velocity - diffusivity * (f @ slope))

    return rhs


def bumps(components: list, move: np.ndarray) -> mf.Law:
    return mf.mixture([(mass, move @ mean, kappa) for mass, mean, kappa in components])


def about(axis: np.ndarray) -> mf.Law:
    return mf.mixture([(mass, side * axis, kappa) for mass, side, kappa in TWO])


def posed(beta: float, flow: str, diffusivity: float, law: mf.Law) -> mf.Problem:
    normalized, strength = FLOWS[flow]
    noisy = mf.Flow(normalized, strength, diffusivity)
    return mf.Problem(SPHERE, KERNELS["exponential"](beta), noisy, law)


def axial() -> np.ndarray:
    t, weights = np.polynomial.legendre.leggauss(60)
    shapes = [m * k / np.sinh(k) * np.exp(side * k * t) for m, side, k in TWO]
    return 0.5 * legendre(t)[0] @ (weights * sum(shapes))


@pytest.mark.slow
@pytest.mark.parametrize("beta, flow, diffusivity, until, axis", CASES)
def test_axisymmetric_density_follows_an_independent_code(
    beta, flow, diffusivity, until, axis, verified
):
    """Values at random points to 1e-9, about the poles and about another axis."""
    problem = posed(beta, flow, diffusivity, about(np.array(axis)))
    code, start = legendre_code(beta, *FLOWS[flow], diffusivity), axial()
    # Steps on the limit of stability would leave noise in the highest degrees.
    longest = 3.0 / (diffusivity * MODES**2)
    steps = {"rtol": 1e-12, "atol": 1e-13, "max_step": longest}
    own = solve_ivp(code, (0.0, until), start, "DOP853", [until], **steps).y[:, -1]
    assert np.abs(own[-3:]).max() < 1e-10
    assert np.abs(own - start).max() > 0.05
    end = snapshots(problem, [until], 1e-10)[0].measure
    points = SPHERE.random_points(200, np.random.default_rng(0))
    values = SPHERE.evaluate(end.coefficients, points)
    what = "density with diffusion against a Legendre code of its own, sphere"
    verified("independent methods", what, values - own @ legendre(points @ axis)[0], 1e-9)


@pytest.mark.parametrize(
    "flow, move",
    [("USA", TURN), ("SA", MIRROR), pytest.param("repulsive", TURN, marks=pytest.mark.slow)],
    ids=FLOWS,
)
def test_moved_density_stays_moved(flow, move, verified):
    """f(x) of one run is f(R x) of the other, at random points: no direction is preferred."""
    points = SPHERE.random_points(200, np.random.default_rng(0))
    values = []
    for matrix in (np.eye(3), move):
        problem = posed(5.0, flow, 0.03, bumps(BUMPS, matrix))
        passed = snapshots(problem, [0.0, 0.5], 1e-10)
        places = np.ascontiguousarray(points @ matrix.T)
        values.append([SPHERE.evaluate(s.measure.coefficients, places) for s in passed])
    what = "turned and mirrored density with diffusion, sphere"
    verified("symmetry", what, np.subtract(values[1], values[0]), 1e-9)
    assert np.abs(values[0][1] - values[0][0]).max() > 0.01


def test_noise_does_not_turn_an_unnormalised_density(verified):
    """Torque int x wedge v dmu = 0, forces being opposite: a Z that is not 1 would show."""
    problem = posed(5.0, "USA", 0.02, bumps(BUMPS, np.eye(3)))
    end = SPHERE.resize(snapshots(problem, [3.0], 1e-10)[0].measure.coefficients, MODES)
    grid = SPHERE.grid(MODES)
    points = SPHERE.check_points(grid.points)
    mass = grid.weights * grid.to_nodal(end)
    velocity = interaction(problem).field(end).velocity(points)
    torque = mass @ np.cross(points, velocity)
    verified("invariants", "torque of a density with diffusion, sphere", torque, 1e-15)
    assert mass @ np.abs(velocity).max(axis=1) > 1e-4


@pytest.mark.parametrize(
    "beta, diffusivity", [(5.0, 0.01), pytest.param(0.0, 0.15, marks=pytest.mark.slow)]
)
def test_free_energy_falls_by_its_dissipation(beta, diffusivity, verified):
    """dF/dt = -int |D grad log f - v|^2 dmu, differences in time against a quadrature."""
    problem = posed(beta, "USA", diffusivity, about(np.array(NORTH)))
    middle, h = 0.45, 0.1
    passed = snapshots(problem, list(middle + h * np.arange(-4, 5)), 1e-11)
    values = [free_energy(problem, s.measure, s.moments) for s in passed]
    slope = np.array([3, -32, 168, -672, 0, 672, -168, 32, -3]) @ values / (840 * h)
    f = SPHERE.unpacked(passed[4].measure.coefficients)[0, : MODES + 1, 0]
    t, weights = np.polynomial.legendre.leggauss(2 * MODES)
    p, p_slope = legendre(t)
    force = diffusivity * (f @ p_slope) / (f @ p) - (scaled_bessel(beta)[0] * f) @ p_slope
    dissipation = 0.5 * weights @ ((1.0 - t**2) * force**2 * (f @ p))
    what = "free energy falls by its dissipation, sphere, relative"
    verified("invariants", what, slope / -dissipation - 1, 1e-7)
    assert dissipation > 1e-5


@pytest.mark.slow
@pytest.mark.parametrize(
    "beta, normalized, share", [(0.0, False, 0.6), (3.0, False, 0.9), (3.0, True, 0.7)]
)
def test_runs_end_in_the_stationary_states_of_newtons_method(beta, normalized, share, verified):
    """Moments to 1e-10 at a tolerance of 1e-8: fixed points of a step are stationary exactly."""
    kernel = KERNELS["exponential"](beta)
    critical = mf.critical_diffusivity(mf.Problem(SPHERE, kernel, mf.Flow(normalized)))
    flow = mf.Flow(normalized, 1.0, share * critical)
    problem = mf.Problem(SPHERE, kernel, flow, mf.von_mises_fisher(5.0))
    state = stationary_state(problem)
    leading = max(result.rate for result in state.growth_rates(3) if result.rate < -1e-6)
    end = snapshots(problem, [24.0 / -leading], 1e-8)[0].measure
    expected = state.density().moments(MODES)
    what = "runs end in the stationary states of Newton's method, sphere"
    verified("independent methods", what, end.moments(MODES) - expected, 1e-10)
    assert 0.4 < state.order_parameter < 0.97
