"""The mean field of finitely many atoms on the sphere is the particle system itself."""

from collections.abc import Callable

import numpy as np
import pytest
from parameters import each

import meanfield as mf
from meanfield.fields import engines
from meanfield.fields.mean_field import interaction
from meanfield.fields.sphere.pairs import exponential_velocity_sphere, pairwise_velocity
from meanfield.kernels import KERNELS
from meanfield.representations import particles
from meanfield.trajectory import trajectory

SPHERE = mf.Sphere()
FLOWS = {"USA": mf.USA, "SA": mf.SA, "repulsive": mf.Flow(True, -0.5)}
BETAS = [-25.0, -4.0, 0.0, 1.0, 5.0, 25.0, 100.0]


def atoms(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Random atoms with weights: two at the poles, two a rounding beside, two as one."""
    rng = np.random.default_rng(count)
    x = SPHERE.random_points(count, rng)
    x[:4] = [[0, 0, 1], [0, 0, -1], [1e-9, -1e-9, 1], [1e-160, 1e-12, -1]][:count]
    x[-1] = x[count // 2]
    return SPHERE.check_points(x), rng.dirichlet(np.ones(count))


@each("flow", FLOWS, beta=BETAS, count=[4, 37, 1000])
def test_mean_field_on_atoms_is_the_particle_velocity(
    flow: str, beta: float, count: int, velocity: Callable, field: Callable, verified: Callable
) -> None:
    """Moments, multipliers and gradient against sums over pairs; asked are 1e-10."""
    x, w = atoms(count)
    problem = mf.Problem(SPHERE, KERNELS["exponential"](beta), FLOWS[flow])
    felt = interaction(problem)
    found = felt.field(mf.Measure(SPHERE, x, w).moments(felt.degree)).velocity(x)
    expected = velocity(x, x, w, beta, problem.flow)
    # Moments carry rounding; where the partition function is small a quotient magnifies it.
    partition = field(x, x, w, beta)[0] if problem.flow.normalized else np.ones(count)
    error = np.abs(found - expected).max(axis=1)
    what = "mean field of atoms against sums over pairs, sphere, times Z"
    verified("independent methods", what, error * partition, 3e-15)


@each("flow", FLOWS, beta=BETAS)
def test_particle_velocity_does_not_depend_on_how_it_is_summed(
    flow: str, beta: float, velocity: Callable, verified: Callable
) -> None:
    """Compiled pairs, plain pairs and the representation: three ways to one number."""
    x, w = atoms(150)
    kernel = KERNELS["exponential"](beta)
    problem = mf.Problem(SPHERE, kernel, FLOWS[flow])
    expected = velocity(x, x, w, beta, problem.flow)
    strength, normalized = problem.flow.strength, problem.flow.normalized
    for found in (
        strength * exponential_velocity_sphere(x, w, beta, normalized),
        strength * pairwise_velocity(kernel.attention, x, w, normalized),
        particles(problem, mf.Measure(SPHERE, x, w)).rhs(0.0, x.ravel()).reshape(-1, 3),
    ):
        # e^{beta s} magnifies the rounding of s by beta, in the oracle too.
        what = "velocity of tokens by three ways of summing, sphere"
        verified("independent methods", what, found - expected, 1e-15 * max(abs(beta), 1.0))


@each("flow", FLOWS, beta=[1.0, 25.0, 100.0])
def test_field_away_from_the_atoms_is_the_plain_one(
    flow: str, beta: float, velocity: Callable, field: Callable
) -> None:
    """A test particle anywhere, the poles included, among atoms that are not there."""
    x, w = atoms(300)
    places = np.concatenate([SPHERE.random_points(100, np.random.default_rng(9)), x[:2]])
    problem = mf.Problem(SPHERE, mf.exponential(beta), FLOWS[flow])
    felt = interaction(problem)
    found = felt.field(SPHERE.moments(x, w, felt.degree)).velocity(places)
    partition = field(places, x, w, beta)[0] if problem.flow.normalized else np.ones(102)
    error = np.abs(found - velocity(places, x, w, beta, problem.flow)).max(axis=1)
    assert (error * partition).max() < 3e-15


@pytest.mark.parametrize("flow", FLOWS)
def test_runs_by_pairs_and_by_moments_agree(
    flow: str, monkeypatch: pytest.MonkeyPatch, verified: Callable
) -> None:
    """The same 150 tokens on both sides of the crossover."""
    x = SPHERE.random_points(150, np.random.default_rng(3))
    problem = mf.Problem(SPHERE, mf.exponential(9.0), FLOWS[flow], mf.from_points(x))
    ends = []
    for few in (1000, 0):
        monkeypatch.setattr(engines, "few_points", lambda space, degree, few=few: few)
        carrier = particles(problem, problem.initial_measure())
        (last,) = trajectory(problem, carrier, [10.0], tolerance=1e-12)
        ends.append(last.measure.points)
    assert np.abs(ends[0] - x).max() > 0.05
    what = "tokens moved by pairs and by moments, sphere"
    verified("independent methods", what, ends[0] - ends[1], 1e-10)


@pytest.mark.parametrize("count", [2, 1000])
def test_tokens_at_one_place_do_not_move(count: int) -> None:
    """Also at the poles: moments alone must not push them off each other."""
    for place in ([0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [0.48, -0.6, 0.64]):
        points = np.tile(place, (count, 1))
        for flow in (mf.USA, mf.SA):
            problem = mf.Problem(SPHERE, mf.exponential(30.0), flow)
            rate = particles(problem, mf.Measure(SPHERE, points)).rhs(0.0, points.ravel())
            assert np.abs(rate).max() < 2e-14


def test_two_distant_clusters_keep_their_tiny_attraction() -> None:
    """At beta = 81 and gap 1.2 the drift is 1.7e-23: moments lose it, pairs do not."""
    x = np.array([[0.0, 0.0, 1.0], [0.0, np.sin(1.2), np.cos(1.2)]])
    problem = mf.Problem(SPHERE, mf.exponential(81.0))
    found = particles(problem, mf.Measure(SPHERE, x)).rhs(0.0, x.ravel()).reshape(2, 3)
    exact = 0.5 * np.exp(81 * (np.cos(1.2) - 1)) * np.sin(1.2)
    assert 1e-24 < exact < 1e-22
    towards = np.array([[0.0, 1.0, 0.0], [0.0, -np.cos(1.2), np.sin(1.2)]])
    np.testing.assert_allclose(found, exact * towards, rtol=1e-12, atol=1e-12 * exact)
