"""Velocities of heads: pairs, series and fields on grids against the sums of `core`."""

import core
import numpy as np
import pytest
from head_oracle import (
    B1,
    B2,
    B3,
    MASSES,
    MASSES_3,
    TOKENS,
    TOKENS_3,
    V1,
    V2,
    V3,
    VELOCITIES_3,
    components,
    turn,
    vectors,
    velocity,
)
from parameters import refused

import meanfield as mf
from meanfield.carriers import DensityRepresentation
from meanfield.fields.heads import HeadsInteraction, heads_interaction
from meanfield.fields.interactions import interaction_of
from meanfield.fields.tokens import TokenField

CIRCLE, SPHERE = mf.Circle(), mf.Sphere()
ONE, BOTH = [(B1, V1)], [(B1, V1), (B2, V2)]
# Rates of tokens in papers' time: at beta = 2 on the circle, at beta = 3 on the sphere.
PRINTED = [
    (CIRCLE, ONE, "none", "-0.1215881031284 -0.90719825682142 -1.31670330079865 "
     "-1.74496384778932 -0.80941735143232"),
    (CIRCLE, ONE, "softmax", "-0.08313550355916 -0.39248603931514 -0.62374026556002 "
     "-0.79771868749527 -0.45075210312308"),
    (CIRCLE, BOTH, "none", "-0.71475229659822 -1.10400611802652 -0.93188550602873 "
     "-1.49385669256377 -0.91338437263721"),
    (CIRCLE, BOTH, "softmax", "-0.48106592296827 -0.49018595754463 -0.3918290678782 "
     "-0.5679420182814 -0.54106245753512"),
    *((SPHERE, [(B3, V3)], name, text) for name, text in VELOCITIES_3.items()),
]  # fmt: skip


def interaction(space, heads, beta, normalization) -> tuple[mf.Problem, HeadsInteraction]:
    """Problem and interaction of heads (B, V)."""
    listed = [mf.Head(score=score, value=value) for score, value in heads]
    problem = mf.Problem(space, mf.Attention(listed, normalization, beta=beta))
    return problem, heads_interaction(problem)


def evaluators(mean_field: HeadsInteraction, points, masses) -> list[np.ndarray]:
    """Velocity of weighted points by pairs, by pairs with a divergence, and by moments, twice."""
    field = mean_field.of_points(points, masses)
    pairs = mean_field.pair_velocity, mean_field.pair_velocity_and_divergence
    by_pairs = [pairs[0](points, masses), pairs[1](points, masses)[0]]
    return [*by_pairs, field.velocity(points), field.velocity_and_divergence(points)[0]]


@pytest.mark.parametrize(
    "space, heads, normalization, printed",
    PRINTED,
    ids=[f"{space.name}, {len(heads)}, {name}" for space, heads, name, _ in PRINTED],
)
def test_printed_velocities(space, heads, normalization, printed, verified):
    """B^T for B, V^T for V, one Z for all heads, or moments rotated wrongly would show at once."""
    points, masses = (TOKENS, MASSES) if space is CIRCLE else (TOKENS_3, MASSES_3)
    beta = 2.0 if space is CIRCLE else 3.0
    problem, mean_field = interaction(space, heads, beta, normalization)
    wanted = np.array(printed.split(), dtype=float).reshape(points.shape)
    for found in evaluators(mean_field, points, masses):
        error = found * np.exp(problem.log_scale) - wanted
        what = f"printed velocities of heads, {space.name}"
        verified("exact solutions", what, error, 1e-13 if space is CIRCLE else 2e-13)


