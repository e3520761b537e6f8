"""The rate of every moment, for any measure on the sphere and without any time step.

    d m_lm / dt = int v . grad conj(Y_lm) dmu

There is no closed hierarchy in moments for a normalised flow; the integral holds for both. The
velocity is a plain sum over atoms or Gauss nodes, the gradient a difference of SciPy's
harmonics: no transform of the package takes part.
"""

import numpy as np
import pytest
from oracles import gauss_nodes, harmonics, plain_velocity
from parameters import each

import meanfield as mf
from meanfield.carriers import DensityRepresentation, particles
from meanfield.terms.kernels import KERNELS

SPHERE = mf.Sphere()
FLOWS = {"USA": mf.USA, "SA": mf.SA, "repulsive": mf.Flow(True, -0.5)}
BETAS = [-4.0, 0.0, 1.0, 5.0, 25.0, 100.0]
DEGREE = 8


def rates(x: np.ndarray, v: np.ndarray, mass: np.ndarray, degree: int) -> np.ndarray:
    """d/dt sum_i w_i conj(Y_lm(x_i)) for points that move with v: a sixth-order difference.

    Along geodesics, so that points stay on the sphere; its error is h^6 L^7 / 140, 1e-13.
    """
    h = 2e-3
    speed = np.linalg.norm(v, axis=1, keepdims=True)
    unit = v / np.maximum(speed, 1e-300)
    moments = []
    for j in (-3, -2, -1, 1, 2, 3):
        moved = np.cos(j * h) * x + np.sin(j * h) * unit
        moments.append((mass * speed[:, 0]) @ harmonics(moved, degree).conj())
    a, b, c, d, e, f = moments
    return (f - a - 9 * (e - b) + 45 * (d - c)) / (60 * h)


@pytest.mark.slow
@each("flow", FLOWS, beta=BETAS, count=[2, 37, 1000])
def test_moments_of_tokens_move_with_their_velocity(flow, beta, count, verified):
    """The rate of the moments that a particle run stores, against the model written down."""
    rng = np.random.default_rng(count)
    x, mass = SPHERE.random_points(count, rng), rng.dirichlet(np.ones(count))
    problem = mf.Problem(SPHERE, KERNELS["exponential"](beta), FLOWS[flow])
    result = particles(problem, mf.Measure(SPHERE, x, mass)).rhs(0.0, x.ravel()).reshape(-1, 3)
    expected = rates(x, plain_velocity(x, x, mass, beta, FLOWS[flow]), mass, DEGREE)
    error = rates(x, result, mass, DEGREE) - expected
    what = "rates of moments of tokens by plain sums, sphere"
    verified("independent methods", what, error, 2e-12)


@pytest.mark.slow
@each("flow", FLOWS, beta=BETAS)
def test_density_moves_with_its_velocity(flow, beta, verified):
    """Every coefficient of the right-hand side up to degree 8, from a density without symmetry."""
    rng = np.random.default_rng(4)
    modes = [[l, m, 0.12 / l**2 * rng.normal()] for l in range(1, 6) for m in range(-l, l + 1)]
    problem = mf.Problem(
        SPHERE, KERNELS["exponential"](beta), FLOWS[flow], mf.perturbed_uniform(modes)
    )
    start = problem.initial_measure().coefficients
    # The quotient of a normalised flow needs more degrees than the products.
    state = SPHERE.resize(start, max(problem.kernel_degree, 64))
    carrier = DensityRepresentation(problem, state, 1e-10, SPHERE.degree_of(state))
    coefficients = SPHERE.resize(carrier.rhs(0.0, state), DEGREE)

    def mass(points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        twice = np.where(np.arange(len(start)) <= 5, 1.0, 2.0)
        return weights * (harmonics(points, 5) @ (twice * start)).real

    x, targets = gauss_nodes(30)
    y, sources = gauss_nodes(36 if abs(beta) < 10 else 64)
    v = plain_velocity(x, y, mass(y, sources), beta, FLOWS[flow])
    expected = rates(x, v, mass(x, targets), DEGREE)
    # A few hundred eps over the step of the difference, relative to the largest rate.
    size = np.abs(expected).max()
    what = "right-hand side of a density by plain sums, sphere, relative"
    verified("independent methods", what, (coefficients - expected) / size, 1e-11)
    assert size > 1e-6
    assert coefficients[0] == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("beta", [-4.0, 25.0])
def test_full_spectrum_moves_without_aliasing(beta, verified):
    """Unnormalised: every coefficient that is kept is exact, though all degrees are full."""
    degree = 14
    rng = np.random.default_rng(6)
    modes = [[l, m, rng.normal()] for l in range(1, degree + 1) for m in range(-l, l + 1)]
    state = SPHERE.from_modes(modes)
    problem = mf.Problem(SPHERE, KERNELS["exponential"](beta), mf.USA)
    result = DensityRepresentation(problem, state, 1e-10, degree).rhs(0.0, state)
    twice = np.where(np.arange(len(state)) <= degree, 1.0, 2.0)
    x, weights = gauss_nodes(36)
    mass = weights * (harmonics(x, degree) @ (twice * state)).real
    v = plain_velocity(x, x, mass, beta, mf.USA)
    expected = rates(x, v, mass, degree)
    size = np.abs(expected).max()
    what = "right-hand side of a full spectrum by plain sums, sphere, relative"
    verified("independent methods", what, (result - expected) / size, 1e-11)


def test_unnormalized_hierarchy_closes_for_the_linear_kernel():
    """By hand at beta = 0: d<x>/dt = (<1> - <x x^T>) <x>, in moments of degree 1 and 2."""
    x = SPHERE.random_points(50, np.random.default_rng(0))
    problem = mf.Problem(SPHERE, mf.linear(), mf.USA)
    v = particles(problem, mf.Measure(SPHERE, x)).rhs(0.0, x.ravel()).reshape(-1, 3)
    mean = x.mean(axis=0)
    expected = mean - x.T @ x / 50 @ mean
    np.testing.assert_allclose(v.mean(axis=0), expected, rtol=0, atol=1e-16)
    # The oracle above against it: Y_10 = sqrt(3) z, Y_11 = -sqrt(3 / 2) (x + i y).
    result = rates(x, v, np.full(50, 0.02), 1)
    x1, y1, z1 = expected
    by_hand = [0.0, np.sqrt(3) * z1, -np.sqrt(1.5) * (x1 - 1j * y1)]
    np.testing.assert_allclose(result, by_hand, rtol=0, atol=1e-13)
