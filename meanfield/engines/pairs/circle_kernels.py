"""Compiled sums over pairs of tokens on the circle.

For d = theta_i - theta_j = k pi + y, |y| <= pi/2, with s = sin(y/2) and c = cos(y/2):

    sin d          = (-1)^k 2 s c
    beta cos d - |beta| = -2 |beta| s^2          if (-1)^k = sign beta
                          -2 |beta| (1 - s^2)    else

so neither cancels near d = 0 or d = pi. A pair takes about 50 vector instructions. Pairs i < j
serve both tokens: sin d changes sign, the exponential does not.
"""

from __future__ import annotations

import math

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.engines.compiled import njit
from meanfield.engines.elementary import (
    PI,
    PI_TAIL,
    ROUNDING,
    exp2,
    fma,
    from_bits,
    small_sine_cosine,
    to_bits,
    wide_vectors,
)
from meanfield.engines.lanes import lane_sum, load_8, load_16, spread_8, spread_16
from meanfield.engines.pairs import ROWS_PER_CHUNK
from meanfield.engines.threads import MOST_CHUNKS, chunk_bounds, map_chunks

# Pairs computed at a time, before they are summed: a few arrays of this length stay in L1.
_BLOCK = 256
# Below this the exponentials' underflow at 2^-1021 may spoil a partition function.
_UNDERFLOW = 1e-290
# Beyond this the reduction of the difference of two angles is inexact.
_HUGE_ANGLE = 1e9


