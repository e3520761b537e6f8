"""Tokens drawn from densities: exact in law, decided by the seed, in memory that is known."""

import tracemalloc

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid
from scipy.special import ive
from scipy.stats import chisquare, kstest

import meanfield as mf
from meanfield.laws.sampling import drawing_bytes
from meanfield.laws.sampling.sphere import sphere_tokens
from meanfield.spaces.extremes import extremes

CIRCLE, SPHERE = mf.Circle(), mf.Sphere()
TOKENS = 100_000
LAWS = {
    "perturbed": mf.perturbed_uniform([[1, 0.4, 0.2], [3, -0.2, 0.1]]),
    "peaked": mf.von_mises_fisher(50.0, mean=1.0),
    "mixture": mf.mixture([(0.7, 0.0, 9.0), (0.3, 3.0, 0.0)]),
}
TWO = [(0.25, [0.3, -0.5, 0.81], 60.0), (0.45, [-1.0, 0.2, 0.1], 8.0), (0.3, None, 0.0)]


def of_its_coefficients(law: mf.Law) -> mf.Density:
    """Density on the sphere of which nothing but the coefficients is known."""
    return mf.Density(SPHERE, law.build(SPHERE).coefficients)


@pytest.mark.parametrize("name", LAWS)
def test_tokens_have_the_moments_of_their_density(name):
    """Within four standard errors, twelve complex moments of 100,000 tokens."""
    density = LAWS[name].build(CIRCLE)
    tokens = mf.sample_tokens(density, TOKENS, np.random.default_rng(11))
    assert tokens.shape == (TOKENS,)
    k = np.arange(1, 13)
    waves = np.exp(-1j * np.outer(k, tokens))
    expected = density.moments(12)[1:]
    for part in (np.real, np.imag):
        error = np.abs(part(waves.mean(axis=1) - expected))
        assert np.all(error < 4 * part(waves).std(axis=1) / np.sqrt(TOKENS))


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_tokens_follow_the_cumulative_distribution(name):
    """Kolmogorov-Smirnov at the 0.1 % level, seeded."""
    density = LAWS[name].build(CIRCLE)
    tokens = mf.sample_tokens(density, TOKENS, np.random.default_rng(5)) % (2 * np.pi)
    c, k = density.coefficients[1:], np.arange(1, density.max_degree + 1)
    waves = np.exp(1j * np.outer(tokens, k)) - 1.0
    cumulative = tokens / (2 * np.pi) + (waves @ (c / (1j * k))).real / np.pi
    assert kstest(cumulative, "uniform").pvalue > 1e-3


def test_tokens_of_uniform_need_no_rejection():
    """Exactly as many random numbers as tokens."""
    density = mf.uniform().build(CIRCLE)
    tokens = mf.sample_tokens(density, 10, np.random.default_rng(4))
    assert np.array_equal(tokens, CIRCLE.random_points(10, np.random.default_rng(4)))


@pytest.mark.parametrize("concentration", [1e5, 1e6])
def test_sharp_tokens_on_the_circle_follow_their_law(concentration):
    """Kolmogorov-Smirnov at the 0.1 % level, against the density itself."""
    density = mf.von_mises_fisher(concentration, mean=2.0).build(CIRCLE)
    tokens = mf.sample_tokens(density, TOKENS, np.random.default_rng(3))
    grid = np.linspace(-12.0, 12.0, 24_001) / np.sqrt(concentration)
    values = np.exp(concentration * (np.cos(grid) - 1.0)) / ive(0, concentration) / (2.0 * np.pi)
    cumulative = cumulative_trapezoid(values, grid, initial=0.0)
    assert kstest(np.interp(tokens - 2.0, grid, cumulative), "uniform").pvalue > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("components", [True, False], ids=["components", "coefficients"])
