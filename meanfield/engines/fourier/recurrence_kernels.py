"""Compiled loops over tokens of the method of products (`recurrence`)."""

from __future__ import annotations

import numpy as np

from meanfield.engines.compiled import njit
from meanfield.engines.elementary import (
    PI,
    PI_TAIL,
    ROUNDING,
    ROUNDING_EXPONENT,
    copy_to,
    fma,
    from_bits,
    small_sine_cosine,
    to_bits,
    wide_vectors,
)
from meanfield.engines.lanes import lane_sum, load_8, spread_8

REACH = 4
GROUP = 2 * REACH + 1
# Sixteen arrays of this length fill half of the first-level cache.
_BLOCK = 192


def group_count(max_degree: int) -> int:
    """Number of groups of nine degrees that contain 0 ... max_degree."""
    return (max_degree + REACH) // GROUP + 1


@njit
def _rotations(points, degree, cosines, sines):  # type: ignore[no-untyped-def]
    """Write cosine and sine of degree * point; return 0 if no angle is too large."""
    wide_vectors()
    overflow = 0
    for i in range(len(points)):
        # degree * point = product + rest exactly = quarter pi/2 + y.
        product = degree * points[i]
        rest = fma(degree, points[i], -product)
        shifted = fma(product, 2.0 / PI, ROUNDING)
        quarter = shifted - ROUNDING
        y = fma(-quarter, 0.5 * PI_TAIL, fma(-quarter, 0.5 * PI, product) + rest)
        s, c = small_sine_cosine(y)
        turns = to_bits(shifted)
        odd = turns & 1
        cosine, sine = (s, c) if odd else (c, s)
        # cos changes sign in quarters 1 and 2, sin in quarters 2 and 3.
        cosines[i] = from_bits(to_bits(cosine) ^ (((turns + 1) & 2) << 62))
        sines[i] = from_bits(to_bits(sine) ^ ((turns & 2) << 62))
        overflow |= (turns >> 52) ^ ROUNDING_EXPONENT
    return overflow


@njit
def _multiples(rotations, n):  # type: ignore[no-untyped-def]
    """Write rotations by 2, 3, 4 times the angle from rotation 1, in an array (5, 2, BLOCK)."""
    wide_vectors()
    for b in range(2, REACH + 1):
        for i in range(n):
            c, s = rotations[1, 0, i], rotations[1, 1, i]
            cb, sb = rotations[b - 1, 0, i], rotations[b - 1, 1, i]
            rotations[b, 0, i] = fma(c, cb, -(s * sb))
            rotations[b, 1, i] = fma(c, sb, s * cb)


@njit
def _turn(u, step, n):  # type: ignore[no-untyped-def]
    """Multiply u by the rotation to the next centre."""
    wide_vectors()
    for i in range(n):
        c, s = u[0, i], u[1, i]
        u[0, i] = fma(c, step[0, i], -(s * step[1, i]))
        u[1, i] = fma(c, step[1, i], s * step[0, i])


@njit
def _four_sums(u, v, n):  # type: ignore[no-untyped-def]
    """Sums over tokens of u and of the products of u with v[1], ..., v[4]."""
    us, vs = u.reshape(-1), v.reshape(-1)
    x = y = spread_8(0.0)
    cc1 = ss1 = sc1 = cs1 = spread_8(0.0)
    cc2 = ss2 = sc2 = cs2 = spread_8(0.0)
    cc3 = ss3 = sc3 = cs3 = spread_8(0.0)
    cc4 = ss4 = sc4 = cs4 = spread_8(0.0)
    for i in range(0, n, 8):
        c, s = load_8(us, i), load_8(us, i + _BLOCK)
        x = x + c
        y = y + s
        a, b = load_8(vs, i + 2 * _BLOCK), load_8(vs, i + 3 * _BLOCK)
        cc1, ss1 = fma(c, a, cc1), fma(s, b, ss1)
        sc1, cs1 = fma(s, a, sc1), fma(c, b, cs1)
        a, b = load_8(vs, i + 4 * _BLOCK), load_8(vs, i + 5 * _BLOCK)
        cc2, ss2 = fma(c, a, cc2), fma(s, b, ss2)
        sc2, cs2 = fma(s, a, sc2), fma(c, b, cs2)
        a, b = load_8(vs, i + 6 * _BLOCK), load_8(vs, i + 7 * _BLOCK)
        cc3, ss3 = fma(c, a, cc3), fma(s, b, ss3)
        sc3, cs3 = fma(s, a, sc3), fma(c, b, cs3)
        a, b = load_8(vs, i + 8 * _BLOCK), load_8(vs, i + 9 * _BLOCK)
        cc4, ss4 = fma(c, a, cc4), fma(s, b, ss4)
        sc4, cs4 = fma(s, a, sc4), fma(c, b, cs4)
    return (
        (lane_sum(x), 0.0, lane_sum(y), 0.0),
        (lane_sum(cc1), lane_sum(ss1), lane_sum(sc1), lane_sum(cs1)),
        (lane_sum(cc2), lane_sum(ss2), lane_sum(sc2), lane_sum(cs2)),
        (lane_sum(cc3), lane_sum(ss3), lane_sum(sc3), lane_sum(cs3)),
        (lane_sum(cc4), lane_sum(ss4), lane_sum(sc4), lane_sum(cs4)),
    )


