"""Layers of trained encoders: BERT, and ALBERT, whose layers share their weights.

With tokens x_i in R^d, LN(x) = g (x - mean x) / sqrt(var x + eps) + b, and heads h = 1 ... H of
size k = d / H, one layer is

    s_ij = <W_Q x_i + b_Q, W_K x_j + b_K>_h / sqrt(k),      p_ij = e^{s_ij} / sum_j e^{s_ij}
    y_i  = LN_1(x_i + W_O [sum_j p_ij (W_V x_j + b_V)]_h + b_O)
    x_i <- LN_2(y_i + W_2 sigma(W_1 y_i + b_1) + b_2)

At depth 0 x_i = LN_0(word_i + position_i + segment), in ALBERT an affine map of this. In this
package: softmax attention, then a feed-forward layer, each with normalisation "post".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeAlias, TypeVar

import numpy as np

from meanfield.arrays import FloatArray, IntArray
from meanfield.engines.threads import map_chunks, one_blas_thread
from meanfield.models.byte_pairs import WordPiece
from meanfield.terms.fixed import ACTIVATIONS as OF_TERMS

Text = TypeVar("Text")

Look: TypeAlias = Callable[[int, int, FloatArray, FloatArray, FloatArray], None]
"""Function of a head, the first of some rows, their scores and weights (rows, n), values (n, k)."""

# Pairs of tokens computed at once: 32 MB of scores.
PAIRS = 2**22


class Affine(NamedTuple):
    """x -> W x + b."""

    weight: FloatArray
    bias: FloatArray

    def __call__(self, x: FloatArray) -> FloatArray:
        return np.asarray(x @ self.weight.T + self.bias)


class LayerNorm(NamedTuple):
    """x -> g (x - mean x) / sqrt(var x + eps) + b, along the last axis."""

    gain: FloatArray
    bias: FloatArray
    eps: float

    def __call__(self, x: FloatArray) -> FloatArray:
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = np.mean(centred**2, axis=-1, keepdims=True)
        return np.asarray(centred / np.sqrt(variance + self.eps) * self.gain + self.bias)


@dataclass(frozen=True, eq=False)
class MultiHead:
    """Attention of several heads: queries, keys and values stacked."""

    causal: ClassVar[bool] = False  # tokens attend to themselves and earlier tokens only

    heads: int  # H; a head has size k
    query: Affine
    key: Affine
    value: Affine
    output: Affine  # W_O

    @property
    def size(self) -> int:
        return len(self.query.weight) // self.heads

    @property
    def shared(self) -> int:
        """Number of heads that share keys and values."""
        return 1

    def normalised(self, x: FloatArray) -> FloatArray:
        """Tokens to which `matrices` apply."""
        return x

    def matrices(self, h: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """(W | b) of queries, keys and values of a head, (k, d + 1), and its columns of W_O."""
        own, common = (
            slice(each * self.size, (each + 1) * self.size) for each in (h, h // self.shared)
        )
        query, key, value = (
            np.column_stack([part.weight[rows], part.bias[rows]])
            for part, rows in ((self.query, own), (self.key, common), (self.value, common))
        )
        return query, key, value, self.output.weight[:, own]

    def projections(self, x: FloatArray) -> list[FloatArray]:
        """Queries, keys and values of all heads, (H, n, k) each."""
        return [split(part(x), self.heads) for part in (self.query, self.key, self.value)]

    def score(self, query: FloatArray, key: FloatArray, first: int = 0) -> FloatArray:
        """s_ij of one head, i = first, ..., from queries (rows, k) and all keys (n, k)."""
        return np.asarray(query @ key.T / math.sqrt(self.size))

    def scores(self, x: FloatArray) -> Iterator[FloatArray]:
        """s_ij of each head in turn, (n, n)."""
        queries, keys, _ = self.projections(x)
        yield from map(self.score, queries, keys)

    def weights(self, x: FloatArray) -> Iterator[FloatArray]:
        """Attention p_ij of each head in turn, (n, n)."""
        yield from map(softmax, self.scores(x))

    def attention(self, x: FloatArray, look: Look | None = None) -> FloatArray:
        """Increment of tokens by attention, (n, d); `look` is called with each block of rows."""
        parts = self.projections(x)
        step = max(1, PAIRS // len(x))

        def mean(h: int) -> FloatArray:
            query, key, value = (part[h] for part in parts)
            means = []
            for first in range(0, len(x), step):
                scores = self.score(query[first : first + step], key, first)
                weights = softmax(scores)
                if look is not None:
                    look(h, first, scores, weights, value)
                means.append(weights @ value)
            return np.concatenate(means)

        with one_blas_thread():
            means = map_chunks(mean, self.heads)
        return self.output(np.concatenate(means, axis=1))

    def after_attention(self, x: FloatArray, added: FloatArray) -> FloatArray:
        """Tokens after attention has added an increment."""
        return x + added

    def after_feed_forward(self, y: FloatArray, added: FloatArray) -> FloatArray:
        """Tokens after the feed-forward layer has added an increment."""
        return y + added

    def feed_forward(self, y: FloatArray) -> FloatArray:
        """Increment of tokens by the feed-forward layer, (n, d)."""
        raise NotImplementedError

    def attended(self, x: FloatArray) -> FloatArray:
        """Tokens after attention, without the feed-forward layer."""
        return self.after_attention(x, self.attention(x))

    def __call__(self, x: FloatArray) -> FloatArray:
        y = self.attended(x)
        return self.after_feed_forward(y, self.feed_forward(y))


class Stack:
    """Base of models: layers, one after another."""

    name: str
    layers: tuple[Any, ...]

    def tokens(self, text: str) -> IntArray:
        """Numbers of the pieces of a text."""
        raise NotImplementedError

    def embedded(self, tokens: IntArray) -> FloatArray:
        """Tokens at depth 0, (n, d)."""
        raise NotImplementedError

    def states(self, x: FloatArray) -> Iterator[FloatArray]:
        """States x at depth 0, then after each layer."""
        yield x
        for layer in self.layers:
            x = layer(x)
            yield x


@dataclass(frozen=True, eq=False)
class EncoderLayer(MultiHead):
    """One layer: attention, then the feed-forward layer W_1, W_2."""

    attention_norm: LayerNorm  # LN_1
    inner: Affine
    outer: Affine
    norm: LayerNorm  # LN_2
    activation: str  # sigma, a key of ACTIVATIONS

    def feed_forward(self, y: FloatArray) -> FloatArray:
        return self.outer(ACTIVATIONS[self.activation](self.inner(y)))

    def after_attention(self, x: FloatArray, added: FloatArray) -> FloatArray:
        return self.attention_norm(x + added)

    def after_feed_forward(self, y: FloatArray, added: FloatArray) -> FloatArray:
        return self.norm(y + added)


@dataclass(frozen=True, eq=False)
class Encoder(Stack):
    """A trained encoder: embeddings and layers.

    - words, positions, segments (., e): embeddings; only the first segment is used.
    - norm (LayerNorm): LN_0; widened (Affine or None): map from R^e to R^d (ALBERT).
    - layers (tuple of EncoderLayer): for ALBERT the same layer several times.
    - pieces (WordPiece or None): tokenizer; without it tokens are given by number.
    """

    name: str
    words: FloatArray
    positions: FloatArray
    segments: FloatArray
    norm: LayerNorm
    widened: Affine | None
    layers: tuple[EncoderLayer, ...]
    pieces: WordPiece | None

    @property
    def dimension(self) -> int:
        return len(self.layers[0].norm.gain)

    @property
    def longest(self) -> int:
        """Largest number of tokens of a text."""
        return len(self.positions)

    @property
    def shares_weights(self) -> bool:
        """True if all layers are equal, so that depth is the time of an autonomous system."""
        return len(self.layers) > 1 and all(layer is self.layers[0] for layer in self.layers)

    def tokens(self, text: str) -> IntArray:
        if self.pieces is None:
            raise ValueError(
                f"{self.name} has no vocab.txt, so it reads no text: give the numbers of tokens."
            )
        return np.array([self.pieces.numbers[each] for each in self.pieces.of(text)], np.int64)

    def embedded(self, tokens: IntArray, positions: IntArray | None = None) -> FloatArray:
        """Tokens at depth 0, (n, d), by default at positions 0, 1, ..."""
        if positions is None:
            check_length(tokens, self.longest, self.name)
            positions = np.arange(len(tokens))
        check_range(tokens, len(self.words))
        check_range(positions, self.longest)
        x = self.norm(self.words[tokens] + self.positions[positions] + self.segments[0])
        return x if self.widened is None else self.widened(x)

    def __repr__(self) -> str:
        shared = " (the same weights in all)" if self.shares_weights else ""
        return (
            f"Encoder({self.name}: {len(self.layers)} layers{shared} of {self.layers[0].heads} "
            f"heads, d = {self.dimension})"
        )


def listed(texts: str | Sequence[Text]) -> list[str | Text]:
    """One text, or several, as a list."""
    return [texts] if isinstance(texts, str) else list(texts)


def check_length(tokens: IntArray, longest: int, model: str) -> None:
    """Refuse a text longer than a model takes."""
    if len(tokens) > longest:
        raise ValueError(
            f"a text has {len(tokens)} tokens, {model} takes at most {longest}: "
            "give less of it, or several texts."
        )


def check_range(indices: IntArray, most: int) -> None:
    """Refuse numbers of tokens or positions outside a table of `most` rows."""
    if len(indices) and not 0 <= min(indices) <= max(indices) < most:
        raise ValueError(
            f"numbers of tokens or positions must lie between 0 and {most - 1}, got "
            f"{min(indices)} to {max(indices)}."
        )


def split(x: FloatArray, heads: int) -> FloatArray:
    """Parts of vectors (n, H k) that belong to each head, (H, n, k)."""
    return np.ascontiguousarray(x.reshape(len(x), heads, -1).swapaxes(0, 1))


def softmax(scores: FloatArray) -> FloatArray:
    """e^{s_ij} / sum_j e^{s_ij}, along the last axis."""
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def _gelu_new(x: FloatArray) -> FloatArray:
    cubic = x + 0.044715 * x**3
    return np.asarray(0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * cubic)))


ACTIVATIONS: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    **{name: OF_TERMS[name].value for name in ("gelu", "relu", "silu")},
    "gelu_new": _gelu_new,
}
"""sigma by its name in config.json."""
