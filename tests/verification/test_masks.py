"""Tokens in an order: closed forms, reference velocities, and what must hold for every start."""

import numpy as np
import pytest
from head_oracle import B3, TOKENS_3, V3

import meanfield as mf
from meanfield.fields.heads import heads_interaction
from meanfield.fields.ordered import FEW, ordered_velocity

HEAD = mf.Head(score=B3, value=V3)


def causal(space, head=HEAD, beta=3.0, law=None, **options) -> mf.Problem:
    of = mf.Attention([head], beta=beta, mask="causal", **options)
    return mf.Problem(space, of, initial=mf.uniform() if law is None else law)


def at(problem: mf.Problem, until: float) -> np.ndarray:
    run = mf.simulate(problem, until=until, save=2, tolerance=1e-12)
    return run.measures[-1].points


def test_velocities_of_a_general_head():
    """A transposed score, or a token that sees those behind it, would go unnoticed in B = V = 1."""
    # Reference: sums over j <= k by hand in 16 digits, equal weights.
    field = heads_interaction(causal(mf.Sphere()))
    expected = [
        [0.0205812917, 0.1410602706628, -0.0259376110985],
        [0.2088190220882, 0.3096934054615, -0.5008083155052],
        [-0.130288607004, 0.0074772932446, 0.0769733735467],
        [-0.1765491167928, -0.252311564342, 0.40715764578],
    ]
    velocity = ordered_velocity(field, TOKENS_3, None, far=False)
    np.testing.assert_allclose(velocity, expected, rtol=0, atol=5e-11)


@pytest.mark.slow
@pytest.mark.parametrize("space", [mf.Circle(), mf.Sphere()], ids=lambda space: space.name)
@pytest.mark.parametrize("mask, rate", [("causal", None), ("alibi", 40.0)])
@pytest.mark.parametrize("normalization", ["none", "softmax"])
def test_running_moments_are_sums_over_pairs(space, mask, rate, normalization):
    """Tokens of a later chunk would see moments of another prefix, or faded by another rate."""
    d = space.ambient
    heads = [
        mf.Head(score=np.diag(np.linspace(1.0, 0.7, d)), value=[1.0, 0.4, -0.2][:d]),
        mf.Head(),
    ]
    of = mf.Attention(heads, normalization, beta=6.0, mask=mask, alibi_rate=rate)
    field = heads_interaction(mf.Problem(space, of))
    points = space.random_points(FEW + 100, np.random.default_rng(5))
    pairs = space.project(points, field.output(space.vectors(points), None))
    np.testing.assert_allclose(
        ordered_velocity(field, points, None, far=False), pairs, rtol=0, atol=1e-14
    )


def test_first_tokens_follow_closed_forms():
    """Token 1 follows e^{tV} x; with V = 1 token 2 has c' = (1 - c^2) / (1 + e^{b (1 - c)})."""
    # c(2) = 0.5791953369111 from c = 0 at beta = 1: the time as function of c has exponential
    # integrals (two equal tokens, at half the rate of the unmasked pair).
    result = at(causal(mf.Sphere(), law=mf.from_points(TOKENS_3)), 1.0)
    np.testing.assert_allclose(
        result[1], [-0.1388054038369, 0.9901045757420, -0.0206395000107], rtol=0, atol=1e-10
    )
    np.testing.assert_allclose(
        result[3], [0.4291511491233, -0.8881059347618, 0.1646120890066], rtol=0, atol=1e-10
    )
    plane = at(causal(mf.Sphere(5), mf.Head(), 1.0, mf.from_points(np.eye(5)[:2])), 2.0)
    np.testing.assert_array_equal(plane[0], np.eye(5)[0])
    assert abs(plane[0] @ plane[1] - 0.5791953369111) < 1e-10


@pytest.mark.parametrize("space", [mf.Circle(), mf.Sphere(), mf.Sphere(8)], ids=repr)
def test_a_prefix_evolves_as_if_the_rest_did_not_exist(space):
    """Masks that leak would let later tokens move earlier ones."""
    points = space.random_points(12, np.random.default_rng(2))
    head = mf.Head(score=np.diag(np.linspace(1.0, -0.5, space.ambient)))
    field = heads_interaction(causal(space, head))
    whole = ordered_velocity(field, points, None, far=True)
    part = ordered_velocity(field, points[:7], None, far=True)
    np.testing.assert_allclose(whole[:7], part, rtol=0, atol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_all_tokens_come_to_the_first(seed):
    """V = 1, any score: almost every start ends in x_1(0) (Theorem 4.1 of arXiv:2411.04990)."""
    rng = np.random.default_rng(seed)
    points = mf.Sphere(4).random_points(6, rng)
    head = mf.Head(score=rng.normal(size=(4, 4)))
    result = at(causal(mf.Sphere(4), head, 1.0, mf.from_points(points)), 400.0)
    np.testing.assert_allclose(result, np.tile(points[0], (6, 1)), rtol=0, atol=1e-4)


@pytest.mark.slow
def test_strong_centres_stay_where_they_are():
    """Tokens farther than 4 / sqrt(beta) from all before them hardly move, those behind do."""
    # 200 tokens, beta = 64: displacements of 0.003 (mean of largest) by t = 75, at most 0.05.
    angles = mf.Circle().random_points(200, np.random.default_rng(11))
    away = np.abs(np.angle(np.exp(1j * (angles[:, None] - angles))))
    strong = [k for k in range(200) if (away[k, :k] > 0.5).all()]
    moved = at(causal(mf.Circle(), mf.Head(), 64.0, mf.from_points(angles)), 75.0) - angles
    assert moved[0] == 0.0
    assert 3 <= len(strong) <= 12
    assert np.abs(moved[strong]).max() < 0.05 < 0.5 < np.abs(moved).max()


def test_masks_that_say_nothing_are_refused():
    """A rate without its mask would be left out in silence."""
    with pytest.raises(ValueError, match='alibi_rate belongs to mask = "alibi": give both or'):
        mf.Attention(beta=1.0, mask="causal", alibi_rate=1.0)
    with pytest.raises(ValueError, match='mask = "causal" and normalization = "sinkhorn" excl'):
        mf.Attention([mf.Head()], "sinkhorn", beta=1.0, mask="causal")


def test_a_density_without_order_is_refused():
    """It would evolve as if there were no mask."""
    with pytest.raises(ValueError, match="density cannot carry positions, which the mask asks for"):
        mf.simulate(causal(mf.Circle(), mf.Head()), until=1.0, representation="density")
