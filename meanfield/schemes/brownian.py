"""Brownian paths: every increment can be drawn again from (seed, step) alone.

Step number i of a run draws from the counter-based generator Philox (Salmon et al., 2011) with
key (seed, i). No state passes from step to step, so a run resumes equal to the bit. Streams of
one key differ by their counters. Streams 0 and 1 are the increments of the halves of the step.
Stream k >= 2 splits dyadic interval k of the step, numbered as in a heap (1 is the step, 2 k and
2 k + 1 the halves of k). It is drawn only for dense output inside a step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.engines.threads import map_chunks

_CHUNK = 1 << 15  # numbers that outweigh handing them to a thread
_LARGEST = 2**64 - 1


@dataclass(frozen=True)
class BrownianPath:
    """Independent Brownian paths, in units of the root of a step."""

    seed: int  # 0 to 2^64 - 1
    shape: tuple[int, ...]  # one path for each entry
    depth: int = 4  # dense output halves a step so often, then bridges to its time directly

    def __post_init__(self) -> None:
        if isinstance(self.seed, bool) or not isinstance(self.seed, int | np.integer):
            raise TypeError(f"seed must be an integer, got {self.seed!r}.")
        if not 0 <= self.seed <= _LARGEST:
            raise ValueError(f"seed is {self.seed}, expected 0 to 2^64 - 1.")

    def normals(self, step: int, stream: int) -> FloatArray:
        """Independent standard normals of one stream of a step, the same in every call."""
        numbers = np.empty(math.prod(self.shape))
        # As a list, numbers from 2^63 would become floats, and neighbours the same.
        key = np.array([self.seed, step], dtype=np.uint64)

        def chunk(i: int) -> None:
            # The generator counts in the first word, and so stays in its stream.
            generator = np.random.Philox(key=key, counter=[0, 0, i, stream])
            part = numbers[i * _CHUNK : (i + 1) * _CHUNK]
            np.random.Generator(generator).standard_normal(out=part)

        map_chunks(chunk, -(-len(numbers) // _CHUNK))
        return numbers.reshape(self.shape)

    def halves(self, step: int) -> tuple[FloatArray, FloatArray]:
        """Increments over the halves of a step, in units of the root of half a step."""
        return self.normals(step, 0), self.normals(step, 1)

    def inside(self, step: int, fraction: float) -> FloatArray:
        """Path W(fraction) since the beginning of the step, in units of the root of the step.

        Levy's construction of the Brownian bridge between the halves of the step: W at the middle
        of an interval (a, b) has mean (W(a) + W(b)) / 2 and variance (b - a) / 4.
        """
        first, second = (math.sqrt(0.5) * half for half in self.halves(step))
        if fraction <= 0.5:
            interval, low, high, at_low, at_high = 2, 0.0, 0.5, np.zeros(self.shape), first
        else:
            interval, low, high, at_low, at_high = 3, 0.5, 1.0, first, first + second
        while low < fraction < high:
            # Intervals from 0 are always split, so W(t / 2) and W(t) are never in the same one.
            split = low == 0.0 or interval >> self.depth == 0
            middle = 0.5 * (low + high) if split else fraction
            share = (middle - low) / (high - low)
            deviation = math.sqrt((middle - low) * (high - middle) / (high - low))
            noise = self.normals(step, interval)
            at_middle = at_low + share * (at_high - at_low) + deviation * noise
            if fraction <= middle:
                interval, high, at_high = 2 * interval, middle, at_middle
            else:
                interval, low, at_low = 2 * interval + 1, middle, at_middle
        return at_low if fraction <= low else at_high

    def shorter_halves(self, step: int, fraction: float) -> tuple[FloatArray, FloatArray]:
        """Increments over the halves of [0, fraction], in units of the root of such a half."""
        unit = 1.0 / math.sqrt(0.5 * fraction)
        half, whole = self.inside(step, 0.5 * fraction), self.inside(step, fraction)
        return unit * half, unit * (whole - half)
