"""Compiled sums over pairs of tokens on the sphere.

For unit vectors x, y let s = sign <x, y>, u = y - s x, q = |u|^2 <= 2. Then

    P_x y             = P_x u
    beta <x, y> - |beta| = -|beta| q / 2            if s = sign beta
                           -|beta| (2 - q / 2)      else

u is a difference near y = x and a sum near y = -x, so neither line suffers cancellation. At most
half of |u|^2 is normal to the sphere. P_x is linear: it acts on the sum over y, once.
Pairs i < j serve both tokens: the other one's u is -s u, the exponential is the same.

Coordinates are rows of arrays (3, n) here: vectors of x, of y, of z.
"""

from __future__ import annotations

import functools
import math
import operator

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.engines.compiled import njit
from meanfield.engines.elementary import exp2, fma, from_bits, to_bits, wide_vectors
from meanfield.engines.lanes import lane_sum, load_16, spread_16
from meanfield.engines.pairs import ROWS_PER_CHUNK, beside_mass
from meanfield.engines.threads import MOST_CHUNKS, chunk_bounds, map_chunks

# Pairs computed at a time, before they are summed: a few arrays of this length stay in L1.
_BLOCK = 256
# Unrolled vector loops take so many at a time, and the rest one by one: leave no rest.
_STEP = 32
# Power of two that is zero.
_NEVER = -1e4
# Rows that meet a block before the next one is fetched: it, too, then stays in L1.
_ROWS = 64
# A partition function below this is at the mercy of the exponentials' underflow at 2^-1021.
_UNDERFLOW = 1e-290