@pytest.mark.slow
@pytest.mark.parametrize("normalization", ["none", "softmax", "sinkhorn"])
@pytest.mark.parametrize("space", [CIRCLE, SPHERE], ids=["circle", "sphere"])
def test_only_the_product_of_query_and_key_counts(space, normalization):
    """(Q, K) -> (R Q, R^-T K) would change velocities if matrices met anything but each other."""
    rng = np.random.default_rng(7)
    d = space.dimension + 1
    query, key, value = rng.normal(size=(3, d, d))
    mixed = rng.normal(size=(d, d)) + 2 * np.eye(d)
    points, masses = (TOKENS, MASSES) if d == 2 else (TOKENS_3, MASSES_3)
    found = []
    for q, k in [(query, key), (mixed @ query, np.linalg.inv(mixed).T @ key)]:
        head = mf.Head(query=q, key=k, value=value)
        problem = mf.Problem(space, mf.Attention([head], normalization, beta=1.5))
        found.append(evaluators(heads_interaction(problem), points, masses))
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-13 * np.linalg.norm(value))
    heads = [(1.5 * query.T @ key, value)]
    truth = velocity(vectors(points), vectors(points), masses, heads, normalization)
    scaled = components(points, truth) * np.exp(-problem.log_scale)
    np.testing.assert_allclose(found[0], [scaled] * 4, rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("normalization", ["none", "softmax", "sinkhorn"])
@pytest.mark.parametrize("space", [CIRCLE, SPHERE], ids=["circle", "sphere"])
def test_grid_of_a_density_has_the_field_of_its_nodes(space, normalization):
    """The velocity that moves a density would not be that of tokens dense enough to be it."""
    modes = [[1, 0.2, 0.1], [2, -0.1, 0.1]] if space is CIRCLE else [[1, 0, 0.2], [2, -1, 0.1]]
    heads = BOTH if space is CIRCLE else [(B3, V3), (B3.T - V3, V3.T)]
    beta = 2.0 if space is CIRCLE else 1.0
    problem, mean_field = interaction(space, heads, beta, normalization)
    degree = 60 if space is CIRCLE else 14
    grid = space.grid(degree)
    density = space.resize(space.from_modes(modes), degree)
    masses = grid.weights * grid.to_nodal(density)
    at_nodes = mean_field.of_density(density).on_nodes(grid)[0]
    x = space.vectors(grid.points)
    truth = velocity(x, x, masses, [(beta * b, v) for b, v in heads], normalization)
    wanted = grid.project(np.exp(-problem.log_scale) * truth.T)
    np.testing.assert_allclose(at_nodes.reshape(wanted.shape), wanted, rtol=0, atol=2e-13)


def moved(space, heads, beta, points, masses, normalization="softmax") -> float:
    """Largest error of the velocities of tokens, at 300 of them, as a run would find them."""
    problem, _ = interaction(space, heads, beta, normalization)
    moving = TokenField(problem, interaction_of(problem), masses, 1e-10)
    some = np.linspace(0, len(points) - 1, 300).astype(int)
    all_masses = np.full(len(points), 1.0 / len(points)) if masses is None else masses
    scaled = [(beta * b, v) for b, v in heads]
    truth = velocity(vectors(points[some]), vectors(points), all_masses, scaled, normalization)
    truth = components(points[some], truth) * np.exp(-problem.log_scale)
    return float(np.abs(moving.velocity(points)[some] - truth).max())


@pytest.mark.parametrize(
    "space, count, masses, beta",
    [(space, count, [0.5, 0.5], 20.0) for space in (CIRCLE, SPHERE) for count in (300, 3000)]
    + [pytest.param(CIRCLE, 20_000, *case, marks=pytest.mark.slow)
       for case in (([0.5, 0.5], 20.0), ([1.0, 1e-30], 25.0))],
)  # fmt: skip
def test_tokens_far_from_all_mass(space, count, masses, beta, verified):
    """Z of e^-20 between or opposite clusters is lost as a series: such tokens fly off, unseen."""
    points = space.random_points(count, np.random.default_rng(3))
    points[:2] = [0.0, np.pi] if space is CIRCLE else [[0, 0, 1], [0, 0, -1]]
    weights = np.append(masses, np.full(count - 2, 1e-30))
    value = V1 if space is CIRCLE else V3
    error = moved(space, [(np.eye(len(value)), value)], beta, points, weights)
    what = f"tokens between two opposite clusters, {space.name}"
    if masses[0] == 1.0:
        what = "light tokens opposite a cluster, circle"
    verified("independent methods", what, error, 2e-12)


@pytest.mark.parametrize(
    "space, count, weighted, allowed",
    [
        (CIRCLE, 2000, False, 1e-14),
        (CIRCLE, 2000, True, 1e-14),
        (SPHERE, 2000, True, 1e-14),
        # Neither series nor all pairs move so many.
        pytest.param(CIRCLE, 20_000, False, 1e-10, marks=pytest.mark.slow),
    ],
)
def test_cluster_that_looks_away_from_itself(space, count, weighted, allowed, verified):
    """B = -1 at beta = 25: Z is e^-25 at all tokens, below the rounding of its series."""
    rng = np.random.default_rng(5)
    points, value = 0.05 * rng.normal(size=count), V1
    if space is SPHERE:
        value = V3
        points = core.unit(np.column_stack([0.05 * rng.normal(size=(count, 2)), np.ones(count)]))
    masses = rng.dirichlet(np.ones(count)) if weighted else None
    error = moved(space, [(-np.eye(len(value)), value)], 25.0, points, masses)
    what = f"cluster that looks away from itself, {space.name}"
    if count > 2000:
        what = "many tokens that look away, circle"
    verified("independent methods", what, error, allowed)


SHAPES = {
    "flat": np.diag([1.0, 0.01, 0.01]),
    "half": np.diag([1.0, 0.5, 0.2]),
    "rank one": np.outer([0.6, 0.8, 0.0], [0.0, 0.6, 0.8]),
    "turned": turn(0.4, 3) @ np.diag([1.0, 0.9, 0.3]),
}


@pytest.mark.slow
@pytest.mark.parametrize("normalization", ["none", "softmax"])
@pytest.mark.parametrize("shape", SHAPES)
def test_sharp_scores_that_prefer_directions(shape, normalization, verified):
    """At beta |B| = 100: series whose scale differs by e^100 between directions."""
    rng = np.random.default_rng(9)
    score = SHAPES[shape][:2, :2]
    score = score / np.linalg.norm(score, 2)
    for points in (rng.uniform(0, 2 * np.pi, 3000), 0.1 * rng.normal(size=3000)):
        error = moved(CIRCLE, [(score, V1)], 100.0, points, None, normalization)
        verified("independent methods", "sharp anisotropic heads, circle", error, 2e-12)


@pytest.mark.slow
def test_sharp_scores_that_prefer_directions_of_the_sphere(verified):
    """The same on the sphere at beta |B| = 30: a table of rank one, the worst of them."""
    points = SPHERE.random_points(1000, np.random.default_rng(9))
    error = moved(SPHERE, [(SHAPES["rank one"], V3)], 30.0, points, None)
    verified("independent methods", "sharp anisotropic heads, sphere", error, 4e-12)


@pytest.mark.slow
@pytest.mark.parametrize("normalization", ["none", "softmax", "sinkhorn"])
def test_series_longer_than_a_density(normalization, verified):
    """Sharp heads of a density of few degrees: compiled sums wrote beyond their arrays."""
    beta = 8.0 if normalization == "sinkhorn" else 300.0
    score = B1 / np.linalg.norm(B1, 2)
    _, mean_field = interaction(CIRCLE, [(score, V1), (score.T, V1)], beta, normalization)
    degree = 12 if normalization == "sinkhorn" else 64
    density = CIRCLE.resize(CIRCLE.from_modes([[1, 0.2, 0.1], [2, 0.1, 0.0]]), degree)
    grid = CIRCLE.grid(400)
    velocity, _ = mean_field.of_density(density).on_nodes(grid)
    wanted = grid.divergence(velocity * grid.to_nodal(CIRCLE.resize(density, 400)), degree)
    found = mean_field.transport(degree)(density, False)
    # Exponents of 300 err by 1e-13.
    verified("independent methods", "sharp heads of a density", found + wanted, 1e-11)


@pytest.mark.parametrize("normalization", ["none", "softmax"])
def test_tables_end_where_rounding_begins(normalization):
    """At beta |B| = 300 rounding was kept up to degree 2,601, of 143 that there are."""
    _, mean_field = interaction(CIRCLE, [(B1 / np.linalg.norm(B1, 2), V1)], 300.0, normalization)
    assert mean_field.tables[0].fields(CIRCLE.from_modes([]))[0][0].size < 300


@pytest.mark.parametrize("space", [CIRCLE, SPHERE], ids=["circle", "sphere"])
def test_rounding_far_from_all_mass_has_no_speed(space):
    """Quotients of errors, thousands of |V|, left no stable step, and hid the tail behind them."""
    score, value = (B1, V1) if space is CIRCLE else (B3, V3)
    of = mf.Attention([mf.Head(score=score, value=value)], beta=20.0)
    mean = 0.7 if space is CIRCLE else [1.0, 0.0, 0.0]
    problem = mf.Problem(space, of, initial=mf.von_mises_fisher(50.0, mean=mean))
    clean = problem.initial_measure().coefficients
    degree = space.degree_of(clean)
    # An error as steps leave it: far below Z where mass is, far above it where none is.
    opposite = np.array([0.7 + np.pi]) if space is CIRCLE else np.array([[-1.0, 0.0, 0.0]])
    erring = clean - 1e-9 * space.resize(space.moments(opposite, None, 2), degree)
    carried = [DensityRepresentation(problem, state, 1e-6, degree) for state in (clean, erring)]
    field = interaction_of(problem).of_density(erring)
    speed = np.sqrt(space.grid(degree).squared_norm(field.on_nodes(space.grid(degree))[0]).max())
    assert speed <= np.sqrt(space.dimension + 1) * np.linalg.norm(value, 2)
    rates = [each.rhs(0.0, each.state) for each in carried]
    assert np.abs(rates[1] - rates[0]).max() < 1e-9 * degree**2


def test_own_kernels_are_no_heads():
    """Sums over pairs would take another kernel for an exponential."""
    problem = mf.Problem(CIRCLE, mf.zonal(lambda s: 1.0 + 0.5 * s), mf.USA)
    assert problem.heads is None
    refused("no head of attention on circle, expected", heads_interaction, problem)
