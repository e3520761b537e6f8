"""The model written down once more, from NumPy, SciPy and ducc0's Gauss nodes alone."""

import ducc0
import numpy as np
from scipy.special import sph_harm_y


def harmonics(points: np.ndarray, degree: int) -> np.ndarray:
    """Y_lm at points (n, 3), orthonormal for sigma, shape (n, (L + 1)(L + 2) / 2): m >= 0 only."""
    x, y, z = points.T
    theta, phi = np.arctan2(np.hypot(x, y), z)[:, None], np.arctan2(y, x)[:, None]
    orders = [sph_harm_y(np.arange(m, degree + 1), m, theta, phi) for m in range(degree + 1)]
    return np.sqrt(4 * np.pi) * np.concatenate(orders, axis=1)


def gauss_nodes(rings: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights for sigma, exact for polynomials of degree 2 rings - 1.

    Nodes from ducc0: NumPy's and SciPy's weights are good to 1e-13 only.
    """
    theta, count = np.asarray(ducc0.misc.GL_thetas(rings))[:, None], 2 * rings
    phi = 2 * np.pi * (np.arange(count) + 0.5) / count
    u, s = np.cos(theta), np.sin(theta)
    points = np.stack([s * np.cos(phi), s * np.sin(phi), u + 0 * phi], axis=-1).reshape(-1, 3)
    weights = np.repeat(np.asarray(ducc0.misc.GL_weights(rings, count)) / (4 * np.pi), count)
    return points, weights


def plain_field(targets, points, mass, beta):
    """Partition function Z and drift P_x int a y dmu at the targets, angles or unit vectors."""
    if targets.ndim == 1:
        ahead = points - targets[:, None]
        attention = np.exp(beta * np.cos(ahead) - abs(beta)) * mass
        return attention.sum(axis=1), (attention * np.sin(ahead)).sum(axis=1)
    attention = np.exp(beta * (targets @ points.T) - abs(beta)) * mass
    pull = attention @ points
    return attention.sum(axis=1), pull - targets * (targets * pull).sum(axis=1, keepdims=True)


def plain_velocity(targets, points, mass, beta, flow):
    partition, drift = plain_field(targets, points, mass, beta)
    return flow.strength * ((drift.T / partition).T if flow.normalized else drift)
