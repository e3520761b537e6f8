"""The linearised flow: derivative, adjoint and second order against the flow itself."""

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.arrays import ModalArray
from meanfield.bases.coordinates import coordinates
from meanfield.fields.interactions import interaction_of, transport
from meanfield.fields.linearised import LinearisedFlow
from meanfield.spaces.manifold import laplacian_eigenvalues

RNG = np.random.default_rng(7)
PLANE = mf.Attention(
    [mf.Head(score=[[0.9, 0.7], [-0.4, 0.5]], value=[[0.8, 0.3], [-0.6, 1.1]]), mf.Head(query=0.5)],
    beta=3.0,
)
MATRIX = RNG.standard_normal((2, 3, 3)) / 3.0
SPACE = mf.Attention([mf.Head(score=MATRIX[0], value=MATRIX[1]), mf.Head()], "none", beta=2.0)
PROBLEMS = {
    "usa": (mf.Problem(mf.Circle(), mf.exponential(beta=3.0), mf.USA), 32),
    "noise": (mf.Problem(mf.Circle(), mf.exponential(beta=3.0), mf.Flow(True, 2.0, 0.1)), 32),
    "heads": (mf.Problem(mf.Circle(), PLANE, drift=mf.LinearDrift([[0.0, -0.3], [0.3, 0.1]])), 32),
    "sphere": (mf.Problem(mf.Sphere(), mf.exponential(beta=3.0), mf.SA), 16),
    "heads of the sphere": (mf.Problem(mf.Sphere(), SPACE), 16),
}  # fmt: skip


def smooth(problem: mf.Problem, degree: int, count: int) -> ModalArray:
    of = coordinates(problem.manifold.dimension, degree)
    sizes = np.exp(-0.8 * of.vector_degrees)
    return np.asarray(of.to_coefficients(RNG.standard_normal((count, of.size)) * sizes))


EACH = pytest.mark.parametrize(("problem", "degree"), PROBLEMS.values(), ids=PROBLEMS)


def flow_at(problem: mf.Problem, degree: int, density: ModalArray) -> LinearisedFlow:
    grid = problem.manifold.grid(degree)
    return LinearisedFlow(interaction_of(problem), grid, density, problem.flow.diffusivity)


def density_of(problem: mf.Problem, degree: int) -> ModalArray:
    density = 0.5 * smooth(problem, degree, 1)[0]
    density[0] = 1.0
    return density


@EACH
def test_it_is_the_flow_that_runs_take(problem, degree):
    """F of the linearised flow is that of density runs."""
    density, space = density_of(problem, degree), problem.manifold
    damping = problem.flow.diffusivity * laplacian_eigenvalues(space.dimension, degree)
    run = transport(interaction_of(problem), degree)(density, False) - space.convolve(
        damping, density
    )
    found = flow_at(problem, degree, density).transport
    # Another grid, another rounding.
    np.testing.assert_allclose(found, run, rtol=0, atol=1e-13 * np.abs(run).max())


@EACH
def test_adjoint_is_the_transpose(problem, degree):
    """Int psi F' g = int g F'* psi, to rounding."""
    flow = flow_at(problem, degree, density_of(problem, degree))
    tangents, fields = (smooth(problem, degree, 4) for _ in range(2))
    of = coordinates(problem.manifold.dimension, degree)
    forward = of.to_vector(fields) @ of.to_vector(flow.derivative(tangents)).T
    backward = of.to_vector(flow.adjoint(fields)) @ of.to_vector(tangents).T
    np.testing.assert_allclose(
        forward, backward, rtol=0, atol=1e-14 * np.abs(forward).max() * degree
    )


@EACH
def test_derivatives_are_those_of_the_flow(problem, degree):
    """Central differences of order six: their error is h^6 and rounding / h, rounding / h^2."""
    density, change = density_of(problem, degree), smooth(problem, degree, 1)

    def at(step: float) -> ModalArray:
        return flow_at(problem, degree, density + step * change[0]).transport

    flow, h = flow_at(problem, degree, density), 4e-3
    values = {n: at(n * h) for n in range(-3, 4)}
    weights = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
    slope = sum(w * (values[n] - values[-n]) for n, w in weights.items()) / h
    found = flow.derivative(change)[0]
    np.testing.assert_allclose(found, slope, rtol=0, atol=3e-11 * np.abs(slope).max())
    curve = {1: 3 / 2, 2: -3 / 20, 3: 1 / 90}
    bent = sum(w * (values[n] + values[-n] - 2 * values[0]) for n, w in curve.items()) / h**2
    second = flow.second(change, change)
    np.testing.assert_allclose(second, bent / 2, rtol=0, atol=3e-8 * np.abs(bent).max())


def test_doubly_stochastic_attention_is_refused():
    """It has no derivative here."""
    problem = mf.Problem(mf.Circle(), mf.Attention([mf.Head()], "sinkhorn", beta=2.0))
    flow = flow_at(problem, 16, np.array([1.0]))
    refused("doubly stochastic", flow.derivative, np.zeros((1, 17), complex))
