"""Exponentials of blocks: the same compiled and as Python, where every index is checked."""

import numpy as np
import pytest


def _output(x: np.ndarray, options: dict[str, object]) -> np.ndarray:
    from meanfield.fields.blocks import attention_output
    from meanfield.terms.attention import HeadMatrices

    heads = [HeadMatrices(np.diag([2.0, -1.0, 0.5]), np.eye(3))]
    return attention_output(x, heads, np.array([0.0, 0.2, 0.3, 0.5]), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{}, {"mask": "causal"}, {"mask": "alibi", "rate": 0.3}])
def test_rows_of_blocks(agree, options):
    """Rows above the diagonal, without mass, and of exponents beyond the range of doubles."""
    x = np.random.default_rng(1).normal(size=(2, 4, 3)) * np.array([[[1.0]], [[40.0]]])
    # Rounding of exponents up to several thousand.
    agree(_output, x, options, atol=1e-11)
