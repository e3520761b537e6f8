"""Measurements of an encoder: heads, the ladder, n among N tokens."""

import math
from dataclasses import replace

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.fields.blocks import row_entropies, unit_vectors
from meanfield.models.encoder import Affine, softmax
from meanfield.models.heads import (
    RUNGS,
    entropic_beta,
    equiangular_by_layer,
    head_matrices,
    head_table,
    ladder,
    value_spectrum,
)
from meanfield.models.token_limit import TokenLimit
from tests.models.encoders import write_encoder
from tests.models.test_encoder import plain_encoder

_TEXT = "the tokens of a mean field on the sphere cluster, attention is in it"


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoder")
    write_encoder(folder)
    return mf.load_encoder(folder)


@pytest.fixture(scope="module")
def replayed(encoder):
    return mf.replay(encoder, [_TEXT, "the circle is a sphere"])


def test_heads_of_the_theory_have_its_beta():
    """Q^T K = beta 1 on the unit sphere: fit and entropy find beta with R^2 = 1, B is symmetric."""
    d, beta = 8, 3.0
    (layer,) = plain_encoder(d, beta, 0.5, layers=1).layers
    x = unit_vectors(np.random.default_rng(2).normal(size=(12, d)))
    table = head_table(layer, x, x @ x.T)
    for result in (table.beta_fit, table.beta_entropy):
        assert abs(result[0] - beta) < 1e-8
    assert max(1.0 - table.r2_fit[0], 1.0 - table.r2_entropy[0], 1.0 - table.symmetric[0]) < 1e-15
    # Tokens of length sqrt(d): beta d.
    assert abs(table.beta_norm[0] - beta * d) < 1e-12
    entropies = row_entropies(softmax(beta * x @ x.T))
    assert abs(table.attended_tokens[0] - np.exp(entropies).mean()) < 1e-12
    assert np.abs(value_spectrum(layer) - 0.5).max() < 1e-15


def test_norms_of_heads_are_those_of_their_matrices(encoder):
    """beta_norm and the symmetric share from traces of small matrices, against B itself."""
    layer, x = encoder.layers[1], encoder.embedded(np.arange(6))
    u = unit_vectors(x)
    table = head_table(layer, x, u @ u.T)
    for h, head in enumerate(head_matrices(layer)):
        b = head.score[:-1, :-1]
        symmetric = np.linalg.norm(0.5 * (b + b.T))
        assert abs(table.beta_norm[h] / (4.0 * symmetric) - 1.0) < 1e-13
        assert abs(table.symmetric[h] - (symmetric / np.linalg.norm(b)) ** 2) < 1e-13


@pytest.mark.parametrize("beta", [0.3, 40.0])
def test_entropic_beta_is_the_inverse_of_entropy(beta):
    """Also where rows attend to hardly more than one token."""
    x = unit_vectors(np.random.default_rng(4).normal(size=(10, 3)))
    entropy = float(row_entropies(softmax(beta * x @ x.T)).mean())
    assert abs(entropic_beta(x @ x.T, entropy) / beta - 1.0) < 1e-7


def test_entropic_beta_ends():
    """Uniform rows need no beta; of tokens that all come twice none has less than log 2."""
    x = np.repeat(np.eye(3), 2, axis=0)
    assert entropic_beta(x @ x.T, math.log(6.0)) == 0.0
    assert entropic_beta(x @ x.T, 0.6) == math.inf


def test_ladder_of_the_theory_has_one_rung():
    """Where the model is one head of the theory, every rung but the last is the model."""
    x = np.random.default_rng(5).normal(size=(7, 9))
    x = unit_vectors(x - x.mean(axis=1, keepdims=True))
    model = plain_encoder(9, 2.0, 0.3, layers=2)
    result = ladder(model, list(model.states(x)))
    assert np.abs(result.distance[:3]).max() < 1e-13
    assert np.abs(result.cosine[:3] - result.cosine[0]).max() < 1e-14
    assert np.abs(result.beta - 2.0).max() < 1e-13
    assert np.abs(result.strength - 0.3).max() < 1e-13
    assert np.abs(result.share - 1.0).max() < 1e-13
    assert np.all(result.step_distance[0] > 1e-2)
    # Its normalisation is N, which leaves directions where they are.
    assert np.abs(result.step_distance[1] - result.step_distance[0]).max() < 1e-13
    assert np.abs(result.step_distance[2:]).max() < 1e-13
    assert np.abs(result.explained[2:] - 1.0).max() < 1e-13


def test_second_rung_is_the_encoder_without_feed_forward(encoder):
    """Attention through this package, against the layer's own with W_2 = 0 and b_2 = 0."""
    states = list(encoder.states(encoder.embedded(encoder.tokens(_TEXT))))
    result = ladder(encoder, states)
    x = states[0]
    for depth, layer in enumerate(encoder.layers, 1):
        x = layer.norm(layer.attended(x))
        apart = unit_vectors(x) - unit_vectors(states[depth])
        assert abs(result.distance[1, depth] - math.sqrt(np.mean(np.sum(apart**2, 1)))) < 1e-13


def test_negative_strengths_repel():
    """C < 0 goes back along the way of c > 0."""
    there = equiangular_by_layer(5, 0.1, np.array([3.0, 3.0]), np.array([0.4, -0.4]))
    assert there[1] > 0.15
    assert abs(there[2] - 0.1) < 1e-11


