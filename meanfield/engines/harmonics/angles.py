"""Angles of vectors, and tangent vectors of components along meridians and parallels.

    theta = atan2(hypot(x, y), z) in [0, pi],     phi = atan2(y, x) in [0, 2 pi]
    v = v_theta (cos theta cos phi, cos theta sin phi, -sin theta) + v_phi (-sin phi, cos phi, 0)

Nothing is divided by sin theta. At a pole phi is 0: any angle would do, if transform and frame use
the same one. Both are compiled loops that vectorise, with their own arctangent, and pass over the
points once.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.engines.compiled import njit
from meanfield.engines.elementary import economised, fma, wide_vectors

# Squared ratio of the distance from the axis to the length, below which a point is a pole.
_POLE = 1e-200
# Squared lengths of vectors that have a direction.
SHORTEST_SQUARE, LONGEST_SQUARE = 1e-200, 1e200
# Points of a block, stored by coordinate.
_BLOCK = 512
# Quotients t above tan(pi/8) become (t - 1) / (t + 1), within +-tan(pi/8).
_SPLIT = math.sqrt(2.0) - 1.0
_TAYLOR = [Fraction((-1) ** (k // 2) * (k % 2), max(k, 1)) for k in range(64)]
_A = economised(_TAYLOR, _SPLIT, 25)
_A1, _A3, _A5, _A7, _A9, _A11, _A13, _A15, _A17, _A19, _A21, _A23, _A25 = _A[1::2]


def angles_of(vectors: FloatArray, out: FloatArray | None = None) -> tuple[FloatArray, bool]:
    """Colatitudes and longitudes (n, 2), NaN without a direction, and True if all have one."""
    angles = np.empty((len(vectors), 2)) if out is None else out
    return angles, _angles(vectors, angles) == len(vectors)


def tangent_vectors(vectors: FloatArray, components: FloatArray, out: FloatArray) -> None:
    """Write tangent vectors (n, 3) of components (theta, phi), shape (2, n), at vectors (n, 3)."""
    _tangent_vectors(vectors, components, out)


@njit(error_model="numpy")
def _arctangent(opposite, adjacent):  # type: ignore[no-untyped-def]
    """Angle arctan(opposite / adjacent) in [0, pi/2] of two sides that are not negative."""
    steep = opposite > adjacent
    short = adjacent if steep else opposite
    long = opposite if steep else adjacent
    middle = short > _SPLIT * long
    t = (short - long if middle else short) / (short + long if middle else long)
    z = t * t
    w = z * z
    low = fma(w, fma(z, _A7, _A5), fma(z, _A3, _A1))
    high = fma(w, fma(z, _A15, _A13), fma(z, _A11, _A9))
    top = fma(w, fma(w, _A25, fma(z, _A23, _A21)), fma(z, _A19, _A17))
    q = w * w
    # angle = t Q, plus pi/4 in the middle; pi/2 - angle if steep. Rounded once.
    offset = 0.25 * math.pi if middle else (0.5 * math.pi if steep else 0.0)
    return fma(-t if steep else t, fma(q, fma(q, top, high), low), offset)


@njit(error_model="numpy")
def _angles(vectors, angles):  # type: ignore[no-untyped-def]
    """Write the angles; return the number of vectors with a direction."""
    x, y, z = np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK)
    theta, phi = np.empty(_BLOCK), np.empty(_BLOCK)
    count = 0
    for begin in range(0, vectors.shape[0], _BLOCK):
        size = min(_BLOCK, vectors.shape[0] - begin)
        for i in range(size):
            x[i] = vectors[begin + i, 0]
            y[i] = vectors[begin + i, 1]
            z[i] = vectors[begin + i, 2]
        count += _block_of_angles(x, y, z, theta, phi, size)
        for i in range(size):
            angles[begin + i, 0] = theta[i]
            angles[begin + i, 1] = phi[i]
    return count


@njit(error_model="numpy")
def _block_of_angles(xs, ys, zs, thetas, phis, size):  # type: ignore[no-untyped-def]
    wide_vectors()
    count = 0
    for i in range(size):
        x, y, z = xs[i], ys[i], zs[i]
        square = fma(x, x, y * y)
        length = fma(z, z, square)
        # False for zero, infinity and NaN.
        valid = (length >= SHORTEST_SQUARE) & (length <= LONGEST_SQUARE)
        polar = square < _POLE * length
        phi = _arctangent(abs(y), 1.0 if polar else abs(x))
        phi = math.pi - phi if x < 0.0 else phi
        phi = 2.0 * math.pi - phi if y < 0.0 else phi
        theta = _arctangent(math.sqrt(square), abs(z))
        theta = math.pi - theta if z < 0.0 else theta
        thetas[i] = theta if valid else math.nan
        phis[i] = (0.0 if polar else phi) if valid else math.nan
        count += 1 if valid else 0
    return count


@njit(error_model="numpy")
def _tangent_vectors(vectors, components, out):  # type: ignore[no-untyped-def]
    x, y, z = np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK)
    for begin in range(0, vectors.shape[0], _BLOCK):
        size = min(_BLOCK, vectors.shape[0] - begin)
        for i in range(size):
            x[i] = vectors[begin + i, 0]
            y[i] = vectors[begin + i, 1]
            z[i] = vectors[begin + i, 2]
        _block_of_vectors(x, y, z, components[0, begin:], components[1, begin:], size)
        for i in range(size):
            out[begin + i, 0] = x[i]
            out[begin + i, 1] = y[i]
            out[begin + i, 2] = z[i]


@njit(error_model="numpy")
def _block_of_vectors(xs, ys, zs, southward, eastward, size):  # type: ignore[no-untyped-def]
    wide_vectors()
    for i in range(size):
        x, y, z = xs[i], ys[i], zs[i]
        square = fma(x, x, y * y)
        length = fma(z, z, square)
        polar = square < _POLE * length
        radius = math.sqrt(square)
        length = math.sqrt(length)
        # One division serves both quotients.
        inverse = 1.0 / (length if polar else radius * length)
        cosine = 1.0 if polar else x * (length * inverse)
        sine = 0.0 if polar else y * (length * inverse)
        along, across = southward[i], eastward[i]
        along = along * (inverse if polar else radius * inverse)
        meridian = along * z
        xs[i] = fma(meridian, cosine, -(across * sine))
        ys[i] = fma(meridian, sine, across * cosine)
        zs[i] = -along * radius
