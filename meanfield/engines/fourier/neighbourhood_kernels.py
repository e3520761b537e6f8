"""Compiled passes over angles: mass within a radius of each, and a test for dense angles."""

from __future__ import annotations

import math

import numpy as np

from meanfield.engines.compiled import njit

_TURN = 2.0 * np.pi


@njit
def _angle(angles, j):  # type: ignore[no-untyped-def]
    """Angle of index j from -n to 2 n - 1, continued by a full turn on both sides."""
    n = len(angles)
    if j < 0:
        return angles[j + n] - _TURN
    return angles[j] if j < n else angles[j - n] + _TURN


@njit
def _mass_below(below, j):  # type: ignore[no-untyped-def]
    n = len(below) - 1
    if j < 0:
        return below[j + n] - below[n]
    return below[j] if j < n else below[j - n] + below[n]


@njit
def dense(angles, below, radius, threshold):  # type: ignore[no-untyped-def]
    """Mask of angles with mass of at least the threshold within a radius below pi.

    angles (n,): increasing, in [0, 2 pi). below (n + 1,): sums of the first masses, or (0,) for
    equal masses.
    """
    n = len(angles)
    reached = np.empty(n, np.bool_)
    first, last = -n, 0
    for i in range(n):
        while _angle(angles, first) + radius < angles[i]:
            first += 1
        last = max(last, i + 1)
        while last - i < n and _angle(angles, last) <= angles[i] + radius:
            last += 1
        if len(below) > 0:
            reached[i] = _mass_below(below, last) - _mass_below(below, first) >= threshold
        else:
            reached[i] = (last - first) / n >= threshold
    return reached


@njit
def is_filled(points, radius, threshold):  # type: ignore[no-untyped-def]
    """True only if all tokens, of equal masses, are dense and linked by gaps below the radius."""
    # Cells are shorter than half the radius, which so covers a token's cell and both neighbours.
    n, cells = len(points), int(2.0 * _TURN / radius) + 2
    if 8 * cells > n:
        return False
    count = np.zeros(cells, np.int64)
    for i in range(n):
        turns = points[i] / _TURN
        count[min(int((turns - math.floor(turns)) * cells), cells - 1)] += 1
    for i in range(cells):
        near = count[i - 1] + count[i] + count[(i + 1) % cells]
        if count[i] == 0 or near / n < threshold:
            return False
    return True
