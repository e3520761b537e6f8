"""An encoder of a local folder: config.json, model.safetensors, vocab.txt.

Nothing is downloaded, and nothing that could be executed is read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from meanfield.arguments import checked
from meanfield.models.encoder import ACTIVATIONS, Encoder, EncoderLayer, LayerNorm
from meanfield.models.parts import Parts, read_settings
from meanfield.models.safetensors import Tensors
from meanfield.models.wordpiece import WordPiece, read_vocabulary

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
# What config.json may say otherwise, and then the model is another one.
_USUAL = {
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "num_hidden_groups": 1,
    "inner_group_num": 1,
}


@checked
def load_encoder(folder: str | os.PathLike[str]) -> Encoder:
    """Trained encoder (BERT, ALBERT) of a folder on this computer.

    Parameters
    ----------
    folder : path
        With config.json and model.safetensors, and vocab.txt if texts are to be read: such as
        others train and give away.

    Returns
    -------
    Encoder
        Weights in double precision, 8 bytes each: 0.9 GB for 110 million.

    Raises
    ------
    ValueError
        If a file is missing, damaged, or of another kind of model; which one, and what is wrong.

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
            f"{place / 'config.json'}: model_type is {kind!r}, known are 'bert' and 'albert'."
        )
    for name, usual in _USUAL.items():
        if config.get(name, usual) != usual:
            raise ValueError(
                f"{place / 'config.json'}: {name} is {config[name]!r}, only {usual!r} is known."
            )
    return _Reader(place, config, kind).encoder(_vocabulary(place))


class _Reader(Parts):
    """Makes the parts of an encoder, each with the shape that the settings say."""

    def __init__(self, place: Path, config: Mapping[str, Any], kind: str) -> None:
        path = place / "model.safetensors"
        super().__init__(path, Tensors(path), place / "config.json", config)
        self.place, self.kind = place, kind
        # Models that were trained for a task have a prefix.
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
        # What is not said is what the two have by default.
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
        # Older files have other names for the two.
        old = f"{self.prefix}{name}.gamma" in self.tensors
        gain, bias = ("gamma", "beta") if old else ("weight", "bias")
        scale, shift = (self.array(f"{name}.{part}", (size,)) for part in (gain, bias))
        return LayerNorm(scale, shift, self.eps)


def _vocabulary(place: Path) -> WordPiece | None:
    """Vocabulary of a folder, if there is one, and how texts are put in its letters."""
    vocabulary, path = place / "vocab.txt", place / "tokenizer_config.json"
    if not vocabulary.exists():
        return None
    settings = read_settings(path) if path.exists() else {}
    lowers, accents = settings.get("do_lower_case", True), settings.get("strip_accents")
    chinese = settings.get("tokenize_chinese_chars", True)
    for name, value in (("do_lower_case", lowers), ("tokenize_chinese_chars", chinese)):
        if not isinstance(value, bool):
            raise ValueError(f"{path}: {name} is {value!r}, expected true or false.")
    # Other rules cut texts into other pieces, and nothing would show it.
    if accents not in (None, lowers) or not chinese:
        raise ValueError(
            f"{path}: strip_accents is {accents!r} and tokenize_chinese_chars {chinese!r}; known "
            "are accents dropped with capitals only, and Chinese characters as words. Without "
            "vocab.txt tokens are given by number."
        )
    return read_vocabulary(vocabulary, lowers)
