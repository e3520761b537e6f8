"""Compiled loops over tokens of the method of solid harmonics (`solid`)."""

from __future__ import annotations

import math

from meanfield.engines.compiled import njit
from meanfield.engines.elementary import fma, wide_vectors
from meanfield.engines.harmonics.angles import LONGEST_SQUARE, SHORTEST_SQUARE
from meanfield.engines.harmonics.solid_rows import (
    ALONG_X,
    ALONG_Y,
    ALONG_Z,
    BELOW,
    BLOCK,
    FIELD_TOKENS,
    MOMENT_TOKENS,
    ORDERS,
    OTHER,
    SIGN,
    VALUE,
    C,
    S,
    X,
    Y,
    Z,
    add_both,
    add_gradient,
    add_orders,
    add_values,
)


@njit(error_model="numpy")
def _directions(points, begin, size, work):  # type: ignore[no-untyped-def]
    """Write the directions of a block of points, padded by the north pole."""
    wide_vectors()
    x, y, z, below, sign = work[X], work[Y], work[Z], work[BELOW], work[SIGN]
    for i in range(BLOCK):
        inside = i < size
        x[i] = points[begin + i, 0] if inside else 0.0
        y[i] = points[begin + i, 1] if inside else 0.0
        z[i] = points[begin + i, 2] if inside else 1.0
    for i in range(BLOCK):
        square = fma(x[i], x[i], fma(y[i], y[i], z[i] * z[i]))
        # False for zero, infinity and NaN.
        valid = (square >= SHORTEST_SQUARE) & (square <= LONGEST_SQUARE)
        scale = 1.0 / math.sqrt(square) if valid else math.nan
        x[i] *= scale
        y[i] *= scale
        z[i] *= scale
        # 1 - |z| without cancellation.
        below[i] = fma(x[i], x[i], y[i] * y[i]) / (1.0 + abs(z[i]))
        sign[i] = 1.0 if z[i] >= 0.0 else -1.0


@njit(error_model="numpy")
def add_sums(points, weights, mass, max_degree, steps, work, sums):  # type: ignore[no-untyped-def]
    """Write sums of R_n (x + iy)^m over tokens; weights (0,) means `mass` each."""
    sums[:] = 0.0
    for begin in range(0, len(points), BLOCK):
        size = min(BLOCK, len(points) - begin)
        _directions(points, begin, size, work)
        for i in range(BLOCK):
            weight = mass
            if len(weights) > 0 and i < size:
                weight = weights[begin + i]
            # A token without a direction gives NaN, even to the mass.
            work[C, i] = weight + 0.0 * work[Z, i] if i < size else 0.0
            work[S, i] = 0.0
        start = 0
        for m in range(0, max_degree + 1, ORDERS):
            pairs = (max_degree - m) // 2 + 1
            for i in range(0, size, MOMENT_TOKENS):
                add_orders(sums, steps, start, pairs, work, i)
            start += 2 * pairs


@njit(error_model="numpy")
def fields(  # type: ignore[no-untyped-def]
    points,
    max_degree,
    steps,
    first,
    second,
    with_first,
    with_second,
    line,
    work,
    value,
    vectors,
    other,
):
    """Write a field g, its tangent gradient, and another field, except into empty arrays.

    If `other` is empty, the gradient is divided by the other field, or by line[0] + line[1] g.
    """
    for begin in range(0, len(points), BLOCK):
        size = min(BLOCK, len(points) - begin)
        _directions(points, begin, size, work)
        work[C] = 1.0
        work[S : OTHER + 1] = 0.0
        start = 0
        for m in range(0, max_degree + 1, ORDERS):
            pairs = (max_degree - m) // 2 + 1
            for i in range(0, size, FIELD_TOKENS):
                if not with_first:
                    add_values(steps, first, second, start, pairs, float(m), work, i)
                elif not with_second:
                    add_gradient(steps, first, second, start, pairs, float(m), work, i)
                else:
                    add_both(steps, first, second, start, pairs, float(m), work, i)
            start += 2 * pairs
        if with_first:
            _project(work)
            if len(line) > 0:
                for i in range(BLOCK):
                    work[OTHER, i] = fma(line[1], work[VALUE, i], line[0])
            if len(line) > 0 or (with_second and len(other) == 0):
                for i in range(BLOCK):
                    work[ALONG_X, i] /= work[OTHER, i]
                    work[ALONG_Y, i] /= work[OTHER, i]
                    work[ALONG_Z, i] /= work[OTHER, i]
            for i in range(size):
                vectors[begin + i, 0] = work[ALONG_X, i]
                vectors[begin + i, 1] = work[ALONG_Y, i]
                vectors[begin + i, 2] = work[ALONG_Z, i]
        for i in range(min(size, len(value))):
            value[begin + i] = work[VALUE, i] + 0.0 * work[Z, i]
        for i in range(min(size, len(other))):
            other[begin + i] = work[OTHER, i] + 0.0 * work[Z, i]


@njit(error_model="numpy")
def _project(work):  # type: ignore[no-untyped-def]
    """Project the derivatives along the axes to the tangent plane."""
    wide_vectors()
    xs, ys, zs = work[X], work[Y], work[Z]
    along_x, along_y, along_z = work[ALONG_X], work[ALONG_Y], work[ALONG_Z]
    for i in range(BLOCK):
        x, y, z = xs[i], ys[i], zs[i]
        a, b, c = along_x[i], along_y[i], along_z[i]
        level = fma(x, a, y * b)
        normal = fma(z, c, level)
        a = fma(-x, normal, a)
        b = fma(-y, normal, b)
        # c - z (level + z c), without the cancellation at the poles, where c is largest.
        c = fma(fma(x, x, y * y), c, -z * level)
        # Once more: the rounding of the normal part may exceed the tangential part.
        normal = fma(x, a, fma(y, b, z * c))
        along_x[i] = fma(-x, normal, a)
        along_y[i] = fma(-y, normal, b)
        along_z[i] = fma(-z, normal, c)
