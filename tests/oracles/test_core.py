"""Velocities, divergences, steps and layers of the package against direct sums of `core`."""

from typing import Any

import core
import numpy as np
import pytest

import meanfield as mf
from meanfield.carriers import Options, represent
from meanfield.fields.interactions import interaction_of, transport

# Sums of some hundred numbers of order 1, and transforms to scattered points, good to 1e-13.
CLOSE = {"rtol": 0, "atol": 1e-12}
SPACES = (mf.Circle(), mf.Sphere())
RNG = np.random.default_rng(5)


def tokens(d: int, n: int = 9) -> core.Points:
    """Random weighted tokens on the sphere of R^d, at positions 1/n ... 1."""
    return core.Points(
        core.unit(RNG.normal(size=(n, d))), RNG.dirichlet(np.ones(n)), (np.arange(n) + 1.0) / n
    )


def heads(d: int, count: int = 2) -> list[tuple[np.ndarray, np.ndarray]]:
    """Random matrices (B, V)."""
    return [(0.7 * RNG.normal(size=(d, d)), RNG.normal(size=(d, d))) for _ in range(count)]


def attention_of(
    pairs: list[tuple[np.ndarray, np.ndarray]], how: str, **options: Any
) -> mf.Attention:
    """The same heads for the package."""
    return mf.Attention([mf.Head(score=b, value=v) for b, v in pairs], how, beta=1.0, **options)


def scale(pairs: list[tuple[np.ndarray, np.ndarray]]) -> float:
    """Logarithm of the largest weight, which scaled time makes 1."""
    return max(float(np.linalg.norm(b, 2)) for b, _ in pairs)


def one(beta: float, d: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """The head of e^{beta <x, y>}."""
    return [(beta * np.eye(d), np.eye(d))]


def compare(problem: mf.Problem, page: core.Problem, mu: core.Points) -> None:
    """Velocity and divergence of weighted points by the package and by direct sums."""
    space = problem.manifold
    x = space.points_of(mu.y)
    velocity, divergence = interaction_of(problem).of_points(x, mu.mass).velocity_and_divergence(x)
    expected = space.project(x, page.velocity(mu, mu.y))
    np.testing.assert_allclose(velocity, expected, **CLOSE)
    np.testing.assert_allclose(divergence, page.divergence(mu, mu.y), **CLOSE)


def test_divergence_is_that_of_differences():
    """The page first: its formula of the divergence against central differences."""
    d, h = 4, 1e-5
    mu, x = tokens(d), core.unit(RNG.normal(size=(1, d)))
    terms = [core.attention(heads(d)), core.drift(RNG.normal(size=(d, d)))]
    terms.append(core.feed_forward(*(RNG.normal(size=s) for s in ((5, d), (d, 5), (5,)))))
    for page in (core.Problem(terms), core.Problem(terms, sphere=False)):
        # An orthonormal basis with x first.
        basis = np.linalg.qr(np.column_stack([x[0], RNG.normal(size=(d, d - 1))]))[0].T
        result = 0.0
        for e in basis[1:] if page.sphere else basis:
            ends = [x + s * h * e for s in (1, -1)]
            if page.sphere:
                ends = [core.unit(end) for end in ends]
            ahead, behind = (page.velocity(mu, end)[0] @ e for end in ends)
            result += (ahead - behind) / (2 * h)
        # Differences are of second order, and lose eps / h.
        np.testing.assert_allclose(result, page.divergence(mu, x)[0], rtol=0, atol=1e-8)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("how", ["none", "softmax", "sinkhorn"])
def test_heads(space, how):
    """Any matrices, under every normalisation."""
    pairs = heads(space.ambient)
    page = core.Problem([core.attention(pairs, how, scale(pairs))])
    compare(mf.Problem(space, attention_of(pairs, how)), page, tokens(space.ambient))


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("beta", [3.0, -3.0])
@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
def test_kernels(space, beta, flow):
    """A kernel is a head that multiplies by numbers."""
    d = space.ambient
    page = core.attention(one(beta, d), "softmax" if flow.normalized else "none", abs(beta))
    compare(mf.Problem(space, mf.exponential(beta), flow), core.Problem([page]), tokens(d))


@pytest.mark.parametrize("space", SPACES)
def test_terms_beside_attention_add_up(space):
    """Drift and feed-forward layer."""
    d = space.ambient
    m, a, w, b = (RNG.normal(size=s) for s in ((d, d), (5, d), (d, 5), (5,)))
    problem = mf.Problem(
        space, mf.exponential(2.0), mf.SA, drift=mf.LinearDrift(m),
        feed_forward=mf.FeedForward(input=a, output=w, bias=b, activation="tanh"),
    )  # fmt: skip
    terms = [core.attention(one(2.0, d)), core.drift(m), core.feed_forward(a, w, b)]
    compare(problem, core.Problem(terms), tokens(d))


@pytest.mark.parametrize("d", [2, 3, 6])
@pytest.mark.parametrize("rate", [None, 4.0])
def test_masks_of_tokens(d, rate):
    """Causal masks and ALiBi, as tokens of a run move under them."""
    pairs, mu = heads(d), tokens(d)._replace(mass=np.full(9, 1 / 9))
    space = mf.Circle() if d == 2 else mf.Sphere(d)
    name, mask = ("causal", core.causal) if rate is None else ("alibi", core.alibi(rate))
    attention = attention_of(pairs, "softmax", mask=name, alibi_rate=rate)
    problem = mf.Problem(space, attention, initial=mf.from_points(space.points_of(mu.y)))
    carrier = represent(problem, Options(name="particles"))
    page = core.Problem([core.attention(pairs, mask=mask)])
    expected = space.project(space.points_of(mu.y), page.velocity(mu, mu.y, mu.label))
    result = carrier.rhs(0.0, carrier.state).reshape(expected.shape)
    np.testing.assert_allclose(result, expected, **CLOSE)


@pytest.mark.slow
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("how", ["none", "softmax"])
def test_density_moves_as_its_nodes(space, how):
    """A density attends to itself: d_t f = -div(f v), with v of its nodes."""
    degree, pairs = 24, heads(space.ambient)
    grid = space.grid(degree)
    f = mf.von_mises_fisher(1.0).build(space).moments(degree)
    mu = core.Points(space.vectors(grid.points), grid.weights * grid.to_nodal(f))
    page = core.Problem([core.attention(pairs, how, scale(pairs))])
    values = grid.to_nodal(f) * grid.project(page.velocity(mu, mu.y).T)
    expected = -grid.divergence(values)
    problem = mf.Problem(space, attention_of(pairs, how))
    result = transport(interaction_of(problem), degree)(f, False)
    n = min(len(result), len(expected))
    np.testing.assert_allclose(result[:n], expected[:n], rtol=0, atol=1e-11)


def test_labelled_densities_attend_to_their_mean():
    """Frequencies: d_t f_j = -div(f_j v[mean of all f]), in frames that turn at omega_j."""
    space, degree, omega = mf.Circle(), 24, np.array([-0.7, 0.1, 0.4])
    grid = space.grid(degree)
    problem = mf.Problem(
        space, mf.exponential(2.0), mf.SA, mf.perturbed_uniform([[1, 0.3, 0.1], [2, -0.2, 0.1]]),
        frequencies=mf.GivenFrequencies(omega),
    )  # fmt: skip
    carrier = represent(problem, Options(name="labelled"))
    # Density j is turned by 1 + j.
    parts = carrier.parts(carrier.state)
    parts = parts * np.exp(-1j * np.outer(1.0 + np.arange(3), np.arange(parts.shape[1])))
    rates = carrier.rhs(0.0, np.append(parts, 0.0))
    # The last entry is the angle of the frames, which grows like time.
    rates = carrier.parts(rates * (np.arange(len(rates)) < len(rates) - 1))
    nodal = np.array([grid.to_nodal(space.resize(part, degree)) for part in parts])
    page, x = core.Problem([core.attention(one(2.0, 2))]), space.vectors(grid.points)
    velocity = page.velocity(core.Points(x, grid.weights * nodal.mean(axis=0)), x)
    for own, result in zip(nodal, rates, strict=True):
        expected = -grid.divergence(own * grid.project(velocity.T))
        np.testing.assert_allclose(result[:8], expected[:8], rtol=0, atol=1e-11)


@pytest.mark.parametrize("placement", core.PLACEMENTS)
def test_layers(placement):
    """Four layers of attention and a drift on S^5."""
    d, h, matrix = 6, 0.3, 0.2 * RNG.normal(size=(6, 6))
    mu = tokens(d)
    problem = mf.Problem(
        mf.Sphere(d), mf.exponential(2.0), mf.SA, mf.from_points(mu.y, mu.mass),
        drift=mf.LinearDrift(matrix), layers=mf.Layers(h, count=4, placement=placement),
    )  # fmt: skip
    run = mf.simulate(problem, save=[4.0])
    for number in range(4):
        terms = [core.attention(one(2.0, d)), core.drift(matrix)]
        mu = core.layer(terms, placement, mu, number, h)
    np.testing.assert_allclose(run.measures[-1].points, core.unit(mu.y), **CLOSE)


def compare_runs(problem: mf.Problem, stages: list, mu: core.Points, until: float) -> None:
    """End of a whole run by the package and by direct sums."""
    run = mf.simulate(problem, until=until, save=[until], tolerance=1e-12)
    (expected,) = core.evolve(stages, mu, [until])
    result = problem.manifold.vectors(run.measures[-1].points)
    # A hundred tolerances.
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-10)


