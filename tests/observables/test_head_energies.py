"""Energies of heads: printed values, the gradient they climb, trajectories, and where none is."""

from collections.abc import Callable

import numpy as np
import pytest
from head_oracle import MASSES, TOKENS, components
from parameters import refused
from scipy.integrate import solve_ivp

import meanfield as mf
from meanfield.arrays import FloatArray
from meanfield.engines.sinkhorn import pair_scaling
from meanfield.observables import energy_note, interaction_energy
from meanfield.observables.energies import ascent

SYMMETRIC = [[0.9, 0.3], [0.3, -0.4]]


def posed(*scores: object, normalization: str, beta: float, factor: float = 1.0) -> mf.Problem:
    """Problem on the sphere of these scores, V = factor B for each."""
    heads = [mf.Head(score=b, value=factor * np.array(b)) for b in scores]
    space = mf.Circle() if len(np.array(scores[0])) == 2 else mf.Sphere()
    return mf.Problem(space, mf.Attention(heads, normalization, beta=beta))


def energy(problem: mf.Problem, points: FloatArray, masses: FloatArray) -> float:
    """E or E_S itself, by the observable."""
    measure = mf.Measure(problem.manifold, points, masses)
    result = interaction_energy(problem, measure.moments(problem.moment_degree), measure)
    s = problem.beta
    unit = 2.0 if problem.attention.normalization == "sinkhorn" else 2.0 * s * np.exp(-s)
    return float(result / unit)


def velocity(problem: mf.Problem, x: FloatArray, masses: FloatArray) -> tuple[FloatArray, ...]:
    """Velocity of vectors by plain sums, and Z of the last head; no scale of time."""
    total, z = np.zeros(x.shape), np.ones(len(x))
    for score, value in problem.attention.matrices(x.shape[1]):
        weights = np.exp(x @ score @ x.T) * masses
        if problem.attention.normalization == "sinkhorn":
            weights *= np.exp(pair_scaling(score, x, masses).log_w)
        if problem.attention.normalization != "none":
            z = weights.sum(axis=1)
        total += (weights @ x @ value.T) / z[:, None]
    return total - (x * total).sum(axis=1)[:, None] * x, z


def slope(at: Callable[[float], float], h: float = 1e-3) -> float:
    """Derivative at 0, of order four."""
    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)


@pytest.mark.parametrize(
    ("normalization", "expected"), [("none", 0.0900898991), ("softmax", 0.0705725587)]
)
def test_energy_and_its_slope_equal_the_printed(normalization, expected):
    """Five tokens; dE/dt = int |v|^2, of softmax int Z |v|^2."""
    problem = posed(SYMMETRIC, normalization=normalization, beta=2.0)
    assert energy(problem, TOKENS, MASSES) == pytest.approx(0.3363641853083627, rel=1e-14)
    x = problem.manifold.vectors(TOKENS)
    v, z = velocity(problem, x, MASSES)
    turning = components(TOKENS, v)
    z = z if normalization == "softmax" else np.ones(5)
    assert MASSES @ (z * turning**2) == pytest.approx(expected, abs=1e-10)
    result = slope(lambda t: energy(problem, TOKENS + t * turning, MASSES))
    assert result == pytest.approx(expected, abs=1e-10)


def test_several_heads_climb_only_without_normalisation():
    """Three tokens whose two softmax heads lower the sum of their energies, seven times a unit."""
    first = [[1.51854791353991, 1.44223094050114], [1.44223094050114, 3.8176850207468]]
    second = [[3.01684394448407, -1.52736174050784], [-1.52736174050784, -2.08757143090335]]
    tokens = np.array([3.17816933910134, 2.94834235951165, 3.99748242074305])
    masses = np.full(3, 1 / 3)
    bare = posed(first, second, normalization="none", beta=2.0)
    softmax = posed(first, second, normalization="softmax", beta=2.0)
    x = bare.manifold.vectors(tokens)

    def rise(problem: mf.Problem) -> tuple[float, float]:
        """Rate of the sum of energies along a flow, and the mean of its squared velocity."""
        v, _ = velocity(problem, x, masses)
        turning = components(tokens, v)
        # In units of the fastest, which is thousands.
        unit = float(np.abs(turning).max())
        rate = unit * slope(lambda t: energy(bare, tokens + t * turning / unit, masses))
        return rate, float(masses @ turning**2)

    rate, squared = rise(bare)
    assert rate == pytest.approx(squared, rel=1e-6)
    assert round(rise(softmax)[0], 2) == -1536.75
    assert np.isnan(energy(softmax, tokens, masses))
    measure = mf.Measure(mf.Circle(), tokens)
    assert np.isnan(ascent(softmax)(measure, measure.moments(40)))
    assert ascent(bare)(measure, measure.moments(40)) > 0


