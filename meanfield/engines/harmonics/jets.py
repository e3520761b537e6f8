"""Gradient and Hessian of fields at points of the sphere, compiled; regular at the poles.

With Q_lm = P_lm / sin(theta) for m > 0, a polynomial in sin and cos, and the frame (theta, phi):

    f_1 = d_theta f,              f_2  = d_phi f / sin      = sum 2 Re[i m c_lm Q_lm e^{im phi}],
    H_11 = d_theta^2 f,           H_12 = d_theta f_2        = sum 2 Re[i m c_lm Q'_lm e^{im phi}],
    H_22 = -sum l (l + 1) f_l - H_11,

so nothing is divided by sin(theta). Recurrences in l give Q, Q', Q'' order by order, for a block of
points or of parallels at a time.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from meanfield.arrays import FloatArray, read_only
from meanfield.engines.compiled import njit
from meanfield.engines.elementary import fma
from meanfield.engines.lanes import load_16, spread_16, store

# Points of a block, one for each of 16 lanes.
BLOCK = 16


@lru_cache(maxsize=8)
def recurrence(max_degree: int) -> tuple[FloatArray, FloatArray]:
    """Factors a and b, (count,), of Q_lm = a_lm cos(theta) Q_{l-1,m} - b_lm Q_{l-2,m}, packed.

    Q_mm = a_mm sin(theta)^{m-1}, and P_00 = a_00. Harmonics are orthonormal for sigma; a_mm doubles
    orders m > 0, which stand for -m too.
    """
    from meanfield.engines.harmonics.coefficients import degrees_orders

    l, m = (indices.astype(np.float64) for indices in degrees_orders(max_degree))
    with np.errstate(divide="ignore", invalid="ignore"):
        a = np.sqrt((2 * l + 1) * (2 * l - 1) / ((l - m) * (l + m)))
        b = np.sqrt((2 * l + 1) * (l - 1 + m) * (l - 1 - m) / ((2 * l - 3) * (l - m) * (l + m)))
    b[l <= m + 1] = 0.0
    # P_mm = (-1)^m sqrt((2m + 1)!! / (2m)!!) sin^m.
    sectoral = np.cumprod([-np.sqrt((2 * k + 1) / (2 * k)) for k in range(1, max_degree + 1)])
    a[l == m] = np.append(1.0, 2.0 * sectoral)
    return read_only(a), read_only(b)


@njit
def _series(m, position, field, zs, ss, powers, series):  # type: ignore[no-untyped-def]
    """Write terms of one order for a block of colatitudes; return the position of the next order.

    Rows 2k and 2k + 1 of `series` become the real and the imaginary part of the factor of
    e^{im phi} in f, f_1, f_2, H_11, H_12, H_11 + H_22; `powers` move to the next order.
    """
    real, imag, max_degree, a, b = field
    z, s = load_16(zs, 0), load_16(ss, 0)
    high, middle, low = load_16(powers, 0), load_16(powers, BLOCK), load_16(powers, 2 * BLOCK)
    if m > 0:
        store(powers, 0, high * s)
        store(powers, BLOCK, high)
        store(powers, 2 * BLOCK, middle)
    # sin^{m-1} and its derivatives in theta; for m = 0 it is 1, and Q is P.
    power = max(m - 1, 0)
    q0 = a[position] * high
    q1 = (a[position] * power) * (middle * z)
    q2 = (a[position] * power) * ((power - 1) * (low * z * z) - high)
    r0 = r1 = r2 = spread_16(0.0)
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = spread_16(0.0)
    for l in range(m, max_degree + 1):
        if l > m:
            y, across = b[position], a[position] * s
            along = a[position] * z
            n0 = fma(along, q0, -(y * r0))
            n1 = fma(along, q1, -fma(across, q0, y * r1))
            n2 = fma(along, q2 - q0, -fma(2.0 * across, q1, y * r2))
            r0, r1, r2 = q0, q1, q2
            q0, q1, q2 = n0, n1, n2
        u, v, eigenvalue = real[position], imag[position], float(l * (l + 1))
        s0, s1 = fma(u, q0, s0), fma(v, q0, s1)
        s2, s3 = fma(u, q1, s2), fma(v, q1, s3)
        s4, s5 = fma(u, q2, s4), fma(v, q2, s5)
        s6, s7 = fma(-eigenvalue * u, q0, s6), fma(-eigenvalue * v, q0, s7)
        position += 1
    # i m (u + i v) = -m v + i m u
    store(series, 4 * BLOCK, -m * s1)
    store(series, 5 * BLOCK, m * s0)
    store(series, 8 * BLOCK, -m * s3)
    store(series, 9 * BLOCK, m * s2)
    if m > 0:
        s4, s5 = fma(s, s4 - s0, 2.0 * z * s2), fma(s, s5 - s1, 2.0 * z * s3)
        s2, s3 = fma(s, s2, z * s0), fma(s, s3, z * s1)
        s0, s1, s6, s7 = s * s0, s * s1, s * s6, s * s7
    store(series, 0, s0)
    store(series, BLOCK, s1)
    store(series, 2 * BLOCK, s2)
    store(series, 3 * BLOCK, s3)
    store(series, 6 * BLOCK, s4)
    store(series, 7 * BLOCK, s5)
    store(series, 10 * BLOCK, s6)
    store(series, 11 * BLOCK, s7)
    return position


@njit
def _add_order(series, turn, step, sums):  # type: ignore[no-untyped-def]
    """Add the real part of series * turn to the sums, turn = e^{im phi}; then turn *= e^{i phi}."""
    c, d = load_16(turn, 0), load_16(turn, BLOCK)
    for kind in range(6):
        x, y = load_16(series, 2 * kind * BLOCK), load_16(series, (2 * kind + 1) * BLOCK)
        store(sums, kind * BLOCK, fma(x, c, fma(-y, d, load_16(sums, kind * BLOCK))))
    cosine, sine = load_16(step, 0), load_16(step, BLOCK)
    store(turn, 0, fma(c, cosine, -(d * sine)))
    store(turn, BLOCK, fma(d, cosine, c * sine))


@njit
def _add_orders(rows, turn, step, sums):  # type: ignore[no-untyped-def]
    """Write the sums of all orders for a series (orders, 12) that all points share."""
    c, d = load_16(turn, 0), load_16(turn, BLOCK)
    cosine, sine = load_16(step, 0), load_16(step, BLOCK)
    t0 = t1 = t2 = t3 = t4 = t5 = spread_16(0.0)
    for m in range(len(rows)):
        t0 = fma(rows[m, 0], c, fma(-rows[m, 1], d, t0))
        t1 = fma(rows[m, 2], c, fma(-rows[m, 3], d, t1))
        t2 = fma(rows[m, 4], c, fma(-rows[m, 5], d, t2))
        t3 = fma(rows[m, 6], c, fma(-rows[m, 7], d, t3))
        t4 = fma(rows[m, 8], c, fma(-rows[m, 9], d, t4))
        t5 = fma(rows[m, 10], c, fma(-rows[m, 11], d, t5))
        c, d = fma(c, cosine, -(d * sine)), fma(d, cosine, c * sine)
    store(sums, 0, t0)
    store(sums, BLOCK, t1)
    store(sums, 2 * BLOCK, t2)
    store(sums, 3 * BLOCK, t3)
    store(sums, 4 * BLOCK, t4)
    store(sums, 5 * BLOCK, t5)


@njit
def _write(sums, out, begin, width):  # type: ignore[no-untyped-def]
    """Write the rows of a block of points; the last sum is H_11 + H_22."""
    for i in range(width):
        for kind in range(5):
            out[begin + i, kind] = sums[kind, i]
        out[begin + i, 5] = sums[5, i] - sums[3, i]


@njit
def _start(powers):  # type: ignore[no-untyped-def]
    powers[0] = 1.0
    powers[1:] = 0.0


@njit(error_model="numpy")
def jets(field, points, out):  # type: ignore[no-untyped-def]
    """Fill f, f_1, f_2, H_11, H_12, H_22 of a field at unit vectors.

    The frame is e_1 = (z x / s, z y / s, -s), e_2 = (-y / s, x / s, 0), s = hypot(x, y); at poles
    x / s = 1.
    """
    z, s, powers = np.empty(BLOCK), np.empty(BLOCK), np.empty((3, BLOCK))
    turn, step = np.empty((2, BLOCK)), np.empty((2, BLOCK))
    series, sums = np.empty((12, BLOCK)), np.empty((6, BLOCK))
    for begin in range(0, len(points), BLOCK):
        width = min(BLOCK, len(points) - begin)
        for i in range(BLOCK):
            j = begin + min(i, width - 1)
            z[i] = points[j, 2]
            s[i] = np.sqrt(points[j, 0] ** 2 + points[j, 1] ** 2)
            step[0, i], step[1, i] = 1.0, 0.0
            if s[i] > 0.0:
                step[0, i], step[1, i] = points[j, 0] / s[i], points[j, 1] / s[i]
            turn[0, i], turn[1, i] = 1.0, 0.0
        sums[:] = 0.0
        position = 0
        _start(powers)
        for m in range(field[2] + 1):
            position = _series(m, position, field, z, s, powers, series)
            _add_order(series, turn, step, sums)
        _write(sums, out, begin, width)


@njit(error_model="numpy")
def jets_on_parallels(field, angles, runs, out):  # type: ignore[no-untyped-def]
    """As `jets`, for angles on few parallels: points runs[i] to runs[i + 1] - 1 share theta."""
    orders = field[2] + 1
    z, s, powers = np.empty(BLOCK), np.empty(BLOCK), np.empty((3, BLOCK))
    turn, step = np.empty((2, BLOCK)), np.empty((2, BLOCK))
    turn[0], turn[1] = 1.0, 0.0
    series, sums = np.empty((12, BLOCK)), np.empty((6, BLOCK))
    rows = np.empty((BLOCK, orders, 12))
    count = len(runs) - 1
    for first in range(0, count, BLOCK):
        width = min(BLOCK, count - first)
        for i in range(BLOCK):
            theta = angles[runs[first + min(i, width - 1)], 0]
            z[i], s[i] = np.cos(theta), np.sin(theta)
        position = 0
        _start(powers)
        for m in range(orders):
            position = _series(m, position, field, z, s, powers, series)
            for i in range(width):
                for kind in range(12):
                    rows[i, m, kind] = series[kind, i]
        for row in range(width):
            end = runs[first + row + 1]
            for begin in range(runs[first + row], end, BLOCK):
                for i in range(BLOCK):
                    phi = angles[min(begin + i, end - 1), 1]
                    step[0, i], step[1, i] = np.cos(phi), np.sin(phi)
                _add_orders(rows[row], turn, step, sums)
                _write(sums, out, begin, min(BLOCK, end - begin))
