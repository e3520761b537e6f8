"""Cosines of pairs, effective ranks, attention matrices: of tokens in any dimension."""

import h5py
import numpy as np
import pytest
from head_oracle import B3, MASSES_3, TOKENS_3, V3
from parameters import refused
from scipy.special import entr

import meanfield as mf
from meanfield.fields.interactions import interaction_of
from meanfield.observables import (
    attended_share,
    attended_tokens,
    attention_entropy,
    attention_nodes,
    effective_rank,
    mean_cosine,
    renyi_centres,
    similarity,
)
from meanfield.observables.cosines import CENTRES, EDGES

RNG = np.random.default_rng(0)
TOKENS = mf.Measure(mf.Sphere(9), RNG.standard_normal((30, 9)))
THREE = mf.Measure(mf.Sphere(), TOKENS_3, MASSES_3)


def test_cosines_are_those_of_pairs():
    """The mean over n (n - 1) pairs would be wrong, or depend on lengths in R^d."""
    cosines = (TOKENS.points @ TOKENS.points.T)[~np.eye(30, dtype=bool)]
    assert mean_cosine(TOKENS) == pytest.approx(cosines.mean(), abs=1e-15)
    expected = np.histogram(cosines, EDGES)[0] / 870
    np.testing.assert_allclose(similarity(TOKENS), expected, rtol=0, atol=1e-15)
    grown = mf.Measure(mf.Euclidean(9), TOKENS.points * np.geomspace(1e-3, 1e200, 30)[:, None])
    assert mean_cosine(grown) == pytest.approx(cosines.mean(), abs=1e-15)
    # Weights are masses, each of which is near itself.
    pair = mf.Measure(mf.Sphere(9), np.eye(9)[:2], [0.25, 0.75])
    assert similarity(pair)[[20, 40]] == pytest.approx([2 * 3 / 16, 10 / 16], abs=1e-15)
    assert mean_cosine(pair) == pytest.approx(10 / 16, abs=1e-15)


def test_law_of_cosines_of_densities():
    """Closed forms: of 1 + 2 r cos on the circle, of 1 + a z on the sphere."""
    angles = np.arccos(EDGES)
    circle = mf.perturbed_uniform([[1, 0.6, 0.0]]).build(mf.Circle())
    r = abs(circle.moments(1)[1])
    expected = -np.diff(angles + 2.0 * r * r * np.sin(angles)) / np.pi
    np.testing.assert_allclose(similarity(circle), expected, rtol=0, atol=1e-15)
    sphere = mf.perturbed_uniform([[1, 0, 0.5]]).build(mf.Sphere())
    expected = np.diff(0.5 * EDGES + 0.75 * mean_cosine(sphere) * EDGES**2)
    np.testing.assert_allclose(similarity(sphere), expected, rtol=0, atol=1e-15)


@pytest.mark.slow
def test_axial_densities_have_the_law_of_their_tokens():
    """In d = 8, of tokens drawn about the axis; in d = 3 that of the same density on the sphere."""
    axial, sphere = (mf.von_mises_fisher(3.0).build(space) for space in (mf.Axial(3), mf.Sphere()))
    np.testing.assert_allclose(similarity(axial), similarity(sphere), rtol=0, atol=1e-13)
    assert effective_rank(axial) == pytest.approx(effective_rank(sphere), abs=1e-12)
    density = mf.von_mises_fisher(6.0).build(mf.Axial(8))
    # The law e^{6 u} by weights of uniform tokens.
    points = mf.Sphere(8).random_points(4000, np.random.default_rng(1))
    weights = np.exp(6.0 * points[:, -1])
    tokens = mf.Measure(mf.Sphere(8), points, weights / weights.sum())
    assert mean_cosine(density) == pytest.approx(mean_cosine(tokens), abs=0.03)
    assert np.abs(similarity(density) - similarity(tokens))[:-1].max() < 0.01
    assert similarity(density).sum() == pytest.approx(1.0, abs=1e-14)
    assert effective_rank(density) == pytest.approx(effective_rank(tokens), rel=0.05)
    problem = mf.Problem(mf.Axial(8), mf.exponential(2.0), mf.SA)
    rings = mf.Measure(mf.Axial(8), [0.3, 1.0])
    assert np.isnan([*similarity(rings), *attention_entropy(problem, rings)]).all()
    refused("points of axial measures are rings", mf.attention_matrix, problem, rings)


