"""What surrounds every command that computes: its threads, and silence about what overflows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from meanfield.compute.threads import limit_blas, set_threads


@contextmanager
def computing(threads: int | None) -> Iterator[None]:
    """Use so many threads, or as many as the environment says.

    What overflows becomes an error of ours or a null, not a warning of NumPy's.

    Raises
    ------
    ValueError
        If that is no number of threads.
    """
    if threads is not None:
        set_threads(threads)
    # Also where nothing is computed: a slip in the environment is found at once.
    limit_blas()
    with np.errstate(all="ignore"):
        yield
