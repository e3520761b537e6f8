"""Small encoders in the files of trained ones: random weights, their bytes written by hand."""

import json
import struct
from pathlib import Path

import numpy as np

PIECES = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "a", "token", "##s", "##er", "##ed",
    "clust", "cluster", "on", "sphere", "circle", ",", ".", "!", "?", "'", "-", "#", "1", "2",
    "attention", "cafe", "is", "it", "un", "##believ", "##able", "of", "to", "in", "and", "你",
    "好", "layer", "mean", "field", "x", "y", "z",
]  # fmt: skip

D, INNER = 16, 24
_BERT = {
    **{f"attention.self.{name}": (D, D) for name in ("query", "key", "value")},
    "attention.output.dense": (D, D),
    "attention.output.LayerNorm": (D,),
    "intermediate.dense": (INNER, D),
    "output.dense": (D, INNER),
    "output.LayerNorm": (D,),
}
_ALBERT = {
    **{f"attention.{name}": (D, D) for name in ("query", "key", "value", "dense")},
    "attention.LayerNorm": (D,),
    "ffn": (INNER, D),
    "ffn_output": (D, INNER),
    "full_layer_layer_norm": (D,),
}


def write_safetensors(path, arrays):
    """A file of arrays: length of the header, header, numbers."""
    header, blocks, place = {"__metadata__": {"format": "pt"}}, [], 0
    for name, array in arrays.items():
        data = np.ascontiguousarray(array).tobytes()
        kind = {"f4": "F32", "f8": "F64", "f2": "F16", "u2": "BF16"}[array.dtype.str[1:]]
        offsets = [place, place + len(data)]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": offsets}
        blocks.append(data)
        place += len(data)
    text = json.dumps(header).encode()
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blocks))


def random_arrays(kind="bert", layers=2, positions=40):
    rng = np.random.default_rng(0)
    e = D if kind == "bert" else 8
    shapes = {f"embeddings.{name}_embeddings.weight": (count, e) for name, count in
              (("word", len(PIECES)), ("position", positions), ("token_type", 2))}  # fmt: skip
    arrays = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    named = {"embeddings.LayerNorm": (e,)}
    if kind == "albert":
        named["encoder.embedding_hidden_mapping_in"] = (D, e)
        begins, parts = ["encoder.albert_layer_groups.0.albert_layers.0"], _ALBERT
    else:
        begins, parts = [f"encoder.layer.{i}" for i in range(layers)], _BERT
    for begin in begins:
        named |= {f"{begin}.{part}": shape for part, shape in parts.items()}
    for name, shape in named.items():
        spread = 1.0 if len(shape) == 1 else shape[1] ** -0.5
        arrays[f"{name}.weight"] = spread * rng.normal(size=shape)
        arrays[f"{name}.bias"] = 0.3 * rng.normal(size=shape[0])
    return arrays


def write_encoder(folder, kind="bert", arrays=None, **settings):
    """A folder with config.json, model.safetensors and vocab.txt; returns the weights."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    arrays = random_arrays(kind) if arrays is None else arrays
    config = {
        "model_type": kind, "hidden_size": D, "num_attention_heads": 4, "num_hidden_layers": 2,
        "intermediate_size": INNER, "hidden_act": "gelu",
        "layer_norm_eps": 1e-12, "vocab_size": len(PIECES), "type_vocab_size": 2,
        "max_position_embeddings": 40,
    }  # fmt: skip
    if kind == "albert":
        config |= {"embedding_size": 8, "hidden_act": "gelu_new"}
    (folder / "config.json").write_text(json.dumps(config | settings))
    (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n", encoding="utf-8")
    write_safetensors(folder / "model.safetensors", arrays)
    return arrays
