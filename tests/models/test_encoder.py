"""Encoders against explicit loops, and where their layers are known exactly."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import erf

import meanfield as mf
from meanfield.fields.blocks import attention_output, unit_vectors
from meanfield.models.encoder import Affine, Encoder, EncoderLayer, LayerNorm
from meanfield.models.heads import head_matrices, lifted
from tests.models.encoders import random_arrays, write_encoder, write_safetensors

_TOKENS = np.array([2, 11, 14, 5, 6, 7, 3])


_PARTS = {
    "bert": ["attention.self.query", "attention.self.key", "attention.self.value",
             "attention.output.dense", "attention.output.LayerNorm", "intermediate.dense",
             "output.dense", "output.LayerNorm"],
    "albert": ["attention.query", "attention.key", "attention.value", "attention.dense",
               "attention.LayerNorm", "ffn", "ffn_output", "full_layer_layer_norm"],
}  # fmt: skip


def _by_loops(arrays, kind, layers, heads, tokens):
    """States of all depths: token by token, head by head."""
    gelu = {
        "bert": lambda x: 0.5 * x * (1.0 + erf(x / math.sqrt(2.0))),
        "albert": lambda x: (
            0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))
        ),
    }[kind]

    def dense(name, x):
        return arrays[f"{name}.weight"] @ x + arrays[f"{name}.bias"]

    def norm(name, x):
        x = (x - x.mean()) / np.sqrt(x.var() + 1e-12)
        return x * arrays[f"{name}.weight"] + arrays[f"{name}.bias"]

    words, positions, segments = (
        arrays[f"embeddings.{name}_embeddings.weight"]
        for name in ("word", "position", "token_type")
    )
    x = [words[token] + positions[place] + segments[0] for place, token in enumerate(tokens)]
    x = [norm("embeddings.LayerNorm", each) for each in x]
    if kind == "albert":
        x = [dense("encoder.embedding_hidden_mapping_in", each) for each in x]
    states = [x]
    for layer in range(layers):
        begin = f"encoder.layer.{layer}."
        if kind == "albert":
            begin = "encoder.albert_layer_groups.0.albert_layers.0."
        query, key, value, output, first, inner, outer, last = (begin + n for n in _PARTS[kind])
        q, k, v = ([dense(n, each).reshape(heads, -1) for each in x] for n in (query, key, value))
        moved = []
        for i in range(len(x)):
            together = []
            for h in range(heads):
                weights = [math.exp(q[i][h] @ each[h] / math.sqrt(len(q[i][h]))) for each in k]
                together.append(sum(w * v[j][h] for j, w in enumerate(weights)) / sum(weights))
            y = norm(first, x[i] + dense(output, np.concatenate(together)))
            moved.append(norm(last, y + dense(outer, gelu(dense(inner, y)))))
        x = moved
        states.append(x)
    return np.array(states)


@pytest.mark.parametrize("kind", ["bert", "albert"])
def test_states_equal_explicit_loops(tmp_path, kind):
    """A matrix transposed, a head misplaced, an activation of the other kind would show."""
    arrays = write_encoder(tmp_path, kind)
    encoder = mf.load_encoder(tmp_path)
    ours = np.array(list(encoder.states(encoder.embedded(_TOKENS))))
    assert encoder.shares_weights == (kind == "albert")
    # Sums of 24 terms of order one.
    assert np.abs(ours - _by_loops(arrays, kind, 2, 4, _TOKENS)).max() < 1e-13


@pytest.mark.parametrize(("prefix", "old"), [("bert.", False), ("", True)])
def test_other_names_of_the_same_arrays(tmp_path, prefix, old):
    """Models of a task have a prefix, old files gamma and beta."""
    arrays = write_encoder(tmp_path)
    states = list(mf.load_encoder(tmp_path).states(mf.load_encoder(tmp_path).embedded(_TOKENS)))
    renamed = {}
    for name, array in arrays.items():
        if old and "LayerNorm" in name:
            name = name.replace("weight", "gamma").replace("bias", "beta")
        renamed[prefix + name] = array
    write_safetensors(tmp_path / "model.safetensors", renamed)
    encoder = mf.load_encoder(tmp_path)
    assert np.array_equal(list(encoder.states(encoder.embedded(_TOKENS))), states)


def test_heads_are_matrices_and_measures_all_that_counts(tmp_path):
    """B_h and V_h give the layer's own attention; doubled or reordered tokens do the same."""
    write_encoder(tmp_path)
    encoder = mf.load_encoder(tmp_path)
    x = encoder.embedded(_TOKENS)
    for layer in encoder.layers:
        ours = attention_output(lifted(x), head_matrices(layer))
        assert np.abs(ours[:, :-1] - layer.attention(x)).max() < 1e-13
        assert not ours[:, -1].any()
    *_, last = encoder.states(x)
    *_, twice = encoder.states(np.concatenate([x, x]))
    order = np.random.default_rng(0).permutation(len(x))
    *_, permuted = encoder.states(x[order])
    assert np.abs(twice - np.concatenate([last, last])).max() < 1e-13
    assert np.abs(permuted - last[order]).max() < 1e-13
    # W_Q = 0 and b_Q = 0: every token attends to all alike, whatever the keys.
    query = Affine(*(0.0 * part for part in encoder.layers[0].query))
    layer = replace(encoder.layers[0], query=query)
    x = np.random.default_rng(3).normal(size=(5, 16))
    assert np.ptp(layer.attention(x), axis=0).max() < 1e-15