def among_themselves(
    points: FloatArray, masses: FloatArray, beta: float, normalized: bool
) -> FloatArray:
    """Velocity of every token in the field of all; points and result of shape (n, 3)."""
    n = len(points)
    chunks = min(MOST_CHUNKS, max(1, n // ROWS_PER_CHUNK))
    if chunks == 1:
        velocity, right = _few(points, masses, beta, normalized)
        if right:
            return velocity  # type: ignore[no-any-return]
    rows, padded = _padded(points, masses)
    # Row i has n - i - 1 pairs: cut the triangle into strips of equal area.
    strips = n - np.rint(n * np.sqrt(1.0 - np.arange(chunks + 1) / chunks)).astype(np.int64)

    def strip(chunk: int) -> FloatArray:
        first, last = int(strips[chunk]), int(strips[chunk + 1])
        return _triangle(rows, padded, first, last, beta)  # type: ignore[no-any-return]

    total = functools.reduce(operator.iadd, map_chunks(strip, chunks))[:, :n]
    total[3] += masses * math.exp(min(beta, 0.0) * 2.0)  # own weight: e^{beta - |beta|}
    return _velocity(total, points, rows, padded, beta, normalized)


def at_targets(
    targets: FloatArray, points: FloatArray, masses: FloatArray, beta: float, normalized: bool
) -> FloatArray:
    """Velocity at any places in the field of the tokens; places and result of shape (m, 3)."""
    rows, padded = _padded(points, masses)
    chunks = min(MOST_CHUNKS, max(1, len(targets) * len(points) // ROWS_PER_CHUNK**2))
    bounds = chunk_bounds(len(targets), chunks)

    def strip(chunk: int) -> FloatArray:
        some = targets[bounds[chunk] : bounds[chunk + 1]]
        return _rectangle(some, rows, padded, beta, False)  # type: ignore[no-any-return]

    total = np.concatenate(map_chunks(strip, chunks), axis=1)
    return _velocity(total, targets, rows, padded, beta, normalized)


def _velocity(
    total: FloatArray,
    targets: FloatArray,
    rows: FloatArray,
    masses: FloatArray,
    beta: float,
    normalized: bool,
) -> FloatArray:
    """Tangential part of the sums, divided; summed again where their divisor underflows."""
    if normalized:
        lost = total[3] < _UNDERFLOW
        if lost.any():
            heavy = beside_mass(rows, masses)
            total[:, lost] = _rectangle(targets[lost], heavy, masses, beta, True)
        total[:3] /= total[3]
    return _tangent(total, targets)  # type: ignore[no-any-return]


@njit
def _tangent(total, points):  # type: ignore[no-untyped-def]
    """Tangential part P_x d of the columns d of total, as rows."""
    result = np.empty((len(points), 3))
    for i in range(len(points)):
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        u, v, w = total[0, i], total[1, i], total[2, i]
        # Once leaves the rounding of the normal part, which may exceed all that is tangential.
        for _ in range(2):
            normal = (x * u + y * v + z * w) / (x * x + y * y + z * z)
            u, v, w = u - normal * x, v - normal * y, w - normal * z
        result[i, 0], result[i, 1], result[i, 2] = u, v, w
    return result


@njit
def _padded(points, masses):  # type: ignore[no-untyped-def]
    """Coordinates as rows and masses, filled up with massless points to whole steps."""
    n = len(masses)
    whole = -(-n // _STEP) * _STEP
    padded = _aligned(4, whole)
    for i in range(n):
        for k in range(3):
            padded[k, i] = points[i, k]
        padded[3, i] = masses[i]
    return padded[:3], padded[3]


@njit
def _aligned(rows, columns):  # type: ignore[no-untyped-def]
    """Zeros at the beginning of a cache line; columns are a multiple of 8.

    A vector of eight numbers is a line: across two of them, the kernels take a third longer.
    """
    raw = np.zeros(rows * columns + 7)
    skipped = -(raw.ctypes.data // 8) % 8
    return raw[skipped : skipped + rows * columns].reshape(rows, columns)


@njit
def _pairs(x, y, z, points, start, count, factor, positive, shift, met, work):  # type: ignore[no-untyped-def]
    """Write e u, e = e^{beta <x, y> - |beta|} 2^-shift and the sign of -s to the rows of work.

    For `count` points from number `start` on; e = 0 for the first `met` of them.
    """
    wide_vectors()
    # Two loops: the processor overlaps iterations only if their chains of operations are short.
    for j in range(count):
        a, b, c = points[0, start + j], points[1, start + j], points[2, start + j]
        opposite = to_bits(fma(x, a, fma(y, b, z * c))) & (-1 << 63)
        s = from_bits(opposite | to_bits(1.0))
        u, v, w = fma(-s, x, a), fma(-s, y, b), fma(-s, z, c)
        half = 0.5 * fma(u, u, fma(v, v, w * w))
        near = (opposite >= 0) == positive
        work[0, j], work[1, j], work[2, j] = u, v, w
        work[3, j] = fma(factor, half if near else 2.0 - half, -shift)
        work[4, j] = from_bits(opposite ^ (-1 << 63))
    for j in range(met):
        work[3, j] = _NEVER
    for j in range(count):
        exponential = exp2(work[3, j])
        work[3, j] = exponential
        work[0, j] *= exponential
        work[1, j] *= exponential
        work[2, j] *= exponential


@njit
def _largest_exponent(x, y, z, points, masses, factor, positive):  # type: ignore[no-untyped-def]
    largest = -np.inf
    s = 1.0 if positive else -1.0
    for j in range(len(masses)):
        if masses[j] != 0.0:
            u, v, w = points[0, j] - s * x, points[1, j] - s * y, points[2, j] - s * z
            largest = max(largest, 0.5 * factor * (u * u + v * v + w * w))
    return largest


@njit
def _sums(work, masses, start, count):  # type: ignore[no-untyped-def]
    """Sums of the rows e u and e of work, each times the masses; count is whole steps."""
    x = y = z = e = spread_16(0.0)
    # Numbers with a sign: an unsigned one and a constant would make a double.
    begin = np.int64(start)
    for j in range(0, np.int64(count), 16):
        mass = load_16(masses, begin + j)
        x = fma(load_16(work, j), mass, x)
        y = fma(load_16(work, j + _BLOCK), mass, y)
        z = fma(load_16(work, j + 2 * _BLOCK), mass, z)
        e = fma(load_16(work, j + 3 * _BLOCK), mass, e)
    return lane_sum(x), lane_sum(y), lane_sum(z), lane_sum(e)


@njit
def _add(mass, work, sums, start, count):  # type: ignore[no-untyped-def]
    """Add mass times -s e u and e to the rows of sums."""
    wide_vectors()
    for j in range(count):
        signed = from_bits(to_bits(mass) ^ to_bits(work[4, j]))
        sums[0, start + j] = fma(signed, work[0, j], sums[0, start + j])
        sums[1, start + j] = fma(signed, work[1, j], sums[1, start + j])
        sums[2, start + j] = fma(signed, work[2, j], sums[2, start + j])
        sums[3, start + j] = fma(mass, work[3, j], sums[3, start + j])


@njit
def _triangle(points, masses, first, last, beta):  # type: ignore[no-untyped-def]
    """Sum over the pairs i < j with first <= i < last, for both tokens of each pair."""
    n = len(masses)
    total, work = _aligned(4, n), _aligned(5, _BLOCK)
    factor, positive = -abs(beta) / math.log(2.0), beta >= 0.0
    for top in range(first, last, _ROWS):
        bottom = min(top + _ROWS, last)
        for block in range(top // _STEP * _STEP, n, _BLOCK):
            stop = min(block + _BLOCK, n)
            for i in range(top, min(bottom, stop - 1)):
                x, y, z = points[0, i], points[1, i], points[2, i]
                start = max(block, (i + 1) // _STEP * _STEP)
                # Unsigned numbers: compiled code need not ask whether an index is negative.
                begin, count = np.uint64(start), np.uint64(stop - start)
                met = np.uint64(max(0, i + 1 - start))
                _pairs(x, y, z, points, begin, count, factor, positive, 0.0, met, work)
                tx, ty, tz, te = _sums(work, masses, begin, count)
                total[0, i] += tx
                total[1, i] += ty
                total[2, i] += tz
                total[3, i] += te
                _add(masses[i], work, total, begin, count)
    return total


@njit
def _few(points, masses, beta, normalized):  # type: ignore[no-untyped-def]
    """Velocity in one call, and whether it is right: no underflow of Z."""
    n = len(masses)
    rows, padded = _padded(points, masses)
    total = _triangle(rows, padded, 0, n, beta)
    right = True
    if normalized:
        own = math.exp(2.0 * min(beta, 0.0))
        for i in range(n):
            total[3, i] += masses[i] * own
            right &= total[3, i] >= _UNDERFLOW
            for k in range(3):
                total[k, i] = total[k, i] / total[3, i] if right else np.nan
    return _tangent(total, points), right


@njit
def _rectangle(targets, points, masses, beta, shifted):  # type: ignore[no-untyped-def]
    """Sum over all tokens at every target; if shifted, divided by the largest exponential."""
    n, count = len(masses), len(targets)
    total, work, shifts = np.zeros((4, count)), _aligned(5, _BLOCK), np.zeros(count)
    factor, positive = -abs(beta) / math.log(2.0), beta >= 0.0
    if shifted:
        for i in range(count):
            x, y, z = targets[i, 0], targets[i, 1], targets[i, 2]
            shifts[i] = _largest_exponent(x, y, z, points, masses, factor, positive)
    met = np.uint64(0)
    for top in range(0, count, _ROWS):
        for start in range(0, n, _BLOCK):
            begin, many = np.uint64(start), np.uint64(min(_BLOCK, n - start))
            for i in range(top, min(top + _ROWS, count)):
                x, y, z = targets[i, 0], targets[i, 1], targets[i, 2]
                _pairs(x, y, z, points, begin, many, factor, positive, shifts[i], met, work)
                tx, ty, tz, te = _sums(work, masses, begin, many)
                total[0, i] += tx
                total[1, i] += ty
                total[2, i] += tz
                total[3, i] += te
    return total
