"""Coefficients of a field on the sphere after a rotation, and times the coordinates."""

from __future__ import annotations

import math
from functools import lru_cache

import ducc0
import numpy as np

from meanfield.arrays import ComplexArray, FloatArray, IntArray, read_only
from meanfield.engines.harmonics.coefficients import degree_of, degrees_orders


def rotate(coefficients: ComplexArray, matrix: FloatArray) -> ComplexArray:
    """Coefficients of x -> g(R^T x), the field g turned by a rotation R."""
    if np.array_equal(matrix, np.eye(3)):
        return coefficients
    rotated: ComplexArray = ducc0.sht.rotate_alm(
        np.ascontiguousarray(coefficients), degree_of(coefficients), *_angles(matrix), nthreads=1
    )
    return rotated


def _angles(matrix: FloatArray) -> tuple[float, float, float]:
    """Angles (a, b, c) of R = R_z(c) R_y(b) R_z(a)."""
    c = math.atan2(matrix[1, 2], matrix[0, 2])
    # b and a follow from c: near b = 0 only a + c is determined, and stays accurate.
    cosine, sine = math.cos(c), math.sin(c)
    b = math.atan2(cosine * matrix[0, 2] + sine * matrix[1, 2], matrix[2, 2])
    a = math.atan2(
        cosine * matrix[1, 0] - sine * matrix[0, 0], cosine * matrix[1, 1] - sine * matrix[0, 1]
    )
    return a, b, c


def times_coordinates(coefficients: ComplexArray) -> ComplexArray:
    """Coefficients (3, ...) of x g, y g and z g, up to one degree less than g.

        z Y_lm = A_{l+1,m} Y_{l+1,m} + A_lm Y_{l-1,m},    A_lm^2 = (l^2 - m^2) / (4 l^2 - 1)

    and similarly for x +- iy. It also maps moments of a measure mu to moments of x mu, y mu, z mu.
    """
    factors, positions = _neighbours(degree_of(coefficients))
    near = factors * coefficients.take(positions)  # (6, count)
    # Terms from one order higher and lower: (x - iy) g and (x + iy) g.
    down, up = near[0] + near[1], near[2] + near[3]
    orders = degree_of(coefficients)
    up[:orders] = down[:orders].conj()
    products = np.empty((3, near.shape[1]), dtype=np.complex128)
    products[0] = 0.5 * (up + down)
    products[1] = -0.5j * (up - down)
    products[2] = near[4] + near[5]
    return products


@lru_cache(maxsize=16)
def _neighbours(degree: int) -> tuple[FloatArray, IntArray]:
    """Factors and positions of the six coefficients that enter each product: (6, count)."""
    l, m = (each.astype(np.int64) for each in degrees_orders(degree - 1))
    a, b = (2.0 * l + 1.0) * (2.0 * l + 3.0), (2.0 * l - 1.0) * (2.0 * l + 1.0)
    squares = [
        (l + m + 1) * (l + m + 2) / a,
        (l - m) * (l - m - 1) / b,
        (l - m + 1) * (l - m + 2) / a,
        (l + m) * (l + m - 1) / b,
        ((l + 1.0) ** 2 - m**2) / a,
        (l**2 - m**2) / b,
    ]
    signs = np.array([-1.0, 1.0, 1.0, -1.0, 1.0, 1.0])[:, None]
    degrees = l + np.array([1, -1, 1, -1, 1, -1])[:, None]
    orders = m + np.array([1, 1, -1, -1, 0, 0])[:, None]
    there = (orders >= 0) & (orders <= degrees) & (degrees >= 0)
    factors = np.where(there, signs * np.sqrt(np.abs(squares)), 0.0)
    positions = np.where(there, orders * (2 * degree + 1 - orders) // 2 + degrees, 0)
    return read_only(factors), read_only(positions)
