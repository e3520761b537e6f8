"""Manufactured solutions: a source term makes chosen bumps that move and change their width exact.

    f = sum_j p_j e^{kappa_j <x, e_j>} / i(kappa_j),    i = I_0 (circle), sinh(R) / R (sphere),
    Z = e^{-|beta|} sum_j p_j i(R_j) / i(kappa_j),      R_j = |beta x + kappa_j e_j|,

solve d_t f = -div(f v) + D Laplacian f + S with S in closed form (SciPy's Bessel functions), put
into the steps of the representation from outside. No line of the package takes part in f or S.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import gamma

import numpy as np
import pytest
from oracles import gauss_nodes, harmonics
from parameters import each
from scipy.special import ive

import meanfield as mf
from meanfield.carriers import DensityRepresentation
from meanfield.carriers.schemes import usual_scheme
from meanfield.schemes import INTEGRATORS, Start, runge_kutta

SPACES = {"circle": mf.Circle(), "sphere": mf.Sphere()}
# Strength 1.5: a factor that is lost, or squared, shows.
FLOWS = {"USA": (False, 1.5), "SA": (True, 1.5), "repulsive": (False, -0.7), "rSA": (True, -0.7)}
SECTION = "manufactured solutions"
# The bumps and their products are below rounding above these degrees.
FULL = {"circle": 28, "sphere": 26}
# Exponential steps keep to powers of 2^{1/16}.
END = 2.0


@dataclass(frozen=True)
class Bump:
    """One bump at a time: mass, direction and concentration, with their derivatives."""

    mass: float
    e: np.ndarray
    e_rate: np.ndarray
    kappa: float
    kappa_rate: float


def bumps(time: float, d: int) -> list[Bump]:
    """Two bumps without any symmetry, in R^d."""
    frames = np.linalg.qr(np.array([[0.9, 0.3, -0.4], [0.2, -0.8, 0.5], [-0.5, 0.6, 0.7]])[:d, :d])
    first, second = frames[0][:, 0], frames[0][:, 1]
    tilted = np.roll(np.eye(d)[0], 1) * 0.6 + 0.8 * np.eye(d)[0]
    other = np.array([-tilted[1], tilted[0], *tilted[2:]])
    result = []
    for mass, a, b, speed, start, kappa in (
        (0.6, first, second, 0.7, 0.3, 1.6),
        (0.4, tilted, other, -0.4, 2.1, 2.2),
    ):
        angle = start + speed * time
        c, s = np.cos(angle), np.sin(angle)
        width, rate = kappa + 0.4 * np.sin(time + start), 0.4 * np.cos(time + start)
        result.append(Bump(mass, c * a + s * b, speed * (c * b - s * a), width, rate))
    return result


def bessel(m: int, radius: np.ndarray, d: int) -> np.ndarray:
    """e^{-R} (1/R d/dR)^m i(R), by DLMF 10.29.4: a constant times I_{nu + m}(R) / R^{nu + m}."""
    order = d / 2 - 1
    constant = 2**order * gamma(d / 2)
    return np.asarray(constant * ive(order + m, radius) / radius ** (order + m))


def solution(time: float, x: np.ndarray) -> np.ndarray:
    d = x.shape[1]
    return np.sum([profile(bump, x @ bump.e, d) for bump in bumps(time, d)], axis=0)


def profile(bump: Bump, u: np.ndarray, d: int) -> np.ndarray:
    """Density of one bump at u = <x, e>."""
    return bump.mass * np.exp(bump.kappa * (u - 1)) / bessel(0, np.array(bump.kappa), d)


def terms(time: float, x: np.ndarray, problem: mf.Problem) -> tuple[np.ndarray, np.ndarray]:
    """d_t f, and -div(f v) + D Laplacian f, at points."""
    beta, flow, d = problem.kernel.beta, problem.flow, x.shape[1]
    rate, f, heat, z, z_laplacian = (np.zeros(len(x)) for _ in range(5))
    slope, z_slope = np.zeros_like(x), np.zeros_like(x)
    for bump in bumps(time, d):
        u, kappa = x @ bump.e, bump.kappa
        here = profile(bump, u, d)
        tangent = bump.e - u[:, None] * x
        # A(kappa) = i'(kappa) / i(kappa).
        mean = kappa * bessel(1, np.array(kappa), d) / bessel(0, np.array(kappa), d)
        rate += here * (bump.kappa_rate * (u - mean) + kappa * (x @ bump.e_rate))
        f += here
        slope += (kappa * here)[:, None] * tangent
        heat += here * ((1 - u**2) * kappa**2 - (d - 1) * u * kappa)
        radius = np.sqrt(beta**2 + kappa**2 + 2 * beta * kappa * u)
        scale = bump.mass * np.exp(radius - kappa - abs(beta)) / bessel(0, np.array(kappa), d)
        first, second = ((beta * kappa) ** m * scale * bessel(m, radius, d) for m in (1, 2))
        z += scale * bessel(0, radius, d)
        z_slope += first[:, None] * tangent
        z_laplacian += (1 - u**2) * second - (d - 1) * u * first
    divergence = (slope * z_slope).sum(axis=1) + f * z_laplacian
    if flow.normalized:
        divergence = (divergence - f * (z_slope**2).sum(axis=1) / z) / z
    return rate, flow.diffusivity * heat - flow.strength / beta * divergence


Projection = Callable[[np.ndarray, int], np.ndarray]


@pytest.fixture(params=SPACES, scope="module")
def projected(request: pytest.FixtureRequest) -> tuple[str, np.ndarray, Projection]:
    """Name of a manifold, nodes, and coefficients from values there, by NumPy and SciPy."""
    if request.param == "circle":
        theta = 2 * np.pi * np.arange(256) / 256
        x = np.stack([np.cos(theta), np.sin(theta)], axis=1)
        return "circle", x, lambda values, degree: np.fft.rfft(values, norm="forward")[: degree + 1]
    x, weights = gauss_nodes(28)
    waves: dict[int, np.ndarray] = {}

    def coefficients(values: np.ndarray, degree: int) -> np.ndarray:
        if degree not in waves:
            waves[degree] = weights[:, None] * harmonics(x, degree).conj()
        return values @ waves[degree]

    return "sphere", x, coefficients


def posed(name: str, beta: float, flow: str, diffusivity: float) -> mf.Problem:
    normalized, strength = FLOWS[flow]
    return mf.Problem(
        SPACES[name], mf.exponential(beta), mf.Flow(normalized, strength, diffusivity)
    )


def fixed_density(problem: mf.Problem, state: np.ndarray) -> DensityRepresentation:
    degree = problem.manifold.degree_of(state)
    return DensityRepresentation(problem, np.ascontiguousarray(state), 1.0, degree)


@each("flow", FLOWS, beta=[-4.0, 5.0, 20.0], diffusivity=[0.0, 0.3])
def test_right_hand_side_of_the_bumps_is_the_closed_form(
    flow, beta, diffusivity, projected, verified
):
    """A wrong term, factor or sign in the equation, without any time step."""
    name, x, coefficients = projected
    problem = posed(name, beta, flow, diffusivity)
    # The quotient of a normalised flow is formed on a grid for degree 64; the mass is exact.
    state = problem.manifold.resize(coefficients(solution(0.4, x), FULL[name]), 64)
    carrier = fixed_density(problem, state)
    result = problem.manifold.resize(carrier.rhs(0.4, carrier.state), FULL[name])
    expected = coefficients(terms(0.4, x, problem)[1], FULL[name])
    size = np.abs(expected).max()
    assert size > 5e-4
    # The rounding of a coefficient, 1e-15 by SciPy's harmonics, times D L (L + 1) = 210.
    what = f"coefficients of -div(f v) + D Laplacian f, two moving bumps, {name}"
    verified(SECTION, what, result - expected, 4e-13)


def errors_after(problem, projected, runs, method):
    """Largest errors of a coefficient at the end, for runs of (degree, number of equal steps)."""
    name, x, coefficients = projected
    space, full = problem.manifold, FULL[name]
    first, last = (coefficients(solution(t, x), full).astype(complex) for t in (0.0, END))

    @cache
    def source(time: float) -> np.ndarray:
        rate, moved = terms(time, x, problem)
        return coefficients(rate - moved, full)

    def forced(rhs: Callable) -> Callable:
        return lambda time, state: (
            rhs(time, state) + space.resize(source(time), space.degree_of(state))
        )

    errors = []
    for degree, steps in runs:
        carrier, step = fixed_density(problem, space.resize(first, degree)), END / steps
        # "exponential" are the steps that the time loop takes with diffusion.
        stepper = (
            usual_scheme(problem, carrier)(carrier, Start(0.0, carrier.state, step), 1e9, forced)
            if method == "exponential"
            else runge_kutta(
                forced(carrier.rhs), 0.0, carrier.state, tolerance=1e9, step=step, method=method
            )
        )
        for _ in range(steps):
            assert stepper.step(step)
        assert stepper.time == pytest.approx(END, rel=1e-13)
        errors.append(np.abs(stepper.state - space.resize(last, degree)).max())
    return np.array(errors)


# Numbers of steps between rounding and the range where the order is not yet seen.
STEPS = {"DOP853": (6, 8, 10, 12), "RK45": (40, 60, 90), "exponential": (16, 32, 64)}
ORDERS = INTEGRATORS | {"exponential": 4}


@pytest.mark.slow
@each("flow", ["USA", "SA"], method=STEPS)
def test_steps_have_their_order_on_the_bumps(flow, method, projected, verified):
    """An order is lost where a stage stands at a wrong time or the linear part is split wrongly."""
    name, counts = projected[0], np.array(STEPS[method])
    problem = posed(name, 5.0, flow, 0.1 if method == "exponential" else 0.0)
    errors = errors_after(problem, projected, [(FULL[name], count) for count in counts], method)
    assert errors[-1] > 1e-14, errors
    order = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    what = f"{method} on the density, {name}, {flow}"
    curve = (END / counts, errors)
    verified("order in time", what, order - ORDERS[method], 0.35, measured=order, curve=curve)


@pytest.mark.slow
@each("flow", ["USA", "SA"], diffusivity=[0.0, 0.1])
def test_error_falls_faster_than_any_power_of_the_degree(flow, diffusivity, projected, verified):
    """Spectral convergence, down to the rounding of the steps."""
    name, degrees = projected[0], np.array([2, 4, 6, 8, 10, 12, 14, 16])
    problem = posed(name, 5.0, flow, diffusivity)
    errors = errors_after(problem, projected, [(int(degree), 32) for degree in degrees], "DOP853")
    noise = "with diffusion" if diffusivity else "without diffusion"
    what = f"two moving bumps, {name}, {flow}, {noise}"
    verified("convergence in degree", what, errors[-1], 1e-12, curve=(degrees, errors))
    # Two degrees more gain more and more: errors fall faster than geometrically.
    gains = -np.diff(np.log(errors[errors > 1e-12]))
    assert len(gains) >= 4 and gains[-1] > 1.3 * gains[0] > 1.5, errors
