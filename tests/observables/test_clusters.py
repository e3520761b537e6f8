"""The cluster rule on tokens, weighted points and densities."""

import importlib

import numpy as np
import pytest

import meanfield as mf
from meanfield.observables import clusters
from meanfield.observables.clusters import cluster_radius

CIRCLE = mf.Circle()
BETA = 9.0
RADIUS = 0.25 / 3.0


def tokens(*groups: tuple[int, float]) -> mf.Measure:
    return mf.Measure(CIRCLE, np.concatenate([np.full(count, at) for count, at in groups]))


@pytest.mark.parametrize(
    "beta, radius", [(BETA, RADIUS), (-4.0, 0.125), (0.0, 0.25), (1e-6, np.pi / 2)]
)
def test_radius_follows_the_width_of_a_cluster(beta, radius):
    """0.25 / sqrt(|beta|); beta = 1 for the linear kernel; never beyond a quarter turn."""
    assert cluster_radius(beta) == pytest.approx(radius, rel=1e-15)


def test_clusters_are_sorted_by_mass_with_their_centres():
    """Largest first; the centre is the mean angle of its tokens, in (-pi, pi]."""
    result = clusters(tokens((20, -1.0), (50, 0.5), (15, 3.0), (15, 3.04)), BETA)
    assert result.count == 3
    np.testing.assert_allclose(result.mass, [0.5, 0.3, 0.2], rtol=1e-12)
    np.testing.assert_allclose(result.centre, [0.5, 3.02, -1.0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("factor, count", [(0.99, 1), (1.01, 2)])
def test_gap_of_one_radius_separates(factor, count):
    """Two groups link if and only if their gap is below the radius."""
    assert clusters(tokens((50, 1.0), (50, 1.0 + factor * RADIUS)), BETA).count == count


@pytest.mark.parametrize("shift", [0.0, 2 * np.pi, -4 * np.pi, 1.0])
def test_cluster_on_the_cut_is_one(shift):
    """Angles just below and just above 0 belong together, wherever the cut lies."""
    measure = tokens((30, 0.02 + shift), (30, 2 * np.pi - 0.02 + shift), (40, 2.0 + shift))
    result = clusters(measure, BETA)
    np.testing.assert_allclose(result.mass, [0.6, 0.4], rtol=1e-12)
    expected = np.angle(np.exp(1j * (shift + np.array([0.0, 2.0]))))
    np.testing.assert_allclose(result.centre, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("chain, count", [(20, 2), (200, 1)])
def test_a_bridge_of_a_tenth_of_uniform_links_clusters(chain, count):
    """Stragglers on a separatrix, closer than the radius, would make one cluster of two."""
    chain = np.linspace(0.0, 1.0, chain + 2)[1:-1]
    assert np.diff(chain).max() < RADIUS
    points = np.concatenate([np.zeros(2000), np.ones(2000), chain])
    result = clusters(mf.Measure(CIRCLE, points), BETA)
    assert result.count == count and (result.mass.sum() < 1.0 - 1e-9) == (count == 2)


@pytest.mark.parametrize(
    "n, size, counted",
    [(2, 1, True), (49, 1, True), (50, 1, False), (99, 2, True), (100, 2, False), (100, 3, True)]
    + [(1000, 9, False), (1000, 10, True)],
)
def test_cluster_has_enough_tokens_and_one_percent(n, size, counted):
    """Whichever is more; exactly that many count, in spite of rounding."""
    assert clusters(tokens((n - size, 0.0), (size, 2.0)), BETA).count == (2 if counted else 1)


def test_least_tokens_are_for_tokens_only():
    """One weighted atom is a cluster if it has one percent of the mass."""
    assert clusters(mf.Measure(CIRCLE, [0.0, 1.0, 2.0], [0.5, 0.49, 0.01]), BETA).count == 3
    assert clusters(mf.Measure(CIRCLE, [0.0, 1.0, 2.0], [0.5, 0.491, 0.009]), BETA).count == 2


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_tokens_that_have_met_are_one_cluster(n):
    """A group of three tokens there is not among two."""
    assert clusters(tokens((n, 1.0)), BETA).count == 1


def test_three_tokens_count_alike_before_and_after_the_hand_over():
    """Tokens counted 0 clusters, and 3 once they were atoms."""
    problem = mf.Problem(CIRCLE, mf.exponential(9.0), mf.USA, mf.from_points([0.0, 2.0, 4.0]))
    for carrier in ("particles", "atoms", "auto"):
        run = mf.simulate(problem, 1.0, save=2, representation=carrier)  # type: ignore[arg-type]
        assert run.observables["clusters/count"].tolist() == [3.0, 3.0], carrier


def test_order_of_points_does_not_matter():
    """Weighted points are sorted together with their weights."""
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=200) % (2 * np.pi), rng.dirichlet(np.ones(200))
    order = rng.permutation(200)
    first = clusters(mf.Measure(CIRCLE, x, w), 100.0)
    second = clusters(mf.Measure(CIRCLE, x[order], w[order]), 100.0)
    np.testing.assert_allclose(first.mass, second.mass, rtol=1e-13)


def test_uniform_is_one_group():
    """Everything is linked to its neighbour, across the cut too."""
    assert clusters(mf.Density(CIRCLE, [1.0]), BETA).mass == pytest.approx([1.0], abs=1e-12)


# Lowest at 0.35 and 0.25 of uniform: above and below 0.3, where the rule is left out.
@pytest.mark.slow
@pytest.mark.parametrize("depth", [0.65, 0.75])
@pytest.mark.parametrize(
    ("space", "mode"),
    [(mf.Circle(), [3, 0.5, 0.3]), (mf.Sphere(), [1, 0, 0.5]), (mf.Axial(5), [1, 0.5])],
    ids=["circle", "sphere", "axial"],
)
def test_a_filled_density_is_the_one_group_of_the_rule(space, mode, depth, monkeypatch):
    """Where it is left out, sums over nodes would find the same but for rounding."""
    module = importlib.import_module("meanfield.observables.clusters")
    law = mf.perturbed_uniform([mode]).build(space)
    shape = space.grid(64).to_nodal(law.coefficients) - 1.0
    scaled = law.coefficients * (-depth / shape.min())
    scaled[0] = law.coefficients[0]
    density = mf.Density(space, scaled)
    for beta in (1.0, 9.0, 40.0):
        short = clusters(density, beta)
        with monkeypatch.context() as patch:
            patch.setattr(module, "_FILLED", np.inf)
            by_rule = clusters(density, beta)
        assert short.count == by_rule.count == 1
        # The rule adds up a hundred thousand nodes one by one.
        np.testing.assert_allclose(short.mass, by_rule.mass, rtol=1e-12)
        np.testing.assert_allclose(short.centre, by_rule.centre, rtol=0, atol=1e-12)


def test_density_and_its_tokens_have_the_same_clusters():
    """One rule: counts equal, masses and centres within the noise of 100,000 tokens."""
    law = mf.mixture([(0.5, 0.0, 200.0), (0.3, 2.0, 300.0), (0.2, -2.0, 100.0)])
    density = law.build(CIRCLE)
    points = mf.sample_tokens(density, 100_000, np.random.default_rng(0))
    first, second = clusters(density, BETA), clusters(mf.Measure(CIRCLE, points), BETA)
    assert first.count == second.count == 3
    np.testing.assert_allclose(first.mass, [0.5, 0.3, 0.2], rtol=0, atol=2e-3)
    np.testing.assert_allclose(first.mass, second.mass, rtol=0, atol=4e-3)
    np.testing.assert_allclose(first.centre, second.centre, rtol=0, atol=4e-3)
    np.testing.assert_allclose(first.centre, [0.0, 2.0, -2.0], rtol=0, atol=1e-4)


def test_run_of_a_density_ends_in_the_clusters_of_its_tokens():
    """Three clusters at beta = 5 from mode 3, by both representations."""
    # Tokens at quantiles: random ones leave a bridge between two clusters in some draws.
    labels = np.linspace(0, 2 * np.pi, 3001)
    cumulative = labels + 0.1 * np.sin(3 * labels) / 3
    quantiles = np.interp(2 * np.pi * (np.arange(3000) + 0.5) / 3000, cumulative, labels)
    ends = []
    for law in (mf.perturbed_uniform([[3, 0.1, 0.0]]), mf.from_points(quantiles)):
        problem = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.USA, law)
        ends.append(mf.simulate(problem, until=0.2, unit="paper", save=2).observables)
    assert [end["clusters/count"][0] for end in ends] == [1, 1]
    assert [end["clusters/count"][-1] for end in ends] == [3, 3]
    masses = [end["clusters/mass"][-1] for end in ends]
    np.testing.assert_allclose(*masses, rtol=0, atol=2e-3)
