"""Compiled sums over pairs of tokens on the sphere.

For unit vectors x, y let s = sign <x, y>, u = y - s x, q = |u|^2 <= 2. Then

    P_x y             = P_x u
    beta <x, y> - |beta| = -|beta| q / 2            if s = sign beta
                           -|beta| (2 - q / 2)      else

u is a difference near y = x and a sum near y = -x, so neither line cancels. At most half of |u|^2
is normal to the sphere. P_x is linear and acts on the sum over y, once. Pairs i < j serve both
tokens: the other one's u is -s u, the exponential is the same.

Eight tokens y, in lanes, meet two x at a time in three loops with short chains of operations:
exponents, exponentials, sums. A block of eight that meets itself contains each pair twice, so only
the sums of x count. It includes x = y, with u = 0 and the weight e^{beta - |beta|} in Z.
"""

from __future__ import annotations

import functools
import math
import operator

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.engines.compiled import njit
from meanfield.engines.elementary import exp2, fma
from meanfield.engines.lanes import lane_sums, load_8, spread_8, store, times_sign
from meanfield.engines.pairs import ROWS_PER_CHUNK
from meanfield.engines.rows import ROW
from meanfield.engines.threads import MOST_CHUNKS, chunk_bounds, map_chunks

# Columns that meet all x before the next ones: with their sums they stay in L1.
_BLOCK = 256
# Below this the exponentials' underflow at 2^-1021 may spoil a partition function.
_UNDERFLOW = 1e-290


