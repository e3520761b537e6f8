"""An encoder of a local folder: config.json, model.safetensors, vocab.txt.

Nothing is downloaded, and no file can execute code.
"""

from __future__ import annotations

import json
import os
import reprlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from meanfield.arguments import checked
from meanfield.arrays import FloatArray
from meanfield.errors import one_line
from meanfield.models.byte_pairs import WordPiece, read_vocabulary
from meanfield.models.encoder import ACTIVATIONS, Affine, Encoder, EncoderLayer, LayerNorm
from meanfield.models.safetensors import ArrayFile, Tensors, check_ordinary

# Largest file of settings in bytes, and largest number in it.
_LARGEST = 1_000_000
_MOST = 1_000_000
# Half precision ends at 65504. Squares of sums of products of larger weights would overflow.
_LARGEST_WEIGHT = 1e12
# Layers with shared weights take no space in a file, but their states take memory.
_MOST_LAYERS = 1_000
# Most arrays that a message names one by one.
_MOST_NAMED = 20


class Parts:
    """Reads arrays of a file with shapes from settings.

    path, tensors: a file of arrays; settings, config: the file of settings, and its entries.
    """

    prefix = ""  # of all names of arrays

    def __init__(
        self, path: Path, tensors: ArrayFile, settings: Path, config: Mapping[str, Any]
    ) -> None:
        self.path, self.tensors, self.settings, self.config = path, tensors, settings, config
        self.missing: list[str] = []  # names of arrays

    def affine(self, name: str, rows: int, columns: int, *, optional: bool = False) -> Affine:
        """Weight and bias; an `optional` bias is 0 if the file has none."""
        weight = self.array(f"{name}.weight", (rows, columns))
        if optional and self.named(f"{name}.bias") not in self.tensors:
            return Affine(weight, np.broadcast_to(0.0, (rows,)))
        return Affine(weight, self.array(f"{name}.bias", (rows,)))

    def named(self, name: str) -> str:
        """Name of an array in this file."""
        return self.prefix + name

    def array(self, name: str, shape: tuple[int, ...]) -> FloatArray:
        key, path = self.named(name), self.path
        if key not in self.tensors:
            self.missing.append(key)
            return np.broadcast_to(0.0, shape)
        if self.tensors.shape(key) != shape:
            raise ValueError(
                f"{path}: {key} has shape {self.tensors.shape(key)}, {self.settings.name} says "
                f"{shape}."
            )
        weights = self.tensors[key]
        if weights.size and (largest := np.abs(weights).max()) > _LARGEST_WEIGHT:
            raise ValueError(
                f"{path}: {key} holds {largest:.3g}, expected trained weights, at most "
                f"{_LARGEST_WEIGHT:g}."
            )
        return weights

    def check_missing(self, kind: str) -> None:
        """Refuse a file if arrays of this kind of model are missing."""
        if self.missing:
            names, more = ", ".join(self.missing[:_MOST_NAMED]), len(self.missing) - _MOST_NAMED
            others = f" and {more} more" if more > 0 else ""
            raise ValueError(f"{self.path} has no {names}{others}: is it a {kind}?")

    def depth(self) -> int:
        depth = self.whole("num_hidden_layers")
        if depth > _MOST_LAYERS:
            self.wrong(f"num_hidden_layers is {depth}, at most {_MOST_LAYERS} are taken")
        return depth

    def name(self, key: str, usual: str) -> str:
        """Name of the model in its settings without the maker's name, or else the usual name."""
        own = self.config.get(key)
        if isinstance(own, str) and own.isprintable() and 0 < len(own) <= 100:
            own = own.rstrip("/").rsplit("/", 1)[-1]
            if own:
                return own
        return usual

    def whole(self, name: str, usual: int | None = None) -> int:
        return int(self.number(name, int, usual))

    def number(
        self, name: str, kind: Callable[[Any], Any], usual: float | None, most: int = _MOST
    ) -> Any:
        value = self.config.get(name, usual)
        if type(value) not in (int, kind) or not 0 < value <= most:
            wanted = "whole number" if kind is int else "number"
            self.wrong(
                f"{name} is {short_repr(value)}, expected a positive {wanted}, at most {most}"
            )
        return kind(value)

    def wrong(self, reason: str) -> NoReturn:
        raise ValueError(f"{self.settings}: {reason}.")