def test_without_values_a_layer_only_normalises(tmp_path):
    """W_V = 0 and no feed-forward: LN_2(LN_1(x))."""
    arrays = random_arrays()
    for name in arrays:
        if any(part in name for part in ("value", "dense.bias", "output.dense")):
            arrays[name] = 0.0 * arrays[name]
    write_encoder(tmp_path, arrays=arrays)
    encoder = mf.load_encoder(tmp_path)
    x, layer = encoder.embedded(_TOKENS), encoder.layers[0]
    assert np.array_equal(layer(x), layer.norm(layer.attention_norm(x)))


def plain_encoder(d, beta, strength, layers):
    """One head with Q^T K = beta 1 between unit vectors, V = strength 1, no feed-forward."""
    query, one, value, nothing = (
        Affine(factor * np.eye(d), np.zeros(d))
        for factor in (beta * math.sqrt(d), 1.0, strength, 0.0)
    )
    # LN of vectors orthogonal to (1, ..., 1) is N times sqrt(d); LN again changes nothing.
    norm = LayerNorm(np.full(d, d**-0.5), np.zeros(d), 0.0)
    layer = EncoderLayer(
        heads=1, query=query, key=one, value=value, output=one, attention_norm=norm,
        inner=nothing, outer=nothing, norm=norm, activation="relu",
    )  # fmt: skip
    empty = np.zeros((1, d))
    return Encoder("plain", empty, empty, empty, norm, None, (layer,) * layers, None)


def test_plain_layers_are_layers_of_this_package():
    """Q^T K = beta 1, V = c 1 and no feed-forward are x <- N(x + c A(x)), layer after layer."""
    d, beta, strength = 6, 3.0, 0.4
    # Attention keeps the mean of coordinates 0: on that subspace LN is N.
    x = np.random.default_rng(1).normal(size=(9, d))
    x = unit_vectors(x - x.mean(axis=1, keepdims=True))
    encoder = plain_encoder(d, beta, strength, layers=3)
    problem = mf.Problem(
        mf.Sphere(d), mf.exponential(beta), mf.Flow(True, strength), mf.from_points(x),
        layers=mf.Layers(step=1.0, count=3),
    )  # fmt: skip
    run = mf.simulate(problem)
    for state, measure in zip(encoder.states(x), run.measures, strict=True):
        assert np.abs(state - measure.points).max() < 1e-13
