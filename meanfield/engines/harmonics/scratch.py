"""Work arrays that are used again, one set for each thread.

The first use of fresh memory takes up to a third of the time of the transforms that fill it.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

import numpy as np

from meanfield.arrays import FloatArray


class Scratch(threading.local):
    """Named arrays, separate for each thread, in memory from `make(size)`."""

    def __init__(self, make: Callable[[int], FloatArray] = np.empty) -> None:
        self._make = make
        self._buffers: dict[str, FloatArray] = {}

    def array(self, name: str, shape: tuple[int, ...]) -> FloatArray:
        """Contiguous array of arbitrary content, in memory that calls with this name share."""
        size = math.prod(shape)
        buffer = self._buffers.get(name)
        if buffer is None or buffer.size < size:
            buffer = self._buffers[name] = self._make(size)
        return buffer[:size].reshape(shape)