def short_repr(value: object) -> str:
    """Short form of a value for a message."""
    return one_line(reprlib.repr(value))


def read_settings(
    path: Path, remedy: str = "a model has such a file", largest: int = _LARGEST
) -> dict[str, Any]:
    """Settings of a JSON file; `remedy` ends the message if there is no file."""
    check_ordinary(path)
    try:
        size = path.stat().st_size
        text = path.read_bytes() if size <= largest else None
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}: {remedy}.") from None
    if text is None:
        raise ValueError(f"{path}: {size} bytes are too many for settings.")
    try:
        settings = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError):  # a number of thousands of digits is a plain ValueError
        raise ValueError(f"{path} is no JSON.") from None
    if not isinstance(settings, dict):
        raise ValueError(f"{path} is no JSON object.")
    return settings


# Remedy if config.json is missing.
_REMEDY = (
    "an encoder is a folder with config.json, model.safetensors and vocab.txt; `make encoder` "
    "installs one, see docs/replay.md"
)
# Names of a layer's arrays in the files of each kind of model.
_BERT = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "output": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "inner": "intermediate.dense",
    "outer": "output.dense",
    "norm": "output.LayerNorm",
}
_ALBERT = {
    "query": "attention.query",
    "key": "attention.key",
    "value": "attention.value",
    "output": "attention.dense",
    "attention_norm": "attention.LayerNorm",
    "inner": "ffn",
    "outer": "ffn_output",
    "norm": "full_layer_layer_norm",
}
_ALBERT_LAYER = "encoder.albert_layer_groups.0.albert_layers.0."
# Other names of the same functions.
_ALIASES = {"gelu_pytorch_tanh": "gelu_new", "gelu_fast": "gelu_new", "swish": "silu"}
# Settings with one supported value.
_USUAL = {
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "num_hidden_groups": 1,
    "inner_group_num": 1,
}


@checked
def load_encoder(folder: str | os.PathLike[str]) -> Encoder:
    """Trained encoder (BERT, ALBERT) from a local folder.

    Parameters
    ----------
    folder : path
        With config.json, model.safetensors, and, for texts, vocab.txt.

    Returns
    -------
    Encoder
        Weights are in double precision: 0.9 GB for 110 million.

    Raises
    ------
    ValueError
        If a file is missing, damaged, or of another kind of model.

    References
    ----------
    Devlin, Chang, Lee, Toutanova, BERT, arXiv:1810.04805. Lan et al., ALBERT, arXiv:1909.11942.

    Examples
    --------
    >>> load_encoder("nothing")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: nothing/config.json: No such file or directory: an encoder is a folder with ...
    """
    place = Path(folder)
    config = read_settings(place / "config.json", _REMEDY)
    kind = config.get("model_type")
    if kind not in ("bert", "albert"):
        raise ValueError(
            f"{place / 'config.json'}: model_type is {short_repr(kind)}, known are 'bert' and "
            "'albert'."
        )
    for name, usual in _USUAL.items():
        if config.get(name, usual) != usual:
            raise ValueError(
                f"{place / 'config.json'}: {name} is {short_repr(config[name])}, only {usual!r} "
                "is known."
            )
    return _Reader(place, config, kind).encoder(_vocabulary(place))


