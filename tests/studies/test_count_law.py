"""Laws of counts."""

from __future__ import annotations

import numpy as np
import pytest

from meanfield.studies.count_law import law_of


def test_standard_error_is_that_of_a_sample():
    """Variance 1/4 of {2, 3, 3, 3} with n - 1, over 4: a quarter."""
    assert law_of(np.array([2, 3, 3, 3])).standard_error == 0.25


def test_order_does_not_show():
    """Blocks finish in any order, and the last digit must not tell."""
    counts = np.random.default_rng(0).integers(1, 9, 1000)
    assert law_of(counts) == law_of(counts[::-1])


def test_nothing_has_no_law():
    """A mean of nothing would be NaN."""
    with pytest.raises(ValueError, match="no counts"):
        law_of(np.zeros(0, dtype=np.int64))
