"""Files of decoders: types of GGUF, tokenizers, and messages about damaged or hostile files."""

import json
import struct
from dataclasses import replace

import numpy as np
import pytest

import meanfield as mf
from meanfield.engines import limits
from meanfield.models.byte_pairs import RULES, BytePairs, cut
from meanfield.models.safetensors import GGUF
from tests.models import decoders
from tests.models.decoders import (
    MERGES,
    PIECES,
    gguf_arrays,
    gguf_bytes,
    gguf_settings,
    random_arrays,
    tokenizer_json,
    write_folder,
    write_gguf,
)
from tests.parameters import refused, refused_without_memory, together


def _halves(raw):
    return np.frombuffer(bytes(raw), "<f2").astype(np.float32)


def _q4_k(raw):
    d, m = _halves(raw[:4])
    packed, q = raw[4:16], raw[16:]
    values = []
    for i in range(256):
        block, inside = divmod(i, 32)
        byte = q[32 * (block // 2) + inside]
        if block < 4:
            scale, shift = packed[block] & 63, packed[block + 4] & 63
        else:
            scale = packed[block + 4] & 15 | packed[block - 4] >> 6 << 4
            shift = packed[block + 4] >> 4 | packed[block] >> 6 << 4
        values.append(
            d * np.float32(scale) * (byte >> 4 * (block % 2) & 15) - m * np.float32(shift)
        )
    return values


def _q6_k(raw):
    (d,) = _halves(raw[208:])
    values = []
    for i in range(256):
        half, rest = divmod(i, 128)
        quarter, inside = divmod(rest, 32)
        low = raw[64 * half + rest % 64] >> 4 * (rest // 64) & 15
        high = raw[128 + 32 * half + inside] >> 2 * quarter & 3
        scale = np.float32(np.int8(np.uint8(raw[192 + i // 16])))
        values.append(d * scale * np.float32((low | high << 4) - 32))
    return values


# Type -> its number, bytes of a block, where its scales are, and its numbers one by one.
_TYPES = {
    "F32": (0, 4, (), lambda raw: np.frombuffer(bytes(raw), "<f4")),
    "F16": (1, 2, (0,), _halves),
    "BF16": (30, 2, (), lambda raw: np.frombuffer(b"\0\0" + bytes(raw), "<f4")),
    "Q8_0": (8, 34, (0,), lambda raw: _halves(raw[:2]) * np.array(raw[2:], "u1").view("i1")),
    "Q4_0": (2, 18, (0,), lambda raw: [
        _halves(raw[:2])[0] * np.float32((raw[2 + i % 16] >> 4 * (i // 16) & 15) - 8)
        for i in range(32)]),
    "Q4_1": (3, 20, (0, 2), lambda raw: [
        _halves(raw[:2])[0] * np.float32(raw[4 + i % 16] >> 4 * (i // 16) & 15)
        + _halves(raw[2:4])[0] for i in range(32)]),
    "Q4_K": (12, 144, (0, 2), _q4_k),
    "Q6_K": (14, 210, (208,), _q6_k),
}  # fmt: skip


@together("kind", [*_TYPES])
def test_every_type_is_read(tmp_path, kind):
    """Blocks of random bytes are, in single precision, the numbers that the format describes."""
    number, size, scales, decode = _TYPES[kind]
    blocks = np.random.default_rng(0).integers(0, 256, size=(6, size), dtype=np.uint8)
    if kind in ("F32", "BF16"):  # small exponents
        blocks[:, -1] = 63
    for place in scales:
        blocks[:, place : place + 2] = np.linspace(-0.3, 0.4, 6).astype("<f2")[:, None].view("u1")
    expected = np.concatenate([decode([int(each) for each in block]) for block in blocks])
    shape = (2, len(expected) // 2)
    (tmp_path / "x").write_bytes(gguf_bytes({}, {"a": (shape, number, blocks.tobytes())}))
    assert np.array_equal(GGUF(tmp_path / "x")["a"], expected.reshape(shape).astype(float))


def test_settings_of_every_type_are_read(tmp_path):
    """Numbers, truth values, texts, and lists; the alignment of arrays is a setting."""
    settings = {"a": True, "b": 7, "c": 2.5, "d": "ä", "e": [1, -2], "f": ["x", ""]}
    content = gguf_bytes(settings, {"w": ((2,), 0, struct.pack("<2f", 1.0, 2.0))})
    (tmp_path / "x").write_bytes(content)
    file = GGUF(tmp_path / "x")
    assert {**file.settings, "e": list(file.settings["e"])} == settings
    assert [*file] == ["w"] and np.array_equal(file["w"], [1.0, 2.0])


def _head(arrays=0, settings=0, version=3, rest=b""):
    return struct.pack("<4sIQQ", b"GGUF", version, arrays, settings) + rest


def _array(shape=(2,), kind=0, offset=0, name="a"):
    axes = struct.pack("<I", len(shape)) + b"".join(struct.pack("<Q", each) for each in shape)
    return decoders.text(name) + axes + struct.pack("<IQ", kind, offset) + bytes(64)


@together("content, reason", [
    (b"", "ends before 4 bytes"),
    (b"PK\3\4" + bytes(60), "does not begin with GGUF"),
    (_head(version=1), "version 1, known are 2 and 3"),
    (_head(arrays=2**60), "have no room"),
    (_head(settings=2**63), "have no room"),
    (_head(settings=1, rest=struct.pack("<Q", 2**62) + bytes(40)), "ends before"),
    (_head(settings=1, rest=struct.pack("<Q", 4) + b"\xff" * 40), "no UTF-8"),
    (_head(settings=1, rest=decoders.text("a") + b"\x0d\0\0\0" + bytes(9)), "type number 13"),
    (_head(settings=1, rest=decoders.text("a") + struct.pack("<IIQ", 9, 9, 1)), "type number 9"),
    (_head(settings=1, rest=decoders.text("a") + struct.pack("<IIQ", 9, 8, 2**50)),
     "list of 1125899906842624 texts has no room"),
    (_head(settings=1, rest=decoders.text("a") + struct.pack("<IIQ", 9, 5, 99)),
     "ends before 396 bytes"),
    (_head(settings=2, rest=decoders.setting("a", 1) * 2), "the setting 'a' twice"),
    (_head(arrays=2, rest=_array()[:-64] + _array()), "names an array twice"),
    (_head(arrays=1, rest=_array(shape=(1,) * 5)), "has 5 axes"),
    (_head(arrays=1, rest=_array(kind=99)), "type number 99, known: "),
    (_head(arrays=1, rest=_array(kind=8)), "expected blocks of 32"),
    (_head(arrays=1, rest=_array(shape=(2, 0))), "expected blocks of 1"),
    (_head(arrays=1, rest=_array(offset=10**6)), "'a' ends at byte 10000"),
    (_head(arrays=1, rest=_array(shape=(2**62,) * 4)), "'a' ends at byte"),
    (_head(arrays=2, rest=_array()[:-64] + _array(name="b")), "overlap"),
    (_head(settings=1, rest=decoders.setting("general.alignment", 0)),
                  "alignment is 0"),
])  # fmt: skip
def test_hostile_files_are_refused_without_memory(tmp_path, content, reason):
    """Headers that lie give one line, before anything is made of their promises."""
    refused_without_memory(tmp_path / "x", content, GGUF, reason)


def _mutated(rng, content, end):
    """A copy with a changed byte or number of eight bytes, or one that ends early."""
    place = int(rng.integers(end))
    if rng.random() < 0.2:
        return content[:place]
    new = rng.bytes(1) if rng.random() < 0.6 else struct.pack("<Q", 2 ** int(rng.integers(64)))
    return content[:place] + new + content[place + len(new) :]


@pytest.mark.slow
@pytest.mark.parametrize("of_folder", [False, True])
def test_mutated_files_give_one_line_or_a_decoder(tmp_path, of_folder):
    """250 damaged headers and settings of each form: no other error is raised."""
    rng = np.random.default_rng(40)
    arrays = random_arrays(layers=1)
    weights = sum(array.nbytes for array in arrays.values())
    if of_folder:
        write_folder(tmp_path, arrays, num_hidden_layers=1)
        names = ["config.json", "model.safetensors", "tokenizer.json"]
    else:
        write_gguf(tmp_path / "x.gguf", arrays, **{"llama.block_count": 1})
        names = ["x.gguf"]
    errors = 0
    for i in range(250):
        path = tmp_path / names[i % len(names)]
        content = path.read_bytes()
        end = len(content) - (0 if path.suffix == ".json" else weights)
        path.write_bytes(_mutated(rng, content, end))
        try:
            mf.load_decoder(tmp_path if of_folder else path)
        except ValueError as error:
            errors += 1
            message = str(error)
            assert str(tmp_path) in message and "\n" not in message and len(message) < 600, message
        path.write_bytes(content)
    # The others changed a name, a piece of the vocabulary, or a number that may be any.
    assert errors > 120


@pytest.mark.slow
@together("settings, change, reason", [
    ({"model_type": "gpt2"}, None, "model_type is 'gpt2', known: .'llama', 'mistral', 'qwen2'"),
    ({"model_type": ["llama"]}, None, "model_type is .'llama'., known"),
    ({"hidden_act": "gelu"}, None, "hidden_act is 'gelu', known: .'silu'"),
    ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, None, "rope_type is 'llama3'"),
    ({"rope_scaling": "linear"}, None, "rope_type is 'linear'"),
    ({"rope_scaling": {"type": "dynamic", "factor": 2.0}}, None, "rope_type is 'dynamic'"),
    ({"rope_scaling": {"factor": 4.0}}, None, "factor is 4.0, known: .1.0, 0.0"),
    ({"rope_scaling": {"type": "linear", "rope_type": None, "factor": 4}}, None, "is 'linear'"),
    ({"rope_parameters": {"full_attention": {"rope_type": "yarn"}}}, None, "is {'full_att"),
    ({"rope_parameters": {"rope_type": "default"}, "rope_scaling": {"type": "yarn"}}, None,
     "rope_type is 'yarn'"),
    ({"partial_rotary_factor": 0.5}, None, "partial_rotary_factor is 0.5"),
    ({"num_key_value_heads": 3}, None, "4 heads of 8 numbers with 3 heads of keys"),
    ({"head_dim": 7}, None, "4 heads of 7 numbers"),
    ({"rope_entries": 4}, None, "turn a part of each head"),
    ({"num_hidden_layers": 3}, None, "has no model.layers.2.*is it a decoder"),
    ({"tie_word_embeddings": False}, None, "has no lm_head.weight: is it a decoder"),
    ({"attention_bias": True}, None, "no model.layers.0.self_attn.q_proj.bias.*o_proj.bias"),
    ({"mlp_bias": True}, None, "no model.layers.0.mlp.gate_proj.bias"),
    ({"model_type": "qwen2"}, None, r"no .*q_proj.bias, .*k_proj.bias, .*0.*v_proj.bias, .*1"),
    ({"num_hidden_layers": 1}, None, "9 arrays unknown to decoders of kind 'llama', such as"),
    ({"vocab_size": 100}, None, "has the number 261, the model 100 tokens"),
    ({"intermediate_size": 65}, None, r"has shape \(64, 32\), config.json says \(65, 32\)"),
    ({"rope_theta": -1.0}, None, "rope_theta is -1.0, expected a positive number"),
    ({"hidden_size": "x" * 999}, None, "hidden_size is 'xxx.*, expected a positive whole"),
    ({}, "model.norm.weight", "model.norm.weight. holds numbers that are not finite"),
])  # fmt: skip
def test_settings_of_another_model_are_refused(tmp_path, settings, change, reason):
    """Models of another kind, missing or further arrays, other shapes, weights without value."""
    arrays = random_arrays()
    if change is not None:
        arrays[change] = np.full_like(arrays[change], np.nan)
    write_folder(tmp_path, arrays, **settings)
    with pytest.raises(ValueError, match=reason) as caught:
        mf.load_decoder(tmp_path)
    assert "\n" not in str(caught.value)


@together(
    "settings, reason",
    [
        ({"llama.rope.scaling.factor": 4.0}, "factor is 4.0, known"),
        ({"llama.rope.scale_linear": 4.0}, "scale_linear is 4.0, known"),
        ({"llama.rope.scaling.factor": [4, 4]}, "factor is a list, expected one value"),
        ({"llama.rope.dimension_count": [8, 8]}, "rope_entries is a list, expected one value"),
        ({"llama.attention.sliding_window": [8, 8]}, "sliding_window is a list, expected one"),
        ({"general.architecture": [8, 8]}, "model_type is a list, expected one value"),
    ],
)
def test_settings_of_other_gguf_files_are_refused(tmp_path, settings, reason):
    """Scaled angles without a type; lists where one value belongs."""
    write_gguf(tmp_path / "x.gguf", random_arrays(), **settings)
    with pytest.raises(ValueError, match=f"x.gguf: {reason}") as caught:
        mf.load_decoder(tmp_path / "x.gguf")
    assert "\n" not in str(caught.value)


def test_missing_arrays_take_no_memory(tmp_path):
    """Settings that claim 500,000 heads: what is missing is refused before it is made."""
    heads = {f"llama.attention.head_count{end}": 500_000 for end in ("", "_kv")}
    sizes = {"llama.attention.key_length": 8, "llama.block_count": 1}
    arrays = {name: array for name, array in random_arrays(1).items() if "proj" not in name}
    content = gguf_bytes(gguf_settings(**heads, **sizes), gguf_arrays(arrays))
    message = "has no blk.0.attn_q.weight"
    refused_without_memory(tmp_path / "x.gguf", content, mf.load_decoder, message)


def test_missing_files_and_memory_are_reported(tmp_path, monkeypatch):
    """No file, a folder without weights, a model that does not fit."""
    file, load = tmp_path / "x.gguf", mf.load_decoder
    refused("x.gguf: no such file or folder: a decoder is a .gguf", load, file)
    refused("config.json: No such file.*a decoder is a .gguf file", load, tmp_path)
    write_folder(tmp_path, random_arrays())
    monkeypatch.setattr(limits, "available_memory", lambda: 1000.0)
    monkeypatch.setattr(limits, "_LITTLE", 0.0)
    refused("in double precision would take about", load, tmp_path)
    (tmp_path / "model.safetensors").unlink()
    refused("model.safetensors: No such file", load, tmp_path)


def test_other_spellings_of_the_same_settings(tmp_path):
    """Angles may stand in an entry of their own; names and sizes have defaults."""
    rope = {"rope_type": "default", "rope_theta": 77, "factor": 1, "partial_rotary_factor": 1}
    own = {"rope_theta": None, "_name_or_path": "maker/small", "head_dim": None}
    write_folder(tmp_path, random_arrays(), rope_parameters=rope, **own)
    decoder = mf.load_decoder(tmp_path)
    assert decoder.layers[0].base == 77.0 and decoder.name == "small"
    assert decoder.unembedding is decoder.words
    unscaled = {"llama.rope.scaling.factor": 0.0, "llama.rope.scale_linear": 1}
    write_gguf(tmp_path / "x.gguf", random_arrays(), **unscaled, **{"general.name": "Small llama"})
    assert mf.load_decoder(tmp_path / "x.gguf").name == "Small llama"


_NUMBERS = {piece: number for number, piece in enumerate(PIECES)}


def _pieces(rule="smollm"):
    ranks = {pair: rank for rank, pair in enumerate(MERGES)}
    return BytePairs(_NUMBERS, ranks, rule, {"<|end|>": 0})


@together(
    "text, pieces",
    [
        ("", ""),
        ("the token then", "the Ġtok en Ġthe n"),
        (" the 42", "Ġthe Ġ 4 2"),
        ("tokthe<|end|>the", "t ok the <|end|> the"),
        ("é\t\n", "Ã © ĉ Ċ"),
    ],
)
def test_pairs_are_joined_in_their_order(text, pieces):
    """The lowest rank first; bytes as letters; pieces that a text names literally."""
    expected = _pieces()
    assert expected.of(text) == [_NUMBERS[each] for each in pieces.split()]
    assert expected.text(expected.of(text)) == text


# As the library tokenizers 0.23 cuts it.
@together(
    "rule, parts",
    [
        ("gpt-2", "It|'s| 42|,| DON|'|T|   | a|\n|\n|_|x|½²|é|!"),
        ("smollm", "It|'s| |4|2|,| DON|'|T|   | a|\n|\n|_|x|½|²|é|!"),
        ("qwen2", "It|'s| |4|2|,| DON|'T|   | a|\n\n|_x|½|²|é|!"),
        ("llama-bpe", "It|'s| |42|,| DON|'T|   | a|\n\n|_x|½²|é|!"),
    ],
)
def test_rules_cut_texts(rule, parts):
    """Words, digits one by one or not, contractions of capitals or not, spaces, signs."""
    text = "It's 42, DON'T    a\n\n_x½²é!"
    assert "|".join(cut(text, RULES[rule])) == parts


def test_bytes_that_the_vocabulary_lacks_are_left_out():
    """Texts with rare bytes are read all the same; a first token stands before every text."""
    assert next(byte for byte in range(256) if decoders.LETTERS[byte] not in _NUMBERS) == 192
    expected = replace(_pieces(), first=0)
    assert expected.of("\udc80") == [0, _NUMBERS["?"]]
    fewer = {piece: number for piece, number in _NUMBERS.items() if piece != "©"}
    assert replace(expected, numbers=fewer).of("é") == [0, _NUMBERS["Ã"]]


def _steps(*steps):
    return {"type": "Sequence", "pretokenizers": list(steps)}


_BYTES = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}
_FIRST = [{"SpecialToken": {"id": "<|end|>", "type_id": 0}}, {"Sequence": {"id": "A"}}]


# As in the file of Llama 3.
_REGEX = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_LLAMA = _steps(
    {"type": "Split", "pattern": {"Regex": _REGEX}, "behavior": "Isolated", "invert": False},
    _BYTES | {"use_regex": False},
)


def _both(*around):
    steps = [{"type": "TemplateProcessing", "single": each} for each in around]
    return {"type": "Sequence", "processors": steps}


@together("changes, rule, first", [
    ({}, "smollm", None),
    ({"pre_tokenizer": _BYTES}, "gpt-2", None),
    ({"post_processor": {"type": "TemplateProcessing", "single": _FIRST}}, "smollm", 0),
    ({"post_processor": {"type": "TemplateProcessing", "single": _FIRST[::-1]}}, None, None),
    ({"pre_tokenizer": _BYTES | {"add_prefix_space": True}}, None, None),
    ({"normalizer": {"type": "NFC"}}, None, None),
    ({"model": tokenizer_json()["model"] | {"type": "WordPiece"}}, None, None),
    ({"model": tokenizer_json()["model"] | {"byte_fallback": True}}, None, None),
    ({"model": tokenizer_json()["model"] | {"ignore_merges": True}}, None, None),
    ({"post_processor": {"type": "RobertaProcessing", "cls": ["<|end|>", 0]}}, None, None),
    ({"post_processor": _both([], _FIRST)}, "smollm", 0),
    ({"post_processor": _both(_FIRST[1:], _FIRST)}, None, None),
    ({"added_tokens": [{"id": 0, "content": ""}]}, "smollm", None),
    ({"pre_tokenizer": _LLAMA}, None, None),
    ({"pre_tokenizer": _LLAMA, "model": tokenizer_json()["model"] | {"ignore_merges": True}},
     "llama-bpe", None),
    ({"pre_tokenizer": _steps({"type": "Split", "pattern": {"Regex": "."}, "invert": False,
                               "behavior": "Isolated"}, _BYTES)}, None, None),
])  # fmt: skip
def test_tokenizers_of_other_kinds_read_no_text(tmp_path, changes, rule, first):
    """A tokenizer that cuts otherwise must not be taken for a known one."""
    write_folder(tmp_path, random_arrays())
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(tokenizer_json(**changes)), encoding="utf-8")
    decoder = mf.load_decoder(tmp_path)
    if rule is None:
        refused("reads no text: its tokenizer is missing, or not", decoder.tokens, "the")
    else:
        assert decoder.pieces.rule == rule and decoder.pieces.first == first
        assert np.array_equal(decoder.tokens("the"), [*[0][: first == 0], _NUMBERS["the"]])


@together("name, changes", [
    ("tokenizer.json", {"model": {"type": "BPE", "vocab": {"a": "b"}, "merges": []}}),
    ("tokenizer.json", {"model": {"type": "BPE", "vocab": {"a": 1}, "merges": ["a c"]}}),
    ("tokenizer.json", {"model": 5}),
    ("tokenizer.json", {"added_tokens": None}),
    ("x.gguf", {"tokenizer.ggml.merges": ["th e x"]}),
    ("x.gguf", {"tokenizer.ggml.merges": 7}),
    ("x.gguf", {"tokenizer.ggml.tokens": [1, 2]}),
    ("x.gguf", {"tokenizer.ggml.tokens": (), "tokenizer.ggml.merges": (),
                "tokenizer.ggml.token_type": (), "tokenizer.ggml.add_bos_token": True,
                "tokenizer.ggml.bos_token_id": 1}),
    ("x.gguf", {"tokenizer.ggml.add_bos_token": [1, 0]}),
    ("x.gguf", {"tokenizer.ggml.token_type": [1] * 999 + [3]}),
    ("x.gguf", {"tokenizer.ggml.add_bos_token": True, "tokenizer.ggml.bos_token_id": "x"}),
])  # fmt: skip
def test_damaged_tokenizers_are_refused(tmp_path, name, changes):
    """Wrong numbers, and merges that make no piece, would be read."""
    write_folder(tmp_path, random_arrays())
    model = tmp_path
    if name == "x.gguf":
        model = tmp_path / name
        write_gguf(model, random_arrays(), **changes)
    else:
        (tmp_path / name).write_text(json.dumps(tokenizer_json(**changes)), encoding="utf-8")
    refused(f"{name} holds a damaged tokenizer", mf.load_decoder, model)


def test_qwen2_joins_accents_first_and_llama_takes_whole_pieces():
    """Composed letters have other bytes; a whole piece wins over its merges."""
    accent = "e\u0301"
    assert _pieces("qwen2").of(accent) == _pieces("qwen2").of("é") != _pieces().of(accent)
    ranks = {("o", "k"): 0}
    assert BytePairs(_NUMBERS, ranks, "llama-bpe").of("the") == [_NUMBERS["the"]]
    assert len(BytePairs(_NUMBERS, ranks, "gpt-2").of("the")) == 3