def among_themselves(
    angles: FloatArray, masses: FloatArray, beta: float, normalized: bool
) -> FloatArray:
    """Velocity of every token in the field of all."""
    n = angles.size
    chunks = min(MOST_CHUNKS, max(1, n // ROWS_PER_CHUNK))
    if chunks == 1:
        velocity, right = _few(angles, masses, beta, normalized)
        if right:
            return velocity  # type: ignore[no-any-return]
    angles = _reduced(angles)
    # Row i has n - i - 1 pairs: the strips of the triangle have equal areas.
    strips = n - np.rint(n * np.sqrt(1.0 - np.arange(chunks + 1) / chunks)).astype(np.int64)

    def strip(chunk: int) -> tuple[FloatArray, FloatArray]:
        first, last = int(strips[chunk]), int(strips[chunk + 1])
        return _triangle(angles, masses, first, last, beta, normalized)  # type: ignore[no-any-return]

    drift, partition = _added(map_chunks(strip, chunks))
    if not normalized:
        return drift
    partition += masses * math.exp(min(beta, 0.0) * 2.0)  # own weight: e^{beta - |beta|}
    return _divided(drift, partition, angles, angles, masses, beta)


def at_targets(
    targets: FloatArray, angles: FloatArray, masses: FloatArray, beta: float, normalized: bool
) -> FloatArray:
    """Velocity at any angles in the field of the tokens."""
    angles, targets = _reduced(angles), _reduced(targets)
    chunks = min(MOST_CHUNKS, max(1, targets.size * angles.size // ROWS_PER_CHUNK**2))
    bounds = chunk_bounds(targets.size, chunks)

    def strip(chunk: int) -> tuple[FloatArray, FloatArray]:
        some = targets[bounds[chunk] : bounds[chunk + 1]]
        return _rectangle(some, angles, masses, beta, False)  # type: ignore[no-any-return]

    parts = map_chunks(strip, chunks)
    drift = np.concatenate([part[0] for part in parts])
    if not normalized:
        return drift
    partition = np.concatenate([part[1] for part in parts])
    return _divided(drift, partition, targets, angles, masses, beta)


def _reduced(angles: FloatArray) -> FloatArray:
    """Angles, modulo 2 pi only if some are huge, because reduction rounds."""
    if max(-angles.min(initial=0.0), angles.max(initial=0.0)) < _HUGE_ANGLE:
        return angles
    with np.errstate(invalid="ignore"):  # infinity has no direction: NaN
        return np.arctan2(np.sin(angles), np.cos(angles))


def _added(parts: list[tuple[FloatArray, FloatArray]]) -> tuple[FloatArray, FloatArray]:
    drift, partition = parts[0]
    for more_drift, more_partition in parts[1:]:
        drift += more_drift
        partition += more_partition
    return drift, partition


def _divided(
    drift: FloatArray,
    partition: FloatArray,
    targets: FloatArray,
    angles: FloatArray,
    masses: FloatArray,
    beta: float,
) -> FloatArray:
    lost = partition < _UNDERFLOW
    if lost.any():
        # The exponential of a token without mass may exceed all others, and overflow.
        heavy = masses != 0.0
        sums = _rectangle(targets[lost], angles[heavy], masses[heavy], beta, True)
        drift[lost], partition[lost] = sums
    return drift / partition


@njit(inline="always")
def _exponents(angle, angles, factor, positive, sines, exponents):  # type: ignore[no-untyped-def]
    """Binary exponents of e^{beta cos d - |beta|} and -sin(d) / 2 for every angle."""
    wide_vectors()
    for j in range(len(angles)):
        d = angle - angles[j]
        shifted = fma(d, 1.0 / PI, ROUNDING)
        k = shifted - ROUNDING
        y = fma(-k, PI_TAIL, fma(-k, PI, d))
        s, c = small_sine_cosine(0.5 * y)
        odd = to_bits(shifted) & 1
        near = s * s
        exponents[j] = factor * (near if odd != positive else 1.0 - near)
        # The low bit of k, moved to the sign, multiplies by (-1)^k; its complement by -(-1)^k.
        sines[j] = from_bits(to_bits(s * c) ^ ((odd ^ 1) << 63))


@njit
def _pairs(angle, angles, factor, positive, shift, sines, exponentials):  # type: ignore[no-untyped-def]
    """e^{beta cos d - |beta|} 2^-shift and its product with -sin(d) / 2 for every angle."""
    wide_vectors()
    # Two loops: the processor overlaps iterations with short chains of operations only.
    _exponents(angle, angles, factor, positive, sines, exponentials)
    for j in range(len(angles)):
        exponential = exp2(exponentials[j] - shift)
        exponentials[j] = exponential
        sines[j] *= exponential


@njit
def _dot(first, second):  # type: ignore[no-untyped-def]
    """Sum of the products of two contiguous arrays."""
    even, odd, few = spread_16(0.0), spread_16(0.0), spread_8(0.0)
    n = len(first)
    whole, eights = n - n % 32, n - n % 8
    for j in range(0, whole, 32):
        even = fma(load_16(first, j), load_16(second, j), even)
        odd = fma(load_16(first, j + 16), load_16(second, j + 16), odd)
    for j in range(whole, eights, 8):
        few = fma(load_8(first, j), load_8(second, j), few)
    last = 0.0
    for j in range(eights, n):
        last = fma(first[j], second[j], last)
    return lane_sum(even + odd) + (lane_sum(few) + last)


@njit
def _add(factor, values, totals):  # type: ignore[no-untyped-def]
    """Add factor * values to totals."""
    wide_vectors()
    for j in range(len(values)):
        totals[j] = fma(factor, values[j], totals[j])


@njit
def _triangle(angles, masses, first, last, beta, normalized):  # type: ignore[no-untyped-def]
    """Sum over the pairs i < j with first <= i < last, for both tokens of each pair."""
    n = len(angles)
    drift, partition = np.zeros(n), np.zeros(n)
    sines, exponentials = np.empty(_BLOCK), np.empty(_BLOCK)
    factor, positive = -2.0 * abs(beta) / math.log(2.0), int(beta >= 0.0)
    for i in range(first, last):
        for start in range(i + 1, n, _BLOCK):
            stop = min(start + _BLOCK, n)
            s, e = sines[: stop - start], exponentials[: stop - start]
            _pairs(angles[i], angles[start:stop], factor, positive, 0.0, s, e)
            drift[i] += 2.0 * _dot(s, masses[start:stop])
            _add(-2.0 * masses[i], s, drift[start:stop])
            if normalized:
                partition[i] += _dot(e, masses[start:stop])
                _add(masses[i], e, partition[start:stop])
    return drift, partition


@njit
def _few(angles, masses, beta, normalized):  # type: ignore[no-untyped-def]
    """Velocity in one call, and whether it is valid: no huge angle, no underflow of Z."""
    drift, partition = _triangle(angles, masses, 0, len(angles), beta, normalized)
    right = True
    for i in range(len(angles)):
        right &= abs(angles[i]) < _HUGE_ANGLE
        if normalized:
            partition[i] += masses[i] * math.exp(2.0 * min(beta, 0.0))
            right &= partition[i] >= _UNDERFLOW
            drift[i] = drift[i] / partition[i] if right else np.nan
    return drift, right


@njit
def _rectangle(targets, angles, masses, beta, shifted):  # type: ignore[no-untyped-def]
    """Sum over all tokens at every target; if shifted, divided by the largest exponential."""
    n, count = len(angles), len(targets)
    drift, partition = np.zeros(count), np.zeros(count)
    sines, exponentials = np.empty(_BLOCK), np.empty(_BLOCK)
    factor, positive = -2.0 * abs(beta) / math.log(2.0), int(beta >= 0.0)
    for i in range(count):
        shift = 0.0
        if shifted:
            shift = -np.inf
            for start in range(0, n, _BLOCK):
                stop = min(start + _BLOCK, n)
                s, e = sines[: stop - start], exponentials[: stop - start]
                _exponents(targets[i], angles[start:stop], factor, positive, s, e)
                for j in range(len(e)):
                    shift = max(shift, e[j])
        for start in range(0, n, _BLOCK):
            stop = min(start + _BLOCK, n)
            s, e = sines[: stop - start], exponentials[: stop - start]
            _pairs(targets[i], angles[start:stop], factor, positive, shift, s, e)
            drift[i] += 2.0 * _dot(s, masses[start:stop])
            partition[i] += _dot(e, masses[start:stop])
    return drift, partition
