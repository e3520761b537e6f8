"""The phi functions of exponential integrators, for real arguments.

    phi_k(z) = int_0^1 e^{(1 - s) z} s^{k-1} / (k-1)! ds = sum_n z^n / (n + k)!,
    phi_k(z) = (phi_{k-1}(z) - 1/(k-1)!) / z,    phi_0(z) = e^z.

The recurrence loses digits for small z. There the series gives phi_3, and the inverse recurrence is
stable. All phi_k are positive, so that the duplication formula adds positive numbers.
"""

from __future__ import annotations

import math

import numpy as np

from meanfield.arrays import FloatArray

# At |z| = 2 recurrence and series are equally good: 1e-15.
_SERIES = 2.0
# 6 * 2^n / (n + 3)! < 1e-17 from n = 22 on.
_INVERSE_FACTORIALS = [1.0 / math.factorial(n + 3) for n in range(22)]


def phi(z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Values phi_1, phi_2, phi_3 at real z (n,) up to 700, with relative errors of a few 1e-15.

    Hochbruck, Ostermann, Exponential integrators, Acta Numerica 19 (2010), eq. 2.10 and 2.11.
    """
    series = np.abs(z) <= _SERIES
    x = np.where(series, z, 0.0)
    third = np.full_like(x, _INVERSE_FACTORIALS[-1])
    for coefficient in reversed(_INVERSE_FACTORIALS[:-1]):
        third *= x
        third += coefficient
    second = 0.5 + x * third
    first = 1.0 + x * second
    if not series.all():
        y = np.where(series, 1.0, z)
        one = np.expm1(y) / y
        two = (one - 1.0) / y
        first = np.where(series, first, one)
        second = np.where(series, second, two)
        third = np.where(series, third, (two - 0.5) / y)
    return first, second, third


def doubled(
    exponential: FloatArray, first: FloatArray, second: FloatArray, third: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Values phi_1, phi_2, phi_3 at 2 z, from e^z and their values at z.

    phi_k(2 z) = 2^{-k} (e^z phi_k(z) + sum_{j=1}^k phi_j(z) / (k - j)!)
    """
    grown = exponential + 1.0
    return (
        0.5 * (grown * first),
        0.25 * (grown * second + first),
        0.125 * (grown * third + second + 0.5 * first),
    )
