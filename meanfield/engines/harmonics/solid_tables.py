"""Conversion between harmonics and the polynomials that four orders share, for `solid`.

    C_n^(p+1) = sum_{j = n, n-2, ...} (j + p) / p C_j^(p),    d/dz C_n^(p) = 2 p C_{n-1}^(p+1),
    C_n^(p) = p / (n + p) (C_n^(p+1) - C_{n-2}^(p+1)),

with Gegenbauer polynomials C_n^(p), p = m + 1/2, and C_n^(p)(1) = binomial(n + 2m, n). The second
of four orders has R_n = C_n^(p) / C_n^(p)(1), the first takes a difference of them, and the last
two take running sums. A difference multiplies rounding at the poles, a sum elsewhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.engines.compiled import njit
from meanfield.engines.harmonics.solid_rows import FIRST, ORDERS, SECOND, SUMS
from meanfield.engines.rows import ROW


@dataclass(frozen=True, eq=False)
class Tables:
    """Tables that depend on the degree alone."""

    steps: FloatArray  # gamma_n, kappa_n of every group of orders, padded to pairs of degrees
    poles: FloatArray  # C_n^(p)(1) for the same n
    scales: FloatArray  # Y_lm = scale C_{l-m}^(m + 1/2)(z) (x + iy)^m, packed as coefficients are


@lru_cache(maxsize=16)
def tables(max_degree: int) -> Tables:
    """Tables for a largest degree."""
    steps, poles, scales = [], [], []
    for first in range(0, max_degree + 1, ORDERS):
        m = first + 1
        for n in range(2 * ((max_degree - first) // 2 + 1)):
            # (n + 2m + 1) (R_{n+1} - R_n) = n (R_n - R_{n-1}) - (2n + 2m + 1) t R_n, with
            # e_n = weight (R_{n+1} - R_n).
            weight = math.comb(n + 2 * m + 1, n)
            steps += [weight * (2 * n + 2 * m + 1) / (n + 2 * m + 1), 1.0 / weight]
            poles.append(float(math.comb(n + 2 * m, n)))
    for m in range(max_degree + 1):
        # (d/dz)^m P_l = (2m - 1)!! C_{l-m}^(m + 1/2)
        odd = math.factorial(2 * m) // (2**m * math.factorial(m))
        for l in range(m, max_degree + 1):
            squared = (2 * l + 1) * math.factorial(l - m) * odd**2 / math.factorial(l + m)
            scales.append((-1) ** m * math.sqrt(squared))
    return Tables(np.array(steps), np.array(poles), np.array(scales))


@njit
def moments_of_sums(max_degree, poles, scales, sums):  # type: ignore[no-untyped-def]
    """Moments from the sums of R_n (x + iy)^m."""
    result = np.empty(len(scales), np.complex128)
    start = 0
    at = 0
    for m in range(max_degree + 1):
        k = m % ORDERS
        if k == 0 and m > 0:
            start += 2 * ((max_degree - m + ORDERS) // 2 + 1)
        for n in range(max_degree - m + 1):
            row = (start + n) * SUMS + 2 * k * ROW
            total = complex(_total(sums, row), -_total(sums, row + ROW))
            result[at + n] = poles[start + n] * total
        if k == 0:
            for n in range(max_degree - m, -1, -1):
                if n > 1:
                    result[at + n] -= result[at + n - 2]
                result[at + n] *= (2 * m + 1) / (2 * (n + m) + 1)
        for p in range(m - k + 1, m):
            for n in range(max_degree - m + 1):
                result[at + n] *= (2 * (n + p) + 1) / (2 * p + 1)
                if n > 1:
                    result[at + n] += result[at + n - 2]
        for n in range(max_degree - m + 1):
            result[at + n] *= scales[at + n]
        at += max_degree - m + 1
    return result


@njit
def set_terms_of_sums(  # type: ignore[no-untyped-def]
    max_degree, poles, scales, sums, multipliers, divisors, first_terms, second_terms
):
    """Set the terms of fields from sums: their moments times multipliers; return the mass."""
    first = moments_of_sums(max_degree, poles, scales, sums)
    mass = first[0].real
    second = first[:0]
    if len(divisors) > 0:
        second = first.copy()
        _multiply(max_degree, divisors, second)
    _multiply(max_degree, multipliers, first)
    set_terms(max_degree, poles, scales, first, second, first_terms, second_terms)
    return mass


@njit
def _multiply(max_degree, multipliers, coefficients):  # type: ignore[no-untyped-def]
    at = 0
    for m in range(max_degree + 1):
        for l in range(m, max_degree + 1):
            coefficients[at] *= multipliers[l]
            at += 1


@njit
def _total(sums, i):  # type: ignore[no-untyped-def]
    low = (sums[i] + sums[i + 1]) + (sums[i + 2] + sums[i + 3])
    return low + ((sums[i + 4] + sums[i + 5]) + (sums[i + 6] + sums[i + 7]))


@njit
def set_terms(  # type: ignore[no-untyped-def]
    max_degree, poles, scales, first, second, first_terms, second_terms
):
    """Set the terms of one or two fields from their coefficients; empty arrays mean no field."""
    first_terms[:] = 0.0
    second_terms[:] = 0.0
    polynomial = np.empty(max_degree + 1, np.complex128)
    slope = np.empty(max_degree + 1, np.complex128)
    start = 0
    at = 0
    for m in range(max_degree + 1):
        k = m % ORDERS
        if k == 0 and m > 0:
            start += 2 * ((max_degree - m + ORDERS) // 2 + 1)
        count = max_degree - m + 1
        # g = Re sum over m >= 0 with twice the coefficients of m > 0.
        multiplicity = 2.0 if m > 0 else 1.0
        if len(first) > 0:
            for n in range(count):
                polynomial[n] = multiplicity * scales[at + n] * first[at + n]
            # d/dz C_n = 2 p C_{n-1}^(p+1), as a polynomial of order m + 1.
            for n in range(count - 1):
                slope[n] = (2 * m + 1) * polynomial[n + 1]
            slope[count - 1] = 0.0
            _convert(polynomial, count, m, k - 1)
            _convert(slope, count, m + 1, k)
            for n in range(count):
                row = (start + n) * FIRST + 4 * k
                pole = poles[start + n]
                first_terms[row] = pole * polynomial[n].real
                first_terms[row + 1] = pole * polynomial[n].imag if m > 0 else 0.0
                first_terms[row + 2] = pole * slope[n].real
                first_terms[row + 3] = pole * slope[n].imag if m > 0 else 0.0
        if len(second) > 0:
            for n in range(count):
                polynomial[n] = multiplicity * scales[at + n] * second[at + n]
            _convert(polynomial, count, m, k - 1)
            for n in range(count):
                row = (start + n) * SECOND + 2 * k
                pole = poles[start + n]
                second_terms[row] = pole * polynomial[n].real
                second_terms[row + 1] = pole * polynomial[n].imag if m > 0 else 0.0
        at += count


@njit
def _convert(polynomial, count, m, k):  # type: ignore[no-untyped-def]
    """Convert coefficients of polynomials of order m to order m - k, k >= -1, in place."""
    if k < 0:
        for n in range(count):
            polynomial[n] *= (2 * m + 1) / (2 * (n + m) + 1)
        for n in range(count - 2):
            polynomial[n] -= polynomial[n + 2]
    for p in range(m - 1, m - k - 1, -1):
        for n in range(count - 3, -1, -1):
            polynomial[n] += polynomial[n + 2]
        for n in range(count):
            polynomial[n] *= (2 * (n + p) + 1) / (2 * p + 1)
