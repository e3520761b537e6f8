"""A trained decoder, step by step: llama and its relatives.

With tokens x_i in R^d, RMS(x) = g x / sqrt(mean x^2 + eps), heads h = 1 ... H of size k, and key
heads that H / G heads share, one layer is

    s_ij = <R_i W_Q u_i, R_j W_K u_j>_h / sqrt(k),      u = RMS_1(x),      j <= i
    y_i  = x_i + W_O [sum_j p_ij W_V u_j]_h,            p_ij = e^{s_ij} / sum_{j <= i} e^{s_ij}
    x_i <- y_i + W_down (silu(W_gate v_i) * W_up v_i),  v = RMS_2(y)

R_i turns the pair of entries (a, a + k / 2) of a head by the angle i base^{-2 a / k}, so scores
depend on i - j (RoPE). At first x_i is the embedding of token i; the logits of the next token are
W RMS(x_i). In the words of this package: causal softmax attention, normalised before ("pre").
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from meanfield.arrays import FloatArray, IntArray
from meanfield.models.byte_pairs import BytePairs
from meanfield.models.encoder import (
    ACTIVATIONS,
    Affine,
    MultiHead,
    Stack,
    check_length,
    check_range,
    split,
)

# Rows of logits at once: 64 x 150,000 numbers are 80 MB.
_ROWS = 64


class RMSNorm(NamedTuple):
    """x -> g x / sqrt(mean x^2 + eps), along the last axis."""

    gain: FloatArray
    eps: float

    def __call__(self, x: FloatArray) -> FloatArray:
        return np.asarray(x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + self.eps) * self.gain)


def rotated(x: FloatArray, base: float) -> FloatArray:
    """R_i x_i of queries or keys (H, n, k), i = 0, 1, ..., n - 1."""
    half = x.shape[2] // 2
    angles = np.arange(x.shape[1])[:, None] * base ** (-np.arange(half) / half)
    cos, sin = np.cos(angles), np.sin(angles)
    one, other = x[..., :half], x[..., half:]
    return np.concatenate([one * cos - other * sin, other * cos + one * sin], axis=2)


@dataclass(frozen=True, eq=False)
class DecoderLayer(MultiHead):
    """One layer: causal attention, G heads of keys and values, then a gated feed-forward layer."""

    causal: ClassVar[bool] = True

    key_heads: int  # G, a divisor of H
    base: float  # of angles
    attention_norm: RMSNorm  # RMS_1
    gate: Affine
    up: Affine
    down: Affine
    norm: RMSNorm  # RMS_2

    @property
    def shared(self) -> int:
        return self.heads // self.key_heads

    def normalised(self, x: FloatArray) -> FloatArray:
        return self.attention_norm._replace(gain=np.ones(1))(x)

    def matrices(self, h: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """The same with R_i = 1, for tokens x / RMS(x)."""
        gains = np.append(self.attention_norm.gain, 1.0)
        *parts, output = super().matrices(h)
        query, key, value = (part * gains for part in parts)
        return query, key, value, output

    def projections(self, x: FloatArray) -> list[FloatArray]:
        u = self.attention_norm(x)
        queries = split(self.query(u), self.heads)
        keys, values = (split(part(u), self.key_heads) for part in (self.key, self.value))
        return [
            rotated(queries, self.base),
            np.repeat(rotated(keys, self.base), self.shared, axis=0),
            np.repeat(values, self.shared, axis=0),
        ]

    def score(self, query: FloatArray, key: FloatArray, first: int = 0) -> FloatArray:
        scores = super().score(query, key, first)
        scores[np.arange(len(key)) > first + np.arange(len(query))[:, None]] = -math.inf
        return scores

    def feed_forward(self, y: FloatArray) -> FloatArray:
        v = self.norm(y)
        return self.down(ACTIVATIONS["silu"](self.gate(v)) * self.up(v))


@dataclass(frozen=True, eq=False)
class Decoder(Stack):
    """A trained decoder: embeddings, layers, and logits of the next token.

    - words (., d): embeddings; unembedding (., d): W, which may be the same array.
    - norm (RMSNorm): before W; layers (tuple of DecoderLayer).
    - longest (int): most tokens of a text.
    - pieces (BytePairs or None): reads texts; without it tokens are given by their numbers.

    Of `layers`, `weights(x)` has the attention of each head in turn, (n, n), and `scores(x)` the
    scores, -inf where a token may not attend.
    """

    name: str
    words: FloatArray
    layers: tuple[DecoderLayer, ...]
    norm: RMSNorm
    unembedding: FloatArray
    longest: int
    pieces: BytePairs | None

    @property
    def dimension(self) -> int:
        return int(self.words.shape[1])

    def tokens(self, text: str) -> IntArray:
        """Numbers of the pieces of a text."""
        if self.pieces is None:
            raise ValueError(
                f"{self.name} reads no text: its tokenizer is missing, or not byte-level BPE of a "
                "known kind. Give the numbers of tokens."
            )
        return np.array(self.pieces.of(text), np.int64)

    def embedded(self, tokens: IntArray) -> FloatArray:
        """Tokens at depth 0, (n, d)."""
        check_length(tokens, self.longest, self.name)
        check_range(tokens, len(self.words))
        return self.words[tokens]

    def logits(self, x: FloatArray) -> FloatArray:
        """Logits of the next token, (n, size of the vocabulary), of the states after all layers."""
        return np.asarray(self.norm(x) @ self.unembedding.T)

    def perplexity(self, tokens: IntArray) -> float:
        """Exponential of the mean of -log p(token | tokens before it), over all but the first."""
        if len(tokens) < 2:
            raise ValueError("perplexity needs two tokens or more: give a longer text.")
        *_, x = self.states(self.embedded(tokens))
        total = 0.0
        for begin in range(0, len(tokens) - 1, _ROWS):
            following = tokens[begin + 1 : begin + 1 + _ROWS]
            logits = self.logits(x[begin : begin + len(following)])
            logits -= logits.max(axis=1, keepdims=True)
            logs = np.log(np.exp(logits).sum(axis=1))
            total += float(np.sum(logs - logits[np.arange(len(following)), following]))
        with np.errstate(over="ignore"):
            return float(np.exp(total / (len(tokens) - 1)))

    def __repr__(self) -> str:
        first = self.layers[0]
        return (
            f"Decoder({self.name}: {len(self.layers)} layers of {first.heads} heads, "
            f"{first.key_heads} of keys, d = {self.dimension})"
        )
