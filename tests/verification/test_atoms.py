"""The mean field of finitely many atoms is the particle system itself."""

import numpy as np
import pytest
from oracles import plain_field, plain_velocity
from parameters import each

import meanfield as mf
from meanfield.carriers import particles
from meanfield.engines.pairs import circle as circle_pairs
from meanfield.engines.pairs import sphere as sphere_pairs
from meanfield.fields import engines
from meanfield.fields.mean_field import interaction
from meanfield.terms.kernels import KERNELS
from meanfield.trajectory import trajectory

SPACES = {"circle": mf.Circle(), "sphere": mf.Sphere()}
FLOWS = {"USA": mf.USA, "SA": mf.SA, "repulsive": mf.Flow(True, -0.5)}
BETAS = [-25.0, -4.0, 0.0, 1.0, 9.0, 25.0, 100.0]


def atoms(name: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Random atoms with weights, two as one; on the sphere at the poles and a rounding beside."""
    rng = np.random.default_rng(count)
    x = rng.uniform(-4, 9, count) if name == "circle" else SPACES[name].random_points(count, rng)
    if name == "sphere":
        x[:4] = [[0, 0, 1], [0, 0, -1], [1e-9, -1e-9, 1], [1e-160, 1e-12, -1]][:count]
    x[-1] = x[count // 2]
    return SPACES[name].check_points(x), rng.dirichlet(np.ones(count))


def rate(problem: mf.Problem, x: np.ndarray, w: np.ndarray | None = None) -> np.ndarray:
    carrier = particles(problem, mf.Measure(problem.manifold, x, w))
    return carrier.rhs(0.0, x.ravel()).reshape(x.shape)


def largest(vectors: np.ndarray) -> np.ndarray:
    return np.abs(vectors.reshape(len(vectors), -1)).max(axis=1)


@pytest.mark.parametrize("name", SPACES)
@each("beta", BETAS, flow=FLOWS, count=[4, 37, 1000])
def test_mean_field_on_atoms_is_the_particle_velocity(name, flow, beta, count, verified):
    """Moments, multipliers and gradient against sums over pairs, at the atoms and elsewhere."""
    x, w = atoms(name, count)
    elsewhere = SPACES[name].random_points(30, np.random.default_rng(9))
    problem = mf.Problem(SPACES[name], KERNELS["exponential"](beta), FLOWS[flow])
    mean_field = interaction(problem)
    field = mean_field.field(mf.Measure(SPACES[name], x, w).moments(mean_field.degree))
    for places in (x, elsewhere):
        error = largest(field.velocity(places) - plain_velocity(places, x, w, beta, problem.flow))
        # Moments carry rounding; where the partition function is small a quotient magnifies it.
        if problem.flow.normalized:
            error *= plain_field(places, x, w, beta)[0]
        what = f"mean field of atoms against sums over pairs, {name}, times Z"
        verified("independent methods", what, error, 3e-15)


@pytest.mark.parametrize("name", SPACES)
@each("beta", BETAS, flow=FLOWS, weighted=[False, True])
def test_particle_velocity_does_not_depend_on_how_it_is_summed(
    name, flow, beta, weighted, verified
):
    """Compiled pairs, plain pairs and the representation: three ways to one number."""
    x, w = atoms(name, 150)
    masses, w = (w, w) if weighted else (None, np.full(150, 1 / 150))
    kernel = KERNELS["exponential"](beta)
    problem = mf.Problem(SPACES[name], kernel, FLOWS[flow])
    strength, normalized = problem.flow.strength, problem.flow.normalized
    compiled, plain = {
        "circle": (circle_pairs.exponential_velocity_circle, circle_pairs.pairwise_velocity),
        "sphere": (sphere_pairs.exponential_velocity_sphere, sphere_pairs.pairwise_velocity),
    }[name]
    for result in (
        strength * compiled(x, masses, beta, normalized),
        strength * plain(kernel.attention, x, masses, normalized),
        rate(problem, x, masses),
    ):
        # e^{beta s} magnifies the rounding of s by beta, in the oracle too.
        error = result - plain_velocity(x, x, w, beta, problem.flow)
        what = f"velocity of tokens by three ways of summing, {name}"
        verified("independent methods", what, error, 1e-15 * max(abs(beta), 1.0))


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("flow", FLOWS)
def test_runs_by_pairs_and_by_moments_agree(name, flow, monkeypatch, verified):
    """The same 150 tokens on both sides of the crossover."""
    space = SPACES[name]
    x = space.random_points(150, np.random.default_rng(3))
    problem = mf.Problem(space, mf.exponential(9.0), FLOWS[flow], mf.from_points(x))
    ends = []
    for few in (1000, 0):
        monkeypatch.setattr(engines, "direct_sum_limit", lambda space, degree, few=few: few)
        carrier = particles(problem, problem.initial_measure())
        (last,) = trajectory(problem, carrier, [10.0], tolerance=1e-12)
        ends.append(last.measure.points)
    assert np.abs(ends[0] - x).max() > 0.05
    what = f"tokens moved by pairs and by moments, {name}"
    verified("independent methods", what, ends[0] - ends[1], 1e-10)


@pytest.mark.parametrize("count", [2, 1000])
def test_tokens_at_one_place_do_not_move(count):
    """Also at the poles: moments alone must not push them off each other."""
    for place in ([0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [0.48, -0.6, 0.64]):
        points = np.tile(place, (count, 1))
        for flow in (mf.USA, mf.SA):
            problem = mf.Problem(mf.Sphere(), mf.exponential(30.0), flow)
            assert np.abs(rate(problem, points)).max() < 2e-14


@pytest.mark.parametrize("name", SPACES)
def test_two_distant_clusters_keep_their_tiny_attraction(name):
    """At beta = 81 and gap 1.2 the drift is 1.7e-23: moments lose it, pairs do not."""
    s, c = np.sin(1.2), np.cos(1.2)
    points, towards = {
        "circle": (np.array([0.0, 1.2]), np.array([1.0, -1.0])),
        "sphere": (np.array([[0.0, 0.0, 1.0], [0.0, s, c]]), np.array([[0, 1, 0], [0, -c, s]])),
    }[name]
    exact = 0.5 * np.exp(81 * (c - 1)) * s
    assert 1e-24 < exact < 1e-22
    result = rate(mf.Problem(SPACES[name], mf.exponential(81.0), mf.USA), points)
    np.testing.assert_allclose(result, exact * towards, rtol=1e-12, atol=1e-12 * exact)
