"""Attention in any dimension by blocks, against the sums of `core`."""

import core
import numpy as np
import pytest
from any_threads import check_any_threads
from head_oracle import B3, MASSES_3, TOKENS_3, V3, vectors
from parameters import refused, together

import meanfield as mf
from meanfield.fields.blocks import attention_matrices, attention_output, row_entropies
from meanfield.fields.heads import heads_interaction
from meanfield.terms.attention import HeadMatrices

SPHERE = mf.Sphere()


def any_heads(d: int) -> tuple[HeadMatrices, ...]:
    score, value = np.random.default_rng(0).normal(size=(2, d, d)) / np.sqrt(d)
    return HeadMatrices(score, value), HeadMatrices(0.7 * np.eye(d), 1.5 * np.eye(d))


@pytest.mark.slow
@pytest.mark.parametrize("none", [False, True])
@pytest.mark.parametrize("rate", [None, 0.0, 0.02, 3.0])
def test_blocks_are_the_sums_written_down(rate, none):
    """Several blocks of one system, off the sphere, with masses: rows would be shifted."""
    rng = np.random.default_rng(3)
    x, m = rng.normal(size=(700, 5)), rng.dirichlet(np.ones(700))
    options = {"normalization": "none", "log_scale": 1.5} if none else {}
    if rate is not None:
        options |= {"mask": "alibi", "rate": rate} if rate else {"mask": "causal"}
    label, mask = np.arange(700.0), None if rate is None else core.alibi(rate)
    term = core.attention(any_heads(5), "none" if none else "softmax", 1.5, mask)
    exact = term(core.Points(x, m, label), x, label).u
    if none and mask:
        # Masked rows are means over the masses that the mask leaves.
        exact /= (mask(label[:, None], label) @ m)[:, None]
    out = attention_output(x, any_heads(5), m, **options)
    size = np.abs(exact).max()
    np.testing.assert_allclose(out, exact, rtol=0, atol=1e-13 * size)
    matrices = attention_matrices(x, any_heads(5), m, **options)
    values = [head.value for head in any_heads(5)]
    out = sum(p @ x @ v.T for p, v in zip(matrices, values, strict=True))
    np.testing.assert_allclose(out, exact, rtol=0, atol=1e-13 * size)


def test_replicas_are_systems_of_their_own_on_any_threads():
    """To the bit: neither what is beside them nor who computes them may enter."""
    rng = np.random.default_rng(4)
    x, m = rng.normal(size=(300, 24, 6)), rng.dirichlet(np.ones(24), size=300)
    # One of them needs the largest exponents of its rows.
    x[7] *= 30.0
    (out,) = check_any_threads(lambda: [attention_output(x, any_heads(6), m, mask="causal")])
    for r in (0, 7, 299):
        alone = attention_output(x[r], any_heads(6), m[r], mask="causal")
        np.testing.assert_array_equal(out[r], alone)
    prefix = attention_output(x[0, :9], any_heads(6), m[0, :9], mask="causal")
    np.testing.assert_allclose(out[0, :9], prefix, rtol=0, atol=1e-13)


def test_replicas_may_have_matrices_of_their_own():
    """Those of another replica, or transposed ones, would show."""
    rng = np.random.default_rng(8)
    x, score, value = (rng.normal(size=(500, *rest)) for rest in ((16, 3), (3, 3), (3, 3)))
    out = attention_output(x, [HeadMatrices(score, value)])
    for r in (0, 250, 499):
        alone = attention_output(x[r], [HeadMatrices(score[r], value[r])])
        np.testing.assert_array_equal(out[r], alone)


