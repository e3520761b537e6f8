"""Rotating or reflecting the initial measure rotates or reflects the run on the sphere."""

import numpy as np
import pytest
from oracles import gauss_nodes, harmonics
from parameters import each
from scipy.spatial.transform import Rotation
from snapshots import snapshots

import meanfield as mf
from meanfield.carriers import particles
from meanfield.terms.kernels import KERNELS

SPHERE = mf.Sphere()
FLOWS = {"USA": mf.USA, "SA": mf.SA, "repulsive": mf.Flow(True, -1.0)}
BETAS = [-4.0, 0.0, 5.0, 60.0]
TURN = Rotation.from_quat([0.1, -0.4, 0.7, 0.2]).as_matrix()
MIRROR = np.eye(3) - 2 * np.outer([0.48, -0.6, 0.64], [0.48, -0.6, 0.64])
MOVES = {"turned": TURN, "mirrored": MIRROR, "both": TURN @ MIRROR}
# Three bumps of different mass and width: no symmetry, no reflection of its own.
BUMPS = [(0.5, [0.3, 0.2, 0.9], 1.0), (0.3, [-0.5, 0.8, 0.1], 2.0), (0.2, [0.1, -0.9, -0.6], 1.5)]


def ends(beta: float, flow: str, law: mf.Law, tolerance: float) -> list:
    problem = mf.Problem(SPHERE, KERNELS["exponential"](beta), FLOWS[flow], law)
    until = 1.0 / np.abs(mf.growth_rates(problem)).max()
    return snapshots(problem, [0.0, until], tolerance, "auto")


def bumps(move: np.ndarray) -> mf.Law:
    return mf.mixture([(w, move @ mean, kappa) for w, mean, kappa in BUMPS])


@pytest.mark.slow
@each("flow", FLOWS, beta=BETAS)
def test_moved_density_stays_moved(flow, beta, verified):
    """Every moment of the moved run is that of the run, moved: no grid has a direction."""
    plain = ends(beta, flow, bumps(np.eye(3)), 1e-12)
    moved = ends(beta, flow, bumps(TURN), 1e-12)
    # f(R^{-1} x) at Gauss nodes, transformed back by SciPy's harmonics, to degree 8.
    x, w = gauss_nodes(12)
    turned = harmonics(x @ TURN, 8)
    twice = np.where(np.arange(45) <= 8, 1.0, 2.0)
    expected = [
        (w * (turned @ (twice * SPHERE.resize(s.moments, 8))).real) @ harmonics(x, 8).conj()
        for s in plain
    ]
    coefficients = [SPHERE.resize(s.moments, 8) for s in moved]
    verified(
        "symmetry",
        "turned density stays turned, sphere",
        np.subtract(coefficients, expected),
        1e-11,
    )
    # The power of every degree that is stored, the highest included.
    powers = [SPHERE.sizes_by_degree(s[1].moments) ** 2 for s in (plain, moved)]
    np.testing.assert_allclose(powers[1], powers[0], rtol=0, atol=1e-11)
    assert np.abs(plain[1].moments - plain[0].moments).max() > 0.01


def test_mirrored_density_stays_mirrored(verified):
    """Moments are conjugated; convolving with the mirrored density would fail here."""
    plain = ends(5.0, "SA", bumps(np.eye(3)), 1e-12)[1]
    moved = ends(5.0, "SA", bumps(np.diag([1.0, -1.0, 1.0])), 1e-12)[1]
    what = "mirrored density stays mirrored, sphere"
    verified("symmetry", what, moved.moments - plain.moments.conj(), 1e-12)
    assert np.abs(plain.moments.imag).max() > 0.1


@pytest.mark.slow
@each("flow", FLOWS, count=[40, 900])
def test_moved_tokens_stay_moved(flow, count, verified):
    """Every token, by pair sums and by moments, turned, mirrored, or in another order."""
    points = SPHERE.random_points(count, np.random.default_rng(1))
    plain = ends(5.0, flow, mf.from_points(points), 1e-12)[1].measure.points
    assert np.abs(plain - points).max() > 0.01
    for move in MOVES.values():
        law = mf.from_points(points @ move.T)
        result = ends(5.0, flow, law, 1e-12)[1].measure.points
        what = "turned and mirrored tokens stay so, sphere"
        verified("symmetry", what, result - plain @ move.T, 1e-11)
    result = ends(5.0, flow, mf.from_points(points[::-1]), 1e-12)[1].measure.points
    np.testing.assert_allclose(result, plain[::-1], rtol=0, atol=1e-11)


@each("beta", BETAS, count=[40, 900], move=MOVES)
def test_velocity_of_moved_tokens_is_the_moved_velocity(beta, count, move):
    """The same without time steps, to rounding, tokens moved onto the poles included."""
    matrix = MOVES[move]
    points = SPHERE.random_points(count, np.random.default_rng(1))
    points[:2] = matrix[2], -matrix[2]  # goes to the poles
    for flow in FLOWS.values():
        problem = mf.Problem(SPHERE, KERNELS["exponential"](beta), flow)
        carrier = particles(problem, mf.Measure(SPHERE, points))
        plain = carrier.rhs(0.0, points.ravel()).reshape(-1, 3)
        moved = np.ascontiguousarray(points @ matrix.T)
        result = carrier.rhs(0.0, moved.ravel()).reshape(-1, 3)
        # e^{beta s} is as steep as beta; alone with its partition function a token sees less.
        slack = 1e-15 * max(abs(beta), 1.0) * (10 if flow.normalized else 1)
        np.testing.assert_allclose(result, plain @ matrix.T, rtol=0, atol=slack)
