"""Results for several numbers of threads, which must be equal to the bit."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from meanfield.engines.threads import set_threads, threads


def check_any_threads(compute: Callable[[], Sequence[Any]]) -> Sequence[Any]:
    """Results of 1 thread, after a comparison with results of 2, 3, and again 2 threads."""
    before, results = threads(), []
    try:
        for number in (1, 2, 3, 2):
            set_threads(number)
            results.append(compute())
    finally:
        set_threads(before)
    for other in results[1:]:
        for one, first in zip(other, results[0], strict=True):
            np.testing.assert_array_equal(one, first)
    return results[0]
