"""A decoder of a local GGUF file, or of a folder: config.json, model.safetensors, tokenizer.json.

Nothing is downloaded, and no file can execute code.

Decoders belong to the llama family. With tokens x_i in R^d, RMS(x) = g x / sqrt(mean x^2 + eps),
heads h = 1 ... H of size k, and G key heads, each shared by H / G heads, one layer is

    s_ij = <R_i W_Q u_i, R_j W_K u_j>_h / sqrt(k),      u = RMS_1(x),      j <= i
    y_i  = x_i + W_O [sum_j p_ij W_V u_j]_h,            p_ij = e^{s_ij} / sum_{j <= i} e^{s_ij}
    x_i <- y_i + W_down (silu(W_gate v_i) * W_up v_i),  v = RMS_2(y)

R_i rotates the pair of entries (a, a + k / 2) of a head by the angle i base^{-2 a / k}, so scores
depend on i - j (RoPE). At depth 0 x_i is the embedding of token i. The logits of the next token
are W RMS(x_i). In this package: causal softmax attention, with normalisation "pre".
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from meanfield.arguments import checked
from meanfield.arrays import FloatArray, IntArray
from meanfield.engines.limits import check_memory
from meanfield.models.byte_pairs import RULES, BytePairs
from meanfield.models.encoder import (
    ACTIVATIONS,
    Affine,
    MultiHead,
    Stack,
    check_length,
    check_range,
    split,
)
from meanfield.models.encoder_files import Parts, read_settings, short_repr
from meanfield.models.safetensors import GGUF, ArrayFile, Tensors, short

_REMEDY = "a decoder is a .gguf file, or a folder with config.json and model.safetensors"
# Settings -> supported values, the first by default.
_USUAL: dict[str, tuple[str | float, ...]] = {
    "model_type": ("llama", "mistral", "qwen2"),
    "hidden_act": ("silu",),
    "rope_type": ("default", "none"),
    "partial_rotary_factor": (1.0,),
    "factor": (1.0, 0.0),
    "scale_linear": (1.0, 0.0),
}
# Names of arrays in folders -> names in GGUF files.
_NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "model.layers.": "blk.",
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
# Names of settings in folders -> names in GGUF files, after the kind of the model.
_SETTINGS = {
    "hidden_size": "embedding_length",
    "num_hidden_layers": "block_count",
    "intermediate_size": "feed_forward_length",
    "max_position_embeddings": "context_length",
    "num_attention_heads": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv",
    "head_dim": "attention.key_length",
    "rms_norm_eps": "attention.layer_norm_rms_epsilon",
    "sliding_window": "attention.sliding_window",
    "rope_theta": "rope.freq_base",
    "rope_type": "rope.scaling.type",
    "factor": "rope.scaling.factor",
    "scale_linear": "rope.scale_linear",
    "rope_entries": "rope.dimension_count",
}
_LARGEST_BASE = 10**9
_LARGEST_TOKENIZER = 100_000_000
# Types of tokens in GGUF files that occur literally in texts: control and user-defined tokens.
_SPECIAL = (3, 4)
# Settings of tokenizer.json with pieces that are not joined bytes.
_OTHER_PIECES = ("byte_fallback", "continuing_subword_prefix", "end_of_word_suffix")
# Settings of literal tokens in tokenizer.json that change the text around them.
_STRIPPED = ("single_word", "lstrip", "rstrip")
# Pre-tokenizer steps in tokenizer.json -> the rule; regular expressions must be equal.
_SIGNS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
_REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_STEPS = {
    (("ByteLevel", True),): "gpt-2",
    (("Digits", True), ("ByteLevel", True)): "smollm",
    (("Split", rf"{_SIGNS}\p{{N}}{_REST}"), ("ByteLevel", False)): "qwen2",
    (("Split", rf"{_SIGNS}\p{{N}}{{1,3}}{_REST}"), ("ByteLevel", False)): "llama-bpe",
}


@checked
def load_decoder(path: str | os.PathLike[str]) -> Decoder:
    """Trained decoder (llama, SmolLM2, Mistral, Qwen2) from a local file or folder.

    Parameters
    ----------
    path : path
        A GGUF file with arrays of types F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q4_K, Q6_K; or a folder
        with config.json, model.safetensors, and, for texts, tokenizer.json.

    Returns
    -------
    Decoder
        Weights are in double precision: 1.1 GB for 135 million.

    Raises
    ------
    ValueError
        If a file is missing, damaged, or of another kind of model, or memory does not suffice.

    References
    ----------
    Touvron et al., LLaMA, arXiv:2302.13971. Su et al., RoFormer, arXiv:2104.09864 (RoPE).
    Ainslie et al., GQA, arXiv:2305.13245 (shared heads of keys). Shazeer, GLU variants improve
    transformer, arXiv:2002.05202.

    Examples
    --------
    >>> load_decoder("nothing")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: nothing: no such file or folder: a decoder is a .gguf file, or a folder with ...
    """
    place = Path(path)
    if place.is_file():
        file = GGUF(place)
        return _Reader(place, file, place, _settings_of_gguf(file)).decoder(_pieces_of_gguf(file))
    if not place.exists():
        raise ValueError(f"{place}: no such file or folder: {_REMEDY}.")
    config = read_settings(place / "config.json", _REMEDY)
    weights, tokenizer = place / "model.safetensors", place / "tokenizer.json"
    reader = _Reader(weights, Tensors(weights), place / "config.json", config)
    return reader.decoder(_pieces_of_json(tokenizer) if tokenizer.exists() else None)


class _Reader(Parts):
    """Makes the parts of a decoder, with the names of arrays in folders."""

    def __init__(
        self, path: Path, tensors: ArrayFile, settings: Path, config: Mapping[str, Any]
    ) -> None:
        entries = {name: each for name, each in config.items() if each is not None}
        for name in ("rope_parameters", "rope_scaling"):
            rope = entries.get(name) or {}
            rope = rope if isinstance(rope, dict) else {"type": rope}
            entries |= {key: each for key, each in rope.items() if each is not None}
            if any(isinstance(each, dict) for each in rope.values()):  # one entry per layer type
                entries["rope_type"] = rope
            elif rope.get("type") is not None and rope.get("rope_type") is None:  # its older name
                entries["rope_type"] = rope["type"]
        super().__init__(path, tensors, settings, entries)
        self.used: set[str] = set()
        for name, usual in _USUAL.items():
            value = self.config.get(name, usual[0])
            if not isinstance(value, str | int | float) or value not in usual:
                self.wrong(f"{name} is {short_repr(value)}, known: {[*usual]}")
        self.kind = str(self.config.get("model_type"))
        self.d, self.inner, self.heads = map(
            self.whole, ("hidden_size", "intermediate_size", "num_attention_heads")
        )
        self.key_heads = self.whole("num_key_value_heads", self.heads)
        self.size = self.whole("head_dim", self.d // self.heads or None)
        if self.heads % self.key_heads or self.size % 2:
            self.wrong(
                f"{self.heads} heads of {self.size} numbers with {self.key_heads} heads of keys: "
                "expected a multiple of heads, and an even size"
            )
        if self.config.get("rope_entries", self.size) != self.size:
            self.wrong("positions turn a part of each head, expected all of it")
        self.eps = self.number("rms_norm_eps", float, 1e-6)
        need = 8.0 * sum(math.prod(tensors.shape(name)) for name in tensors)
        check_memory(need, f"{path.name} in double precision", "Take a smaller model")

    def decoder(self, pieces: BytePairs | None) -> Decoder:
        vocabulary, longest = self.whole("vocab_size"), self.whole("max_position_embeddings")
        # Within the sliding window a token attends to all earlier ones.
        if self.config.get("sliding_window") and self.config.get("use_sliding_window", True):
            longest = min(longest, self.whole("sliding_window"))
        if pieces is not None and pieces.last >= vocabulary:
            self.wrong(
                f"the tokenizer has the number {pieces.last}, the model {vocabulary} tokens: they "
                "do not belong together"
            )
        words = self.array("model.embed_tokens.weight", (vocabulary, self.d))
        tied = self.config.get("tie_word_embeddings", True)
        tied = tied and self.named("lm_head.weight") not in self.tensors
        decoder = Decoder(
            name=self.name("_name_or_path", self.settings.resolve().parent.name),
            words=words,
            layers=tuple(self.layer(f"model.layers.{i}.") for i in range(self.depth())),
            norm=self.norm("model.norm"),
            unembedding=words if tied else self.array("lm_head.weight", words.shape),
            longest=longest,
            pieces=pieces,
        )
        self.check_missing("decoder")
        others = [name for name in self.tensors if name not in self.used]
        if others:
            raise ValueError(
                f"{self.path} has {len(others)} arrays unknown to decoders of kind {self.kind!r}, "
                f"such as {short(others[0])}: is it another kind?"
            )
        return decoder

    def layer(self, begin: str) -> DecoderLayer:
        d, inner = self.d, self.inner
        rows, key_rows = self.heads * self.size, self.key_heads * self.size
        parts = {
            name: self.affine(begin + key, *shape, optional=not self.biased(key))
            for name, key, shape in (
                ("query", "self_attn.q_proj", (rows, d)),
                ("key", "self_attn.k_proj", (key_rows, d)),
                ("value", "self_attn.v_proj", (key_rows, d)),
                ("output", "self_attn.o_proj", (d, rows)),
                ("gate", "mlp.gate_proj", (inner, d)),
                ("up", "mlp.up_proj", (inner, d)),
                ("down", "mlp.down_proj", (d, inner)),
            )
        }
        # Missing arrays are views without memory; a copy would take memory before the error.
        if isinstance(self.tensors, GGUF) and self.kind == "llama" and not self.missing:
            for name in ("query", "key"):
                parts[name] = Affine(*(_halves(each, self.size) for each in parts[name]))
        return DecoderLayer(
            heads=self.heads,
            key_heads=self.key_heads,
            base=self.number("rope_theta", float, 10_000.0, _LARGEST_BASE),
            attention_norm=self.norm(f"{begin}input_layernorm"),
            norm=self.norm(f"{begin}post_attention_layernorm"),
            **parts,
        )

    def biased(self, key: str) -> bool:
        """True if this part of a layer must have a bias."""
        attention = key.startswith("self_attn")
        if self.kind == "qwen2":
            return attention and key != "self_attn.o_proj"
        return bool(self.config.get("attention_bias" if attention else "mlp_bias"))

    def norm(self, name: str) -> RMSNorm:
        return RMSNorm(self.array(f"{name}.weight", (self.d,)), self.eps)

    def array(self, name: str, shape: tuple[int, ...]) -> FloatArray:
        self.used.add(self.named(name))
        return super().array(name, shape)

    def named(self, name: str) -> str:
        for ours, theirs in _NAMES.items() if isinstance(self.tensors, GGUF) else ():
            name = name.replace(ours, theirs)
        return name


def _halves(rows: FloatArray, size: int) -> FloatArray:
    """Rows of heads with pairs (a, a + k / 2), which GGUF files of llama store as neighbours."""
    pairs = rows.reshape(-1, size // 2, 2, *rows.shape[1:])
    return np.ascontiguousarray(pairs.swapaxes(1, 2)).reshape(rows.shape)


def _settings_of_gguf(file: GGUF) -> dict[str, Any]:
    """Settings of a GGUF file by their names in config.json."""
    kind = file.settings.get("general.architecture")
    entries = {ours: file.settings.get(f"{kind}.{theirs}") for ours, theirs in _SETTINGS.items()}
    entries = {"model_type": kind, "_name_or_path": file.settings.get("general.name")} | entries
    if "token_embd.weight" in file:
        entries["vocab_size"] = file.shape("token_embd.weight")[0]
    for name, value in entries.items():
        if isinstance(value, list | np.ndarray):
            raise ValueError(f"{file.path}: {name} is a list, expected one value.")
    return {name: value for name, value in entries.items() if value is not None}


def _pieces_of_gguf(file: GGUF) -> BytePairs | None:
    """Tokenizer of a GGUF file; None if its kind is not supported."""
    begin = "tokenizer.ggml."
    entries = {
        name.removeprefix(begin): value
        for name, value in file.settings.items()
        if name.startswith(begin)
    }
    rule = entries.get("pre")
    if str(entries.get("model")) != "gpt2" or not isinstance(rule, str) or rule not in RULES:
        return None
    try:
        words = entries["tokens"]
        numbers = {word: number for number, word in enumerate(words)}
        special = np.flatnonzero(np.isin(entries.get("token_type", []), _SPECIAL))
        specials = {words[number]: int(number) for number in special}
        begins = entries.get("add_bos_token", rule == "llama-bpe")
        if not isinstance(begins, int):
            raise TypeError
        first = entries["bos_token_id"] if begins else None
    except (IndexError, KeyError, TypeError):
        raise _damaged_tokenizer(file.path) from None
    return _byte_pairs(file.path, numbers, entries.get("merges"), rule, specials, first)


def _pieces_of_json(path: Path) -> BytePairs | None:
    """Tokenizer of tokenizer.json; None if its kind is not supported."""
    settings = read_settings(path, largest=_LARGEST_TOKENIZER)
    try:
        model, added = settings["model"], settings["added_tokens"]
        rule = _STEPS.get(tuple(map(_step, _steps(settings["pre_tokenizer"], "pretokenizers"))))
        normalizer = (settings.get("normalizer") or {}).get("type")
        specials = {each["content"]: each["id"] for each in added}
        after = _steps(settings.get("post_processor"), "processors")
        strange = [
            model["type"] != "BPE",
            bool(model.get("ignore_merges")) != (rule == "llama-bpe"),
            {each["type"] for each in after} - {"ByteLevel", "TemplateProcessing"},
            normalizer != ("NFC" if rule == "qwen2" else None),
            *(model.get(name) for name in _OTHER_PIECES),
            *(each.get(name) for each in added for name in _STRIPPED),
        ]
        templates = (each["single"] for each in after if each["type"] == "TemplateProcessing")
        around: list[Any] = sum(templates, [])
        names = [each["SpecialToken"]["id"] for each in around if "SpecialToken" in each]
        if rule is None or any(strange) or len(names) > 1 or (names and "Sequence" in around[0]):
            return None
        first = specials[names[0]] if names else None
        numbers, joins = model["vocab"], model["merges"]
    except (AttributeError, KeyError, TypeError):
        raise _damaged_tokenizer(path) from None
    return _byte_pairs(path, numbers, joins, rule, specials, first)


def _steps(entry: Any, several: str) -> list[Any]:
    """Steps of an entry that is a sequence, one step, or None."""
    return [] if entry is None else entry[several] if entry["type"] == "Sequence" else [entry]


def _step(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    """Type and relevant option of a step, as in `_STEPS`."""
    if entry["type"] == "ByteLevel" and not entry["add_prefix_space"]:
        return "ByteLevel", entry.get("use_regex", True)
    if entry["type"] == "Split" and entry["behavior"] == "Isolated" and not entry["invert"]:
        return "Split", entry["pattern"].get("Regex")
    return entry["type"], entry.get("individual_digits")


def _byte_pairs(
    path: Path, numbers: Any, joins: Any, rule: str, specials: dict[Any, Any], first: Any
) -> BytePairs:
    """Tokenizer from entries of a file; ValueError if they are damaged."""
    try:
        pairs = [tuple(each.split(" ") if isinstance(each, str) else each) for each in joins]
        ranks = {(one, other): rank for rank, (one, other) in enumerate(pairs)}
        joined = {one + other for one, other in ranks}
        values = [*numbers.values(), *specials.values(), *([] if first is None else [first])]
        sound = bool(numbers) and all(type(each) is int and each >= 0 for each in values)
        sound &= all(isinstance(each, str) for each in (*numbers, *specials, *joined))
    except (AttributeError, TypeError, ValueError):
        sound = False
    if not sound or not joined <= numbers.keys():
        raise _damaged_tokenizer(path)
    # An empty piece would match anywhere in a text.
    specials = {piece: number for piece, number in specials.items() if piece}
    return BytePairs(numbers, ranks, rule, specials, first)


def _damaged_tokenizer(path: Path) -> ValueError:
    return ValueError(
        f"{path} holds a damaged tokenizer: expected numbers of pieces, and pairs that join to "
        "pieces."
    )


# Rows of logits computed at once: 64 x 150,000 numbers are 80 MB.
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
        """Matrices with R_i = 1 and gains included, for tokens x / RMS(x)."""
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
    - longest (int): largest number of tokens of a text.
    - pieces (BytePairs or None): tokenizer; without it tokens are given by number.

    For a layer, `weights(x)` yields the attention of each head, (n, n), and `scores(x)` its scores,
    -inf where a token may not attend.
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
        if self.pieces is None:
            raise ValueError(
                f"{self.name} reads no text: its tokenizer is missing, or not byte-level BPE of a "
                "known kind. Give the numbers of tokens."
            )
        return np.array(self.pieces.of(text), np.int64)

    def embedded(self, tokens: IntArray) -> FloatArray:
        check_length(tokens, self.longest, self.name)
        check_range(tokens, len(self.words))
        return self.words[tokens]

    def logits(self, x: FloatArray) -> FloatArray:
        """Logits of the next token, (n, vocabulary), from states after all layers."""
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
