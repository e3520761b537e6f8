"""Compiled cluster rule on a grid of rings: nodes of enough mass, linked by gaps below a chord.

On each ring the nodes within a chord of a node are a range of longitudes. So sums over them are
differences of sums along the ring, and groups consist of runs.

    |x - y|^2 = (z - z')^2 + (s - s')^2 + 4 s s' sin^2((phi - phi') / 2),    s = sin theta
"""

from __future__ import annotations

import math

import numpy as np

from meanfield.engines.compiled import njit
from meanfield.engines.harmonics.neighbourhood_kernels import _join, _leader


@njit
def _reaches(colatitudes, length, square):  # type: ignore[no-untyped-def]
    """Longitudes (n, n) by which nodes of two rings within a squared chord may differ; -1: none."""
    n, s, z = len(colatitudes), np.sin(colatitudes), np.cos(colatitudes)
    reach = np.full((n, n), -1)
    for i in range(n):
        for j in range(n):
            rest, most = square - (z[i] - z[j]) ** 2 - (s[i] - s[j]) ** 2, 4.0 * s[i] * s[j]
            if rest >= most:
                reach[i, j] = length // 2
            elif rest >= 0.0:
                reach[i, j] = int(length / np.pi * math.asin(math.sqrt(rest / most)))
    return reach


@njit
def _dense(mass, reach, threshold):  # type: ignore[no-untyped-def]
    """Mask (n, length) of the nodes with mass of at least the threshold within their reach."""
    n, length = mass.shape
    below = np.zeros((n, 2 * length + 1))  # along two turns of each ring
    for j in range(n):
        for k in range(2 * length):
            below[j, k + 1] = below[j, k] + mass[j, k % length]
    inside = np.empty((n, length), np.bool_)
    for i in range(n):
        within = np.zeros(length)
        for j in range(n):
            r = reach[i, j]
            if r < 0:
                continue
            width = min(2 * r + 1, length)
            for k in range(r):
                within[k] += below[j, k - r + length + width] - below[j, k - r + length]
            for k in range(r, length):
                within[k] += below[j, k - r + width] - below[j, k - r]
        for k in range(length):
            inside[i, k] = within[k] >= threshold
    return inside


@njit
def _runs(inside):  # type: ignore[no-untyped-def]
    """First node and length of each run of nodes, and index of the first run of each ring."""
    n, length = inside.shape
    runs = np.empty((inside.size // 2 + n, 2), np.int64)
    begin = np.zeros(n + 1, np.int64)
    count = 0
    for i in range(n):
        for k in range(length):
            if inside[i, k] and not inside[i, k - 1]:
                runs[count, 0] = k
                size = 1
                while inside[i, (k + size) % length]:
                    size += 1
                runs[count, 1] = size
                count += 1
        if count == begin[i] and inside[i, 0]:
            runs[count, 0], runs[count, 1] = 0, length
            count += 1
        begin[i + 1] = count
    return runs[:count], begin


@njit
def groups(colatitudes, mass, square, threshold):  # type: ignore[no-untyped-def]
    """Mass and sum of mass_j x_j (count, 4) of each group of dense nodes of rings.

    colatitudes (n,); mass (n, length). The squared chord must exceed that of neighbours on a ring.
    Groups come in the order of their first nodes.
    """
    n, length = mass.shape
    reach = _reaches(colatitudes, length, square)
    inside = _dense(mass, reach, threshold)
    runs, begin = _runs(inside)
    leader = np.arange(len(runs))
    for i in range(n):
        for j in range(i, n):
            for a in range(begin[i], begin[i + 1] if reach[i, j] >= 0 else begin[i]):
                for b in range(max(begin[j], a + 1), begin[j + 1]):
                    after = (runs[b, 0] - runs[a, 0]) % length
                    before = (runs[a, 0] - runs[b, 0]) % length
                    if min(after - runs[a, 1], before - runs[b, 1]) < reach[i, j]:
                        _join(leader, a, b)
    phi = 2.0 * np.pi * np.arange(length) / length
    cosine, sine = np.cos(phi), np.sin(phi)
    number, sums, count = np.full(len(runs), -1), np.zeros((len(runs), 4)), 0
    owner = np.empty(length, np.int64)
    for i in range(n):
        for a in range(begin[i], begin[i + 1]):
            for k in range(runs[a, 1]):
                owner[(runs[a, 0] + k) % length] = _leader(leader, a)
        s, z = math.sin(colatitudes[i]), math.cos(colatitudes[i])
        for k in range(length):
            if inside[i, k]:
                group = owner[k]
                if number[group] < 0:
                    number[group] = count
                    count += 1
                total = sums[number[group]]
                total[0] += mass[i, k]
                total[1] += mass[i, k] * (s * cosine[k])
                total[2] += mass[i, k] * (s * sine[k])
                total[3] += mass[i, k] * z
    return sums[:count]