def test_exponents_beyond_all_numbers_leave_the_largest():
    """Scores of a million overflow, and so does a range of positions."""
    x = np.array([[2.0, 0.3], [-1.5, 1.2], [-0.4, -1.8], [0.5, 0.6]])
    sharp = [HeadMatrices(1e6 * np.eye(2), np.eye(2))]
    out = attention_output(x, sharp)
    np.testing.assert_allclose(out, x[[0, 1, 2, 0]], rtol=0, atol=1e-6)
    # Tokens near the last one have no mass.
    m = np.array([0.5, 0.5, 0.0, 0.0])
    flat = [HeadMatrices(np.zeros((2, 2)), np.eye(2))]
    out = attention_output(x, flat, m, mask="alibi", rate=500.0)
    np.testing.assert_allclose(out, x[[0, 1, 1, 1]], rtol=0, atol=1e-6)
    out = attention_output(x, flat, m[::-1], mask="causal")
    np.testing.assert_allclose(out[:2], 0.0)


def test_doubly_stochastic_weights_are_those_of_the_sphere():
    """Masses of each head are found first."""
    x, m = vectors(TOKENS_3), np.asarray(MASSES_3)
    heads = [mf.Head(score=B3, value=V3), mf.Head(value=0.5)]
    attention = mf.Attention(heads, "sinkhorn", beta=3.0)
    out = attention_output(x, attention.matrices(3), m, normalization="sinkhorn")
    exact = heads_interaction(mf.Problem(SPHERE, attention)).pair_velocity(x, m)
    np.testing.assert_allclose(SPHERE.project(x, out), exact, rtol=0, atol=1e-13)


def test_any_function_of_the_cosine():
    """An exponential as a function is the head that it is."""
    x, m = np.random.default_rng(5).normal(size=(2, 9, 4)), np.full(9, 1.0 / 9.0)
    head = [HeadMatrices(0.5 * np.eye(4), np.eye(4))]
    for options in ({}, {"normalization": "none", "log_scale": 0.3}, {"mask": "alibi", "rate": 0.4},
                    {"normalization": "none", "mask": "alibi", "rate": 0.4}):  # fmt: skip
        out = attention_output(x, lambda s: np.exp(0.5 * s), m, **options)
        np.testing.assert_allclose(
            out, attention_output(x, head, m, **options), rtol=1e-14, atol=1e-14
        )


def test_rows_that_look_everywhere_have_the_largest_entropy():
    """The largest is log n without scores, 0 for the first token of a causal mask."""
    x = np.random.default_rng(6).normal(size=(5, 3))
    flat = [HeadMatrices(np.zeros((3, 3)), np.eye(3))]
    np.testing.assert_allclose(row_entropies(attention_matrices(x, flat)), [5 * [np.log(5)]])
    causal = row_entropies(attention_matrices(x, flat, mask="causal"))
    np.testing.assert_allclose(causal, [np.log([1, 2, 3, 4, 5])], rtol=0, atol=1e-15)


@together(
    ("change", "message"),
    [
        ({"x": np.ones(3)}, r"x has shape \(3,\), expected \(n, d\)"),
        ({"masses": np.ones(3)}, r"masses have shape \(3,\), expected \(2,\)"),
        ({"mask": "alibi"}, "alibi needs a positive rate"),
        ({"mask": "causal", "rate": 1.0}, "alibi needs a positive rate"),
        ({"mask": "casual"}, "mask 'casual' is not known"),
        ({"normalization": "sinkhorn", "mask": "causal"}, "sinkhorn needs heads"),
        ({"heads": [HeadMatrices(np.eye(3), np.eye(3))]}, r"expected \(2, 2\) for tokens in R\^2"),
    ],
)
def test_what_cannot_be_computed_is_refused(change, message):
    """In one line, with what is expected."""
    given = {"x": np.eye(2), "heads": [HeadMatrices(np.eye(2), np.eye(2))]} | change
    refused(message, attention_output, **given)


@pytest.mark.parametrize("length", [711.0, 2131.0, 3550.0])
def test_tokens_without_mass_have_any_score(length):
    """A token without mass would turn its row into what is no number, at some large scores."""
    x, masses = np.array([[length, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([0.0, 0.5, 0.5])
    found = attention_output(x, [HeadMatrices(np.eye(2), np.eye(2))], masses)
    share = 1.0 / (1.0 + np.exp(-1.0))
    expected = [[1.0, 0.0], [share, 1.0 - share], [1.0 - share, share]]
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-300)
