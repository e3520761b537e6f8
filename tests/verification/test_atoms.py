"""The mean field of finitely many atoms is the particle system itself."""

from collections.abc import Callable

import numpy as np
import pytest
from parameters import each

import meanfield as mf
from meanfield.fields import engines
from meanfield.fields.circle.pairs import exponential_velocity_circle, pairwise_velocity
from meanfield.fields.mean_field import interaction
from meanfield.kernels import KERNELS
from meanfield.representations import particles
from meanfield.trajectory import trajectory

FLOWS = {"USA": mf.USA, "SA": mf.SA, "repulsive": mf.Flow(True, -0.5)}
BETAS = [-9.0, 0.0, 1.0, 9.0, 81.0]


def plain_velocity(x: np.ndarray, w: np.ndarray, beta: float, flow: mf.Flow) -> np.ndarray:
    """The particle system written down: three lines of NumPy."""
    d = x[:, None] - x
    a = np.exp(beta * np.cos(d) - abs(beta)) * w
    drift = -flow.strength * (a * np.sin(d)).sum(axis=1)
    return drift / a.sum(axis=1) if flow.normalized else drift


@each("flow", FLOWS, beta=BETAS, count=[2, 5, 37, 1000])
def test_mean_field_on_atoms_is_the_particle_velocity(
    flow: str, beta: float, count: int, verified: Callable
) -> None:
    """Moments, multipliers and gradient against sums over pairs; asked are 1e-10."""
    rng = np.random.default_rng(count)
    x, w = rng.uniform(-4, 9, count), rng.dirichlet(np.ones(count))
    problem = mf.Problem(mf.Circle(), KERNELS["exponential"](beta), FLOWS[flow])
    felt = interaction(problem)
    found = felt.field(mf.Measure(mf.Circle(), x, w).moments(felt.degree)).velocity(x)
    expected = plain_velocity(x, w, beta, problem.flow)
    d = x[:, None] - x
    z = (np.exp(beta * np.cos(d) - abs(beta)) * w).sum(axis=1)
    # Moments carry 1e-16; where the partition function is small a quotient magnifies it.
    slack = 1e-15 / z.min() if problem.flow.normalized else 1e-14
    what = "mean field of atoms against sums over pairs, circle"
    verified("independent methods", what, found - expected, slack + 1e-14)


@each("flow", FLOWS, beta=BETAS)
def test_particle_velocity_does_not_depend_on_how_it_is_summed(
    flow: str, beta: float, verified: Callable
) -> None:
    """Compiled pairs, plain pairs and moments: three ways to one number."""
    x = np.random.default_rng(0).uniform(0, 2 * np.pi, 150)
    w = np.full(150, 1 / 150)
    kernel = KERNELS["exponential"](beta)
    problem = mf.Problem(mf.Circle(), kernel, FLOWS[flow])
    expected = plain_velocity(x, w, beta, problem.flow)
    strength, normalized = problem.flow.strength, problem.flow.normalized
    for found in (
        strength * exponential_velocity_circle(x, None, beta, normalized),
        strength * pairwise_velocity(kernel.attention, x, None, normalized),
        particles(problem, mf.Measure(mf.Circle(), x)).rhs(0.0, x),
    ):
        what = "velocity of tokens by three ways of summing, circle"
        verified("independent methods", what, found - expected, 1e-13)


@pytest.mark.parametrize("flow", FLOWS)
def test_runs_by_pairs_and_by_moments_agree(
    flow: str, monkeypatch: pytest.MonkeyPatch, verified: Callable
) -> None:
    """The same 150 tokens on both sides of the crossover."""
    x = np.random.default_rng(3).uniform(0, 2 * np.pi, 150)
    problem = mf.Problem(mf.Circle(), mf.exponential(9.0), FLOWS[flow], mf.from_points(x))
    ends = []
    for few in (1000, 0):
        monkeypatch.setattr(engines, "few_points", lambda space, degree, few=few: few)
        carrier = particles(problem, problem.initial_measure())
        (last,) = trajectory(problem, carrier, [5.0], tolerance=1e-12)
        ends.append(last.measure.points)
    what = "tokens moved by pairs and by moments, circle"
    verified("independent methods", what, ends[0] - ends[1], 1e-10)


def test_two_distant_clusters_keep_their_tiny_attraction() -> None:
    """At beta = 81 and gap 1.2 the drift is 1.7e-23: moments lose it, pairs do not."""
    x, w = np.array([0.0, 1.2]), np.array([0.5, 0.5])
    problem = mf.Problem(mf.Circle(), mf.exponential(81.0))
    found = particles(problem, mf.Measure(mf.Circle(), x, w)).rhs(0.0, x)
    exact = 0.5 * np.exp(81 * (np.cos(1.2) - 1)) * np.sin(1.2)
    assert 1e-24 < exact < 1e-22
    np.testing.assert_allclose(found, [exact, -exact], rtol=1e-12)
