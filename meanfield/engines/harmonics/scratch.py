"""Arrays that are written again and again, one set for each thread.

Fresh memory costs time at its first touch: up to a third of the transforms that fill it.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

import numpy as np

from meanfield.arrays import FloatArray


class Scratch(threading.local):
    """Named arrays of which each thread has its own, in memory that `make(size)` gives."""

    def __init__(self, make: Callable[[int], FloatArray] = np.empty) -> None:
        self._make = make
        self._buffers: dict[str, FloatArray] = {}

    def array(self, name: str, shape: tuple[int, ...]) -> FloatArray:
        """Contiguous array, with whatever it holds, in the memory last given to the name."""
        size = math.prod(shape)
        buffer = self._buffers.get(name)
        if buffer is None or buffer.size < size:
            buffer = self._buffers[name] = self._make(size)
        return buffer[:size].reshape(shape)