def test_even_densities_of_the_circle_have_the_law_of_the_circle():
    """For d = 2 the weight of sigma is not finite at s = 1, where the law is."""
    law = mf.von_mises_fisher(2.0)
    circle, axial = (law.build(space) for space in (mf.Circle(), mf.Axial(2)))
    np.testing.assert_allclose(similarity(axial), similarity(circle), rtol=0, atol=1e-13)


@pytest.mark.slow
def test_tokens_of_a_density_have_its_law_of_cosines():
    """Degrees up to 20 would differ from a quadrature of the same density."""
    density = mf.von_mises_fisher(4.0).build(mf.Sphere())
    grid = mf.Sphere().grid(24)
    nodes = mf.Measure(mf.Sphere(), grid.points, grid.weights * density(grid.points))
    # A bin holds nodes or not: coarse sums over few bins agree.
    shares = [similarity(each) @ CENTRES for each in (density, nodes)]
    assert shares[0] == pytest.approx(mean_cosine(density), abs=2e-3)
    assert shares[0] == pytest.approx(shares[1], abs=2e-3)
    assert effective_rank(density) == pytest.approx(effective_rank(nodes), abs=1e-9)


def test_effective_rank_counts_directions():
    """Opposite clusters are one; few entries of many tokens and many of few are alike."""
    assert effective_rank(mf.Measure(mf.Sphere(5), [np.ones(5), -np.ones(5)])) == pytest.approx(1.0)
    whole = np.linalg.eigvalsh(TOKENS.points @ TOKENS.points.T / 30.0)[-9:]
    expected = np.exp(-(whole @ np.log(whole)))
    assert effective_rank(TOKENS) == pytest.approx(expected, rel=1e-12)
    wide = mf.Measure(mf.Sphere(40), np.pad(TOKENS.points, ((0, 0), (0, 31))))
    assert effective_rank(wide) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("normalization", ["softmax", "none"])
def test_attention_matrix_moves_tokens(normalization):
    """P_x sum_j A_ij V x_j is the velocity; of kernels, too."""
    heads = mf.Attention([mf.Head(score=B3, value=V3)], normalization, beta=3.0)
    space, x = mf.Sphere(), THREE.points
    for problem, value in (
        (mf.Problem(space, heads), V3),
        (mf.Problem(space, mf.exponential(-2.0), mf.Flow(normalization == "softmax")), np.eye(3)),
    ):
        field = interaction_of(problem).of_points(x, THREE.weights)
        drawn = mf.attention_matrix(problem, THREE)[0] @ x @ value.T
        np.testing.assert_allclose(space.project(x, drawn), field.velocity(x), rtol=0, atol=1e-13)


@pytest.mark.parametrize("options", [{}, {"mask": "causal"}, {"mask": "alibi", "alibi_rate": 2.0}])
def test_entropies_are_those_of_the_rows(options):
    """Under every normalisation and mask; alibi falls with (k - j) / n."""
    heads = [mf.Head(), mf.Head(score=RNG.standard_normal((9, 9)))]
    for normalization in ("softmax", "none", "sinkhorn")[: 2 if options else 3]:
        attention = mf.Attention(heads, normalization, beta=2.0, **options)
        problem = mf.Problem(TOKENS.manifold, attention)
        matrix = mf.attention_matrix(problem, TOKENS)
        if options:
            assert np.all(matrix[:, np.triu(np.ones((30, 30), dtype=bool), 1)] == 0.0)
        if "alibi_rate" in options:
            unmasked = mf.Problem(TOKENS.manifold, mf.Attention(heads, beta=2.0))
            plain = mf.attention_matrix(unmasked, TOKENS)
            fall = matrix[:, 9, 4] / matrix[:, 9, 9] * plain[:, 9, 9] / plain[:, 9, 4]
            np.testing.assert_allclose(fall, np.exp(-2.0 * 5 / 30), rtol=1e-12)
        rows = matrix / matrix.sum(axis=2, keepdims=True)
        expected = entr(rows).sum(axis=2).mean(axis=1)
        np.testing.assert_allclose(attention_entropy(problem, TOKENS), expected, rtol=1e-12)
        if normalization == "sinkhorn":
            np.testing.assert_allclose(matrix.sum(axis=1), 1.0, rtol=0, atol=1e-9)


