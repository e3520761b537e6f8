"""Velocities on the sphere summed pair by pair, for few tokens and as a reference.

    v_i = sum_j w_j a_ij P_i x_j [/ sum_j w_j a_ij],        P_i = 1 - x_i x_i^T

It takes n^2 operations. Every term keeps its relative accuracy, however small: P_i x_j comes from
the difference x_j - x_i, or from the sum where they are opposite. Moments lose velocities below
1e-18.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.engines.pairs import PAIRS_AT_ONCE


def exponential_velocity_sphere(
    points: FloatArray,
    weights: FloatArray | None,
    beta: float,
    normalized: bool,
    targets: FloatArray | None = None,
) -> FloatArray:
    """Velocity in the field of the exponential kernel, exact to rounding.

        v_i = sum_j w_j e^{beta <x_i, x_j> - |beta|} P_i x_j,    P_i = 1 - x_i x_i^T,

    divided by Z_i = sum_j w_j e^{beta <x_i, x_j> - |beta|} if normalized. beta = 0 is the linear
    kernel. Strength is 1. Where Z_i would underflow, both sums are scaled by the largest
    exponential, so the quotient is never 0/0.

    - points (n, 3): unit vectors, to rounding.
    - weights (n,): masses; None means 1/n each.
    - targets (m, 3): unit vectors of the result; by default the points, which costs less.

    Returns tangent vectors (n, 3) or (m, 3): <x_i, v_i> is rounding of |v_i|, however small.

    Geshkovski, Letrouit, Polyanskiy, Rigollet, A mathematical perspective on Transformers,
    arXiv:2312.10794 (the SA and USA dynamics).
    """
    from meanfield.engines.pairs import sphere_kernels as pair_kernels

    if not math.isfinite(beta):
        raise ValueError(f"beta = {beta} is not finite; the exponential kernel needs a number.")
    vectors, masses = _checked(points, weights)
    if targets is None:
        return pair_kernels.among_themselves(vectors, masses, float(beta), bool(normalized))
    places = _vectors("targets", targets)
    return pair_kernels.at_targets(places, vectors, masses, float(beta), bool(normalized))


def pairwise_velocity(
    attention: Callable[[FloatArray], FloatArray],
    points: FloatArray,
    weights: FloatArray | None,
    normalized: bool,
    targets: FloatArray | None = None,
) -> FloatArray:
    """Velocity in the field of any kernel a(s), s = <x, y>, in plain NumPy.

        v_i = sum_j w_j a(<x_i, x_j>) P_i x_j [/ sum_j w_j a(<x_i, x_j>)]

    attention: a(s) for arrays of s in [-1, 1], such as `Kernel.attention`.
    points (n, 3): unit vectors.
    weights (n,): masses; None means 1/n each.
    targets (m, 3): unit vectors of the result; by default the points.

    Returns (n, 3) or (m, 3). Blocks of pairs keep memory below n^2.
    """
    vectors, masses = _checked(points, weights)
    places = vectors if targets is None else _vectors("targets", targets)
    velocity = np.empty_like(places)
    rows = max(1, PAIRS_AT_ONCE // len(vectors))
    for start in range(0, len(places), rows):
        some = places[start : start + rows]
        sign = np.where(some @ vectors.T < 0.0, -1.0, 1.0)  # (rows, n)
        # P x_j = P u for u = x_j - sign x_i, which is small where P x_j is; |u|^2 gives s.
        half_square = np.zeros_like(sign)
        for k in range(3):
            half_square += 0.5 * (vectors[:, k] - sign * some[:, k, None]) ** 2
        affinity = attention(sign * (1.0 - half_square)) * masses
        for k in range(3):
            u = vectors[:, k] - sign * some[:, k, None]
            velocity[start : start + rows, k] = np.einsum("ij,ij->i", affinity, u)
        if normalized:
            velocity[start : start + rows] /= affinity.sum(axis=1)[:, None]
    # Twice: the rounding of the normal part may exceed the tangential part.
    for _ in range(2):
        normal = np.einsum("ik,ik->i", places, velocity) / np.einsum("ik,ik->i", places, places)
        velocity -= normal[:, None] * places
    return velocity


@lru_cache(maxsize=1)
def _equal_masses(count: int) -> FloatArray:
    """Masses 1/n, shared: callers must not write them."""
    return np.full(count, 1.0 / count)


def _checked(points: FloatArray, weights: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    vectors = _vectors("points", points)
    if len(vectors) == 0:
        raise ValueError("points have shape (0, 3), expected at least one: no tokens, no field.")
    if weights is None:
        return vectors, _equal_masses(len(vectors))
    masses = np.ascontiguousarray(weights, dtype=np.float64)
    if masses.shape != (len(vectors),):
        raise ValueError(
            f"weights have shape {masses.shape}, expected ({len(vectors)},), one for each point."
        )
    return vectors, masses


def _vectors(name: str, points: FloatArray) -> FloatArray:
    vectors = np.ascontiguousarray(points, dtype=np.float64)
    if vectors.ndim != 2 or vectors.shape[1] != 3:
        raise ValueError(f"{name} have shape {vectors.shape}, expected unit vectors of (n, 3).")
    return vectors