class _Reader(Parts):
    """Makes the parts of an encoder."""

    def __init__(self, place: Path, config: Mapping[str, Any], kind: str) -> None:
        path = place / "model.safetensors"
        super().__init__(path, Tensors(path), place / "config.json", config)
        self.place, self.kind = place, kind
        # Arrays of models trained for a task have a prefix.
        prefixed = any(name.startswith(f"{kind}.") for name in self.tensors)
        self.prefix = f"{kind}." if prefixed else ""
        self.eps = self.number("layer_norm_eps", float, 1e-12)

    def encoder(self, pieces: WordPiece | None) -> Encoder:
        d = self.whole("hidden_size")
        e = self.whole("embedding_size") if self.kind == "albert" else d
        words, positions, segments = (
            self.array(f"embeddings.{name}_embeddings.weight", (self.whole(size), e))
            for name, size in (
                ("word", "vocab_size"),
                ("position", "max_position_embeddings"),
                ("token_type", "type_vocab_size"),
            )
        )
        if pieces is not None and max(pieces.numbers.values()) >= len(words):
            raise ValueError(
                f"{self.place / 'vocab.txt'} has {len(pieces.numbers)} pieces, the model knows "
                f"{len(words)}: they do not belong together."
            )
        depth = self.depth()
        if self.kind == "albert":
            layers = (self.layer(_ALBERT_LAYER, _ALBERT),) * depth
        else:
            layers = tuple(self.layer(f"encoder.layer.{i}.", _BERT) for i in range(depth))
        widening = "encoder.embedding_hidden_mapping_in"
        encoder = Encoder(
            name=self.name("_name_or_path", self.place.resolve().name),
            words=words,
            positions=positions,
            segments=segments,
            norm=self.norm("embeddings.LayerNorm", e),
            widened=self.affine(widening, d, e) if self.kind == "albert" else None,
            layers=layers,
            pieces=pieces,
        )
        self.check_missing(f"{self.kind} encoder")
        return encoder

    def layer(self, begin: str, names: Mapping[str, str]) -> EncoderLayer:
        d, inner = self.whole("hidden_size"), self.whole("intermediate_size")
        heads = self.whole("num_attention_heads")
        if d % heads:
            self.wrong(f"hidden_size {d} is no multiple of num_attention_heads {heads}")
        # Defaults of the two kinds.
        usual = "gelu_new" if self.kind == "albert" else "gelu"
        activation = self.config.get("hidden_act", usual)
        activation = _ALIASES.get(activation, activation) if isinstance(activation, str) else ""
        if activation not in ACTIVATIONS:
            self.wrong(f"hidden_act is unknown, known: {[*ACTIVATIONS]}")
        sizes = {"inner": (inner, d), "outer": (d, inner)}
        norms = ("attention_norm", "norm")
        parts: dict[str, Any] = {
            part: self.norm(begin + name, d)
            if part in norms
            else self.affine(begin + name, *sizes.get(part, (d, d)))
            for part, name in names.items()
        }
        return EncoderLayer(heads=heads, activation=activation, **parts)

    def norm(self, name: str, size: int) -> LayerNorm:
        # Older files name the arrays gamma and beta.
        old = f"{self.prefix}{name}.gamma" in self.tensors
        gain, bias = ("gamma", "beta") if old else ("weight", "bias")
        scale, shift = (self.array(f"{name}.{part}", (size,)) for part in (gain, bias))
        return LayerNorm(scale, shift, self.eps)


def _vocabulary(place: Path) -> WordPiece | None:
    """Vocabulary of a folder and its treatment of case and accents; None without vocab.txt."""
    vocabulary, path = place / "vocab.txt", place / "tokenizer_config.json"
    if not vocabulary.exists():
        return None
    settings = read_settings(path) if path.exists() else {}
    lowers, accents = settings.get("do_lower_case", True), settings.get("strip_accents")
    chinese = settings.get("tokenize_chinese_chars", True)
    for name, value in (("do_lower_case", lowers), ("tokenize_chinese_chars", chinese)):
        if not isinstance(value, bool):
            raise ValueError(f"{path}: {name} is {short_repr(value)}, expected true or false.")
    # Other rules would silently cut texts into other pieces.
    if accents not in (None, lowers) or not chinese:
        raise ValueError(
            f"{path}: strip_accents is {short_repr(accents)} and tokenize_chinese_chars {chinese}; "
            "known are accents dropped with capitals only, and Chinese characters as words. "
            "Without vocab.txt tokens are given by number."
        )
    return read_vocabulary(vocabulary, lowers)
