"""Decoders against explicit loops: layers, heads, logits, perplexity."""

import math
from dataclasses import replace

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.models.decoder import rotated
from tests.models.decoders import (
    HEADS,
    KEY_HEADS,
    SETTINGS,
    SIZE,
    D,
    random_arrays,
    write_folder,
    write_gguf,
)

_TOKENS = np.array([84, 3, 200, 251, 84, 17, 42])


def _by_loops(arrays, tokens, layers=2):
    """States of all depths, attention (layers, H, n, n), logits: token by token, head by head."""
    arrays = {name: array.astype(float) for name, array in arrays.items()}

    def dense(name, x):
        return arrays[f"{name}.weight"] @ x + arrays.get(f"{name}.bias", 0.0)

    def norm(name, x):
        return x / np.sqrt(np.mean(x * x) + SETTINGS["rms_norm_eps"]) * arrays[f"{name}.weight"]

    def turned(x, position):
        """Pairs as complex numbers, times e^{i angle}."""
        half = SIZE // 2
        angles = position / SETTINGS["rope_theta"] ** (np.arange(half) / half)
        z = (x[:half] + 1j * x[half:]) * np.exp(1j * angles)
        return np.append(z.real, z.imag)

    x = arrays["model.embed_tokens.weight"][tokens]
    states, attention = [x], np.zeros((layers, HEADS, len(x), len(x)))
    for layer in range(layers):
        begin, after = f"model.layers.{layer}.", []
        us = [norm(f"{begin}input_layernorm", each) for each in x]
        q, k, v = (
            [dense(f"{begin}self_attn.{c}_proj", u).reshape(-1, SIZE) for u in us] for c in "qkv"
        )
        for i in range(len(x)):
            heads = []
            for h in range(HEADS):
                g = h // (HEADS // KEY_HEADS)
                query, keys = turned(q[i][h], i), [turned(k[j][g], j) for j in range(i + 1)]
                weights = [math.exp(query @ key / math.sqrt(SIZE)) for key in keys]
                weights = [w / sum(weights) for w in weights]
                attention[layer, h, i, : i + 1] = weights
                heads.append(sum(w * v[j][g] for j, w in enumerate(weights)))
            y = x[i] + dense(f"{begin}self_attn.o_proj", np.concatenate(heads))
            u = norm(f"{begin}post_attention_layernorm", y)
            gate, up = (dense(f"{begin}mlp.{name}_proj", u) for name in ("gate", "up"))
            after.append(y + dense(f"{begin}mlp.down_proj", gate / (1.0 + np.exp(-gate)) * up))
        x = np.array(after)
        states.append(x)
    head = "lm_head" if "lm_head.weight" in arrays else "model.embed_tokens"
    logits = [dense(head, norm("model.norm", each)) for each in x]
    return np.array(states), attention, np.array(logits)


@pytest.mark.parametrize("form", ["llama folder", "llama file", "qwen2 file"])
def test_states_attention_and_logits_equal_explicit_loops(tmp_path, form):
    """A head of another group, a wrong angle, attention to later tokens would show."""
    kind, of_file = form.split()[0], form.endswith("file")
    arrays = random_arrays(biases=kind == "qwen2", untied=of_file)
    if of_file:
        write_gguf(tmp_path / "x.gguf", arrays, kind)
    else:
        write_folder(tmp_path, arrays)
    decoder = mf.load_decoder(tmp_path / "x.gguf" if of_file else tmp_path)
    states = list(decoder.states(decoder.embedded(_TOKENS)))
    weights = [list(layer.weights(x)) for layer, x in zip(decoder.layers, states, strict=False)]
    logits = decoder.logits(states[-1])
    # Sums of 64 terms of order ten.
    for ours, theirs in zip((states, weights, logits), _by_loops(arrays, _TOKENS), strict=True):
        assert np.abs(np.array(ours) - theirs).max() < 1e-12
    assert repr(decoder).endswith("2 layers of 4 heads, 2 of keys, d = 32)")


def test_perplexity_is_that_of_the_softmax_of_logits(tmp_path):
    """Blocks of rows must not shift the tokens that follow; more tokens than one block."""
    arrays = random_arrays(layers=1)
    write_folder(tmp_path, arrays, num_hidden_layers=1, max_position_embeddings=100)
    decoder = mf.load_decoder(tmp_path)
    tokens = np.random.default_rng(0).integers(0, 250, size=100)
    *_, x = decoder.states(decoder.embedded(tokens))
    p = np.exp(decoder.logits(x))
    p /= p.sum(axis=1, keepdims=True)
    expected = np.prod(p[np.arange(99), tokens[1:]] ** (-1.0 / 99))
    assert decoder.perplexity(tokens) == pytest.approx(expected, rel=1e-12)
    assert replace(decoder, unembedding=1e5 * decoder.unembedding).perplexity(tokens) == math.inf
    refused("perplexity needs two tokens", decoder.perplexity, tokens[:1])


def test_scores_depend_on_distances_alone():
    """<R_i q, R_j k> is the same for all i - j, and R_i keeps lengths."""
    rng = np.random.default_rng(1)
    q, k = (np.tile(rng.normal(size=SIZE), (1, 9, 1)) for _ in range(2))
    turned_q, turned_k = rotated(q, 100.0)[0], rotated(k, 100.0)[0]
    scores = turned_q @ turned_k.T
    for distance in range(-8, 9):
        assert np.ptp(np.diagonal(scores, distance)) < 1e-13
    assert np.abs(np.linalg.norm(turned_q, axis=1) - np.linalg.norm(q[0, 0])).max() < 1e-14


def test_more_tokens_than_the_window_are_refused(tmp_path):
    """Beyond a sliding window attention would be another one; numbers must be in range."""
    write_folder(tmp_path, random_arrays(), sliding_window=5)
    decoder = mf.load_decoder(tmp_path)
    assert decoder.longest == 5 and decoder.dimension == D
    refused("7 tokens, .* takes at most 5", decoder.embedded, _TOKENS)
    refused("must lie between 0 and 261, got 3 to 999", decoder.embedded, np.array([3, 999]))
    write_folder(tmp_path, random_arrays(), sliding_window=5, use_sliding_window=False)
    assert mf.load_decoder(tmp_path).longest == 40