def among_themselves(
    points: FloatArray, masses: FloatArray, beta: float, normalized: bool
) -> FloatArray:
    """Velocity of every token in the field of all; points and result of shape (n, 3)."""
    if len(points) < 2 * ROWS_PER_CHUNK:
        velocity = np.empty(points.shape)
        if _few(points, masses, beta, normalized, velocity):
            return velocity
    chunks = min(MOST_CHUNKS, max(1, len(points) // ROWS_PER_CHUNK))
    columns = _columns(points, masses)
    width = columns.shape[1]
    # Row i meets width - i columns: strips of the triangle have equal areas and whole blocks.
    areas = np.sqrt(1.0 - np.arange(chunks + 1) / chunks)
    strips = width - ROW * np.rint(width / ROW * areas).astype(np.int64)

    def strip(chunk: int) -> FloatArray:
        bounds = int(strips[chunk]), int(strips[chunk + 1])
        return _sums(columns, columns, np.zeros(width), *bounds, True, beta)  # type: ignore[no-any-return]

    total = functools.reduce(operator.iadd, map_chunks(strip, chunks))
    return _velocity(total, points, points, masses, beta, normalized)


def at_targets(
    targets: FloatArray, points: FloatArray, masses: FloatArray, beta: float, normalized: bool
) -> FloatArray:
    """Velocity at any points in the field of the tokens; targets and result of shape (m, 3)."""
    columns = _columns(points, masses)
    chunks = min(MOST_CHUNKS, max(1, len(targets) * len(points) // ROWS_PER_CHUNK**2))
    bounds = chunk_bounds(len(targets), chunks)

    def strip(chunk: int) -> FloatArray:
        return _sums_at(targets[bounds[chunk] : bounds[chunk + 1]], columns, beta)

    total = np.concatenate(map_chunks(strip, chunks))
    return _velocity(total, targets, points, masses, beta, normalized)


def _sums_at(
    targets: FloatArray, columns: FloatArray, beta: float, shifted: bool = False
) -> FloatArray:
    """Sums over all tokens at targets; if shifted, divided by the largest exponential."""
    rows = _columns(targets, np.zeros(len(targets)))
    width = rows.shape[1]
    shifts = _largest_exponents(rows, columns, beta) if shifted else np.zeros(width)
    return _sums(rows, columns, shifts, 0, width, False, beta)[: len(targets)]  # type: ignore[no-any-return]


def _velocity(
    total: FloatArray,
    targets: FloatArray,
    points: FloatArray,
    masses: FloatArray,
    beta: float,
    normalized: bool,
) -> FloatArray:
    """Tangential part of the sums, divided by Z; they are summed again where Z underflows."""
    velocity = np.empty(targets.shape)
    if normalized:
        lost = np.flatnonzero(total[: len(targets), 3] < _UNDERFLOW)
        if len(lost):
            # The exponential of a token without mass may exceed all others, and overflow.
            heavy = masses != 0.0
            columns = _columns(points[heavy], masses[heavy])
            total[lost] = _sums_at(targets[lost], columns, beta, shifted=True)
    _finish(total, targets, normalized, velocity)
    return velocity


@njit(error_model="numpy")
def _finish(total, points, normalized, velocity):  # type: ignore[no-untyped-def]
    """Write P_x d for the sums d, divided by Z if normalized; true if no Z underflows."""
    right = True
    for i in range(len(points)):
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        share = 1.0
        if normalized:
            right &= total[i, 3] >= _UNDERFLOW
            share = 1.0 / total[i, 3]
        u, v, w = share * total[i, 0], share * total[i, 1], share * total[i, 2]
        inverse = 1.0 / (x * x + y * y + z * z)
        # Twice: the rounding of the normal part may exceed the tangential part.
        for _ in range(2):
            normal = inverse * (x * u + y * v + z * w)
            u, v, w = u - normal * x, v - normal * y, w - normal * z
        velocity[i, 0], velocity[i, 1], velocity[i, 2] = u, v, w
    return right


@njit
def _columns(points, masses):  # type: ignore[no-untyped-def]
    """Rows of coordinates and masses, padded to whole lanes by the last point without mass."""
    n = len(masses)
    columns = _aligned(4, -(-n // ROW) * ROW)
    for i in range(columns.shape[1]):
        for k in range(3):
            columns[k, i] = points[min(i, n - 1), k]
        columns[3, i] = masses[i] if i < n else 0.0
    return columns


@njit
def _aligned(rows, columns):  # type: ignore[no-untyped-def]
    """Zeros, aligned to cache lines: kernels take a third longer if lanes lie across two lines."""
    raw = np.zeros(rows * columns + 7)
    skipped = -(raw.ctypes.data // 8) % 8
    return raw[skipped : skipped + rows * columns].reshape(rows, columns)


@njit(inline="always")
def _token(rows, i):  # type: ignore[no-untyped-def]
    return rows[0, i], rows[1, i], rows[2, i], rows[3, i]


@njit(inline="always")
def _eight(rows, j):  # type: ignore[no-untyped-def]
    n = rows.shape[1]
    return load_8(rows, j), load_8(rows, n + j), load_8(rows, 2 * n + j), load_8(rows, 3 * n + j)


@njit(inline="always")
def _difference(x, y, s):  # type: ignore[no-untyped-def]
    """Components of u = y - s x; the sign of s is enough."""
    return y[0] - times_sign(x[0], s), y[1] - times_sign(x[1], s), y[2] - times_sign(x[2], s)


@njit(inline="always")
def _exponent(x, y, beta):  # type: ignore[no-untyped-def]
    """Product <x, y>, and the binary exponent of e^{beta <x, y> - |beta|}."""
    least = -abs(beta) / math.log(2.0)
    s = fma(x[0], y[0], fma(x[1], y[1], x[2] * y[2]))
    u, v, w = _difference(x, y, s)
    square = fma(u, u, fma(v, v, w * w))
    # slope = least / 2 if s = sign beta, and then least - 2 slope = 0 exactly; else -least / 2.
    slope = times_sign(0.5 * least if beta >= 0.0 else -0.5 * least, s)
    return s, fma(slope, square, fma(-2.0, slope, least))


@njit
def _largest_exponents(rows, columns, beta):  # type: ignore[no-untyped-def]
    """Largest exponent that each row meets, to the bit as `_sums` computes it."""
    largest = np.full(rows.shape[1], -np.inf)
    for i in range(rows.shape[1]):
        for j in range(columns.shape[1]):
            exponent = _exponent(_token(rows, i), _token(columns, j), beta)[1]
            largest[i] = max(largest[i], exponent)
    return largest


@njit(inline="always")
def _add(x, mass, y, s, e, own, other):  # type: ignore[no-untyped-def]
    """Sums of x plus e m u and e m with the masses m of y; and sums of y plus sums of x."""
    u, v, w = _difference(x, y, s)
    share, back = e * y[3], e * mass
    turned = -times_sign(back, s)
    return (
        (fma(share, u, own[0]), fma(share, v, own[1]), fma(share, w, own[2]), share + own[3]),
        (
            fma(turned, u, other[0]),
            fma(turned, v, other[1]),
            fma(turned, w, other[2]),
            back + other[3],
        ),
    )


@njit
def _sums(rows, columns, shifts, first, last, mutual, beta):  # type: ignore[no-untyped-def]
    """Sums of m e u and m e at rows x, (count, 4), e = e^{beta <x, y> - |beta|} 2^-shift.

    Only rows first to last - 1 are summed. If mutual, rows are the columns, and pairs i < j serve
    both tokens.
    """
    n, count = columns.shape[1], rows.shape[1]
    total, reactions, work = _aligned(count, 4), _aligned(4, n), _aligned(4, _BLOCK)
    zero = spread_8(0.0)
    for block in range(first if mutual else 0, n, _BLOCK):
        end = min(block + _BLOCK, n)
        for i in range(first, min(last, end) if mutual else last, 2):
            x0, x1, own = _token(rows, i), _token(rows, i + 1), i - i % ROW
            start = max(block, own) if mutual else block
            k = 0
            for j in range(start, end, ROW):
                y = _eight(columns, j)
                s, exponent = _exponent(x0, y, beta)
                store(work, k, s)
                store(work, k + 8, exponent - shifts[i])
                s, exponent = _exponent(x1, y, beta)
                store(work, k + 16, s)
                store(work, k + 24, exponent - shifts[i + 1])
                k += 32
            for at in range(8, k, 16):
                store(work, at, exp2(load_8(work, at)))
            p = q = (zero, zero, zero, zero)
            k = 0
            for j in range(start, end, ROW):
                y, r = _eight(columns, j), _eight(reactions, j)
                m0, m1 = (x0[3], x1[3]) if j > own else (0.0, 0.0)
                p, r = _add(x0, m0, y, load_8(work, k), load_8(work, k + 8), p, r)
                q, r = _add(x1, m1, y, load_8(work, k + 16), load_8(work, k + 24), q, r)
                store(reactions, j, r[0])
                store(reactions, n + j, r[1])
                store(reactions, 2 * n + j, r[2])
                store(reactions, 3 * n + j, r[3])
                k += 32
            both = lane_sums(p[0], p[1], p[2], p[3], q[0], q[1], q[2], q[3])
            store(total, 4 * i, load_8(total, 4 * i) + both)
    if mutual:
        for i in range(count):
            for k in range(4):
                total[i, k] += reactions[k, i]
    return total


@njit
def _few(points, masses, beta, normalized, velocity):  # type: ignore[no-untyped-def]
    """Write the velocity in one call; true if no Z underflows."""
    columns = _columns(points, masses)
    width = columns.shape[1]
    total = _sums(columns, columns, np.zeros(width), 0, width, True, beta)
    return _finish(total, points, normalized, velocity)
