"""Small decoders in the files of trained ones: random weights, bytes written by hand."""

import json
import struct
from pathlib import Path

import numpy as np

from meanfield.models.byte_pairs import LETTERS
from tests.models.encoders import write_safetensors

MERGES = [("t", "h"), ("th", "e"), ("Ġ", "the"), ("Ġ", "t"), ("o", "k"), ("Ġt", "ok"), ("e", "n")]
# Two bytes are no pieces, as in real vocabularies.
PIECES = ["<|end|>", *(LETTERS[:192] + LETTERS[194:]), *(one + other for one, other in MERGES)]
HEADS, KEY_HEADS, SIZE, INNER, D = 4, 2, 8, 64, 32
SETTINGS = {
    "model_type": "llama", "hidden_size": D, "num_hidden_layers": 2, "intermediate_size": INNER,
    "num_attention_heads": HEADS, "num_key_value_heads": KEY_HEADS, "rms_norm_eps": 1e-5,
    "rope_theta": 500.0, "max_position_embeddings": 40, "vocab_size": len(PIECES),
    "hidden_act": "silu", "tie_word_embeddings": True,
}  # fmt: skip
_GGUF = {
    "hidden_size": "embedding_length", "num_hidden_layers": "block_count",
    "intermediate_size": "feed_forward_length", "max_position_embeddings": "context_length",
    "num_attention_heads": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv",
    "rms_norm_eps": "attention.layer_norm_rms_epsilon", "rope_theta": "rope.freq_base",
}  # fmt: skip
_BLOCK = {
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}  # fmt: skip


def random_arrays(layers=2, biases=False, untied=False):
    """Weights by the names of folders; numbers of single precision."""
    rng = np.random.default_rng(0)
    shapes = {
        "self_attn.q_proj": (HEADS * SIZE, D), "self_attn.k_proj": (KEY_HEADS * SIZE, D),
        "self_attn.v_proj": (KEY_HEADS * SIZE, D), "self_attn.o_proj": (D, HEADS * SIZE),
        "mlp.gate_proj": (INNER, D), "mlp.up_proj": (INNER, D), "mlp.down_proj": (D, INNER),
    }  # fmt: skip
    arrays = {"model.embed_tokens.weight": rng.normal(size=(len(PIECES), D))}
    arrays["model.norm.weight"] = rng.normal(size=D)
    if untied:
        arrays["lm_head.weight"] = rng.normal(size=(len(PIECES), D))
    for i in range(layers):
        for name in _BLOCK:
            begin = f"model.layers.{i}.{name}"
            shape = shapes.get(name, (D,))
            arrays[f"{begin}.weight"] = rng.normal(size=shape) * (2.0 / len(shape) / shape[-1])
            if biases and name[-6:] in ("q_proj", "k_proj", "v_proj"):
                arrays[f"{begin}.bias"] = rng.normal(size=shape[0])
    return {name: array.astype(np.float32) for name, array in arrays.items()}


def strong_arrays():
    """Weights whose attention is no mean, with steps of more than a thousandth of a token."""
    larger = dict.fromkeys(("q_proj", "k_proj", "o_proj"), 8)
    larger |= {"input_layernorm": 16, "post_attention_layernorm": 16, "down_proj": 32}
    arrays = random_arrays()
    return {name: larger.get(name.split(".")[-2], 1) * array for name, array in arrays.items()}


def tokenizer_json(**changes):
    """Content of tokenizer.json, for the rule of SmolLM2."""
    digits = {"type": "Digits", "individual_digits": True}
    letters = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}
    return {
        "added_tokens": [{"id": 0, "content": PIECES[0], "lstrip": False}],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [digits, letters]},
        "post_processor": letters,
        "model": {
            "type": "BPE", "vocab": {piece: i for i, piece in enumerate(PIECES)},
            "merges": [" ".join(pair) for pair in MERGES],
        },
    } | changes  # fmt: skip


def write_folder(folder, arrays, **settings):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(SETTINGS | settings))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer_json()), encoding="utf-8")
    write_safetensors(folder / "model.safetensors", arrays)


def text(value):
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def setting(name, value):
    """A setting in a GGUF file: its name, type and value."""
    if isinstance(value, bool):
        return text(name) + struct.pack("<IB", 7, value)
    if isinstance(value, int):
        return text(name) + struct.pack("<II", 4, value)
    if isinstance(value, float):
        return text(name) + struct.pack("<Id", 12, value)
    if isinstance(value, str):
        return text(name) + struct.pack("<I", 8) + text(value)
    kind, parts = (
        (8, [text(each) for each in value])
        if all(isinstance(each, str) for each in value)
        else (5, [struct.pack("<i", each) for each in value])
    )
    return text(name) + struct.pack("<IIQ", 9, kind, len(value)) + b"".join(parts)


def gguf_bytes(settings, arrays):
    """Bytes of a GGUF file; of an array its shape, the number of its type, and its bytes."""
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(arrays), len(settings))
    head += b"".join(setting(name, value) for name, value in settings.items())
    blocks = b""
    for name, (shape, kind, raw) in arrays.items():
        head += text(name) + struct.pack("<I", len(shape)) + struct.pack("<Q", shape[-1])
        head += b"".join(struct.pack("<Q", each) for each in shape[-2::-1])
        head += struct.pack("<IQ", kind, len(blocks))
        blocks += raw + bytes(-len(raw) % 32)
    return head + bytes(-len(head) % 32) + blocks


def gguf_settings(kind="llama", **settings):
    own = {f"{kind}.{theirs}": SETTINGS[ours] for ours, theirs in _GGUF.items()}
    words = {
        "model": "gpt2", "pre": "smollm", "tokens": PIECES, "add_bos_token": False,
        "token_type": [3] + [1] * (len(PIECES) - 1), "merges": [" ".join(pair) for pair in MERGES],
    }  # fmt: skip
    tokenizer = {f"tokenizer.ggml.{name}": value for name, value in words.items()}
    return {"general.architecture": kind, **own, **tokenizer} | settings


def gguf_arrays(arrays, kind="llama"):
    """Arrays by the names of GGUF files, pairs of llama's queries and keys side by side."""
    renamed = {}
    for name, array in arrays.items():
        for ours, theirs in {"model.layers": "blk", "model.norm": "output_norm",
                             "model.embed_tokens": "token_embd", "lm_head": "output",
                             **_BLOCK}.items():  # fmt: skip
            name = name.replace(ours, theirs)
        if kind == "llama" and ("attn_q." in name or "attn_k." in name):
            heads = array.reshape(-1, 2, SIZE // 2, *array.shape[1:])
            array = np.stack([heads[:, 0], heads[:, 1]], axis=2).reshape(array.shape)
        renamed[name] = (array.shape, 0, array.tobytes())
    return renamed


def write_gguf(path, arrays, kind="llama", **settings):
    Path(path).write_bytes(gguf_bytes(gguf_settings(kind, **settings), gguf_arrays(arrays, kind)))
