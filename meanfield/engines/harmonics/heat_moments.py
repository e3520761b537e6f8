"""Brownian motion on S^(d-1) for a given time, with the exact moments of degrees 1 and 2.

A token turns by Theta in a uniform direction. Y = (1 - cos Theta) / 2 is a diffusion with

    E cos Theta = e^{-(d-1) time},    E cos^2 Theta = 1/d + (1 - 1/d) e^{-2 d time}.

Here Y gets the beta law with these two moments. It is the exact law in the limits of short times,
where Y / time is a Gamma((d-1)/2) variable, and of long ones. Moments E Y^k, k > 2, are of order
time^k, and their leading terms agree: one step errs by O(time^4). `heat` has the exact law on S^2.
"""

from __future__ import annotations

import math

import numpy as np

from meanfield.arrays import FloatArray

_TERMS = 14  # of the series of e^{-x} - 1 + x below _SHORT, to rounding
_SHORT = 0.1
_SHORTEST = 1e-100


def diffuse(points: FloatArray, time: float, normals: FloatArray) -> FloatArray:
    """Unit vectors (n, d) after Brownian motion for a time, from standard normals (n, d - 1).

        x -> (1 - 2 Y) x + 2 sqrt(Y (1 - Y)) (sum_i n_i e_i) / |n|

    with a tangent frame e_i at x, and Y the increasing function of |n| that has the beta law.
    """
    from scipy import special

    n, d = points.shape
    if normals.shape != (n, d - 1):
        raise ValueError(
            f"points have shape {points.shape} and normals {normals.shape}, expected (n, d) and "
            "(n, d - 1)."
        )
    if time == 0.0:
        return points.copy()
    squared = np.einsum("ij,ij->i", normals, normals)
    survival = special.gammaincc(0.5 * (d - 1), 0.5 * squared)
    # Squares of shorter times underflow; there Y is proportional to time.
    long = max(time, _SHORTEST)
    y = time / long * special.betainccinv(*beta_shapes(d, long), survival)[:, None]
    # A reflection takes the last axis to x or -x, and the other axes to a tangent frame.
    sign = np.copysign(1.0, points[:, -1:])
    inner = np.einsum("ij,ij->i", points[:, :-1], normals)[:, None]
    axis = points.copy()
    axis[:, -1:] += sign
    tangent = -inner / (1.0 + np.abs(points[:, -1:])) * axis
    tangent[:, :-1] += normals
    unit = np.sqrt(np.maximum(squared, np.finfo(np.float64).tiny))[:, None]
    return np.asarray((1.0 - 2.0 * y) * points + 2.0 * np.sqrt(y * (1.0 - y)) / unit * tangent)


def beta_shapes(d: int, time: float) -> tuple[float, float]:
    """Parameters of the beta law of Y after a positive time."""
    m = d - 1
    mean = -0.5 * math.expm1(-m * time)
    square = 0.25 * (m / d * _excess(2.0 * d * time) - 2.0 * _excess(m * time))
    ratio = (mean - square) / (square - mean**2)
    return mean * ratio, (1.0 - mean) * ratio


def _excess(x: float) -> float:
    """Value e^{-x} - 1 + x, without cancellation."""
    if x > _SHORT:
        return math.expm1(-x) + x
    return sum((-x) ** k / math.factorial(k) for k in range(2, _TERMS))