@njit
def _add_group(f, u, v, values, n):  # type: ignore[no-untyped-def]
    """Add to the values the group of degrees with the factors f (5, 4)."""
    wide_vectors()
    for i in range(n):
        along = f[0, 0]
        across = f[0, 2]
        along = fma(f[1, 0], v[1, 0, i], fma(f[1, 3], v[1, 1, i], along))
        across = fma(f[1, 2], v[1, 0, i], fma(f[1, 1], v[1, 1, i], across))
        along = fma(f[2, 0], v[2, 0, i], fma(f[2, 3], v[2, 1, i], along))
        across = fma(f[2, 2], v[2, 0, i], fma(f[2, 1], v[2, 1, i], across))
        along = fma(f[3, 0], v[3, 0, i], fma(f[3, 3], v[3, 1, i], along))
        across = fma(f[3, 2], v[3, 0, i], fma(f[3, 1], v[3, 1, i], across))
        along = fma(f[4, 0], v[4, 0, i], fma(f[4, 3], v[4, 1, i], along))
        across = fma(f[4, 2], v[4, 0, i], fma(f[4, 1], v[4, 1, i], across))
        values[i] = fma(u[0, i], along, fma(u[1, i], across, values[i]))


@njit
def products(points, weights, groups):  # type: ignore[no-untyped-def]
    """Sums of w times products of sines and cosines, (groups, 5, 4); weights (0,) means w = 1.

    Also True if no angle is too large.
    """
    sums = np.zeros((groups, REACH + 1, 4))
    u, step = np.zeros((2, _BLOCK)), np.zeros((2, _BLOCK))
    v = np.zeros((REACH + 1, 2, _BLOCK))
    overflow = 0
    for start in range(0, len(points), _BLOCK):
        n = min(_BLOCK, len(points) - start)
        block = points[start : start + n]
        overflow |= _rotations(block, 1.0, v[1, 0], v[1, 1])
        overflow |= _rotations(block, float(GROUP), step[0], step[1])
        _multiples(v, n)
        u[0] = 1.0
        u[1] = 0.0
        if len(weights) > 0:
            copy_to(u[0], weights[start : start + n])
        u[0, n:] = 0.0
        for m in range(groups):
            rows = _four_sums(u, v, n)
            for b in range(REACH + 1):
                for part in range(4):
                    sums[m, b, part] += rows[b][part]
            _turn(u, step, n)
    return sums, overflow == 0


@njit
def moments(sums, scale, max_degree):  # type: ignore[no-untyped-def]
    """Moments times `scale`, from the sums of `products`."""
    out = np.empty(max_degree + 1, np.complex128)
    for k in range(max_degree + 1):
        m = (k + REACH) // GROUP
        b = k - GROUP * m
        cc, ss, sc, cs = sums[m, abs(b)]
        # e^{-i(a + b)} = cc - ss - i (sc + cs); for -b the sine of b changes sign.
        sign = 1.0 if b >= 0 else -1.0
        out[k] = scale * complex(cc - sign * ss, -(sc + sign * cs))
    return out


@njit
def set_factors(coefficients, factors):  # type: ignore[no-untyped-def]
    """Set the factors (groups, 5, 4) of cos cos, sin sin, sin cos, cos sin of (a_m, b)."""
    factors[:] = 0.0
    factors[0, 0, 0] = coefficients[0].real
    for k in range(1, len(coefficients)):
        m = (k + REACH) // GROUP
        b = k - GROUP * m
        sign = 1.0 if b >= 0 else -1.0
        # 2 Re[g e^{i(a + b)}] = 2 Re g (cc - ss) - 2 Im g (sc + cs), as above.
        g = 2.0 * coefficients[k]
        factors[m, abs(b), 0] += g.real
        factors[m, abs(b), 1] -= sign * g.real
        factors[m, abs(b), 2] -= g.imag
        factors[m, abs(b), 3] -= sign * g.imag


@njit
def values(factors, points, values):  # type: ignore[no-untyped-def]
    """Write values of one series, or the quotient of two, with factors (1 or 2, groups, 5, 4).

    Returns True if no angle is too large.
    """
    u, step = np.zeros((2, _BLOCK)), np.zeros((2, _BLOCK))
    v, sums = np.zeros((REACH + 1, 2, _BLOCK)), np.zeros((2, _BLOCK))
    overflow = 0
    for start in range(0, len(points), _BLOCK):
        n = min(_BLOCK, len(points) - start)
        block = points[start : start + n]
        overflow |= _rotations(block, 1.0, v[1, 0], v[1, 1])
        overflow |= _rotations(block, float(GROUP), step[0], step[1])
        _multiples(v, n)
        u[0] = 1.0
        u[1] = 0.0
        sums[:] = 0.0
        for m in range(factors.shape[1]):
            for series in range(factors.shape[0]):
                _add_group(factors[series, m], u, v, sums[series], n)
            _turn(u, step, n)
        if factors.shape[0] == 1:
            copy_to(values[start : start + n], sums[0, :n])
        else:
            for i in range(n):
                values[start + i] = sums[0, i] / sums[1, i]
    return overflow == 0