def test_replay_keeps_texts_apart(encoder, replayed):
    """A text would depend on the others, or observables on lengths."""
    alone = mf.replay(encoder, "the circle is a sphere")
    assert np.array_equal(replayed.states[:, replayed.text_of == 1], alone.states)
    assert replayed.depth == 2
    assert replayed.heads.beta_fit.shape == (2, 2, 4)
    assert replayed.ladder.cosine.shape == (2, len(RUNGS), 3)
    for text in (0, 1):
        for layer in range(3):
            measure = replayed.measure(layer, text)
            for name in ("mean_cosine", "effective_rank", "similarity"):
                expected = getattr(mf.observables, name)(measure)
                assert np.allclose(
                    replayed.observed[name][text, layer], expected, rtol=0, atol=1e-14
                )
    assert np.abs(replayed.ladder.cosine[:, 0] - replayed.observed["mean_cosine"]).max() < 1e-14


@pytest.mark.slow
def test_tokens_attend_to_a_sample_of_the_others(encoder):
    """With hardly any preference what n of N tokens lack is the error of a mean: slope 1/2."""
    layer = encoder.layers[0]
    faint = Affine(0.01 * layer.query.weight, 0.0 * layer.query.bias)
    weak = replace(encoder, layers=(replace(layer, query=faint),))
    options = {"counts": (8, 24, 64), "tokens": 256}
    limit, again = (
        mf.token_limit(weak, _TEXT, np.random.default_rng(0), runs=runs, **options)
        for runs in (40, 1)
    )
    slope, error = limit.exponents()
    # All tokens lack the same mean, a vector of 16 numbers: slopes of repetitions differ by 0.3.
    assert abs(slope[0] - 0.5) < 3.0 * error[0] < 0.2
    assert np.array_equal(again.errors[0], limit.errors[0])
    assert repr(again) == f"TokenLimit({encoder.name}: 8 to 64 of 256 tokens, 1 runs, 1 layers)"


def test_slopes_of_exact_errors():
    """(1/n - 1/N)^a has the slope a; too few counts are refused."""
    counts = np.array([10, 100, 1000])
    errors = (1.0 / counts - 1e-4)[:, None] ** np.array([0.5, 0.3])
    limit = TokenLimit("exact", counts, 10_000, errors[None])
    slopes, spread = limit.exponents()
    assert np.abs(slopes - [0.5, 0.3]).max() < 1e-13
    assert np.isnan(spread).all()
    refused("two counts, got 1 from 500 on", limit.exponents, 500)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"counts": (1, 8)}, "between 2 and 63"),
        ({"counts": (64,)}, "between 2 and 63"),
        ({"counts": ()}, "between 2 and 63"),
        ({"counts": (8,), "runs": 0}, "at least 1"),
    ],
)
def test_impossible_counts_are_refused(encoder, options, reason):
    """N must be tokens with others, and fewer than N."""
    refused(reason, mf.token_limit, encoder, _TEXT, np.random.default_rng(0), tokens=64, **options)
    rng = np.random.default_rng(0)
    refused("no words", mf.token_limit, encoder, " ", rng, counts=(8,), tokens=64)


@pytest.mark.parametrize(("where", "reason"), [((3,), "layer .* 0 and 2, got 3"), ((0, 9), "text")])
def test_no_measure_of_another_layer_or_text(replayed, where, reason):
    """One that is not there must be named, not looked for among arrays."""
    refused(reason, replayed.measure, *where)


def test_words_are_no_encoder():
    """A folder in its place would be a traceback, not advice."""
    refused(
        "model must be a trained model, such as mf", mf.replay, "folder", _TEXT, error=TypeError
    )


def test_beta_is_the_median_slope_or_one(replayed):
    """The report would name a median of other slopes."""
    slopes = replayed.heads.beta_fit
    middle = np.median(slopes[np.isfinite(slopes)])
    assert replayed.beta == (middle if middle > 0.0 else 1.0) != np.median(slopes[slopes > 0.0])
    assert "median beta fit, 1 if not positive" in str(replayed)


def test_a_replay_is_a_run_whose_time_is_depth(replayed):
    """States, observables and figures would differ from a run's."""
    run = replayed.run(1)
    assert run.time.tolist() == [0.0, 1.0, 2.0]
    assert np.array_equal(run.measures[2].points, replayed.measure(2, 1).points)
    difference = run.observables["mean_cosine"] - replayed.observed["mean_cosine"][1]
    assert np.abs(difference).max() < 1e-14
    assert run.plot("mean_cosine").axes


def test_what_does_not_move_has_no_warnings_and_no_false_numbers(encoder):
    """W_V = 0, or tokens that all agree: shares and slopes that do not exist are NaN, beta is 0."""
    zero = Affine(np.zeros((16, 16)), np.zeros(16))
    layers = tuple(replace(each, value=zero, output=zero) for each in encoder.layers)
    still = replace(encoder, layers=layers)
    assert np.isnan(mf.replay(still, _TEXT).ladder.share).all()
    alone = mf.token_limit(still, _TEXT, np.random.default_rng(0), counts=(4, 8), tokens=16, runs=2)
    assert not alone.errors.any() and np.isnan(alone.exponents()).all()
    replay = mf.replay(replace(encoder, positions=0.0 * encoder.positions), [np.full(5, 7)])
    assert np.isnan(replay.heads.beta_fit).all() and not replay.ladder.beta.any()
    assert replay.beta == 1.0 and np.abs(replay.ladder.cosine - 1.0).max() < 1e-12


def test_texts_and_numbers_of_tokens_stand_beside_each_other(encoder):
    """Numbers of the pieces of a text are that text; one number is refused."""
    text = "the circle is a sphere"
    replay = mf.replay(encoder, [text, encoder.tokens(text)])
    assert replay.texts == (text, "")
    assert np.array_equal(*(replay.states[:, replay.text_of == k] for k in (0, 1)))
    message = r"texts \[0\] must be a string or an array of integers"
    refused(message, mf.replay, encoder, [2, 11, 3], error=TypeError)
