"""Gradient and Hessian of fields at points of the sphere, compiled; regular at the poles.

With Q_lm = P_lm / sin(theta) for m > 0, a polynomial in sin and cos, and the frame (theta, phi):

    f_1 = d_theta f,              f_2  = d_phi f / sin      = sum 2 Re[i m c_lm Q_lm e^{im phi}],
    H_11 = d_theta^2 f,           H_12 = d_theta f_2        = sum 2 Re[i m c_lm Q'_lm e^{im phi}],
    H_22 = -sum l (l + 1) f_l - H_11,

so nothing is divided by sin(theta). Recurrences in l give Q, Q', Q'' of one order after the other,
for a block of points, or of parallels, at a time.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.compute.compiled import njit

# Points of a block: their numbers fill a few vector registers.
BLOCK = 16


@lru_cache(maxsize=8)
def recurrence(max_degree: int) -> tuple[FloatArray, FloatArray]:
    """Factors a and b, shape (count,), packed as coefficients are.

    Q_lm = a_lm cos(theta) Q_{l-1,m} - b_lm Q_{l-2,m}; for l = m, a is the factor of
    sin(theta)^{m-1} (of 1 for m = 0). Harmonics are orthonormal for sigma, with
    Condon-Shortley phase; m > 0 counted twice.
    """
    from meanfield.manifolds.sphere.coefficients import degrees_orders

    l, m = (indices.astype(np.float64) for indices in degrees_orders(max_degree))
    with np.errstate(divide="ignore", invalid="ignore"):
        a = np.sqrt((2 * l + 1) * (2 * l - 1) / ((l - m) * (l + m)))
        b = np.sqrt((2 * l + 1) * (l - 1 + m) * (l - 1 - m) / ((2 * l - 3) * (l - m) * (l + m)))
    b[l <= m + 1] = 0.0
    # P_mm = (-1)^m sqrt((2m + 1)!! / (2m)!!) sin^m.
    sectoral = np.cumprod([-np.sqrt((2 * k + 1) / (2 * k)) for k in range(1, max_degree + 1)])
    a[l == m] = np.append(1.0, 2.0 * sectoral)
    a.setflags(write=False)
    b.setflags(write=False)
    return a, b


# Inlined, so that the compiler sees that the arrays are not the same.
@njit(fastmath={"contract", "nsz"}, error_model="numpy", inline="always")
def _series(m, position, field, z, s, q, r, sums, series):  # type: ignore[no-untyped-def]
    """Terms of one order for a block of colatitudes; returns the position of the next order.

    Rows 2k and 2k + 1 of `series` become the real and the imaginary part of the factor of
    e^{im phi} in f, f_1, f_2, H_11, H_12, H_11 + H_22.
    """
    real, imag, max_degree, a, b = field
    # sin^{m-1} and its derivatives in theta; for m = 0 it is 1, and Q is P.
    power = max(m - 1, 0)
    for i in range(BLOCK):
        low = s[i] ** (power - 2) if power >= 2 else 0.0
        middle = s[i] ** (power - 1) if power >= 1 else 0.0
        high = s[i] ** power
        q[0, i] = a[position] * high
        q[1, i] = a[position] * power * middle * z[i]
        q[2, i] = a[position] * power * ((power - 1) * low * z[i] * z[i] - high)
        r[0, i] = r[1, i] = r[2, i] = 0.0
    sums[:] = 0.0
    for l in range(m, max_degree + 1):
        if l > m:
            x, y = a[position], b[position]
            for i in range(BLOCK):
                n0 = x * (z[i] * q[0, i]) - y * r[0, i]
                n1 = x * (z[i] * q[1, i] - s[i] * q[0, i]) - y * r[1, i]
                n2 = x * (z[i] * (q[2, i] - q[0, i]) - 2.0 * s[i] * q[1, i]) - y * r[2, i]
                r[0, i], r[1, i], r[2, i] = q[0, i], q[1, i], q[2, i]
                q[0, i], q[1, i], q[2, i] = n0, n1, n2
        u, v, eigenvalue = real[position], imag[position], float(l * (l + 1))
        for i in range(BLOCK):
            sums[0, i] += u * q[0, i]
            sums[1, i] += v * q[0, i]
            sums[2, i] += u * q[1, i]
            sums[3, i] += v * q[1, i]
            sums[4, i] += u * q[2, i]
            sums[5, i] += v * q[2, i]
            sums[6, i] -= eigenvalue * u * q[0, i]
            sums[7, i] -= eigenvalue * v * q[0, i]
        position += 1
    for part in range(2):
        sign = float(m) if part else -float(m)  # i m (u + i v) = -m v + i m u
        for i in range(BLOCK):
            s0, s1, s2 = sums[part, i], sums[2 + part, i], sums[4 + part, i]
            if m == 0:
                series[part, i], series[2 + part, i], series[6 + part, i] = s0, s1, s2
                series[10 + part, i] = sums[6 + part, i]
            else:
                series[part, i] = s[i] * s0
                series[2 + part, i] = s[i] * s1 + z[i] * s0
                series[6 + part, i] = s[i] * (s2 - s0) + 2.0 * z[i] * s1
                series[10 + part, i] = s[i] * sums[6 + part, i]
            series[4 + part, i] = sign * sums[1 - part, i]
            series[8 + part, i] = sign * sums[3 - part, i]
    return position


@njit(fastmath={"contract", "nsz"}, error_model="numpy")
def jets(field, points, found):  # type: ignore[no-untyped-def]
    """Fill f, f_1, f_2, H_11, H_12, H_22 of a field at unit vectors.

    Parameters
    ----------
    field : (real, imag, max_degree, a, b)
        Parts of the packed coefficients, contiguous, and `recurrence(max_degree)`.
    points : array (n, 3)
    found : array (n, 6)
        Filled. The frame is e_1 = (z x / s, z y / s, -s), e_2 = (-y / s, x / s, 0),
        s = hypot(x, y); at the poles x / s = 1.
    """
    z, s, cosine, sine = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    c, d = np.empty(BLOCK), np.empty(BLOCK)
    q, r, sums = np.empty((3, BLOCK)), np.empty((3, BLOCK)), np.empty((8, BLOCK))
    series, total = np.empty((12, BLOCK)), np.empty((6, BLOCK))
    for begin in range(0, len(points), BLOCK):
        width = min(BLOCK, len(points) - begin)
        for i in range(BLOCK):
            j = begin + min(i, width - 1)
            z[i] = points[j, 2]
            s[i] = np.sqrt(points[j, 0] ** 2 + points[j, 1] ** 2)
            cosine[i], sine[i] = 1.0, 0.0
            if s[i] > 0.0:
                cosine[i], sine[i] = points[j, 0] / s[i], points[j, 1] / s[i]
            c[i], d[i] = 1.0, 0.0
        total[:] = 0.0
        position = 0
        for m in range(field[2] + 1):
            position = _series(m, position, field, z, s, q, r, sums, series)
            _add_order(series, c, d, cosine, sine, total)
        for i in range(width):
            for kind in range(5):
                found[begin + i, kind] = total[kind, i]
            found[begin + i, 5] = total[5, i] - total[3, i]


@njit(fastmath={"contract", "nsz"}, error_model="numpy", inline="always")
def _add_order(series, c, d, cosine, sine, total):  # type: ignore[no-untyped-def]
    """Add the real part of series e^{im phi}, c + i d = e^{im phi}, which then turns by phi."""
    for kind in range(6):
        for i in range(BLOCK):
            total[kind, i] += series[2 * kind, i] * c[i] - series[2 * kind + 1, i] * d[i]
    for i in range(BLOCK):
        e = c[i] * cosine[i] - d[i] * sine[i]
        d[i] = d[i] * cosine[i] + c[i] * sine[i]
        c[i] = e


@njit(fastmath={"contract", "nsz"}, error_model="numpy")
def jets_on_parallels(field, angles, runs, found):  # type: ignore[no-untyped-def]
    """As `jets`, much faster, for many points on each of a few parallels.

    Parameters
    ----------
    field : (real, imag, max_degree, a, b)
    angles : array (n, >= 2)
        theta and phi.
    runs : int array (k + 1,)
        Points runs[i] to runs[i + 1] have the same theta.
    found : array (n, 6)
        Filled.
    """
    orders = field[2] + 1
    z, s = np.empty(BLOCK), np.empty(BLOCK)
    c, d, cosine, sine = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    q, r, sums = np.empty((3, BLOCK)), np.empty((3, BLOCK)), np.empty((8, BLOCK))
    series, total = np.empty((12, BLOCK)), np.empty((6, BLOCK))
    rows = np.empty((BLOCK, orders, 12))
    count = len(runs) - 1
    for first in range(0, count, BLOCK):
        width = min(BLOCK, count - first)
        for i in range(BLOCK):
            theta = angles[runs[first + min(i, width - 1)], 0]
            z[i], s[i] = np.cos(theta), np.sin(theta)
        position = 0
        for m in range(orders):
            position = _series(m, position, field, z, s, q, r, sums, series)
            for i in range(width):
                for kind in range(12):
                    rows[i, m, kind] = series[kind, i]
        for row in range(width):
            end = runs[first + row + 1]
            for begin in range(runs[first + row], end, BLOCK):
                for i in range(BLOCK):
                    phi = angles[min(begin + i, end - 1), 1]
                    cosine[i], sine[i] = np.cos(phi), np.sin(phi)
                    c[i], d[i] = 1.0, 0.0
                total[:] = 0.0
                for m in range(orders):
                    for kind in range(6):
                        x, y = rows[row, m, 2 * kind], rows[row, m, 2 * kind + 1]
                        for i in range(BLOCK):
                            total[kind, i] += x * c[i] - y * d[i]
                    for i in range(BLOCK):
                        e = c[i] * cosine[i] - d[i] * sine[i]
                        d[i] = d[i] * cosine[i] + c[i] * sine[i]
                        c[i] = e
                for i in range(min(BLOCK, end - begin)):
                    for kind in range(5):
                        found[begin + i, kind] = total[kind, i]
                    found[begin + i, 5] = total[5, i] - total[3, i]
