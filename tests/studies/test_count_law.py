"""Laws of counts."""

import numpy as np
from parameters import refused

from meanfield.studies.ensemble_results import law_of


def test_laws_are_those_of_samples():
    """Variance 1/4 of {2, 3, 3, 3}, over 4; in any order; and nothing has no mean."""
    assert law_of(np.array([2, 3, 3, 3])).standard_error == 0.25
    counts = np.random.default_rng(0).integers(1, 9, 1000)
    assert law_of(counts) == law_of(counts[::-1])
    refused("no counts", law_of, np.zeros(0, dtype=np.int64))
