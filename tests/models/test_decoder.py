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
        out = [sum(w * v for w, v in zip(row, x, strict=True)) for row in arrays[f"{name}.weight"]]
        bias = arrays.get(f"{name}.bias", np.zeros(len(out)))
        return [v + b for v, b in zip(out, bias, strict=True)]

    def norm(name, x):
        size = math.sqrt(sum(v * v for v in x) / len(x) + SETTINGS["rms_norm_eps"])
        return [v / size * g for v, g in zip(x, arrays[f"{name}.weight"], strict=True)]

    def turned(x, position):
        """Pairs as complex numbers, times e^{i angle}."""
        out = [0.0] * SIZE
        for a in range(SIZE // 2):
            angle = position / SETTINGS["rope_theta"] ** (2 * a / SIZE)
            z = complex(x[a], x[a + SIZE // 2]) * complex(math.cos(angle), math.sin(angle))
            out[a], out[a + SIZE // 2] = z.real, z.imag
        return out

    x = [list(arrays["model.embed_tokens.weight"][token]) for token in tokens]
    states, attention = [x], np.zeros((layers, HEADS, len(x), len(x)))
    for layer in range(layers):
        begin = f"model.layers.{layer}."
        us = [norm(f"{begin}input_layernorm", each) for each in x]
        q, k, v = ([dense(f"{begin}self_attn.{c}_proj", u) for u in us] for c in "qkv")
        after = []
        for i in range(len(x)):
            together = []
            for h in range(HEADS):
                own = slice(h * SIZE, (h + 1) * SIZE)
                g = h // (HEADS // KEY_HEADS)
                shared = slice(g * SIZE, (g + 1) * SIZE)
                query = turned(q[i][own], i)
                weights = []
                for j in range(i + 1):
                    key = turned(k[j][shared], j)
                    product = sum(one * other for one, other in zip(query, key, strict=True))
                    weights.append(math.exp(product / math.sqrt(SIZE)))
                weights = [w / sum(weights) for w in weights]
                attention[layer, h, i, : i + 1] = weights
                together += [sum(w * v[j][shared][a] for j, w in enumerate(weights))
                             for a in range(SIZE)]  # fmt: skip
            out = dense(f"{begin}self_attn.o_proj", together)
            y = [a + b for a, b in zip(x[i], out, strict=True)]
            u = norm(f"{begin}post_attention_layernorm", y)
            gate, up = (dense(f"{begin}mlp.{name}_proj", u) for name in ("gate", "up"))
            inner = [g / (1.0 + math.exp(-g)) * u for g, u in zip(gate, up, strict=True)]
            after.append([a + b for a, b in zip(y, dense(f"{begin}mlp.down_proj", inner),
                                                strict=True)])  # fmt: skip
        x = after
        states.append(x)
    head = "lm_head" if "lm_head.weight" in arrays else "model.embed_tokens"
    logits = [dense(head, norm("model.norm", each)) for each in x]
    return np.array(states), attention, np.array(logits)


@pytest.mark.parametrize("form", ["llama folder", "llama file", "qwen2 file"])
def test_states_attention_and_logits_equal_explicit_loops(tmp_path, form):
    """A head of another group, a wrong angle, a token that sees a later one would show."""
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
    huge = replace(decoder, unembedding=1e5 * decoder.unembedding)
    assert huge.perplexity(tokens) == math.inf
    refused("perplexity needs two tokens", decoder.perplexity, tokens[:1])


def test_later_tokens_change_nothing_before_them(tmp_path):
    """Causal attention: the first tokens would depend on later ones."""
    write_folder(tmp_path, random_arrays())
    decoder = mf.load_decoder(tmp_path)
    *_, all_of_them = decoder.states(decoder.embedded(_TOKENS))
    *_, first = decoder.states(decoder.embedded(_TOKENS[:4]))
    assert np.abs(all_of_them[:4] - first).max() < 1e-12


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
