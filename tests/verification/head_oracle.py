"""Attention with heads written down once more, from NumPy and SciPy alone.

v(x) = P_x sum_h V_h int e^{beta x^T B_h y} y mu_h(dy) / Z_h(x),   mu_h = mu or w_h mu, by sums over
pairs of weighted points. No line of the package is used, and points of the circle are unit vectors.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.integrate import solve_ivp

Array = np.ndarray
Heads = Sequence[tuple[Array, Array]]
"""Pairs (beta B, V)."""

TOKENS = np.array([0.3, 1.1, 2.0, 2.7, 4.4])
MASSES = np.array([0.1, 0.3, 0.2, 0.15, 0.25])
B1, V1 = np.array([[0.9, -0.4], [0.7, 0.5]]), np.array([[0.8, 0.3], [-0.6, 1.1]])
B2, V2 = np.array([[-0.3, 0.2], [0.1, 0.6]]), np.array([[0.5, -0.2], [0.4, -0.7]])
B3 = np.array([[0.8, -0.3, 0.1], [0.4, 0.6, -0.2], [0.0, 0.5, -0.7]])
V3 = np.array([[0.9, 0.2, -0.1], [-0.5, 1.1, 0.3], [0.2, -0.4, 0.6]])
_POLAR, _AZIMUTH = np.array([0.4, 1.2, 2.3, 1.7]), np.array([0.3, 2.0, 4.1, 5.5])
TOKENS_3 = np.column_stack(
    [np.sin(_POLAR) * np.cos(_AZIMUTH), np.sin(_POLAR) * np.sin(_AZIMUTH), np.cos(_POLAR)]
)
MASSES_3 = np.array([0.1, 0.4, 0.3, 0.2])


def turn(angle: float, d: int = 2) -> Array:
    """Rotation of the first two axes of R^d."""
    matrix = np.eye(d)
    c, s = np.cos(angle), np.sin(angle)
    matrix[:2, :2] = [[c, -s], [s, c]]
    return matrix


def vectors(points: Array) -> Array:
    """Unit vectors of angles; of vectors themselves."""
    return np.column_stack([np.cos(points), np.sin(points)]) if points.ndim == 1 else points


def components(points: Array, velocity: Array) -> Array:
    """Vectors in R^d as the package gives them: along e_theta on the circle."""
    if points.ndim > 1:
        return velocity
    return velocity[:, 1] * np.cos(points) - velocity[:, 0] * np.sin(points)


def balanced(score: Array, y: Array, masses: Array) -> Array:
    """Logarithms of w with u_i sum_j K_ij w_j m_j = 1 = w_j sum_i K_ij u_i m_i, by plain sweeps.

    Scores must not differ by more than numbers reach.
    """
    scores = y @ score @ y.T
    top = scores.max()
    kernel, w = np.exp(scores - top), np.ones(len(y))
    for _ in range(2000):
        new = 1.0 / ((masses / (kernel @ (w * masses))) @ kernel)
        # A factor of w is free.
        new /= new.max()
        change, w = np.abs(new / w - 1.0).max(), new
        if change < 1e-14:
            break
    return np.log(w)


def velocity(x: Array, y: Array, masses: Array, heads: Heads, normalization: str) -> Array:
    """Velocity at x (n, d) in the field of y (m, d). "none": in papers' time."""
    total = np.zeros(x.shape)
    for score, value in heads:
        scores = x @ score @ y.T
        weights = masses
        if normalization == "sinkhorn":
            log_w = balanced(score, y, masses)
            scores = scores + log_w
        if normalization != "none":
            scores = scores - scores.max(axis=1, keepdims=True)
        weights = np.exp(scores) * masses
        pull = weights @ y
        if normalization != "none":
            pull /= weights.sum(axis=1, keepdims=True)
        total += pull @ value.T
    return np.asarray(total - x * (x * total).sum(axis=1, keepdims=True))


def carried(
    y: Array, masses: Array, heads: Heads, normalization: str, time: float, tolerance: float = 1e-12
) -> Array:
    """Weighted points (n, d) after a time, papers' for "none"."""

    def rhs(_: float, state: Array) -> Array:
        points = state.reshape(y.shape)
        points = points / np.linalg.norm(points, axis=1, keepdims=True)
        return velocity(points, points, masses, heads, normalization).ravel()

    solved = solve_ivp(rhs, (0, time), y.ravel(), method="DOP853", rtol=tolerance, atol=tolerance)
    assert solved.success, solved.message
    moved = solved.y[:, -1].reshape(y.shape)
    return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True))
