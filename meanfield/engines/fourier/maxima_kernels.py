"""Compiled count, with proof, of the sign changes of the derivative of a trigonometric polynomial.

Let p = Phi' = 2 Re sum_k d_k e^{ik theta}, d_k = i k c_k. On an interval [a, a + h] let q be its
cubic Hermite interpolant. Bernstein coefficients bound q, and the error obeys

    |p - q| <= h^4 / 384 max|p''''|,    |p' - q'| <= sqrt(3) h^3 / 216 max|p''''|.

If |q| exceeds its error, p has no zero. If |q'| does (or the linear interpolant of p', with the
error h^2 / 8 max|p'''|), p is monotone, and the signs at the ends decide. Otherwise the interval is
halved, unless p and h p' are rounding at both ends and, by the bound, in between, as beside a
narrow bump. Values within rounding take the sign before.
"""

from __future__ import annotations

import math

from meanfield.arrays import ComplexArray, FloatArray, IntArray
from meanfield.engines.compiled import njit

# Largest number of halvings of an interval, down to 1e-9 of the spacing of the grid.
_DEEPEST = 30


@njit
def derivatives(slopes, degree, angle):  # type: ignore[no-untyped-def]
    """Values p and p' at an angle by Horner's rule; slopes[k] = 2 d_k."""
    cosine, sine = math.cos(angle), math.sin(angle)
    a = b = u = v = 0.0
    for k in range(degree, 0, -1):
        x, y = slopes[k].real, slopes[k].imag
        a, b = a * cosine - b * sine + x, a * sine + b * cosine + y
        u, v = u * cosine - v * sine - k * y, u * sine + v * cosine + k * x
    return a * cosine - b * sine, u * cosine - v * sine


@njit(inline="always")
def _one_sign(a, b, c, d, margin):  # type: ignore[no-untyped-def]
    return min(a, b, c, d) > margin or max(a, b, c, d) < -margin


@njit(inline="always")
def _settled(h, p, dp, q, dq, bounds, noise):  # type: ignore[no-untyped-def]
    """True if the values p and q at the ends fix the sign changes between them."""
    b1, b2 = p + h / 3.0 * dp, q - h / 3.0 * dq
    error = bounds[2] * h**4 / 384.0
    if _one_sign(p, b1, b2, q, error + noise):
        return True
    middle = 3.0 * (q - p) / h - (dp + dq)
    slope_noise = bounds[0] * noise
    if _one_sign(
        dp,
        middle,
        middle,
        dq,
        error * 384.0 * math.sqrt(3.0) / 216.0 / h + slope_noise + 6.0 * noise / h,
    ):
        return True
    return _one_sign(dp, dp, dq, dq, bounds[1] * h * h / 8.0 + slope_noise)


@njit
def falls(slopes, degree, values, value_slopes, bounds, noise, starts, ends):  # type: ignore[no-untyped-def]
    """Number of downward zeros of p on the circle; intervals around them into starts and ends.

    slopes: 2 d_k up to `degree`; values, value_slopes: p and p' at 2 pi j / n; bounds: degree, and
    bounds on |p'''| and |p''''|; noise: rounding of p.
    """
    n = len(values)
    spacing = 2.0 * math.pi / n
    first = 0
    while first < n and abs(values[first]) <= noise:
        first += 1
    if first == n:
        return 0
    positive = values[first] > 0.0
    believed = first * spacing  # last angle with a value above rounding
    count = 0
    angles = [0.0] * (_DEEPEST + 2)
    heights = [0.0] * (_DEEPEST + 2)
    inclines = [0.0] * (_DEEPEST + 2)
    depths = [0] * (_DEEPEST + 2)
    for j in range(n):
        # A stack of right ends; the next interval lies between `left` and its top.
        left = (first + j) * spacing
        p, dp = values[(first + j) % n], value_slopes[(first + j) % n]
        top = 0
        angles[0] = (first + j + 1) * spacing
        heights[0] = values[(first + j + 1) % n]
        inclines[0] = value_slopes[(first + j + 1) % n]
        depths[0] = 0
        while top >= 0:
            q, dq, depth = heights[top], inclines[top], depths[top]
            h = spacing * 0.5**depth
            within = max(abs(p), abs(q), h * abs(dp), h * abs(dq)) <= 4.0 * noise
            within = within and bounds[2] * h**4 / 384.0 <= 4.0 * noise
            if within or depth >= _DEEPEST or _settled(h, p, dp, q, dq, bounds, noise):
                right = angles[top]
                if abs(q) > noise:
                    if positive and q < 0.0:
                        if count < len(starts):
                            starts[count], ends[count] = believed, right
                        count += 1
                    positive = q > 0.0
                    believed = right
                left, p, dp = right, q, dq
                top -= 1
            else:
                depths[top] += 1
                top += 1
                angles[top] = left + 0.5 * h
                heights[top], inclines[top] = derivatives(slopes, degree, angles[top])
                depths[top] = depth + 1
    return count


@njit
def count_falls(
    slopes: ComplexArray,
    degrees: IntArray,
    values: FloatArray,
    value_slopes: FloatArray,
    bounds: FloatArray,
    noise: FloatArray,
    counts: IntArray,
) -> None:
    """Write the count of `falls` of every field."""
    nothing = values[0, :0]
    for i in range(len(slopes)):
        counts[i] = 0
        if degrees[i] > 0:
            counts[i] = falls(
                slopes[i], degrees[i], values[i], value_slopes[i], bounds[i], noise[i],
                nothing, nothing,
            )  # fmt: skip


@njit
def polish(slopes, degree, start, end):  # type: ignore[no-untyped-def]
    """Zero of p between an angle where p > 0 and one where p < 0: bracketed Newton's method."""
    angle = 0.5 * (start + end)
    for _ in range(100):
        p, dp = derivatives(slopes, degree, angle)
        if p > 0.0:
            start = angle
        elif p < 0.0:
            end = angle
        else:
            return angle
        following = angle - p / dp if dp < 0.0 else start - 1.0
        if not start < following < end:
            following = 0.5 * (start + end)
        if abs(following - angle) <= 1e-15 * max(1.0, abs(angle)):
            return following
        angle = following
    return angle