@pytest.mark.parametrize(("concentration", "count"), [(500.0, 20_000), (4e3, 3_000)])
def test_sharp_tokens_on_the_sphere_follow_their_law(concentration, count, components):
    """Height and angle about the mean are independent: chi squared of 8 x 8 equal cells."""
    mean = np.array([0.6, 0.0, -0.8])
    law = mf.von_mises_fisher(concentration, mean=mean)
    density = law.build(SPHERE) if components else of_its_coefficients(law)
    tokens = mf.sample_tokens(density, count, np.random.default_rng(3))
    depth = -np.expm1(-concentration * (1.0 - tokens @ mean))  # uniform in [0, 1)
    turn = np.arctan2(tokens[:, 1], tokens @ [0.8, 0.0, 0.6]) / (2.0 * np.pi) + 0.5
    cells = np.bincount((8 * depth).astype(int) * 8 + (8 * turn).astype(int), minlength=64)
    assert len(cells) == 64 and chisquare(cells).pvalue > 1e-3


@pytest.mark.parametrize("components", [True, False], ids=["components", "coefficients"])
def test_tokens_on_the_sphere_have_the_moments_of_their_density(components):
    """Within five standard errors, all moments to degree 8 (80 numbers), however they are drawn."""
    law, count = mf.mixture(TWO), 20_000
    rng, density = np.random.default_rng(1), law.build(SPHERE)
    if components:
        tokens = mf.sample_tokens(density, count, rng)
    else:
        tokens = sphere_tokens(density.coefficients, count, rng)
    error = SPHERE.moments(tokens, None, 8) - density.moments(8)
    # Harmonics of mean square 1 are below (2 l + 1)^{1/2} <= 4.2; these have some 2 at most.
    assert np.abs(error).max() < 5.0 * 2.0 / np.sqrt(count)
    np.testing.assert_allclose((tokens * tokens).sum(axis=1), 1.0, rtol=0, atol=1e-15)


def test_tokens_near_uniform_are_what_rejection_gives():
    """Runs that were made with a seed would begin with other tokens."""
    density = LAWS["perturbed"].build(CIRCLE)
    tokens = mf.sample_tokens(density, 20, np.random.default_rng(8))
    rng, bound = np.random.default_rng(8), extremes(CIRCLE, density.coefficients)[2]
    proposals = 2.0 * np.pi * rng.random(int(1.1 * 20 * bound) + 64)
    inside = bound * rng.random(len(proposals)) < CIRCLE.evaluate(density.coefficients, proposals)
    assert np.array_equal(tokens, proposals[inside][:20])


def test_tokens_on_the_sphere_do_not_depend_on_threads(monkeypatch):
    """Nor on how many are worked on at once: their parallels are independent."""
    coefficients = mf.von_mises_fisher(300.0, mean=[0.3, -0.5, 0.81]).build(SPHERE).coefficients
    result = []
    for count in (1, 3):
        monkeypatch.setattr("meanfield.laws.sampling.sphere.threads", lambda count=count: count)
        result.append(sphere_tokens(coefficients, 200, np.random.default_rng(2)))
    assert np.array_equal(*result)


def test_negative_density_gives_no_tokens():
    """There is no measure to draw them from."""
    density = mf.Density(CIRCLE, [1.0, 0.75])
    with pytest.raises(ValueError, match=r"density is negative: -0\.5 at 3\.1416"):
        mf.sample_tokens(density, 10, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("density", "count"),
    [
        (mf.von_mises_fisher(500.0).build(SPHERE), 200_000),
        (of_its_coefficients(mf.von_mises_fisher(500.0)), 20_000),
        (mf.von_mises_fisher(3.0).build(SPHERE), 50_000),
        (mf.von_mises_fisher(3.0).build(CIRCLE), 200_000),
        (mf.von_mises_fisher(1e6).build(CIRCLE), 50_000),
    ],
    ids=["components", "series", "rejection", "circle", "sharp circle"],
)
def test_memory_is_as_estimated(density, count):
    """70 kB a token on the sphere would go unannounced."""
    mf.sample_tokens(density, 3, np.random.default_rng(0))  # compiles
    tracemalloc.start()
    tokens = mf.sample_tokens(density, count, np.random.default_rng(0))
    peak = tracemalloc.get_traced_memory()[1] - tokens.nbytes
    tracemalloc.stop()
    assert peak < drawing_bytes(density, count) < 120e6