@pytest.mark.parametrize("factor", [1.5, -0.7])
def test_balanced_energy_rises_by_the_squared_velocity(factor):
    """On the sphere, for an indefinite score, and a value of either sign."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=(30, 3))
    x /= np.linalg.norm(x, axis=1)[:, None]
    masses = rng.dirichlet(np.ones(30))
    problem = posed(
        [[0.9, 0.3, 0.0], [0.3, -0.4, 0.2], [0.0, 0.2, 0.5]],
        normalization="sinkhorn", beta=4.0, factor=factor,
    )  # fmt: skip
    v, _ = velocity(problem, x, masses)

    def at(t: float) -> float:
        moved = x + t * v
        return energy(problem, moved / np.linalg.norm(moved, axis=1)[:, None], masses)

    assert slope(at) == pytest.approx(masses @ (v**2).sum(axis=1), rel=1e-8)


def test_balanced_trajectory_equals_the_reference():
    """Moments and energy of an asymmetric density at t = 2 by 128 Lagrangian nodes."""
    labels = 2 * np.pi * np.arange(128) / 128
    density = 1 + 0.1 * np.cos(labels) + 0.05 * np.sin(2 * labels)
    masses = (density - 0.08 * np.cos(3 * labels + 0.5)) / 128
    problem = posed(np.eye(2), normalization="sinkhorn", beta=5.0)

    def rate(_: float, angles: FloatArray) -> FloatArray:
        v, _ = velocity(problem, problem.manifold.vectors(angles), masses)
        return components(angles, v)

    angles = solve_ivp(rate, (0.0, 2.0), labels, method="DOP853", rtol=1e-10, atol=1e-11).y[:, -1]
    expected = [
        0.06026060181 + 0.00034812244j, 0.00119997634 - 0.04618757997j,
        -0.09419378188 - 0.05255683066j, -0.00470120882 - 0.00245137100j,
    ]  # fmt: skip
    result = [masses @ np.exp(-1j * k * angles) for k in (1, 2, 3, 4)]
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-9)
    assert energy(problem, angles, masses) == pytest.approx(0.331605566602, abs=1e-10)
    # The lifted mean angle does not move.
    assert masses @ (angles - labels) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("normalization", ["none", "softmax", "sinkhorn"])
def test_density_has_the_energy_of_its_nodes(normalization):
    """Series of a density, pairs of a fine quadrature of it."""
    problem = posed(SYMMETRIC, normalization=normalization, beta=6.0)
    density = mf.von_mises_fisher(2.0, mean=0.4).build(mf.Circle())
    angles = 2 * np.pi * np.arange(400) / 400
    nodes = mf.Measure(mf.Circle(), angles, density(angles) / 400)
    first, second = (
        interaction_energy(problem, each.moments(problem.moment_degree), each)
        for each in (density, nodes)
    )
    assert first == pytest.approx(second, rel=1e-12)


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (mf.Head(score=[[1, 1], [0, 1]]), "of head 1 the score Q.T K is not symmetric"),
        (mf.Head(value=[1.0, 2.0]), "of head 1 the value is no multiple of the score"),
        (mf.Head(value=[1.0, 2.0], beta=0.0), "of head 1 the score is 0"),
    ],
)
def test_heads_without_energy_say_why(head, message):
    """NaN in files, one line for people."""
    problem = mf.Problem(mf.Circle(), mf.Attention([head], beta=2.0))
    assert message.split(" Q")[0] in energy_note(problem)
    measure = mf.Measure(mf.Circle(), TOKENS)
    assert np.isnan(interaction_energy(problem, measure.moments(20), measure))


def test_balanced_energy_needs_its_measure():
    """Weights are no function of moments."""
    problem = posed(np.eye(2), normalization="sinkhorn", beta=2.0)
    moments = mf.Measure(mf.Circle(), TOKENS).moments(20)
    refused("the energy of a measure: give it", interaction_energy, problem, moments)
    assert energy_note(mf.Problem(mf.Circle(), mf.exponential(2.0), mf.USA)) is None
