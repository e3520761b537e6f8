"""Velocities on the circle summed pair by pair, for few tokens and as a reference.

    v_i = -sum_j w_j a_ij sin(d_ij) [/ sum_j w_j a_ij],        d_ij = theta_i - theta_j

It takes n^2 operations. Every term keeps its relative accuracy, however small: differences of
angles are exact where tokens are close, and sin d_ij comes from the difference. Moments lose
velocities below 1e-18.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.engines.fourier import checked_angles, checked_masses
from meanfield.engines.pairs import PAIRS_AT_ONCE


def exponential_velocity_circle(
    points: FloatArray,
    weights: FloatArray | None,
    beta: float,
    normalized: bool,
    targets: FloatArray | None = None,
) -> FloatArray:
    """Velocity in the field of the exponential kernel, exact to rounding.

        v_i = -sum_j w_j e^{beta cos d_ij - |beta|} sin d_ij,    d_ij = theta_i - theta_j,

    divided by Z_i = sum_j w_j e^{beta cos d_ij - |beta|} if normalized. beta = 0 is the linear
    kernel (Kuramoto). Strength is 1. Where Z_i would underflow, both sums are scaled by the largest
    exponential, so the quotient is never 0/0.

    points (n,): angles in radians, any real numbers.
    weights (n,): masses; None means 1/n each.
    targets (m,): angles of the result; by default the points, which costs half.

    Returns (n,) or (m,).

    Geshkovski, Letrouit, Polyanskiy, Rigollet, A mathematical perspective on Transformers,
    arXiv:2312.10794 (the SA and USA dynamics).
    """
    from meanfield.engines.pairs import circle_kernels as pair_kernels

    if not math.isfinite(beta):
        raise ValueError(f"beta = {beta} is not finite; the exponential kernel needs a number.")
    angles, masses = _checked(points, weights)
    if targets is None:
        return pair_kernels.among_themselves(angles, masses, float(beta), bool(normalized))
    places = np.ascontiguousarray(targets, dtype=np.float64)
    return pair_kernels.at_targets(places, angles, masses, float(beta), bool(normalized))


def pairwise_velocity(
    attention: Callable[[FloatArray], FloatArray],
    points: FloatArray,
    weights: FloatArray | None,
    normalized: bool,
    targets: FloatArray | None = None,
) -> FloatArray:
    """Velocity in the field of any kernel a(s), s = cos d, in plain NumPy.

        v_i = -sum_j w_j a(cos d_ij) sin d_ij [/ sum_j w_j a(cos d_ij)]

    attention: a(s) for arrays of s in [-1, 1], such as `Kernel.attention`.
    points (n,): angles in radians.
    weights (n,): masses; None means 1/n each.
    targets (m,): angles of the result; by default the points.

    Returns (n,) or (m,). Blocks of pairs keep memory below n^2.
    """
    angles, masses = _checked(points, weights)
    places = angles if targets is None else np.asarray(targets, dtype=np.float64)
    velocity = np.empty(len(places))
    rows = max(1, PAIRS_AT_ONCE // len(angles))
    for start in range(0, len(places), rows):
        differences = places[start : start + rows, None] - angles  # (rows, n)
        affinity = attention(np.cos(differences)) * masses
        velocity[start : start + rows] = -np.einsum("ij,ij->i", affinity, np.sin(differences))
        if normalized:
            velocity[start : start + rows] /= affinity.sum(axis=1)
    return velocity


def _checked(points: FloatArray, weights: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    angles = checked_angles(points)
    masses = checked_masses(weights, angles)
    return angles, np.full(angles.size, 1.0 / angles.size) if masses is None else masses
