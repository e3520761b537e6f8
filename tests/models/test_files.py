"""Files of encoders: what is read, and messages about damaged or hostile ones."""

import json
import os
import struct
import tempfile
from pathlib import Path

import numpy as np
import pytest
from parameters import refused, refused_without_memory, together

import meanfield as mf
from meanfield.models.byte_pairs import WordPiece
from meanfield.models.replay import replayed_texts
from meanfield.models.safetensors import Tensors
from tests.models.encoders import PIECES, random_arrays, write_encoder, write_safetensors


def test_every_type_is_read(tmp_path):
    """Halves, upper halves of floats, floats and doubles are the numbers that they are."""
    values = np.array([[1.0, -2.5, 0.15625], [3.0, 1024.0, -0.0]])
    upper = (values.astype("<f4").view("<u4") >> 16).astype("<u2")
    arrays = {kind: values.astype(f"<{kind}") for kind in ("f2", "f4", "f8")} | {"b": upper}
    write_safetensors(tmp_path / "x", arrays | {"none": np.zeros((0, 3))})
    tensors = Tensors(tmp_path / "x")
    assert {*tensors} == {*arrays, "none"}
    assert all(np.array_equal(tensors[name], values) for name in arrays)
    assert tensors["none"].shape == (0, 3)


def _file(header, data=b"\0" * 24, length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def _entry(**changed):
    return {"a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]} | changed}


@together(
    "content, reason",
    [
        (b"", "length of a header"),
        (_file({}, length=2**62), "length of a header"),
        (_file(b"\xff{"), "no JSON"),
        (_file(b"[" * 200_000), "no JSON"),
        (_file(b'{"a": ' + b"9" * 5000 + b"}"), "no JSON"),
        (_file([1]), "no JSON object"),
        (_file(b'{"a": 1, "a": 2}'), "twice"),
        (_file({"a": 5}), "lacks dtype"),
        (_file(_entry(shape=None)), "lacks dtype"),
        (_file(_entry(shape=[-2, -3])), "lacks dtype"),
        (_file(_entry(shape=[2.0, 3])), "lacks dtype"),
        (_file(_entry(shape=[True, 6])), "lacks dtype"),
        (_file(_entry(data_offsets=[0, 12, 24])), "lacks dtype"),
        (_file(_entry(dtype="F8")), "known: "),
        (_file(_entry(dtype="x" * 10**6)), "known: "),
        (_file(_entry(data_offsets=[4, 28])), "of 24 bytes"),
        (_file(_entry(data_offsets=[24, 0])), "of 24 bytes"),
        (_file(_entry(shape=[2**62, 2**62])), "has 24 bytes"),
        (_file(_entry(shape=[2])), "has 24 bytes"),
        (_file(_entry() | {"b": _entry()["a"]}), "overlap"),
    ],
)
def test_hostile_weights_are_refused_without_memory(tmp_path, content, reason):
    """Headers that lie are refused in one line, before anything is made of what they promise."""
    refused_without_memory(tmp_path / "x", content, Tensors, reason)


def test_truncated_weights_are_refused(tmp_path):
    """A download that broke off is noticed wherever it did."""
    write_safetensors(tmp_path / "x", random_arrays(layers=1))
    content = (tmp_path / "x").read_bytes()
    for length in range(0, len(content), len(content) // 40):
        (tmp_path / "x").write_bytes(content[:length])
        refused("is no safetensors file", Tensors, tmp_path / "x")


def _without(arrays, name):
    return {key: array for key, array in arrays.items() if name not in key}


@pytest.mark.slow
@together("settings, change, reason", [
    ({"model_type": "gpt2"}, None, "'gpt2', known are 'bert' and 'albert'"),
    ({"position_embedding_type": "relative_key"}, None, "only 'absolute' is known"),
    ({"hidden_act": "mish"}, None, "hidden_act is unknown"),
    ({"hidden_act": ["gelu"]}, None, "hidden_act is unknown"),
    ({"num_attention_heads": 5}, None, "no multiple of num_attention_heads 5"),
    ({"num_hidden_layers": 10**12}, None, "num_hidden_layers is 10"),
    ({"num_hidden_layers": 10**5}, None, "at most 1000 are taken"),
    ({"num_hidden_layers": 3}, None, "has no encoder.layer.2."),
    ({"hidden_size": 32}, None, r"has shape \(44, 16\), config.json says \(44, 32\)"),
    ({"hidden_size": "16"}, None, "hidden_size is '16'"),
    ({"layer_norm_eps": -1.0}, None, "layer_norm_eps is -1.0"),
    ({"vocab_size": 20}, None, "config.json says"),
    ({}, lambda arrays: _without(arrays, "query"), "has no encoder.layer.0.attention.self"),
    ({}, lambda arrays: _without(_without(arrays, "query"), "intermediate"),
     r"query.weight, .*query.bias, .*intermediate.dense.weight, .*: is it a bert encoder\?"),
    ({"num_hidden_layers": 100}, None, r"has no (\S+, ){19}\S+ and \d+ more: is it a bert"),
    ({}, lambda arrays: arrays | {"embeddings.word_embeddings.weight": np.full((44, 16), np.nan)},
     "not finite"),
])  # fmt: skip
def test_arrays_that_do_not_fit_together_are_refused(tmp_path, settings, change, reason):
    """Settings of another model, missing arrays, other shapes, weights that are no numbers."""
    arrays = write_encoder(tmp_path, **settings)
    if change is not None:
        write_safetensors(tmp_path / "model.safetensors", change(arrays))
    with pytest.raises(ValueError, match=reason) as caught:
        mf.load_encoder(tmp_path)
    assert "\n" not in str(caught.value)


@together(
    "file, key", [("config.json", "model_type"), ("config.json", "position_embedding_type"),
                  ("tokenizer_config.json", "do_lower_case"),
                  ("tokenizer_config.json", "strip_accents")],
)  # fmt: skip
def test_long_settings_are_cut_in_messages(tmp_path, file, key):
    """A message would be as long as the file."""
    write_encoder(tmp_path)
    path = tmp_path / file
    settings = json.loads(path.read_text("utf-8")) if file == "config.json" else {}
    path.write_text(json.dumps(settings | {key: "x" * 100_000}), "utf-8")
    with pytest.raises(ValueError, match=f"{key} is 'xxx") as caught:
        mf.load_encoder(tmp_path)
    assert len(str(caught.value)) < 500


@pytest.mark.slow
@together(
    "name, content, reason",
    [
        ("config.json", None, "config.json: No such file.*a folder with config.json, model"),
        ("config.json", b"{", "is no JSON"),
        ("config.json", b'{"hidden_size": ' + b"9" * 5000 + b"}", "config.json is no JSON"),
        ("vocab.txt", b"a\n" * 1_000_001, "more than 1,000,000 lines"),
        ("config.json", b"[]", "is no JSON object"),
        ("config.json", b" " * 2_000_000, "too many for settings"),
        ("model.safetensors", None, "model.safetensors: No such file"),
        ("vocab.txt", b"a\nb\n", "it lacks \\[CLS\\]"),
        ("vocab.txt", b"\xff\xfe", "no text in UTF-8"),
        ("vocab.txt", ("\n".join(PIECES) + "\nmore").encode(), "do not belong together"),
        ("tokenizer_config.json", b"nothing", "is no JSON"),
        ("tokenizer_config.json", b'{"strip_accents": false}', "strip_accents is False"),
        ("tokenizer_config.json", b'{"tokenize_chinese_chars": false}', "chars False"),
        ("tokenizer_config.json", b'{"do_lower_case": "no"}', "do_lower_case is 'no'"),
    ],
)
def test_damaged_folders_are_refused(tmp_path, name, content, reason):
    """Which file, and what is wrong with it."""
    write_encoder(tmp_path)
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_bytes(content)
    refused(reason, mf.load_encoder, tmp_path)


@together("make", [os.mkfifo, lambda path: path.symlink_to("/dev/null"), Path.mkdir])
@together("name", ["model.safetensors", "config.json", "vocab.txt", "tokenizer_config.json"])
def test_what_is_no_file_is_not_read(tmp_path, name, make):
    """A pipe would be waited for, /dev/zero fill the memory: neither has a length to check."""
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    write_encoder(folder)
    (folder / name).unlink(missing_ok=True)
    make(folder / name)
    refused("not an ordinary file", mf.load_encoder, folder)


@together(
    "text, pieces",
    [
        ("", ""),
        ("The TOKENS, clustered!", "the token ##s , cluster ##ed !"),
        ("Café\tis  café", "cafe is cafe"),
        ("x'y #1", "x ' y # 1"),
        ("你好x", "你 好 x"),
        ("unbelievable tokenq", "un ##believ ##able [UNK]"),
        ("z" * 101, "[UNK]"),
        ("a\u200bto\u0000ken\ufffd", "[UNK]"),
        ("[SEP]", "[UNK] [UNK] [UNK]"),
    ],
)
def test_words_are_cut_from_the_left(text, pieces):
    """Longest pieces first; accents, case, control characters and what they leave."""
    expected = WordPiece({piece: number for number, piece in enumerate(PIECES)})
    assert expected.of(text) == ["[CLS]", *pieces.split(), "[SEP]"]


def test_texts_that_are_too_long_or_cannot_be_read(tmp_path):
    """How many tokens there are and how many may be; numbers instead of texts."""
    write_encoder(tmp_path)
    (tmp_path / "vocab.txt").unlink()
    encoder = mf.load_encoder(tmp_path)
    for options, message in (
        ("the token", "has no vocab.txt"),
        ([np.full(41, 5)], "41 tokens, .* takes at most 40"),
        ([np.array([5, 99])], "between 0 and 43, got 5 to 99"),
        ([np.array([5])], "one token has no pairs"),
        ([], "no text was given"),
    ):
        refused(message, mf.replay, encoder, options)
    for options in ([np.array([5.5, 7.0])], [np.array([[5, 7]])]):
        refused("one-dimensional array of whole numbers", next, replayed_texts(encoder, options))
    # Before the first is replayed.
    refused("got 5 to 99", next, replayed_texts(encoder, [np.array([5, 7]), np.array([5, 99])]))


def test_case_and_accents_are_preserved_where_settings_say_so(tmp_path):
    """A model with capitals reads other pieces; null accents go with capitals."""
    write_encoder(tmp_path)
    for lowers, piece in ((True, "the"), (False, "[UNK]")):
        settings = {"do_lower_case": lowers, "strip_accents": None}
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
        assert mf.load_encoder(tmp_path).pieces.of("The")[1] == piece


def test_activations_that_are_not_said_are_those_of_their_kind(tmp_path):
    """BERT has the exact GELU by default, ALBERT the one with tanh."""
    for kind, usual in (("bert", "gelu"), ("albert", "gelu_new")):
        write_encoder(tmp_path / kind, kind)
        path = tmp_path / kind / "config.json"
        settings = json.loads(path.read_text())
        del settings["hidden_act"]
        path.write_text(json.dumps(settings))
        assert mf.load_encoder(tmp_path / kind).layers[0].activation == usual