def test_attention_matrices_say_what_they_cannot():
    """One line each."""
    problem = mf.Problem(mf.Sphere(), mf.exponential(1.0), mf.SA)
    causal = mf.Problem(mf.Sphere(), mf.Attention([mf.Head()], beta=1.0, mask="causal"))
    many, density = mf.Measure(mf.Sphere(), np.ones((10001, 3))), mf.uniform().build(mf.Sphere())
    refused("on the sphere:9, the problem on the sphere", mf.attention_matrix, problem, TOKENS)
    refused("at most 10000 tokens, got 10001", mf.attention_matrix, problem, many)
    refused("asks for an order, which a density has no", mf.attention_matrix, causal, density)
    assert np.isnan([*attention_entropy(problem, density), *attended_share(causal, density)]).all()


def test_attention_of_densities_is_relative_to_their_mass():
    """Uniform: KL = beta L(beta) - log Z in closed form; rows of nodes are what moves them."""
    beta = 3.0
    divergence = beta / np.tanh(beta) - 1.0 - np.log(np.sinh(beta) / beta)
    space, uniform = mf.Sphere(), mf.uniform().build(mf.Sphere())
    # Scores that are rotations spread attention alike.
    turned = mf.Attention([mf.Head(score=np.eye(3)[[1, 2, 0]])], beta=beta)
    for problem in (mf.Problem(space, mf.exponential(beta), mf.SA), mf.Problem(space, turned)):
        result = attended_share(problem, uniform)
        np.testing.assert_allclose(result, np.exp(-divergence), rtol=1e-12)
    circle = mf.Problem(mf.Circle(), mf.exponential(beta), mf.SA)
    density = mf.von_mises_fisher(2.0).build(mf.Circle())
    matrix = mf.attention_matrix(circle, density)[0]
    nodes = attention_nodes(circle, density)
    x = mf.Circle().vectors(nodes.points)
    velocity = mf.Circle().project(nodes.points, matrix @ x)
    field = interaction_of(circle).of_density(density.coefficients).velocity(nodes.points)
    np.testing.assert_allclose(velocity, field, rtol=0, atol=1e-13)


def test_tokens_that_are_attended_to_are_counted():
    """Equal tokens would not give e^entropy, n times the share, or change when they merge."""
    problem = mf.Problem(TOKENS.manifold, mf.exponential(2.0), mf.SA)
    p = mf.attention_matrix(problem, TOKENS)[0]
    expected = np.exp(entr(p).sum(axis=1)).mean()
    assert attended_tokens(problem, TOKENS)[0] == pytest.approx(expected, rel=1e-13)
    x = TOKENS.points[:3]
    apart = mf.Measure(TOKENS.manifold, x[[0, 0, 0, 1, 2, 2]])
    met = mf.Measure(TOKENS.manifold, x[[0, 1, 2, 2]], [1 / 2, 1 / 6, 1 / 3, 0])
    shares = [attended_share(problem, each) for each in (apart, met)]
    np.testing.assert_allclose(*shares, rtol=1e-13)
    assert np.isnan(attended_tokens(problem, met)).all()


def test_centres_of_a_run_come_from_its_order(tmp_path):
    """Two numbers a time, in files too; a number of strong ones that theory expects."""
    law = mf.from_points(np.random.default_rng(2).uniform(0.0, 2.0 * np.pi, 200))
    problem = mf.Problem(mf.Circle(), mf.exponential(64.0), mf.SA, law)
    run = mf.simulate(problem, 0.1, save=2, observables=["renyi_centres"], output=tmp_path / "x.h5")
    greedy, strong = (run.observables[f"renyi_centres/{name}"][0] for name in ("greedy", "strong"))
    # 600 draws: greedy 8 to 11, strong 6.26 on average.
    assert 8.0 <= greedy <= 11.0 and 3.0 <= strong <= greedy
    assert np.isnan(renyi_centres(mf.uniform().build(mf.Circle()), 0.5)).all()


def test_histograms_have_their_bins_in_files(tmp_path):
    """A file would not say where its bins lie."""
    problem = mf.Problem(mf.Sphere(9), mf.exponential(2.0), mf.SA, mf.from_points(TOKENS.points))
    names = ["similarity", "attention_entropy", "effective_rank"]
    run = mf.simulate(problem, 1.0, save=3, observables=names, output=tmp_path / "run.h5")
    np.testing.assert_array_equal(run.to_xarray().similarity.cosine, CENTRES)
    assert run.to_xarray().attention_entropy.dims == ("time", "head")
    with h5py.File(tmp_path / "run.h5") as file:
        np.testing.assert_array_equal(file["observables/similarity"].dims[1][0], CENTRES)
    np.testing.assert_allclose(run.observables["similarity"].sum(axis=1), 1.0, rtol=1e-14)
