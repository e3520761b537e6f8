"""Attention with heads by the page `core`, for weighted points, and heads without symmetry.

No line of the package is used, and points of the circle are unit vectors.
"""

from collections.abc import Sequence

import core
import numpy as np

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
# Velocities of these tokens by the head (B3, V3), beta = 3, in papers' time, by another code.
VELOCITIES_3 = {
    "softmax": "-0.0740331222631 0.0399585605559 0.0249101228406 0.1298467349063 "
    "0.2699139293673 -0.4923014184668 -0.0975880714027 -0.0022415084720 0.0648361978242 "
    "-0.2462208248698 -0.3090546328196 0.3352736089642",
    "none": "-0.0707906854281 0.0382084910646 0.0238191314384 0.2686344791089 "
    "0.5584136395277 -1.0185018145416 -0.1262470572126 -0.0028997790840 0.0838768412830 "
    "-0.5202665033713 -0.6530348245431 0.7084357235044",
}


def tokens(n: int, d: int) -> Array:
    """Unit vectors cos(0.7 i k + 0.3 k^2), i = 1..n, k = 1..d."""
    i, k = np.arange(1, n + 1)[:, None], np.arange(1, d + 1)
    x = np.cos(0.7 * i * k + 0.3 * k**2)
    return x / np.linalg.norm(x, axis=1)[:, None]


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


def velocity(x: Array, y: Array, masses: Array, heads: Heads, normalization: str) -> Array:
    """Velocity at x (n, d) in the field of y (m, d). "none": in papers' time."""
    of = core.Problem([core.attention(heads, normalization)])
    return of.velocity(core.Points(y, masses), x)


def carried(y, masses, heads, normalization, time, tolerance=1e-12):
    of = core.Problem([core.attention(heads, normalization)])
    (moved,) = core.evolve([(np.inf, of)], core.Points(y, masses), [time], tolerance)
    return moved
