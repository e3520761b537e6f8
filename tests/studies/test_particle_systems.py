"""Particle systems beside the density: the tokens they draw, the distances they measure."""

from __future__ import annotations

import numpy as np
import pytest

import meanfield as mf
from meanfield.errors import SimulationError
from meanfield.studies.convergence import (
    Reference,
    density_reference,
    system_distances,
)
from meanfield.transport import wasserstein

LAW = mf.perturbed_uniform([[1, 0.1, 0.05], [3, 0.0, 0.2]])
PROBLEM = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.USA, LAW)


def distances(
    problem: mf.Problem, reference: Reference, tokens: int, metric: str = "W1"
) -> np.ndarray:
    """Distances of the system of seed 7, with a loose step."""
    rng = np.random.default_rng(7)
    return system_distances(problem, reference, tokens, rng, metric=metric, tolerance=1e-6)


def reference(problem: mf.Problem = PROBLEM, *times: float) -> Reference:
    """Density at 0 and a few times."""
    return density_reference(problem, np.array(times or (1.0, 3.0)), tolerance=1e-8, max_degree=512)


def test_reference_begins_at_zero() -> None:
    """Amplification would be relative to another time than 0."""
    assert reference(PROBLEM, 1.0, 2.0).times.tolist() == [0.0, 1.0, 2.0]
    assert reference(PROBLEM, 0.0, 2.0).times.tolist() == [0.0, 2.0]


def test_reference_is_the_density_run() -> None:
    """Particles would be compared with another density than that of `meanfield run`."""
    run = mf.simulate(PROBLEM, until=3.0, save=[0.0, 3.0], representation="density", tolerance=1e-8)
    expected = run.measures[-1]
    assert isinstance(expected, mf.Density)
    np.testing.assert_array_equal(
        reference(PROBLEM, 3.0).densities[-1].coefficients, expected.coefficients
    )


def test_reference_ends_where_the_density_does() -> None:
    """A density that left its grid would be trusted, or its good part thrown away."""
    short = density_reference(PROBLEM, np.arange(0.0, 40.0), tolerance=1e-8, max_degree=64)
    assert 2 < len(short.times) == len(short.densities) < 40
    assert f"resolved up to t = {short.times[-1]:g} only (under-resolved" in short.note


def test_reference_of_an_unresolved_law_fails() -> None:
    """There would be a study without a single trusted time."""
    law = mf.perturbed_uniform([[64, 0.5, 0.0]])
    problem = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.USA, law)
    with pytest.raises(SimulationError, match="under-resolved"):
        density_reference(problem, np.array([1.0]), tolerance=1e-8, max_degree=64)


def test_distance_at_zero_is_that_of_the_tokens() -> None:
    """Another measure than the drawn tokens would be compared, or with another density."""
    at = reference()
    points = mf.sample_tokens(at.densities[0], 50, np.random.default_rng(7))
    expected = wasserstein(mf.Measure(mf.Circle(), points), at.densities[0])
    assert distances(PROBLEM, at, 50)[0].tolist() == [expected, 0.0]


def test_distance_grows_as_linear_theory_says() -> None:
    """Particles or density would run on another clock, or W_2 be measured at the wrong time.

    About uniform W_2^2(t) = 2 sum_k |c_k(0)|^2 e^{2 lambda_k t} / k^2 with the moments of the drawn
    tokens. What is left out is of relative order |c_k(t)|, here 3e-3 to 1e-2, and the degrees
    above 300, 0.3 % of W_2^2 at time 0.
    """
    problem = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.USA, mf.uniform())
    at = density_reference(problem, np.array([5.0, 10.0]), tolerance=1e-8, max_degree=512)
    points = mf.sample_tokens(at.densities[0], 100_000, np.random.default_rng(7))
    k = np.arange(1, 301)
    modulus = np.abs(mf.Circle().moments(points, None, 300)[1:])
    rates = mf.growth_rates(problem, 300)[1:]
    grown = modulus / k * np.exp(rates * at.times[:, None])
    expected = np.sqrt(2.0 * np.sum(grown**2, axis=1))
    assert expected[-1] > 2.0 * expected[0]
    found = distances(problem, at, 100_000, "W2")[:, 0]
    np.testing.assert_allclose(found, expected, rtol=0.01)