def test_stages_follow_each_other():
    """A whole run on S^5: beta = 1 until 0.5, then 4."""
    mu = tokens(6)
    problem = mf.Problem(
        mf.Sphere(6), mf.exponential(1.0), mf.SA, mf.from_points(mu.y, mu.mass),
        stages=[mf.Stage(end=0.5), mf.Stage(kernel=mf.exponential(4.0))],
    )  # fmt: skip
    first, then = (core.Problem([core.attention(one(beta, 6))]) for beta in (1.0, 4.0))
    compare_runs(problem, [(0.5, first), (np.inf, then)], mu, 1.0)


def test_tokens_of_euclidean_space():
    """Tokens of R^3 have no projection."""
    mu = tokens(3)._replace(y=RNG.normal(size=(9, 3)))
    problem = mf.Problem(mf.Euclidean(3), mf.exponential(0.7), mf.SA, mf.from_points(mu.y, mu.mass))
    page = core.Problem([core.attention(one(0.7, 3))], sphere=False)
    compare_runs(problem, [(np.inf, page)], mu, 0.5)


def test_tokens_with_frequencies():
    """Tokens of the circle turn, each at its own frequency."""
    mu = tokens(2)._replace(mass=np.full(9, 1 / 9), label=RNG.normal(size=9))
    law, frequencies = mf.from_points(mf.Circle().points_of(mu.y)), mf.GivenFrequencies(mu.label)
    problem = mf.Problem(mf.Circle(), mf.exponential(2.0), mf.SA, law, frequencies=frequencies)
    page = core.Problem([core.attention(one(2.0, 2)), core.frequencies])
    compare_runs(problem, [(np.inf, page)], mu, 1.0)
